//! Log entries in order of time, from blocks that may overlap.
//!
//! Blocks wait sorted by the end they reach first. A block is opened and filtered when the next row could be
//! in it, and from then on its matching row numbers are held, and its columns, as long as those of all open blocks are no
//! more than the budget. If they are, blocks are let go of that are needed again only after many rows; where there are none,
//! the next rows of the block that is needed now are copied out, as runs are buffered in an external merge: it is opened
//! again for each such lot, not for each row. As long as blocks have few matching rows, the next ones are opened ahead,
//! side by side on several threads.

mod cursor;
mod entries;

use super::ahead::Ahead;
use super::project::Projection;
use super::read::Reader;
use super::threads::over_blocks;
use super::{Order, RunStats};
use crate::error::Result;
use crate::pipe::Flow;
use cursor::Cursor;
use duramen::block::BlockHandle;
pub(crate) use entries::{CANCEL_INTERVAL_ROWS, Entries, OneByOne, TakeRows};
use entries::{Due, DueRow};
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// As long as blocks that were opened together have fewer matching rows than so many, twice as many are opened next; if they
/// have none, [`MORE_WITHOUT_ROWS`] times as many: to share out blocks takes a while each time. So many for each thread at least,
/// and at most.
const FEW_ROWS: usize = 1000;
const MORE_WITHOUT_ROWS: usize = 8;
const MIN_BLOCKS_A_THREAD: usize = 4;
const MAX_BLOCKS_A_THREAD: usize = 256;
/// When so many rows have matched, no more blocks are opened for now: what is known of each row takes memory.
const ENOUGH_ROWS: usize = 64 << 10;

/// The rows that are copied out of a block at once have about so many bytes at least, and at most; between these, all
/// blocks' share half the budget.
const MIN_COPIED_BYTES: usize = 16 << 10;
const MAX_COPIED_BYTES: usize = 1 << 20;
/// A block is let go of for another, of which so many rows come first.
const FAR_ROWS: usize = 256;

/// Where a row stands in the answer, the first being the greatest: time, block, row.
type Place = (i64, i64, i64);

struct Waiting {
    /// No row of the block comes before this.
    bound: Place,
    number: usize,
    handle: Arc<dyn BlockHandle>,
}

pub(crate) struct Scan<'a> {
    pub reader: Reader<'a>,
    pub projection: &'a Projection,
    pub order: Order,
    /// How many bytes of decoded columns may be held, about.
    pub budget_bytes: usize,
    /// After so many rows nobody wants more.
    pub enough_rows: Option<usize>,
}

/// What a scan has opened.
struct Opened {
    cursors: Vec<Option<Cursor>>,
    /// The next row of each that has one.
    heap: BinaryHeap<(Place, usize)>,
    /// Of all their blocks, and of rows that were copied.
    held_bytes: usize,
}

impl Opened {
    fn add(&mut self, cursor: Cursor, next: Option<Place>) {
        if let Some(place) = next {
            self.held_bytes += cursor.held_bytes;
            self.heap.push((place, self.cursors.len()));
            self.cursors.push(Some(cursor));
        }
    }

    /// Lets go of the blocks that are needed last, until there is room, as long as their next rows are behind a place.
    fn make_room(&mut self, budget_bytes: usize, behind: Place) {
        let mut far: Vec<(Place, usize)> =
            self.heap.iter().filter(|(place, _)| *place < behind).copied().collect();
        far.sort_unstable();
        for (_, index) in far {
            if self.held_bytes <= budget_bytes {
                return;
            }
            if let Some(cursor) = &mut self.cursors[index]
                && cursor.open.is_some()
            {
                self.held_bytes -= cursor.held_bytes;
                cursor.drop_block();
            }
        }
    }

    fn drop(&mut self, index: usize) {
        if let Some(cursor) = self.cursors[index].take() {
            self.held_bytes -= cursor.held_bytes;
        }
    }
}

/// Whether the next row of a block is there.
enum Ready {
    Row,
    /// It cannot be read, which is counted.
    Failed,
    /// Nobody wants it.
    Enough,
}

