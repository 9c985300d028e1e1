//! A block in a table, its columns decoded as they are asked for.

mod bundles;
mod column;
mod decoded;
mod fetch;
mod index;
mod of_streams;
mod pages;
mod search;
mod through;
mod wanted;
mod words;

use super::bytes::bad;
use super::directory::{ColumnEntry, Directory, Form};
use super::filter::WordFilter;
use super::grams::GramFilter;
use super::labels::{LabelSet, StreamTable};
use super::leaf;
use super::paged::PagedColumn;
use super::presence;
use super::streams::{Bundle, Part};
use super::structure::{self, Identities, level_of};
use super::table_streams::{BlockStreams, StreamRows};
use super::template::{Outline, TEMPLATES};
use crate::block::{Block, Found, LengthUnit, Needle, StreamTest, names};
use crate::column::{Column, IntText, Order, set_range};
use crate::error::Result;
use crate::value::Level;
use decoded::Decoded;
pub(crate) use decoded::{Forgotten, PartId, QueryClock};
use duramen_engine::sstable::{ChunkHandle, ChunkSource};
use index::ColumnIndex;
use of_streams::ToldStreams;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// About how many bytes a column takes that nobody has decoded.
const COLUMN_ENTRY_BYTES: usize = 400;
/// About how many bytes a bundle takes that nobody has read, with where it is and what of it is told.
const BUNDLE_ENTRY_BYTES: usize = 200;

/// A block that [`super::BlockEncoder`] wrote. What was decoded stays with it. May be shared between threads.
///
/// Every method gives [`crate::Error::Decode`] for bytes that make no sense, and what the source said if
/// it could not read them.
#[derive(Debug)]
pub struct TableBlock {
    source: Arc<dyn ChunkSource>,
    directory: Directory,
    /// Tells what is decoded when it is used.
    clock: QueryClock,
    by_name: ColumnIndex,
    /// Whether rows have the numbers of their slots.
    unordered: bool,
    /// Its streams, if its table tells them.
    told: Option<BlockStreams>,
    /// The same, read from what the table keeps.
    told_streams: OnceLock<ToldStreams>,
    times: Decoded<Arc<Vec<i64>>>,
    identities: Decoded<Identities>,
    label_sets: OnceLock<Arc<Vec<LabelSet>>>,
    slots: OnceLock<(Order, Vec<u32>)>,
    streams: OnceLock<StreamTable>,
    bundles: Vec<Decoded<Box<Bundle>>>,
    /// Which of them have several parts.
    are_shared: Vec<bool>,
    maps: Vec<Decoded<Arc<Vec<u64>>>>,
    columns: Vec<Decoded<Arc<Column>>>,
    /// Of columns of templates.
    outlines: Vec<Decoded<Box<Outline>>>,
    /// Where the parts of the filter of words are.
    filters: Vec<ChunkHandle>,
    /// The parts.
    filter: Vec<Decoded<WordFilter>>,
    grams: Decoded<GramFilter>,
}

/// The value in the cell, made first if it is not there. Two threads may both make it; one wins.
fn get_or_make<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = make()?;
    Ok(cell.get_or_init(|| value))
}

impl TableBlock {
    /// Reads the directory. `filters` are the parts of the block's filter of words: without them, nobody can tell which words it
    /// has not.
    ///
    /// # Errors
    /// What `source` said; [`duramen_engine::Error::TooNew`] if a later version wrote the block;
    /// [`crate::Error::Decode`] if the chunk is no directory.
    pub fn open(
        source: Arc<dyn ChunkSource>,
        directory: ChunkHandle,
        filters: &[ChunkHandle],
    ) -> Result<Self> {
        let directory = Directory::read(&source.read_chunk(directory)?, source.path())?;
        // Those of earlier versions know where their filters are, and some of them nobody else.
        let filters = if filters.is_empty() { &directory.filter[..] } else { filters }.to_vec();
        Ok(Self {
            source,
            by_name: ColumnIndex::of(&directory.columns)?,
            clock: QueryClock::default(),
            unordered: false,
            told: None,
            told_streams: OnceLock::new(),
            times: Decoded::default(),
            identities: Decoded::default(),
            label_sets: OnceLock::new(),
            slots: OnceLock::new(),
            streams: OnceLock::new(),
            bundles: Decoded::none(directory.bundles.len()),
            are_shared: directory.shared_bundles(),
            maps: Decoded::none(directory.maps.len()),
            columns: Decoded::none(directory.columns.len()),
            outlines: Decoded::none(directory.columns.len()),
            filter: Decoded::none(filters.len()),
            filters,
            grams: Decoded::default(),
            directory,
        })
    }

