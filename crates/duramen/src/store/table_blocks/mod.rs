//! The blocks of tables, from what the manifest says of them to a block that is open.

use crate::block::{Block, BlockHandle, BlockStreams, Looks, ValueWords};
use crate::columnar::{FewValues, TableBlock, TimeCounts};
use crate::error::{Error, Result};
use crate::store::known_words::may_have_words;
use crate::store::pin::Pin;
use crate::store::ranges_ahead::{filters_ahead, has_filter_behind, ranges_ahead};
use crate::store::reading::Reading;
use crate::store::table_facts::{BlockFacts, KnownTable};
use crate::store::tables::{OpenTable, TableCache};
use duramen_engine::manifest::{State, TableMeta};
use duramen_engine::sstable::{BlockMeta, Table};
use std::ops::Range;
use std::sync::Arc;

/// So many bytes at the end of a block are fetched before it is opened, if it is not known how long its filters are: its
/// directory lies there, and before it, in tables of earlier versions, they do.
const AHEAD_BYTES: u64 = 96 << 10;
/// The filters of so many blocks of a table are fetched at once, where they lie side by side.
const FILTERS_AHEAD: usize = 32;
/// Unless that would be more than so many bytes: some of it may be for blocks that nobody looks at.
const MOST_FILTER_BYTES_AHEAD: u64 = 1 << 20;

/// The blocks of all tables of a snapshot.
#[derive(Clone, Debug)]
pub(crate) struct TableBlocks {
    cache: Arc<TableCache>,
    /// Their files must stay.
    pin: Pin,
    /// In the order in which they were written: the latest last.
    tables: Vec<Arc<KnownTable>>,
}

impl TableBlocks {
    /// # Errors
    /// [`Error::Decode`] if the manifest's facts make no sense.
    pub(crate) fn of(cache: &Arc<TableCache>, state: &State, pin: &Pin) -> Result<Self> {
        let tables = state.tables.values().map(|meta| cache.known(meta)).collect::<Result<_>>()?;
        Ok(Self { cache: cache.clone(), pin: pin.clone(), tables })
    }

    /// Those that may hold rows from `min_time` to `max_time`, both included.
    pub(crate) fn between(&self, min_time: i64, max_time: i64) -> Vec<Arc<TableBlockHandle>> {
        let overlaps = |(min, max)| max >= min_time && min <= max_time;
        let tables = self.tables.iter().filter(|table| overlaps(table.times)).cloned().collect();
        let reading = Arc::new(Reading::new(&self.cache, &self.pin, tables));
        let handles = reading.tables().iter().flat_map(|table| TableBlockHandle::all(&reading, table));
        handles.filter(|handle| overlaps((handle.min_time(), handle.max_time()))).map(Arc::new).collect()
    }

    pub(crate) fn rows(&self) -> u64 {
        // Each may say anything, if the manifest is damaged.
        self.tables
            .iter()
            .flat_map(|table| &table.blocks)
            .fold(0, |sum: u64, block| sum.saturating_add(block.rows))
    }
}

/// A block of a table, not yet read.
#[derive(Debug)]
pub(crate) struct TableBlockHandle {
    table: Arc<KnownTable>,
    /// There is such a block.
    index: usize,
    reading: Arc<Reading>,
}

impl TableBlockHandle {
    /// The blocks of a table, as the manifest knows them.
    ///
    /// # Errors
    /// [`Error::Decode`] if the manifest's facts make no sense.
    pub(crate) fn of(cache: &Arc<TableCache>, meta: &TableMeta, pin: &Pin) -> Result<Vec<Arc<Self>>> {
        let table = cache.known(meta)?;
        let reading = Arc::new(Reading::new(cache, pin, vec![table.clone()]));
        Ok(Self::all(&reading, &table).map(Arc::new).collect())
    }

    fn all(reading: &Arc<Reading>, table: &Arc<KnownTable>) -> impl Iterator<Item = Self> {
        (0..table.blocks.len()).map(|index| Self { reading: reading.clone(), table: table.clone(), index })
    }

    fn facts(&self) -> &BlockFacts {
        &self.table.blocks[self.index]
    }
}

impl TableBlockHandle {
    fn open_table(&self) -> Result<Arc<OpenTable>> {
        self.reading.open(&self.table)
    }