impl Scan<'_> {
    fn place(&self, time: i64, block: usize, row: usize) -> Place {
        let (block, row) = (block as i64, row as i64);
        match self.order {
            Order::NewestFirst => (time, block, row),
            Order::OldestFirst => (!time, !block, !row),
        }
    }

    /// Where the next row of a block stands, if it has one.
    fn next_of(&self, cursor: &Cursor) -> Option<Place> {
        cursor.left.last().map(|&(row, time)| self.place(time, cursor.number, row as usize))
    }

    pub fn run(
        &self,
        blocks: &[Arc<dyn BlockHandle>],
        out: &mut dyn TakeRows,
        stats: &mut RunStats,
    ) -> Result<()> {
        let mut waiting = self.waiting(blocks);
        let mut opened = Opened { cursors: Vec::new(), heap: BinaryHeap::new(), held_bytes: 0 };
        let mut due = Due::new(self.enough_rows);
        // The first may be enough for a limit. None: as many as will be needed anyway.
        let mut together = Some(1);
        loop {
            while waiting.last().is_some_and(|w| opened.heap.peek().is_none_or(|(place, _)| *place < w.bound))
            {
                if self.hand_on(&mut due, &mut opened, out)? == Flow::Stop {
                    return Ok(());
                }
                let needed = || needed(&waiting, due.left).min(self.reader.threads).max(1);
                let count = together.unwrap_or_else(needed);
                let next = waiting.split_off(waiting.len().saturating_sub(count));
                let (mut rows, mut looked_at) = (0, 0);
                let (cursors, left) = self.open_all(next, opened.held_bytes, due.left, stats)?;
                waiting.extend(left);
                for cursor in cursors {
                    rows += cursor.matched;
                    looked_at += cursor.handle.rows();
                    let next = self.next_of(&cursor);
                    opened.add(cursor, next);
                }
                // Where most rows match, blocks are small, and a limit tells how many of them are needed.
                let is_known = due.left.is_some() && 2 * rows > looked_at;
                together = match self.reader.threads {
                    threads @ 2.. if rows < FEW_ROWS && !is_known => Some(blocks_next(count, rows, threads)),
                    _ => (!out.works_ahead()).then_some(1),
                };
            }
            let Some((_, index)) = opened.heap.pop() else {
                self.hand_on(&mut due, &mut opened, out)?;
                return Ok(());
            };
            match self.make_ready(index, &mut opened, (&mut due, out), stats)? {
                Ready::Row => {}
                Ready::Failed => continue,
                Ready::Enough => return Ok(()),
            }
            let Some(cursor) = opened.cursors[index].as_mut() else { continue };
            let Some((row, time)) = cursor.left.pop() else { continue };
            due.push(match cursor.copied.pop() {
                Some(copied) => {
                    let bytes = copied.heap_bytes().min(cursor.held_bytes);
                    cursor.held_bytes -= bytes;
                    opened.held_bytes -= bytes;
                    DueRow::Copied(copied)
                }
                None => DueRow::Held { cursor: index, row, time },
            });
            match self.next_of(cursor) {
                Some(place) => opened.heap.push((place, index)),
                // Its rows that are due need it still, if it is held.
                None if cursor.open.is_none() => opened.drop(index),
                None => {}
            }
            if due.is_enough() && self.hand_on(&mut due, &mut opened, out)? == Flow::Stop {
                return Ok(());
            }
        }
    }

    /// The blocks, that of the first row last.
    fn waiting(&self, blocks: &[Arc<dyn BlockHandle>]) -> Vec<Waiting> {
        let mut waiting: Vec<Waiting> = blocks
            .iter()
            .enumerate()
            .map(|(number, handle)| {
                let handle = handle.clone();
                let bound = match self.order {
                    Order::NewestFirst => (handle.max_time(), number as i64, i64::MAX),
                    Order::OldestFirst => (!handle.min_time(), !(number as i64), i64::MAX),
                };
                Waiting { bound, number, handle }
            })
            .collect();
        waiting.sort_by_key(|w| w.bound);
        waiting
    }

    /// Sees to it that the next row of a block can be had. What is due may be handed on for that.
    fn make_ready(
        &self,
        index: usize,
        opened: &mut Opened,
        (due, out): (&mut Due, &mut dyn TakeRows),
        stats: &mut RunStats,
    ) -> Result<Ready> {
        let Some(cursor) = opened.cursors[index].as_mut() else { return Ok(Ready::Failed) };
        if cursor.is_ready() {
            return Ok(Ready::Row);
        }
        self.reader.cancel.check()?;
        let before = cursor.held_bytes;
        let prepared = cursor.prepare(self.projection, stats);
        let own_bytes = cursor.held_bytes;
        opened.held_bytes = opened.held_bytes - before + own_bytes;
        if let Err(e) = prepared {
            stats.failed(e);
            opened.drop(index);
            return Ok(Ready::Failed);
        }
        if opened.held_bytes <= self.budget_bytes {
            return Ok(Ready::Row);
        }
        // Blocks may be held for nothing but rows that are due.
        if self.hand_on(due, opened, out)? == Flow::Stop {
            return Ok(Ready::Enough);
        }
        // A block of few rows is let go of itself: its rows are soon copied.
        let far = opened.cursors[index].as_ref().and_then(|cursor| {
            let last = cursor.left.len().checked_sub(FAR_ROWS)?;
            cursor.left.get(last).map(|&(row, time)| self.place(time, cursor.number, row as usize))
        });
        if let Some(far) = far {
            opened.make_room(self.budget_bytes, far);
        }
        // One that is alone is not too much, however much it is.
        if opened.held_bytes > self.budget_bytes
            && opened.held_bytes > own_bytes
            && let Some(cursor) = opened.cursors[index].as_mut()
        {
            let share = self.budget_bytes / 2 / (opened.heap.len() + 1);
            let bytes = share.clamp(MIN_COPIED_BYTES, MAX_COPIED_BYTES);
            cursor.copy_out(self.projection, bytes, due.left.unwrap_or(usize::MAX));
            opened.held_bytes = opened.held_bytes - own_bytes + cursor.held_bytes;
        }
        Ok(Ready::Row)
    }

    /// Hands on what is due, and lets go of blocks that have no rows left.
    fn hand_on(&self, due: &mut Due, opened: &mut Opened, out: &mut dyn TakeRows) -> Result<Flow> {
        self.reader.cancel.check()?;
        let flow = due.hand_on(&opened.cursors, self.projection, out)?;
        due.clear(|index| {
            if opened.cursors[index].as_ref().is_some_and(|cursor| cursor.left.is_empty()) {
                opened.drop(index);
            }
        });
        Ok(flow)
    }

    /// Opens and filters blocks, on several threads if there are several. `held` bytes are held by others; what is
    /// decoded beyond the budget is dropped again. Gives back those that were not opened, because enough rows were found.
    fn open_all(
        &self,
        mut blocks: Vec<Waiting>,
        held: usize,
        wanted: Option<usize>,
        stats: &mut RunStats,
    ) -> Result<(Vec<Cursor>, Vec<Waiting>)> {
        let several = blocks.len() > 1;
        let enough = wanted.map_or(ENOUGH_ROWS, |wanted| wanted.clamp(1, ENOUGH_ROWS));
        let held = AtomicUsize::new(held);
        let (rows, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (numbers, handles): (Vec<_>, Vec<_>) =
            blocks.iter().rev().map(|w| (w.number, w.handle.clone())).unzip();
        let threads = over_blocks(Ahead::new(self.reader, &handles), |shared| {
            let (mut opened, mut stats) = (Vec::new(), RunStats::default());
            while rows.load(Ordering::Relaxed) < enough {
                let Some((i, _)) = shared.take() else {
                    taken.store(handles.len(), Ordering::Relaxed);
                    break;
                };
                taken.fetch_max(i + 1, Ordering::Relaxed);
                let block = (numbers[i], &handles[i]);
                let cursor = Cursor::open(block, &self.reader, self.order, self.enough_rows, &mut stats)?;
                let Some(mut cursor) = cursor else { continue };
                rows.fetch_add(cursor.left.len(), Ordering::Relaxed);
                // Several are opened where rows are few: then what is asked of them is likely all that is asked for.
                if several {
                    // What fails here fails again when a row is asked for, and is told then.
                    let _told_then = cursor.prepare(self.projection, &mut stats);
                }
                let bytes = cursor.held_bytes;
                // The only one is kept, as the next row may well be in it.
                let others = held.fetch_add(bytes, Ordering::Relaxed);
                if others > 0 && others + bytes > self.budget_bytes {
                    cursor.drop_block();
                    held.fetch_sub(bytes, Ordering::Relaxed);
                }
                opened.push(cursor);
            }
            Ok((opened, stats))
        })?;
        let mut all = Vec::new();
        for (opened, part) in threads {
            stats.add(part);
            all.extend(opened);
        }
        // They were taken from the end on.
        blocks.truncate(blocks.len() - taken.into_inner());
        Ok((all, blocks))
    }
}

/// How many blocks are opened together after so many, which had few rows.
fn blocks_next(blocks: usize, rows: usize, threads: usize) -> usize {
    let more = if rows == 0 { MORE_WITHOUT_ROWS } else { 2 };
    (more * blocks).clamp(threads * MIN_BLOCKS_A_THREAD, threads * MAX_BLOCKS_A_THREAD)
}

/// How many of the blocks must be opened if all their rows match and so many are wanted.
fn needed(waiting: &[Waiting], left: Option<usize>) -> usize {
    let Some(left) = left else { return waiting.len() };
    let mut rows = 0;
    let before_enough = |w: &&Waiting| {
        let more = rows < left;
        rows += w.handle.rows();
        more
    };
    waiting.iter().rev().take_while(before_enough).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewer_rows_there_are_the_more_blocks_are_opened_next() {
        let lots = |rows: usize| {
            let next = |blocks: &usize| Some(blocks_next(*blocks, rows, 2));
            std::iter::successors(Some(1), next).take(9).collect::<Vec<_>>()
        };
        assert_eq!(lots(0), [1, 8, 64, 512, 512, 512, 512, 512, 512]);
        assert_eq!(lots(1), [1, 8, 16, 32, 64, 128, 256, 512, 512]);
    }
}
