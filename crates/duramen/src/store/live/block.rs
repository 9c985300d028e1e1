//! Rows of a segment as a block whose columns are made of them when somebody asks.
//!
//! Most queries look at one or two fields of most rows, and at all of a few. So the first columns are made one by one; who wants
//! more gets a block of all; and of few rows all fields are made at once, and of these rows only.
//!
//! What was made stays with the block while it is open, and, if it is wanted, from one opening to the next, as far as there is
//! [`Room`].

use super::parts::{Parts, Shared};
use crate::block::{Block, StreamTest, is_few, names};
use crate::column::{Column, FewSlots, Order, set_bits};
use crate::columnar::{
    MemoryBlock, Row, StreamTable, are_wanted, field_names, plain_column, streams_of, texts,
};
use crate::error::{Error, Result};
use crate::store::cut::NO_STREAM;
use crate::store::rows::{Arenas, RowPlace};
use crate::value::Level;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

#[cfg(test)]
mod tests;

/// So many columns are made one by one, the next together with all others: to walk over all rows for each takes longer then.
const SINGLE_COLUMNS: usize = 3;
/// And so many once the names of all were asked for, which who wants many does.
const SINGLE_COLUMNS_OF_MANY: usize = 1;

/// Rows of a segment, in order, and where they lie.
#[derive(Clone, Debug)]
pub(super) struct LiveRows {
    arenas: Arc<Arenas>,
    /// Of these rows and of others.
    places: Arc<Vec<RowPlace>>,
    /// Those of these; never empty.
    range: Range<usize>,
}

impl LiveRows {
    pub(super) fn new(arenas: Arc<Arenas>, places: Arc<Vec<RowPlace>>, range: Range<usize>) -> Self {
        Self { arenas, places, range }
    }

    pub(super) fn places(&self) -> &[RowPlace] {
        self.places.get(self.range.clone()).unwrap_or_default()
    }

    pub(super) fn len(&self) -> usize {
        self.range.len()
    }

    fn all(&self) -> impl Iterator<Item = Result<Row<'_>>> {
        self.places().iter().map(|place| self.arenas.row(place))
    }

    #[inline(never)]
    fn collect(&self) -> Result<Vec<Row<'_>>> {
        self.all().collect()
    }

    fn place(&self, row: usize) -> Result<&RowPlace> {
        let place = self.places().get(row);
        place.ok_or_else(|| Error::Invalid(format!("row {row} of a block of {}", self.len())))
    }

    fn row(&self, row: usize) -> Result<Row<'_>> {
        self.arenas.row(self.place(row)?)
    }

    fn column(&self, streams: &StreamTable, name: &str) -> Result<Option<Column>> {
        plain_column(&|row| self.row(row), streams, name)
    }
}

/// The block.
#[derive(Debug)]
pub(super) struct LiveBlock {
    rows: LiveRows,
    own: Parts,
    shared: Option<Arc<Shared>>,
    /// Whether the names of all fields were asked for.
    is_of_many: AtomicBool,
    /// The rows that were asked about last, if they are few, and a block of them.
    few: Mutex<Option<Few>>,
}

/// Some rows of the block, one bit each, and a block of them alone.
#[derive(Clone, Debug)]
struct Few {
    bits: Arc<[u64]>,
    rows: Arc<[u32]>,
    block: Arc<MemoryBlock>,
}

impl LiveBlock {
    /// What is made goes into `shared`, while there is room.
    pub(super) fn new(rows: LiveRows, shared: Option<Arc<Shared>>) -> Self {
        Self {
            rows,
            own: Parts::default(),
            shared,
            is_of_many: AtomicBool::new(false),
            few: Mutex::default(),
        }
    }

    /// A part that was made.
    fn found<T>(&self, look: impl Fn(&Parts) -> Option<T>) -> Option<T> {
        self.shared.as_ref().and_then(|shared| look(shared.parts())).or_else(|| look(&self.own))
    }

    /// Keeps a part of so many bytes; `put` says whether it was not there yet.
    fn keep(&self, bytes: usize, put: &dyn Fn(&Parts) -> bool) {
        if !self.shared.as_ref().is_some_and(|shared| shared.keep(bytes, put)) && put(&self.own) {
            self.own.has_grown(bytes);
        }
    }

    /// A part of which there is one, made if it is not there yet.
    fn part<T>(
        &self,
        of: impl Fn(&Parts) -> &OnceLock<Arc<T>>,
        make: impl FnOnce() -> Result<T>,
        bytes: impl FnOnce(&T) -> usize,
    ) -> Result<Arc<T>> {
        if let Some(part) = self.found(|parts| of(parts).get().cloned()) {
            return Ok(part);
        }
        let made = Arc::new(make()?);
        self.keep(bytes(&made), &|parts| of(parts).set(made.clone()).is_ok());
        Ok(made)
    }

