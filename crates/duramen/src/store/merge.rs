//! Rows of many blocks, in order: what compaction and rewriting share.
//!
//! Large blocks are copied, or written again without the rows that go; small ones are opened, and their rows merged and cut
//! into blocks anew. Blocks may lie side by side, those of one table, too.

use crate::block::{Block, BlockHandle};
use crate::columnar::{TableBlock, is_enough, is_large};
use crate::error::{Error, Result};
use crate::store::cut;
use crate::store::flush::TableWriter;
use crate::store::reencode::{Output, Source, Whole};
use crate::store::table_blocks::TableBlockHandle;
use crate::store::table_facts::TableFacts;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

/// So many small blocks are open at once. What else lies beside them stays as it is.
pub(super) const MAX_OPEN_BLOCKS: usize = 64;

/// A block to be merged.
#[derive(Clone)]
pub(super) struct Input {
    pub(super) handle: Arc<TableBlockHandle>,
    /// Whether it was cut from rows enough, so that it is of one kind, or of kinds of which there is little.
    pub(super) is_well_cut: bool,
}

impl Input {
    /// Whether it need not be merged with others, having so much left.
    fn is_large(&self, rows: usize, raw_bytes: u64) -> bool {
        is_large(rows, raw_bytes) || self.is_well_cut && is_enough(rows, raw_bytes)
    }
}

/// Whether the blocks of a table were cut from rows enough. Of what threads share, one may have the short rows and another the
/// long ones: neither's own size says it.
pub(super) fn are_well_cut(facts: &TableFacts) -> bool {
    facts.is_well_cut == Some(true) || cut::are_enough(facts.rows(), facts.raw_bytes)
}

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
}

/// A merge in progress.
struct Merge<'a, S> {
    start: Option<S>,
    out: Option<Output<'a>>,
    /// The blocks not yet opened, by the time of the first row that may be kept.
    waiting: BTreeMap<(i64, usize), Input>,
    open: BTreeMap<usize, Open>,
    /// The next row of each that is open.
    heap: BinaryHeap<Reverse<NextRow>>,
    /// About how many rows of small blocks are not yet merged.
    to_come: usize,
    written: u64,
}

/// Puts those rows of the blocks that `keep` says into a new table, in order; `start` begins the table, given its first
/// time. `go_on` is asked after each block. `keep` is asked twice of some blocks.
///
/// # Errors
/// What the file system said; damage in a block.
pub(super) fn merge<'a, S: FnOnce(i64) -> Result<TableWriter<'a>>>(
    blocks: Vec<Input>,
    start: S,
    keep: &mut Keep<'_>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Merged<'a>> {
    let rows = |input: &Input| input.handle.rows();
    let to_come = blocks.iter().filter(|input| !input.is_large(rows(input), 0)).map(rows).sum();
    let by_time = |(i, input): (usize, Input)| ((input.handle.min_time(), i), input);
    let mut merge = Merge {
        start: Some(start),
        out: None,
        waiting: blocks.into_iter().enumerate().map(by_time).collect(),
        open: BTreeMap::new(),
        heap: BinaryHeap::new(),
        to_come,
        written: 0,
    };
    loop {
        while let Some(next) = merge.waiting.first_entry()
            && merge.heap.peek().is_none_or(|Reverse(row)| next.key().0 <= row.time)
        {
            let ((first_time, number), input) = next.remove_entry();
            if !merge.take(first_time, number, input, keep, go_on)? {
                return Ok(Merged::Stopped);
            }
        }
        let Some(Reverse(next)) = merge.heap.pop() else { break };
        if !merge.push(next, go_on)? {
            return Ok(Merged::Stopped);
        }
    }
    let Some(mut out) = merge.out else { return Ok(Merged::Empty) };
    if !out.write_batch(go_on)? {
        return Ok(Merged::Stopped);
    }
    Ok(Merged::Table(Box::new(out), merge.written))
}

impl<'a, S: FnOnce(i64) -> Result<TableWriter<'a>>> Merge<'a, S> {
    /// Gives the block that comes next to the table, or opens it, so that its rows are merged with those of others. As all
    /// of these, says whether to go on.
    fn take(
        &mut self,
        first_time: i64,
        number: usize,
        input: Input,
        keep: &mut Keep<'_>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        let block = input.handle.open_table_block()?;
        let kept = keep(number, &block)?.filter(|kept| kept.contains(&false));
        let rows =
            kept.map(|kept| (0..).zip(kept).filter_map(|(row, is)| is.then_some(row)).collect::<Vec<_>>());
        let mut left = block.rows();
        if let Some(rows) = &rows {
            left = rows.len();
            let Some(&first_row) = rows.first() else { return Ok(go_on()) };
            let first_kept = block.times()?[first_row];
            if first_kept > first_time {
                // What is kept of others may begin before.
                self.waiting.insert((first_kept, number), input);
                return Ok(go_on());
            }
        }
        let bytes_left = block.raw_bytes() / block.rows().max(1) as u64 * left as u64;
        if input.is_large(left, bytes_left) || self.open.len() >= MAX_OPEN_BLOCKS {
            self.written += left as u64;
            return self.out(first_time)?.take(Whole { handle: input.handle, first_time, rows }, go_on);
        }
        let source = Source::open(block)?;
        let rows = rows.unwrap_or_else(|| (0..source.rows()).collect());
        self.open.insert(number, Open { source, rows: rows.into_iter() });
        self.advance(number)?;
        let to_come = self.to_come;
        self.out(first_time)?.share_out(to_come);
        Ok(go_on())
    }

    /// The table, which begins with rows of this time if there is none yet.
    fn out(&mut self, first_time: i64) -> Result<&mut Output<'a>> {
        if let Some(start) = self.start.take() {
            self.out = Some(Output::new(start(first_time)?));
        }
        // It was started once, and only an error was not kept: whoever had that does not ask again.
        self.out.as_mut().ok_or_else(|| Error::Invalid("a table could not be started".into()))
    }

    /// Writes a row.
    fn push(&mut self, next: NextRow, go_on: &mut dyn FnMut() -> bool) -> Result<bool> {
        let (Some(open), Some(out)) = (self.open.get(&next.source), &mut self.out) else { return Ok(true) };
        let goes_on = out.push(&open.source, next.row, go_on)?;
        self.to_come = self.to_come.saturating_sub(1);
        self.written += 1;
        self.advance(next.source)?;
        Ok(goes_on)
    }

    /// Puts the next row of an open block into the heap; closes it if there is none.
    fn advance(&mut self, number: usize) -> Result<()> {
        let Some(open) = self.open.get_mut(&number) else { return Ok(()) };
        match open.rows.next() {
            Some(row) => self.heap.push(Reverse(NextRow::of(&open.source, row, number)?)),
            None => drop(self.open.remove(&number)),
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
