//! Log entries in order of time, from blocks that may overlap.
//!
//! Blocks wait sorted by the end they reach first. A block is opened and filtered when the next row could be
//! in it, and from then on only its matching row numbers are held; its columns may be dropped and read again,
//! when those of all open blocks are more than the budget. As long as blocks have few matching rows, the next ones are
//! opened ahead, side by side on several threads.
//!
//! Rows are handed on many at once, so that whoever takes them may work on them side by side, too.

use super::ahead::Ahead;
use super::open::Open;
use super::project::Projection;
use super::read::Reader;
use super::threads::over_blocks;
use super::{Cancel, Order, RunStats};
use crate::error::Result;
use crate::pipe::{Flow, Stage};
use crate::row::ResultRow;
use duramen::block::BlockHandle;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many rows go by between two looks at whether the query was cancelled.
pub(crate) const CANCEL_INTERVAL_ROWS: usize = 1024;

/// As long as blocks that were opened together have fewer matching rows than so many, twice as many are opened next: so many
/// for each thread at least, and at most.
const FEW_ROWS: usize = 1000;
const MIN_BLOCKS_A_THREAD: usize = 4;
const MAX_BLOCKS_A_THREAD: usize = 256;
/// When so many rows have matched, no more blocks are opened for now: what is known of each row takes memory.
const ENOUGH_ROWS: usize = 64 << 10;

/// So many rows are handed on at once at first; twice as many each time, up to the second.
const FIRST_ROWS: usize = 64;
const MOST_ROWS: usize = 2 << 10;
/// Or fewer, if their blocks hold so many bytes for so many rows.
const MOST_BYTES: usize = 8 << 20;

/// Where a row stands in the answer, the first being the greatest: time, block, row.
type Place = (i64, i64, i64);

struct Waiting {
    /// No row of the block comes before this.
    bound: Place,
    number: usize,
    handle: Arc<dyn BlockHandle>,
}

struct Cursor {
    number: usize,
    handle: Arc<dyn BlockHandle>,
    /// Is there, and has what is needed of rows, as long as one of its rows is due.
    open: Option<Open>,
    /// About how many bytes a row has.
    row_bytes: usize,
    /// Row numbers and times; the next is the last.
    left: Vec<(u32, i64)>,
}

impl Cursor {
    /// How many bytes its block holds decoded.
    fn held_bytes(&self) -> usize {
        self.open.as_ref().map_or(0, Open::held_bytes)
    }
}

/// The rows that come next.
struct Due {
    rows: Vec<DueRow>,
    /// So many are handed on at once.
    at_once: usize,
    /// After so many more, nobody wants others.
    left: Option<usize>,
    /// About how many bytes they have.
    bytes: usize,
}

struct DueRow {
    cursor: usize,
    row: u32,
    time: i64,
}

impl Due {
    fn is_enough(&self) -> bool {
        self.bytes >= MOST_BYTES || self.rows.len() >= self.left.unwrap_or(usize::MAX).clamp(1, self.at_once)
    }
}

/// Entries that come one after another.
pub(crate) struct Entries<'s> {
    rows: &'s [DueRow],
    cursors: &'s [Option<Cursor>],
    projection: &'s Projection,
}

impl Entries<'_> {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Pushes those in `range` into a stage, and cancels if it is asked to.
    pub fn push(
        &self,
        range: Range<usize>,
        row: &mut ResultRow,
        cancel: &Cancel,
        out: &mut dyn Stage,
    ) -> Result<Flow> {
        for (i, due) in self.rows[range].iter().enumerate() {
            if i % CANCEL_INTERVAL_ROWS == CANCEL_INTERVAL_ROWS - 1 {
                cancel.check()?;
            }
            let Some(open) = self.cursors[due.cursor].as_ref().and_then(|cursor| cursor.open.as_ref()) else {
                continue;
            };
            open.fill_prepared(due.row as usize, due.time, self.projection, row);
            if out.push(row)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}

/// Takes entries as they come.
pub(crate) trait TakeRows {
    fn take(&mut self, entries: &Entries<'_>) -> Result<Flow>;

    /// Whether it is so quick that blocks are to be opened side by side, though they have many rows.
    fn works_ahead(&self) -> bool {
        false
    }
}

/// Hands entries to a stage, one by one.
pub(crate) struct OneByOne<'s> {
    pub out: &'s mut dyn Stage,
    pub cancel: &'s Cancel,
    pub row: ResultRow,
}

impl TakeRows for OneByOne<'_> {
    fn take(&mut self, entries: &Entries<'_>) -> Result<Flow> {
        entries.push(0..entries.len(), &mut self.row, self.cancel, self.out)
    }
}