    /// The same before anything was read of it, with the rows as they are stored: those of a stream together, and of one in
    /// order of time. What leads from rows to slots, a part of its own, is then only read for times and identities.
    pub fn unordered(self) -> Self {
        Self { unordered: true, ..self }
    }

    /// The same before anything was read of it, with what the table tells of its streams: they need not be read of the block,
    /// nor counted.
    pub(crate) fn of_table(self, streams: Option<BlockStreams>) -> Self {
        Self { told: streams, ..self }
    }

    /// The same before anything was read of it; what is read of it remembers when by this clock.
    pub(crate) fn timed(self, clock: QueryClock) -> Self {
        Self { clock, ..self }
    }

    /// Its streams, and how many rows each has.
    pub(crate) fn stream_rows(&self) -> Result<StreamRows> {
        Ok(StreamRows::new(self.label_sets()?.clone(), &self.slots()?.1))
    }

    /// The number of the column with this name.
    fn number_of(&self, name: &str) -> Option<usize> {
        self.by_name.find(&self.directory.columns, name)
    }

    /// Where the parts of its filter of words are.
    pub(super) fn filters(&self) -> &[ChunkHandle] {
        &self.filters
    }

    pub(super) fn directory(&self) -> &Directory {
        &self.directory
    }

    pub(super) fn chunk(&self, at: ChunkHandle) -> Result<Vec<u8>> {
        Ok(self.source.read_chunk(at)?)
    }

    /// Whether all that its values can be passed over by is as it was written: it can be read without, but not be copied.
    pub(crate) fn has_whole_filters(&self) -> bool {
        let all = self.filters().iter().chain(&self.directory.grams);
        all.copied().all(|at| !self.chunk(at).is_err_and(|e| e.is_corruption()))
    }

    /// The earliest time stamp, ns since the epoch.
    pub fn min_time(&self) -> i64 {
        self.directory.min_time
    }

    /// The latest time stamp.
    pub fn max_time(&self) -> i64 {
        self.directory.max_time
    }

    /// The bytes of the lines that its rows were read from, as [`super::EncodedBlock::raw_bytes`].
    pub fn raw_bytes(&self) -> u64 {
        self.directory.raw_bytes
    }

    /// The level of every row.
    ///
    /// # Errors
    /// As all methods.
    pub fn levels(&self) -> Result<Vec<Level>> {
        let order = self.order()?;
        let slot = |row| order.slot(row);
        let rows = 0..self.directory.rows;
        if let Some(levels) = self.structure(structure::levels)? {
            let level = |row| u8::try_from(levels[slot(row)]).ok().and_then(Level::from_u8);
            return rows.map(|row| level(row).ok_or_else(|| bad("there is no such level"))).collect();
        }
        let Some(i) = self.number_of(names::LEVEL) else {
            return Ok(vec![Level::Unknown; self.directory.rows]);
        };
        let column = self.stored(i, 0)?;
        let mut digits = IntText::default();
        Ok(rows.map(|row| column.text(row, &mut digits).map_or(Level::Unknown, level_of)).collect())
    }

    /// The names of the fields that make the streams of the block's rows, and the rows' values of each are
    /// in the columns of these names.
    ///
    /// # Errors
    /// As all methods.
    pub fn stream_field_names(&self) -> Result<Vec<String>> {
        Ok(self.directory.label_names.clone())
    }