    /// Asks for the parts of the filter of words, with those of the blocks beside it where they lie behind all and are not too
    /// much. What is kept is not asked for.
    fn will_look_in(&self, table: &Table, looks: Looks) {
        let (blocks, group) = (table.blocks(), self.index / FILTERS_AHEAD);
        let Some(meta) = blocks.get(self.index).filter(|_| looks.at_words != 0) else { return };
        let kept = self.reading.word_filters();
        let of_blocks = |first: usize, blocks: &[BlockMeta]| {
            let is_kept = |at, part| kept.get((self.table.number, first + at, part)).is_some();
            filters_ahead(blocks, looks.at_words, &is_kept)
        };
        let ask = |ranges: Vec<Range<u64>>| ranges.into_iter().for_each(|range| table.will_read_range(range));
        let of_group = || {
            let of_group = blocks.chunks(FILTERS_AHEAD).nth(group).unwrap_or_default();
            let all = of_blocks(group * FILTERS_AHEAD, of_group);
            let bytes: u64 = all.iter().map(|range| range.end - range.start).sum();
            let is_little = bytes <= MOST_FILTER_BYTES_AHEAD;
            if is_little {
                ask(all);
            }
            is_little
        };
        let key = (self.table.number, group, looks.at_words);
        if !(has_filter_behind(meta) && self.reading.asked_for_filters(key, of_group)) {
            ask(of_blocks(self.index, std::slice::from_ref(meta)));
        }
    }

    /// Opens the block as what it is, for those who need more of it than a query does.
    ///
    /// # Errors
    /// As [`BlockHandle::open`].
    pub(crate) fn open_table_block(&self) -> Result<TableBlock> {
        let open = self.open_table()?;
        let table = &open.table;
        let meta = table.blocks().get(self.index).ok_or_else(|| {
            Error::decode("a table's index", format!("{} has no block {}", self.table.path, self.index))
        })?;
        let block = TableBlock::open(table.clone(), meta.directory, &meta.filters)?;
        if block.rows() as u64 != self.facts().rows {
            let detail = format!(
                "block {} of {} has {} rows, the manifest says {}",
                self.index,
                self.table.path,
                block.rows(),
                self.facts().rows
            );
            return Err(Error::decode("a block", detail));
        }
        Ok(block)
    }
}

impl BlockHandle for TableBlockHandle {
    fn rows(&self) -> usize {
        self.facts().rows as usize
    }

    fn min_time(&self) -> i64 {
        self.facts().min_time
    }

    fn max_time(&self) -> i64 {
        self.facts().max_time
    }

    fn open(&self) -> Result<Arc<dyn Block>> {
        let blocks = self.reading.blocks();
        let open = || Ok(self.open_table_block()?.of_table(self.streams()));
        Ok(blocks.get(self.table.number, self.index, true, self.reading.since, open)?)
    }

    fn open_unordered(&self) -> Result<Arc<dyn Block>> {
        let blocks = self.reading.blocks();
        let open = || Ok(self.open_table_block()?.of_table(self.streams()).unordered());
        Ok(blocks.get(self.table.number, self.index, false, self.reading.since, open)?)
    }

    fn will_look(&self, looks: Looks) {
        if let Ok(open) = self.open_table() {
            self.will_look_in(&open.table, looks);
        }
    }

    fn will_open(&self, looks: Looks) {
        if self.is_open() {
            return;
        }
        // What cannot be opened now cannot be later, and is told then.
        if let Ok(open) = self.open_table() {
            let table = &open.table;
            self.will_look_in(table, looks);
            let ranges =
                table.blocks().get(self.index).map(|meta| ranges_ahead(meta, looks)).unwrap_or_default();
            if ranges.is_empty() {
                table.will_read_end_of(self.index, AHEAD_BYTES);
            }
            ranges.into_iter().for_each(|range| table.will_read_range(range));
        }
    }

    fn streams(&self) -> Option<BlockStreams> {
        // What cannot be opened is told when the block is.
        self.open_table().ok()?.streams()?.of_block(self.index, self.facts().rows)
    }

    fn values(&self, name: &str) -> Option<FewValues> {
        // What cannot be opened is told when the block is.
        self.open_table().ok()?.fields()?.of_block(name, self.index, self.facts().rows)
    }

    fn may_have_words(&self, words: &ValueWords<'_>, reads: bool) -> bool {
        // What cannot be opened is told when the block is.
        let Ok(open) = self.open_table() else { return true };
        may_have_words(&open, (self.table.number, self.index), words, &self.reading, reads)
    }

    fn time_counts(&self) -> Option<TimeCounts> {
        self.open_table().ok()?.times()?.of_block(self.index, self.facts().rows)
    }

    fn is_there(&self) -> bool {
        self.reading.is_there(&self.table)
    }

    fn is_open(&self) -> bool {
        self.reading.blocks().has(self.table.number, self.index)
    }

    fn is_worth_opening_ahead(&self) -> bool {
        self.reading.blocks().keeps_any() && !self.is_open()
    }
}

#[cfg(test)]
mod tests;