pub(crate) struct Scan<'a> {
    pub reader: Reader<'a>,
    pub projection: &'a Projection,
    pub order: Order,
    pub budget_bytes: usize,
    /// After so many rows nobody wants more.
    pub enough_rows: Option<usize>,
}

impl Scan<'_> {
    fn place(&self, time: i64, block: usize, row: usize) -> Place {
        let (block, row) = (block as i64, row as i64);
        match self.order {
            Order::NewestFirst => (time, block, row),
            Order::OldestFirst => (!time, !block, !row),
        }
    }

    pub fn run(
        &self,
        blocks: &[Arc<dyn BlockHandle>],
        out: &mut dyn TakeRows,
        stats: &mut RunStats,
    ) -> Result<()> {
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
        let mut cursors: Vec<Option<Cursor>> = Vec::new();
        let mut heap: BinaryHeap<(Place, usize)> = BinaryHeap::new();
        let mut due = Due { rows: Vec::new(), at_once: FIRST_ROWS, left: self.enough_rows, bytes: 0 };
        // The first may be enough for a limit.
        let mut together = 1;
        loop {
            while waiting.last().is_some_and(|w| heap.peek().is_none_or(|(place, _)| *place < w.bound)) {
                if self.hand_on(&mut due, &mut cursors, out)? == Flow::Stop {
                    return Ok(());
                }
                let next = waiting.split_off(waiting.len().saturating_sub(together));
                let mut rows = 0;
                let (opened, left) = self.open_all(next, held_bytes(&cursors), stats)?;
                waiting.extend(left);
                for cursor in opened {
                    if let Some(&(r, time)) = cursor.left.last() {
                        rows += cursor.left.len();
                        heap.push((self.place(time, cursor.number, r as usize), cursors.len()));
                        cursors.push(Some(cursor));
                    }
                }
                together = match self.reader.threads {
                    threads @ 2.. if rows < FEW_ROWS => {
                        (2 * together).clamp(threads * MIN_BLOCKS_A_THREAD, threads * MAX_BLOCKS_A_THREAD)
                    }
                    threads if out.works_ahead() => threads.max(1),
                    _ => 1,
                };
            }
            let Some((_, index)) = heap.pop() else {
                self.hand_on(&mut due, &mut cursors, out)?;
                return Ok(());
            };
            let Some(cursor) = cursors[index].as_mut() else { continue };
            let Some((r, time)) = cursor.left.pop() else { continue };
            if !cursor.open.as_ref().is_some_and(Open::is_prepared) {
                let prepared = Self::prepare(cursor, self.projection);
                stats.bytes_read += cursor.open.as_mut().map_or(0, Open::bytes_since_last);
                if let Err(e) = prepared {
                    stats.failed(e);
                    cursors[index] = None;
                    continue;
                }
                if held_bytes(&cursors) > self.budget_bytes {
                    if self.hand_on(&mut due, &mut cursors, out)? == Flow::Stop {
                        return Ok(());
                    }
                    Self::keep_within(self.budget_bytes, &mut cursors, index);
                }
            }
            due.rows.push(DueRow { cursor: index, row: r, time });
            let Some(Cursor { left, number, row_bytes, .. }) = &cursors[index] else { continue };
            due.bytes += row_bytes;
            if let Some(&(r, time)) = left.last() {
                heap.push((self.place(time, *number, r as usize), index));
            }
            if due.is_enough() && self.hand_on(&mut due, &mut cursors, out)? == Flow::Stop {
                return Ok(());
            }
        }
    }

    fn prepare(cursor: &mut Cursor, projection: &Projection) -> duramen::Result<()> {
        let open = match cursor.open.take() {
            Some(open) => open,
            None => Open::new(cursor.handle.open()?),
        };
        let open = cursor.open.insert(open);
        open.prepare(projection)?;
        cursor.row_bytes = open.held_bytes() / cursor.handle.rows().max(1);
        Ok(())
    }

    /// Hands on what is due.
    fn hand_on(&self, due: &mut Due, cursors: &mut [Option<Cursor>], out: &mut dyn TakeRows) -> Result<Flow> {
        if due.rows.is_empty() {
            return Ok(Flow::Continue);
        }
        self.reader.cancel.check()?;
        let flow = out.take(&Entries { rows: &due.rows, cursors, projection: self.projection })?;
        for row in due.rows.drain(..) {
            cursors[row.cursor].take_if(|cursor| cursor.left.is_empty());
            due.left = due.left.map(|left| left.saturating_sub(1));
        }
        due.bytes = 0;
        due.at_once = (2 * due.at_once).min(MOST_ROWS);
        Ok(flow)
    }

    /// Opens and filters blocks, on several threads if there are several. `held` bytes are held by others; what is
    /// decoded beyond the budget is dropped again. Gives back those that were not opened, because enough rows were found.
    fn open_all(
        &self,
        mut blocks: Vec<Waiting>,
        held: usize,
        stats: &mut RunStats,
    ) -> Result<(Vec<Cursor>, Vec<Waiting>)> {
        let several = blocks.len() > 1;
        let held = AtomicUsize::new(held);
        let (rows, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (numbers, handles): (Vec<_>, Vec<_>) =
            blocks.iter().rev().map(|w| (w.number, w.handle.clone())).unzip();
        let threads = over_blocks(Ahead { reader: self.reader, blocks: &handles }, |shared| {
            let (mut opened, mut stats) = (Vec::new(), RunStats::default());
            while rows.load(Ordering::Relaxed) < ENOUGH_ROWS
                && let Some((i, _)) = shared.take()
            {
                taken.fetch_max(i + 1, Ordering::Relaxed);
                let Some(mut cursor) = self.open(numbers[i], &handles[i], &mut stats)? else { continue };
                rows.fetch_add(cursor.left.len(), Ordering::Relaxed);
                // Several are opened where rows are few: then what is asked of them is likely all that is asked for.
                if several && let Some(open) = &mut cursor.open {
                    // What fails here fails again when a row is asked for, and is told then.
                    let _told_then = open.prepare(self.projection);
                }
                let bytes = cursor.held_bytes();
                if held.fetch_add(bytes, Ordering::Relaxed) + bytes > self.budget_bytes {
                    cursor.open = None;
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

    /// Opens and filters a block; `None` if nothing in it matches or it cannot be read.
    fn open(
        &self,
        number: usize,
        handle: &Arc<dyn BlockHandle>,
        stats: &mut RunStats,
    ) -> Result<Option<Cursor>> {
        let Some((mut open, mut found)) = self.reader.open(&**handle, stats)? else { return Ok(None) };
        if let Some(enough) = self.enough_rows.filter(|&enough| enough < found.count()) {
            match self.order {
                Order::NewestFirst => found.keep_last(enough),
                Order::OldestFirst => found.keep_first(enough),
            }
            open.only(&found);
        }
        let times = match open.times() {
            Ok(times) => times,
            Err(e) => {
                stats.failed(e);
                return Ok(None);
            }
        };
        let mut left: Vec<(u32, i64)> = found.iter().map(|r| (r as u32, times[r])).collect();
        if self.order == Order::OldestFirst {
            left.reverse();
        }
        Ok(Some(Cursor { number, handle: handle.clone(), open: Some(open), row_bytes: 0, left }))
    }

    /// Drops what is decoded until the rest is within the budget, but not that of the block being read.
    fn keep_within(budget_bytes: usize, cursors: &mut [Option<Cursor>], reading: usize) {
        let mut used = held_bytes(cursors);
        for (i, cursor) in cursors.iter_mut().enumerate() {
            if used <= budget_bytes {
                return;
            }
            if let Some(cursor) = cursor
                && i != reading
            {
                used -= cursor.held_bytes();
                cursor.open = None;
            }
        }
    }
}

fn held_bytes(cursors: &[Option<Cursor>]) -> usize {
    cursors.iter().flatten().map(Cursor::held_bytes).sum()
}
