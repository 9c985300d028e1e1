//! Rows of many blocks, in order: what compaction and rewriting share.
//!
//! Large blocks of which all rows are kept are copied; the others are opened, and their rows merged. Blocks may lie side
//! by side, those of one table, too: a merge copied them so.

use crate::block::{Block, BlockHandle};
use crate::columnar::{TableBlock, is_large};
use crate::error::{Error, Result};
use crate::store::flush::TableWriter;
use crate::store::reencode::{Output, Source};
use crate::store::tables::TableBlockHandle;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

/// So many large blocks are open at once. What else lies beside them is written in blocks of its own.
pub(super) const MAX_OPEN_LARGE_BLOCKS: usize = 16;

/// Which rows of a block are kept, by its place among the blocks; `None`: all.
pub(super) type Keep<'k> = dyn FnMut(usize, &TableBlock) -> Result<Option<Vec<bool>>> + 'k;

/// What became of the blocks.
pub(super) enum Merged<'a> {
    /// Somebody asked to stop; nothing is left of the table.
    Stopped,
    /// None of the rows was kept.
    Empty,
    /// The table, but for its end, and how many rows it has.
    Table(Box<Output<'a>>, u64),
}

/// A block that is open.
struct Open {
    source: Source,
    /// Those kept that are not yet in the heap.
    rows: std::vec::IntoIter<usize>,
    is_large: bool,
}

/// A merge in progress.
struct Merge<'a, S> {
    start: Option<S>,
    out: Option<Output<'a>>,
    /// The blocks not yet opened, by the time of the first row that may be kept.
    waiting: BTreeMap<(i64, usize), Arc<TableBlockHandle>>,
    open: BTreeMap<usize, Open>,
    /// The next row of each that is open.
    heap: BinaryHeap<Reverse<NextRow>>,
    /// Rows of open blocks that are not yet written.
    rows_left: usize,
    large_open: usize,
    written: u64,
}

/// Puts those rows of the blocks that `keep` says into a new table, in order; `start` begins the table, given its first
/// time. `go_on` is asked after each block. `keep` is asked twice of some blocks.
///
/// # Errors
/// What the file system said; damage in a block.
pub(super) fn merge<'a, S: FnOnce(i64) -> Result<TableWriter<'a>>>(
    handles: Vec<Arc<TableBlockHandle>>,
    start: S,
    keep: &mut Keep<'_>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Merged<'a>> {
    let by_time = |(i, handle): (usize, Arc<TableBlockHandle>)| ((handle.min_time(), i), handle);
    let mut merge = Merge {
        start: Some(start),
        out: None,
        waiting: handles.into_iter().enumerate().map(by_time).collect(),
        open: BTreeMap::new(),
        heap: BinaryHeap::new(),
        rows_left: 0,
        large_open: 0,
        written: 0,
    };
    loop {
        while let Some(next) = merge.waiting.first_entry()
            && merge.heap.peek().is_none_or(|Reverse(row)| next.key().0 <= row.time)
        {
            let ((first_time, number), handle) = next.remove_entry();
            merge.take(first_time, number, handle, keep)?;
            if !go_on() {
                return Ok(Merged::Stopped);
            }
        }
        let Some(Reverse(next)) = merge.heap.pop() else { break };
        if merge.push(next)? && !go_on() {
            return Ok(Merged::Stopped);
        }
    }
    Ok(merge.out.map_or(Merged::Empty, |out| Merged::Table(Box::new(out), merge.written)))
}

impl<'a, S: FnOnce(i64) -> Result<TableWriter<'a>>> Merge<'a, S> {
    /// Copies the block that comes next, or writes it, or opens it, so that its rows are merged with those of others.
    fn take(
        &mut self,
        first_time: i64,
        number: usize,
        handle: Arc<TableBlockHandle>,
        keep: &mut Keep<'_>,
    ) -> Result<()> {
        let block = handle.open_table_block()?;
        let kept = keep(number, &block)?.filter(|kept| kept.contains(&false));
        let large = is_large(block.rows(), block.raw_bytes());
        let is_alone = large && self.large_open >= MAX_OPEN_LARGE_BLOCKS;
        if kept.is_none() && large {
            let rows = block.rows() as u64;
            if self.out(block.min_time())?.copy(&block, is_alone)? {
                self.written += rows;
                return Ok(());
            }
        }
        let rows: Vec<usize> = match kept {
            None => (0..block.rows()).collect(),
            Some(kept) => kept.iter().enumerate().filter_map(|(row, kept)| kept.then_some(row)).collect(),
        };
        let Some(&first_row) = rows.first() else { return Ok(()) };
        let first_kept = block.times()?[first_row];
        if is_alone && first_kept > first_time {
            // What is kept of others may begin before.
            self.waiting.insert((first_kept, number), handle);
            return Ok(());
        }
        let source = Source::open(block)?;
        if is_alone {
            self.written += rows.len() as u64;
            return self.out(first_kept)?.write_alone(&source, &rows);
        }
        self.rows_left += rows.len();
        self.large_open += usize::from(large);
        self.open.insert(number, Open { source, rows: rows.into_iter(), is_large: large });
        self.advance(number)?;
        let small = self.waiting.values().map(|handle| handle.rows()).take_while(|&rows| !is_large(rows, 0));
        let to_come = self.rows_left + small.sum::<usize>();
        self.out(first_kept)?.share_out(to_come);
        Ok(())
    }

    /// The table, which begins with rows of this time if there is none yet.
    fn out(&mut self, first_time: i64) -> Result<&mut Output<'a>> {
        if let Some(start) = self.start.take() {
            self.out = Some(Output::new(start(first_time)?));
        }
        // It was started once, and only an error was not kept: whoever had that does not ask again.
        self.out.as_mut().ok_or_else(|| Error::Invalid("a table could not be started".into()))
    }

    /// Writes a row; whether that made a block full.
    fn push(&mut self, next: NextRow) -> Result<bool> {
        let (Some(open), Some(out)) = (self.open.get(&next.source), &mut self.out) else { return Ok(false) };
        let is_full = out.push(&open.source, next.row)?;
        self.rows_left -= 1;
        self.written += 1;
        self.advance(next.source)?;
        Ok(is_full)
    }

    /// Puts the next row of an open block into the heap; closes it if there is none.
    fn advance(&mut self, number: usize) -> Result<()> {
        let Some(open) = self.open.get_mut(&number) else { return Ok(()) };
        match open.rows.next() {
            Some(row) => self.heap.push(Reverse(NextRow::of(&open.source, row, number)?)),
            None => {
                self.large_open -= usize::from(open.is_large);
                self.open.remove(&number);
            }
        }
        Ok(())
    }
}

/// The next row of an open block, ordered as rows are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NextRow {
    time: i64,
    writer: u64,
    seq: u64,
    source: usize,
    row: usize,
}

impl NextRow {
    fn of(open: &Source, row: usize, source: usize) -> Result<Self> {
        let (writer, seq) = open.identity(row)?;
        Ok(Self { time: open.times[row], writer, seq, source, row })
    }
}