    /// About how many bytes of memory it takes, with all that was decoded of it so far.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.own_bytes() + self.parts().map(|part| part.bytes).sum::<usize>()
    }

    /// About how many bytes it takes besides its parts.
    pub(crate) fn own_bytes(&self) -> usize {
        let of_slots = matches!(self.slots.get(), Some((Order::Slots(_), _)));
        let sets = self.label_sets.get().map_or(0, |sets| sets.iter().map(|set| 32 + set.len() * 96).sum());
        self.columns.len() * COLUMN_ENTRY_BYTES
            + self.bundles.len() * BUNDLE_ENTRY_BYTES
            + if of_slots { self.directory.rows * 4 } else { 0 }
            + sets
            + self.told_streams.get().map_or(0, ToldStreams::bytes)
    }

    /// What `read` finds in the structure's part.
    fn structure<T>(&self, read: impl FnOnce(&mut Part<'_>, usize) -> Result<T>) -> Result<T> {
        let at = &self.directory.structure;
        read(&mut self.bundle(at.bundle)?.part(&at.starts, &at.lens)?, self.directory.rows)
    }

    /// Whether it is the name of a stream field of some row.
    fn has_label(&self, name: &str) -> bool {
        self.directory.label_names.binary_search_by(|n| (**n).cmp(name)).is_ok()
    }

    fn times_of_rows(&self) -> Result<&Arc<Vec<i64>>> {
        self.times.get_or_make(&self.clock, || {
            self.in_order_of_rows(self.structure(structure::times)?).map(Arc::new)
        })
    }

    /// Values of all rows, which are stored in order of time, in the order that the rows have here.
    fn in_order_of_rows<T: Copy>(&self, values: Vec<T>) -> Result<Vec<T>> {
        if !self.unordered {
            return Ok(values);
        }
        Ok(by_slot(&self.slots()?.0, values))
    }

    fn label_sets(&self) -> Result<&Arc<Vec<LabelSet>>> {
        get_or_make(&self.label_sets, || {
            let at = &self.directory.label_sets;
            let mut part = self.bundle(at.bundle)?.part(&at.starts, &at.lens)?;
            structure::label_sets(&mut part, self.directory.rows).map(Arc::new)
        })
    }

    fn streams(&self) -> Result<&StreamTable> {
        get_or_make(&self.streams, || {
            let (order, slot_ends) = (self.order()?.clone(), self.slot_ends()?.to_vec());
            Ok(StreamTable { sets: self.label_sets()?.clone(), slot_ends, order, rows: self.directory.rows })
        })
    }

    /// How rows lead to slots.
    fn order(&self) -> Result<&Order> {
        if self.unordered { Ok(&Order::Rows) } else { self.slots().map(|(order, _)| order) }
    }

    /// Where the texts of column `i` lie, if it is one of templates; of its part, what comes before them was read.
    fn outline(&self, i: usize, part: &Part<'_>) -> Result<Option<&Outline>> {
        let count = self.directory.columns[i].count;
        if count == 0 || leaf::peek(part) != Some(TEMPLATES) {
            return Ok(None);
        }
        let mut part = part.clone();
        part.meta.u8()?;
        let outline =
            self.outlines[i].get_or_make(&self.clock, || Outline::read(&mut part, count).map(Box::new))?;
        Ok(Some(outline))
    }

    fn map(&self, i: usize) -> Result<&Arc<Vec<u64>>> {
        self.maps[i].get_or_make(&self.clock, || {
            self.with_part(&self.directory.maps[i], true, |part| {
                presence::decode(part, self.directory.rows).map(Arc::new)
            })
        })
    }
}

/// How many rows have a value in a column that is not the empty text, if that is known.
fn rows_with_value(column: &ColumnEntry) -> Option<usize> {
    match &column.form {
        Form::Constant(text) if text.is_empty() => Some(0),
        Form::Texts { has_empty: true, .. } => None,
        Form::Constant(_) | Form::Alias | Form::Integers { .. } | Form::Texts { .. } => Some(column.count),
    }
}

/// Values of all rows, each in its row's slot.
fn by_slot<T: Copy>(order: &Order, values: Vec<T>) -> Vec<T> {
    let Order::Slots(slots) = order else { return values };
    let mut by_slot = values.clone();
    slots.iter().zip(values).for_each(|(&slot, value)| by_slot[slot as usize] = value);
    by_slot
}

impl Block for TableBlock {
    fn rows(&self) -> usize {
        self.directory.rows
    }

    fn times(&self) -> Result<Arc<Vec<i64>>> {
        self.times_of_rows().cloned()
    }

    fn field_names(&self) -> Result<Vec<String>> {
        Ok(super::memory::field_names(
            self.directory.columns.iter().map(|c| &*c.name),
            self.directory.label_names.iter().map(|name| &**name),
        ))
    }

    fn rows_with(&self, name: &str) -> Result<Option<usize>> {
        if name == names::STREAM || self.has_label(name) {
            return self.sets_having(name)?.map(|sets| self.count_of_sets(&sets)).transpose();
        }
        Ok(self.number_of(name).map_or(Some(0), |i| rows_with_value(&self.directory.columns[i])))
    }

    fn rows_with_each<'b>(&'b self, see: &mut dyn FnMut(Cow<'b, str>, Option<usize>)) -> Result<()> {
        let is_own = |name: &str| matches!(name, names::TIME | names::STREAM) || self.has_label(name);
        for entry in self.directory.columns.iter().filter(|entry| !is_own(&entry.name)) {
            see(Cow::Borrowed(&entry.name), rows_with_value(entry));
        }
        self.rows_with_labels(see)
    }