    fn streams(&self) -> Result<Arc<StreamTable>> {
        // That they are of none is known already.
        let make = || match self.rows.places().iter().all(|place| place.0.stream == NO_STREAM) {
            true => Ok(StreamTable::of_none(self.rows.len())),
            false => Ok(streams_of(&self.rows.collect()?, &mut Vec::new())),
        };
        self.part(|parts| &parts.streams, make, StreamTable::bytes)
    }

    fn whole(&self) -> Result<Arc<MemoryBlock>> {
        let make = || MemoryBlock::build(&self.rows.collect()?);
        self.part(|parts| &parts.whole, make, MemoryBlock::memory_bytes)
    }

    fn whole_if_made(&self) -> Option<Arc<MemoryBlock>> {
        self.found(|parts| parts.whole.get().cloned())
    }

    fn has_label(&self, name: &str) -> Result<bool> {
        Ok(self.streams()?.names().any(|label| label == name))
    }

    /// The column of a name that is a label of some rows, of those that have it as a plain field.
    fn plain(&self, name: &str) -> Result<Option<Arc<Column>>> {
        if let Some(column) = self.found(|parts| parts.plain(name)) {
            return Ok(column);
        }
        let column = self.rows.column(&*self.streams()?, name)?.map(Arc::new);
        let bytes = column.as_ref().map_or(0, |column| column.bytes());
        self.keep(bytes + Parts::bytes_of_name(name), &|parts| parts.put_plain(name, &column));
        Ok(column)
    }

    /// The block of few rows, one bit each; nothing if there are none, or if as many have been made of few that all together are
    /// worth making.
    fn few(&self, bits: &[u64]) -> Result<Option<Few>> {
        // Nobody waits for another here, as for the columns.
        let known = self.few.try_lock().ok().and_then(|few| few.clone());
        if let Some(few) = known.filter(|few| *few.bits == *bits) {
            return Ok(Some(few));
        }
        let count = self.rows.len();
        let rows: Vec<u32> = set_bits(bits).take_while(|&row| (row as usize) < count).collect();
        if rows.is_empty() {
            return Ok(None);
        }
        let counted = self.shared.as_ref().map_or(&self.own, |shared| shared.parts());
        if counted.few_are_more_than(count, rows.len()) {
            self.whole()?;
            return Ok(None);
        }
        let some = rows.iter().map(|&row| self.rows.row(row as usize)).collect::<Result<Vec<_>>>()?;
        let block = Arc::new(MemoryBlock::build(&some)?);
        self.own.has_grown(block.memory_bytes() + rows.len() * size_of::<u32>());
        let few = Few { bits: bits.into(), rows: rows.into(), block };
        if let Ok(mut last) = self.few.try_lock() {
            let before = last.replace(few.clone());
            let shrunk = before.map_or(0, |few| few.block.memory_bytes() + few.rows.len() * size_of::<u32>());
            self.own.has_shrunk(shrunk);
        }
        Ok(Some(few))
    }

    /// The names of all plain fields.
    fn plain_names(&self) -> Result<Vec<String>> {
        let streams = self.streams()?;
        let (mut has_message, mut has_level) = (false, false);
        // A row's next field is nearly always the one that followed last time.
        let mut found: Vec<(&str, usize)> = Vec::new();
        let mut places: HashMap<&[u8], u32, FixedState> = HashMap::default();
        for row in self.rows.all() {
            let row = row?;
            has_message |= !row.entry.message.is_empty();
            has_level |= row.entry.level != Level::Unknown;
            let mut before: Option<usize> = None;
            for (name, _) in row.entry.fields() {
                let guess = before.map_or(0, |before| found[before].1);
                let place = if found.get(guess).is_some_and(|known| known.0 == name) {
                    guess
                } else {
                    *places.entry(name.as_bytes()).or_insert_with(|| {
                        found.push((name, usize::MAX));
                        found.len() as u32 - 1
                    }) as usize
                };
                if let Some(before) = before {
                    found[before].1 = place;
                }
                before = Some(place);
            }
        }
        if has_message {
            found.push((names::MESSAGE, 0));
        }
        // Not where it is a label of the row's stream.
        if has_level && self.rows.column(&streams, names::LEVEL)?.is_some() {
            found.push((names::LEVEL, 0));
        }
        Ok(field_names(found.into_iter().map(|(name, _)| name), streams.names()))
    }

    fn make(&self, name: &str) -> Result<Option<Arc<Column>>> {
        let streams = self.streams()?;
        if name == names::STREAM {
            return Ok(Some(Arc::new(streams.stream_column())));
        }
        if self.has_label(name)? {
            return Ok(streams.label_column(name, self.plain(name)?.as_deref())?.map(Arc::new));
        }
        Ok(self.rows.column(&streams, name)?.map(Arc::new))
    }

