//! A block in a table, its columns decoded as they are asked for.

use super::bytes::bad;
use super::columnize::slots;
use super::directory::{Directory, Form, Location};
use super::encode::level_of;
use super::labels::{Label, StreamTable};
use super::leaf::{self, Leaf};
use super::streams::{Bundle, MAX_STREAM_BYTES, Part};
use super::texts::Texts;
use super::{filter, ints, presence, template};
use crate::block::{Block, names};
use crate::column::{Column, ColumnData, IntText, Kinds, bit};
use crate::error::Result;
use crate::token;
use crate::value::{Level, ValueKind};
use duramen_engine::sstable::{ChunkHandle, ChunkSource};
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

/// A block that [`super::BlockEncoder`] wrote. What was decoded stays with it. May be shared between threads.
///
/// Every method gives [`crate::Error::Decode`] for bytes that make no sense, and what the source said if
/// it could not read them.
#[derive(Debug)]
pub struct TableBlock {
    source: Arc<dyn ChunkSource>,
    directory: Directory,
    by_name: HashMap<String, usize, FixedState>,
    structure: OnceLock<Structure>,
    bundles: Vec<OnceLock<Bundle>>,
    maps: Vec<OnceLock<Arc<Vec<u64>>>>,
    columns: Vec<OnceLock<Arc<Column>>>,
    filter: OnceLock<Vec<u8>>,
}

/// What all columns need.
#[derive(Debug)]
struct Structure {
    times: Arc<Vec<i64>>,
    writers: Vec<i64>,
    seqs: Vec<i64>,
    streams: StreamTable,
    /// One a slot, unless they follow from the column.
    levels: Option<Vec<i64>>,
}

/// Dictionaries beyond this size are handed out as plain texts: so many small strings are dear to make.
const MAX_DICTIONARY: usize = 8192;

/// The value in the cell, made first if it is not there. Two threads may both make it; one wins.
fn get_or_make<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = make()?;
    Ok(cell.get_or_init(|| value))
}