    fn lengths(&self, name: &str, unit: LengthUnit) -> Result<Option<Arc<Column>>> {
        Ok(self.lengths_of(name, unit)?.map(Arc::new))
    }

    fn rows_having(&self, name: &str) -> Result<Option<Vec<u64>>> {
        if name == names::STREAM || self.has_label(name) {
            return self.sets_having(name)?.map(|sets| self.rows_of_sets(sets)).transpose();
        }
        let rows = self.directory.rows;
        let map = match (self.rows_with(name)?, self.number_of(name)) {
            (None, _) => return Ok(None),
            (Some(0), _) | (_, None) => return Ok(Some(vec![0; rows.div_ceil(64)])),
            (Some(_), Some(i)) => self.map_of(&self.directory.columns[i])?,
        };
        let all = || {
            let mut all = vec![0; rows.div_ceil(64)];
            set_range(&mut all, 0, rows);
            Ok(all)
        };
        map.map_or_else(all, |map| self.rows_of_slots(map.clone())).map(Some)
    }

    fn look_through(
        &self,
        name: &str,
        rows: &[u64],
        start: &str,
        see: &mut dyn FnMut(usize, &str),
    ) -> Result<Option<Order>> {
        self.look_through_texts(name, rows, start, see)
    }

    fn column(&self, name: &str) -> Result<Option<Arc<Column>>> {
        if name == names::STREAM {
            return Ok(Some(Arc::new(self.streams()?.stream_column())));
        }
        let stored = match self.number_of(name) {
            Some(i) => Some(self.stored(i, 0)?),
            None => None,
        };
        if !self.has_label(name) {
            return Ok(stored.cloned());
        }
        match self.streams()?.label_column(name, stored.map(|c| &**c))? {
            Some(column) => Ok(Some(Arc::new(column))),
            None => Ok(stored.cloned()),
        }
    }

    fn column_on_pages(&self, name: &str, is_for_all: bool) -> Result<Option<PagedColumn>> {
        self.paged_column(name, is_for_all)
    }

    fn may_contain_words(&self, name: &str, words: &[u64]) -> Result<bool> {
        self.may_contain(name, words)
    }

    fn may_contain_grams(&self, name: &str, grams: &[u32]) -> Result<bool> {
        self.may_have_grams(name, grams)
    }

    fn search(&self, name: &str, needle: &Needle<'_>) -> Result<Option<Found>> {
        self.find_rows(name, needle)
    }

    fn column_at(&self, name: &str, rows: &[u64]) -> Result<Option<Arc<Column>>> {
        self.column_of(name, rows)
    }

    fn rows_of_streams(&self, test: &dyn StreamTest) -> Result<Option<Vec<u64>>> {
        self.of_streams(test).map(Some)
    }

    fn has_stream(&self, test: &dyn StreamTest) -> Result<Option<bool>> {
        self.has_set(test)
    }

    fn is_label(&self, name: &str) -> bool {
        self.has_label(name) && self.number_of(name).is_none()
    }

    fn rows_of_label(&self, name: &str, is_wanted: &dyn Fn(&str) -> bool) -> Result<Option<Vec<u64>>> {
        self.of_label(name, is_wanted)
    }

    fn will_read(&self, wants: &dyn Fn(&str) -> bool) {
        self.fetch(wants);
    }

    fn held_bytes(&self) -> usize {
        self.memory_bytes()
    }

    fn int_range(&self, name: &str) -> Result<Option<(i64, i64)>> {
        let Some(i) = self.number_of(name) else { return Ok(None) };
        if self.has_label(name) {
            return Ok(None);
        }
        Ok(match &self.directory.columns[i].form {
            Form::Integers { min, max, .. } if min <= max => Some((*min, *max)),
            Form::Constant(text) => crate::entry::plain_integer(text).map(|n| (n, n)),
            _ => None,
        })
    }

    fn identity(&self, row: usize) -> Result<(u64, u64)> {
        let s = self.identities.get_or_make(&self.clock, || {
            let Identities { writers, seqs } = self.structure(structure::identities)?;
            Ok(Identities { writers: self.in_order_of_rows(writers)?, seqs: self.in_order_of_rows(seqs)? })
        })?;
        match (s.writers.get(row), s.seqs.get(row)) {
            (Some(&writer), Some(&seq)) => Ok((writer as u64, seq as u64)),
            _ => Err(crate::Error::Invalid(format!("row {row} of a block of {}", self.directory.rows))),
        }
    }
}