    /// The names of all fields, sorted.
    fn names(&self) -> Result<Arc<Vec<String>>> {
        let make = || self.whole_if_made().map_or_else(|| self.plain_names(), |whole| whole.field_names());
        let bytes = |names: &Vec<String>| names.iter().map(|name| size_of::<String>() + name.len()).sum();
        self.part(|parts| &parts.names, make, bytes)
    }
}

impl Block for LiveBlock {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn times(&self) -> Result<Arc<Vec<i64>>> {
        let make = || Ok(self.rows.places().iter().map(|place| place.0.time).collect());
        self.part(|parts| &parts.times, make, |times: &Vec<i64>| times.len() * size_of::<i64>())
    }

    fn field_names(&self) -> Result<Vec<String>> {
        self.is_of_many.store(true, Ordering::Relaxed);
        self.names().map(|names| names.to_vec())
    }

    fn column(&self, name: &str) -> Result<Option<Arc<Column>>> {
        if let Some(column) = self.found(|parts| parts.column(name)) {
            return Ok(column);
        }
        if let Some(whole) = self.whole_if_made() {
            return whole.column(name);
        }
        if ![names::STREAM, names::TIME].contains(&name) {
            let (made, known) = self.own.columns();
            let shared = self.shared.as_ref().map(|shared| shared.parts().columns());
            let (more_made, more_known) = shared.unwrap_or_default();
            let of_many = self.is_of_many.load(Ordering::Relaxed);
            if made + more_made >= if of_many { SINGLE_COLUMNS_OF_MANY } else { SINGLE_COLUMNS } {
                return self.whole()?.column(name);
            }
            // Who asks for many that there are not has them looked for in the names of all, instead of in all rows each time.
            if known + more_known >= SINGLE_COLUMNS
                && self.names()?.binary_search_by(|known| (**known).cmp(name)).is_err()
            {
                return Ok(None);
            }
        }
        let column = self.make(name)?;
        let bytes = column.as_ref().map_or(0, |column| column.bytes());
        self.keep(bytes + Parts::bytes_of_name(name), &|parts| parts.put_column(name, &column));
        Ok(column)
    }

    fn column_at(&self, name: &str, rows: &[u64]) -> Result<Option<Arc<Column>>> {
        let some = rows.iter().map(|word| word.count_ones() as usize).sum();
        let is_made =
            || self.found(|parts| parts.column(name).map(drop).or(parts.whole.get().map(drop))).is_some();
        if name == names::STREAM || !is_few(some, self.rows.len()) || is_made() {
            return self.column(name);
        }
        let Some(few) = self.few(rows)? else { return self.column(name) };
        let Some(column) = few.block.column(name)? else { return Ok(None) };
        let slots = (0..few.rows.len()).map(|row| column.slot(row) as u32).collect();
        let order = Order::Few(Arc::new(FewSlots::with_slots(few.rows.to_vec(), slots)));
        let Column { data, kinds, .. } = Column::clone(&column);
        Ok(Some(Arc::new(Column { data, kinds, order, rows: self.rows.len() })))
    }

    fn rows_of_streams(&self, test: &dyn StreamTest) -> Result<Option<Vec<u64>>> {
        let streams = self.streams()?;
        let wanted: Vec<bool> = streams.sets.iter().map(|set| test.wants(&texts(set))).collect();
        Ok(Some(streams.rows_of(&wanted)))
    }

    fn is_label(&self, name: &str) -> bool {
        if let Some(whole) = self.whole_if_made() {
            return whole.is_label(name);
        }
        self.has_label(name).unwrap_or(false) && self.plain(name).is_ok_and(|column| column.is_none())
    }

    fn rows_of_label(&self, name: &str, is_wanted: &dyn Fn(&str) -> bool) -> Result<Option<Vec<u64>>> {
        if !self.is_label(name) {
            return Ok(None);
        }
        let streams = self.streams()?;
        Ok(Some(streams.rows_of(&are_wanted(&streams.sets, name, is_wanted))))
    }

    fn may_contain_words(&self, name: &str, words: &[u64]) -> Result<bool> {
        match self.found(|parts| parts.column(name)) {
            Some(column) => Ok(words.is_empty() || column.is_some()),
            None => match self.whole_if_made() {
                Some(whole) => whole.may_contain_words(name, words),
                None => Ok(true),
            },
        }
    }

    fn held_bytes(&self) -> usize {
        self.own.bytes() + self.shared.as_ref().map_or(0, |shared| shared.parts().bytes())
    }

    fn int_range(&self, _name: &str) -> Result<Option<(i64, i64)>> {
        Ok(None)
    }

    fn identity(&self, row: usize) -> Result<(u64, u64)> {
        let (key, _) = self.rows.place(row)?;
        Ok((key.writer, key.seq))
    }
}