impl TableBlock {
    /// Reads the directory.
    ///
    /// # Errors
    /// What `source` said; [`crate::Error::Decode`] if the chunk is no directory.
    pub fn open(source: Arc<dyn ChunkSource>, directory: ChunkHandle) -> Result<Self> {
        let directory = Directory::read(&source.read_chunk(directory)?)?;
        let by_name = directory.columns.iter().enumerate().map(|(i, c)| (c.name.clone(), i)).collect();
        Ok(Self {
            source,
            by_name,
            structure: OnceLock::new(),
            bundles: directory.bundles.iter().map(|_| OnceLock::new()).collect(),
            maps: directory.maps.iter().map(|_| OnceLock::new()).collect(),
            columns: directory.columns.iter().map(|_| OnceLock::new()).collect(),
            filter: OnceLock::new(),
            directory,
        })
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
        let structure = self.structure()?;
        let slot = |row: usize| structure.streams.order.as_ref().map_or(row, |order| order[row] as usize);
        let rows = 0..self.directory.rows;
        if let Some(levels) = &structure.levels {
            let level = |row| u8::try_from(levels[slot(row)]).ok().and_then(Level::from_u8);
            return rows.map(|row| level(row).ok_or_else(|| bad("there is no such level"))).collect();
        }
        let Some(&i) = self.by_name.get(names::LEVEL) else {
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
        let mut all: Vec<String> = self.structure()?.streams.names().map(str::to_owned).collect();
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    fn bundle(&self, i: usize) -> Result<&Bundle> {
        get_or_make(&self.bundles[i], || Bundle::read(&self.source.read_chunk(self.directory.bundles[i])?))
    }

    /// Calls `f` with the part. A bundle with one part is not kept: what is decoded from it is.
    fn with_part<T>(&self, at: &Location, f: impl FnOnce(&mut Part<'_>) -> Result<T>) -> Result<T> {
        let own;
        let bundle = if self.is_shared(at) {
            self.bundle(at.bundle)?
        } else {
            own = Bundle::read(&self.source.read_chunk(self.directory.bundles[at.bundle])?)?;
            &own
        };
        f(&mut bundle.part(&at.starts, &at.lens)?)
    }

    fn is_shared(&self, at: &Location) -> bool {
        self.bundles[at.bundle].get().is_some()
            || at.lens.iter().sum::<usize>() <= super::encode::OWN_BUNDLE_BYTES
    }

    fn structure(&self) -> Result<&Structure> {
        get_or_make(&self.structure, || {
            self.with_part(&self.directory.structure, |part| read_structure(part, self.directory.rows))
        })
    }

    fn map(&self, i: usize) -> Result<&Arc<Vec<u64>>> {
        get_or_make(&self.maps[i], || {
            self.with_part(&self.directory.maps[i], |part| {
                presence::decode(part, self.directory.rows).map(Arc::new)
            })
        })
    }

    /// A stored column. `depth` counts how many columns have asked for another on the way here.
    fn stored(&self, i: usize, depth: u32) -> Result<&Arc<Column>> {
        get_or_make(&self.columns[i], || {
            if depth > 3 {
                return Err(bad("columns refer to each other in a circle"));
            }
            self.decode_column(i, depth).map(Arc::new)
        })
    }

    /// A column that the texts of column `i` refer to.
    fn referenced(&self, of: usize, i: usize, depth: u32) -> Result<Arc<Column>> {
        if of == i || of >= self.columns.len() {
            return Err(bad("a template refers to no column"));
        }
        self.stored(of, depth + 1).cloned()
    }

    /// The time of the row of each value of a column with this map.
    fn times_of(&self, map: Option<&Vec<u64>>) -> Result<Vec<i64>> {
        let structure = self.structure()?;
        let mut by_slot = structure.times.to_vec();
        if let Some(order) = &structure.streams.order {
            order.iter().zip(&*structure.times).for_each(|(&slot, &time)| by_slot[slot as usize] = time);
        }
        Ok(slots_of(map, by_slot.len()).into_iter().map(|slot| by_slot[slot as usize]).collect())
    }

    fn decode_column(&self, i: usize, depth: u32) -> Result<Column> {
        let entry = &self.directory.columns[i];
        let rows = self.directory.rows;
        let streams = &self.structure()?.streams;
        let map = match entry.map {
            None => None,
            Some(map) => {
                let map = self.map(map)?;
                if presence::count(map) != entry.count {
                    return Err(bad("a map has another count than its column"));
                }
                Some(&**map)
            }
        };
        let mut kinds = Kinds::All(entry.kind.and_then(ValueKind::from_u8).unwrap_or_default());
        let mut take_kinds = |part: &mut Part<'_>| -> Result<()> {
            if entry.kind.is_none() {
                let stored = part.bytes.take(entry.count)?;
                if stored.iter().any(|&k| k > 4) {
                    return Err(bad("a kind of values is unknown"));
                }
                kinds = Kinds::PerSlot(spread(stored, 0, map.map(Vec::as_slice), rows));
            }
            Ok(())
        };
        let data = match &entry.form {
            Form::Constant(text) => match map {
                None => ColumnData::Const(text.clone()),
                Some(map) => ColumnData::Dict {
                    values: vec![text.clone()],
                    codes: (0..rows)
                        .map(|slot| if bit(map, slot) { 0 } else { ColumnData::ABSENT })
                        .collect(),
                },
            },
            Form::Alias => {
                let message = self.by_name.get(names::MESSAGE).filter(|&&m| m != i);
                let message = self.stored(*message.ok_or_else(|| bad("there is no message"))?, depth + 1)?;
                restrict(&message.data, map.map(Vec::as_slice), rows)
            }
            Form::Integers { at, .. } => self.with_part(at, |part| {
                take_kinds(part)?;
                let values = ints::decode(part, entry.count)?;
                Ok(integers(values, map, rows))
            })?,
            Form::Texts { at } => self.with_part(at, |part| {
                take_kinds(part)?;
                if leaf::peek(part) == Some(template::TEMPLATES) && entry.count > 0 {
                    part.meta.u8()?;
                    let context = template::Context {
                        near: &|| self.times_of(map),
                        slots: &|| slots_of(map, rows),
                        column: &|of| self.referenced(of, i, depth),
                    };
                    return texts(template::decode(part, entry.count, &context)?, map, rows);
                }
                let leaf = leaf::decode(part, entry.count)?;
                from_leaf(leaf, entry.count, map, rows)
            })?,
        };
        Ok(Column { data, kinds, order: streams.order.clone(), rows })
    }
}

/// The slots that have a value.
fn slots_of(map: Option<&Vec<u64>>, rows: usize) -> Vec<u32> {
    (0..rows).filter(|&slot| map.is_none_or(|map| bit(map, slot))).map(|slot| slot as u32).collect()
}

fn integers(values: Vec<i64>, map: Option<&Vec<u64>>, rows: usize) -> ColumnData {
    ColumnData::Int { values: spread(&values, 0, map.map(Vec::as_slice), rows), present: map.cloned() }
}

/// One value a slot from one a set bit.
fn spread<T: Copy>(values: &[T], absent: T, map: Option<&[u64]>, rows: usize) -> Vec<T> {
    let Some(map) = map else { return values.to_vec() };
    let mut values = values.iter();
    let mut out = Vec::with_capacity(map.len() * 64);
    for &word in map {
        for i in 0..64 {
            out.push(if word >> i & 1 == 1 { values.next().copied().unwrap_or(absent) } else { absent });
        }
    }
    out.truncate(rows);
    out
}

/// Another column's values, where this one has any.
fn restrict(data: &ColumnData, map: Option<&[u64]>, rows: usize) -> ColumnData {
    let Some(map) = map else { return data.clone() };
    match data.clone() {
        ColumnData::Const(text) => ColumnData::Dict {
            values: vec![text],
            codes: (0..rows).map(|slot| if bit(map, slot) { 0 } else { ColumnData::ABSENT }).collect(),
        },
        ColumnData::Dict { values, mut codes } => {
            for (slot, code) in codes.iter_mut().enumerate() {
                if !bit(map, slot) {
                    *code = ColumnData::ABSENT;
                }
            }
            ColumnData::Dict { values, codes }
        }
        ColumnData::Int { values, present } => ColumnData::Int { values, present: Some(both(present, map)) },
        ColumnData::Text { bytes, ends, present } => {
            ColumnData::Text { bytes, ends, present: Some(both(present, map)) }
        }
    }
}

fn both(present: Option<Vec<u64>>, map: &[u64]) -> Vec<u64> {
    match present {
        None => map.to_vec(),
        Some(present) => present.iter().zip(map).map(|(a, b)| a & b).collect(),
    }
}

fn from_leaf(leaf: Leaf, count: usize, map: Option<&Vec<u64>>, rows: usize) -> Result<ColumnData> {
    let slice = map.map(Vec::as_slice);
    Ok(match leaf {
        Leaf::Constant(text) => {
            let text = String::from_utf8(text).map_err(|_| bad("a text is not UTF-8"))?.into();
            match map {
                None => ColumnData::Const(text),
                Some(_) => ColumnData::Dict {
                    values: vec![text],
                    codes: spread(&vec![0; count], ColumnData::ABSENT, slice, rows),
                },
            }
        }
        Leaf::Integers(values) => integers(values, map, rows),
        Leaf::Dictionary { values, codes } if values.len() <= MAX_DICTIONARY => {
            let text = |i| std::str::from_utf8(values.get(i)).map(Into::into);
            ColumnData::Dict {
                values: (0..values.len())
                    .map(text)
                    .collect::<Result<_, _>>()
                    .map_err(|_| bad("not UTF-8"))?,
                codes: spread(&codes, ColumnData::ABSENT, slice, rows),
            }
        }
        leaf => texts(leaf.into_texts(count)?, map, rows)?,
    })
}

fn texts(texts: Texts, map: Option<&Vec<u64>>, rows: usize) -> Result<ColumnData> {
    if std::str::from_utf8(&texts.bytes).is_err() {
        return Err(bad("a text is not UTF-8"));
    }
    let ends = match map {
        None => texts.ends,
        Some(map) => {
            let mut ends = Vec::with_capacity(map.len() * 64);
            let mut next = texts.ends.iter();
            let mut end = 0;
            for &word in map {
                for i in 0..64 {
                    if word >> i & 1 == 1 {
                        end = next.next().copied().unwrap_or(end);
                    }
                    ends.push(end);
                }
            }
            ends.truncate(rows);
            ends
        }
    };
    Ok(ColumnData::Text { bytes: texts.bytes, ends, present: map.cloned() })
}

fn read_structure(part: &mut Part<'_>, rows: usize) -> Result<Structure> {
    let times = ints::decode(part, rows)?;
    if times.windows(2).any(|w| w[0] > w[1]) {
        return Err(bad("its times are not in order"));
    }
    let writers = ints::decode(part, rows)?;
    let seqs = ints::decode(part, rows)?;
    let mut sets = Vec::new();
    for _ in 0..part.text.count(rows)? {
        let mut set = Vec::new();
        for _ in 0..part.text.count(crate::entry::MAX_FIELDS)? {
            let name = part.text.str()?.into();
            let value = part.text.str()?.into();
            set.push(Label { name, value, kind: part.text.u8()? });
        }
        sets.push(set);
    }
    let mut counts = vec![0u32; sets.len()];
    let mut stream_of_row = Vec::with_capacity(rows);
    for n in ints::decode(part, rows)? {
        let code = u32::try_from(n).map_err(|_| bad("there is no such stream"))?;
        *counts.get_mut(code as usize).ok_or_else(|| bad("there is no such stream"))? += 1;
        stream_of_row.push(code);
    }
    let (order, slot_ends) = slots(&stream_of_row, &counts);
    let levels = match part.meta.u8()? {
        0 => None,
        1 => Some(ints::decode(part, rows)?),
        _ => return Err(bad("an encoding of levels is unknown")),
    };
    let streams = StreamTable { sets, slot_ends, order, rows };
    Ok(Structure { times: Arc::new(times), writers, seqs, streams, levels })
}

/// Whether a text has a word of each of the hashes.
fn has_words(text: &str, hashes: &[u64]) -> bool {
    let all: HashSet<u64, FixedState> = token::words(text).map(token::hash).collect();
    hashes.iter().all(|h| all.contains(h))
}

impl Block for TableBlock {
    fn rows(&self) -> usize {
        self.directory.rows
    }

    fn times(&self) -> Result<Arc<Vec<i64>>> {
        Ok(self.structure()?.times.clone())
    }

    fn field_names(&self) -> Result<Vec<String>> {
        Ok(super::memory::field_names(
            self.directory.columns.iter().map(|c| &*c.name),
            &self.structure()?.streams,
        ))
    }

    fn column(&self, name: &str) -> Result<Option<Arc<Column>>> {
        let streams = &self.structure()?.streams;
        if name == names::STREAM {
            return Ok(Some(Arc::new(streams.stream_column())));
        }
        let stored = match self.by_name.get(name) {
            Some(&i) => Some(self.stored(i, 0)?),
            None => None,
        };
        match streams.label_column(name, stored.map(|c| &**c)) {
            Some(column) => Ok(Some(Arc::new(column))),
            None => Ok(stored.cloned()),
        }
    }

    fn may_contain_words(&self, name: &str, words: &[u64]) -> Result<bool> {
        if words.is_empty() {
            return Ok(true);
        }
        let streams = &self.structure()?.streams;
        if name == names::STREAM || streams.names().any(|n| n == name) {
            return Ok(true);
        }
        let Some(&i) = self.by_name.get(name) else { return Ok(false) };
        match &self.directory.columns[i].form {
            Form::Constant(text) => return Ok(has_words(text, words)),
            Form::Integers { .. } => return Ok(true),
            _ => {}
        }
        if let Some(handle) = self.directory.filter {
            let filter = get_or_make(&self.filter, || Ok(self.source.read_chunk(handle)?))?;
            if !filter::may_contain(filter, words) {
                return Ok(false);
            }
        }
        // The filter is over all columns. Once this one is here, and a dictionary, it tells exactly.
        if let Some(column) = self.columns[i].get()
            && let ColumnData::Dict { values, .. } = &column.data
        {
            return Ok(values.iter().any(|v| has_words(v, words)));
        }
        Ok(true)
    }

    fn int_range(&self, name: &str) -> Result<Option<(i64, i64)>> {
        let Some(&i) = self.by_name.get(name) else { return Ok(None) };
        if self.structure()?.streams.names().any(|n| n == name) {
            return Ok(None);
        }
        Ok(match &self.directory.columns[i].form {
            Form::Integers { min, max, .. } if min <= max => Some((*min, *max)),
            Form::Constant(text) => crate::entry::plain_integer(text).map(|n| (n, n)),
            _ => None,
        })
    }

    fn identity(&self, row: usize) -> Result<(u64, u64)> {
        let s = self.structure()?;
        match (s.writers.get(row), s.seqs.get(row)) {
            (Some(&writer), Some(&seq)) => Ok((writer as u64, seq as u64)),
            _ => Err(crate::Error::Invalid(format!("row {row} of a block of {}", self.directory.rows))),
        }
    }
}

/// Decoded texts never need more than this, or the block was not written by an encoder.
const _: () = assert!(MAX_STREAM_BYTES <= u32::MAX as usize);
