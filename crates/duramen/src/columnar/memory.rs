//! Rows that are still in the WAL, as a block.

use super::Row;
use super::bytes::bad;
use super::columnize::{Collected, Columnizer, Form, MESSAGE, one_field};
use super::labels::{StreamTable, are_wanted, texts};
use crate::block::{Block, StreamTest, names};
use crate::column::{Codes, Column, ColumnData, Ints, Kinds, Order};
use crate::error::{Error, Result};
use crate::value::ValueKind;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::sync::{Arc, Mutex};

/// A block in memory: the same rows and columns as if they had been encoded, without compression or filters.
/// May be shared between threads.
#[derive(Debug)]
pub struct MemoryBlock {
    times: Arc<Vec<i64>>,
    writers: Vec<i64>,
    seqs: Vec<i64>,
    streams: StreamTable,
    columns: Vec<(String, Arc<Column>)>,
    by_name: HashMap<String, usize, FixedState>,
    /// The columns of labels, and `_stream`, that somebody asked for.
    of_labels: Mutex<HashMap<String, Option<Arc<Column>>, FixedState>>,
    raw_bytes: u64,
}

impl MemoryBlock {
    /// Builds a block of rows, which must be in order of (time, writer, sequence number).
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are no rows, more than [`super::MAX_ROWS`], too much text, or if the order
    /// is wrong.
    #[inline(never)]
    pub fn build(rows: &[Row<'_>]) -> Result<Self> {
        let mut c = Columnizer::default();
        c.fill(rows)?;
        let mut columns: Vec<(String, Arc<Column>)> = Vec::new();
        // The message goes last: others may refer to it until then.
        for i in (0..c.columns().len()).rev() {
            let text = valid(c.take_text_bytes(i))?;
            let held = &c.columns()[i];
            if held.count == 0 {
                continue;
            }
            let data = match held.form {
                Form::Alias => alias(held, &c.columns()[MESSAGE], rows.len())?,
                _ => data(held, text, rows.len()),
            };
            let column = column(held, data, &c.streams);
            columns.push((held.name.clone(), Arc::new(column)));
        }
        Ok(Self {
            by_name: columns.iter().enumerate().map(|(i, (name, _))| (name.clone(), i)).collect(),
            columns,
            times: Arc::new(c.times),
            writers: c.writers,
            seqs: c.seqs,
            streams: c.streams,
            of_labels: Mutex::default(),
            raw_bytes: c.raw_bytes,
        })
    }

    /// The column of what is a plain field of some rows.
    fn stored(&self, name: &str) -> Option<&Arc<Column>> {
        self.by_name.get(name).map(|&i| &self.columns[i].1)
    }

    fn has_label(&self, name: &str) -> bool {
        self.streams.names().any(|label| label == name)
    }

    /// About how many bytes of memory it takes, with the columns of all labels and of the streams, which are made when somebody
    /// asks.
    pub(crate) fn memory_bytes(&self) -> usize {
        let rows = self.times.len();
        let order = if matches!(self.streams.order, Order::Slots(_)) { rows * 4 } else { 0 };
        let most_labels = self.streams.sets.iter().map(Vec::len).max().unwrap_or_default();
        // The order is one, however many columns have it.
        let columns = self.columns.iter().map(|(_, column)| column.bytes().saturating_sub(order));
        let streams = self.streams.bytes() + (most_labels + 1) * rows * 2;
        rows * 3 * size_of::<i64>() + streams + columns.sum::<usize>()
    }

    /// As [`super::EncodedBlock::raw_bytes`].
    pub fn raw_bytes(&self) -> u64 {
        self.raw_bytes
    }
}

/// What [`MemoryBlock::build`] makes the column of a plain field, without the others; `streams` are those of the rows, and `row`
/// gives each by its number.
///
/// # Errors
/// Those of `row`; [`Error::Invalid`] if it has too much text.
pub(crate) fn plain_column<'r>(
    row: &dyn Fn(usize) -> Result<Row<'r>>,
    streams: &StreamTable,
    name: &str,
) -> Result<Option<Column>> {
    let mut held = one_field(row, streams, name)?;
    if held.count == 0 {
        return Ok(None);
    }
    let text = if held.form == Form::Texts { std::mem::take(&mut held.texts.bytes) } else { Vec::new() };
    let data = data(&held, valid(text)?, streams.rows);
    Ok(Some(column(&held, data, streams)))
}

fn column(held: &Collected, data: ColumnData, streams: &StreamTable) -> Column {
    let kinds = if held.kinds.is_empty() {
        Kinds::All(ValueKind::from_u8(held.kind).unwrap_or_default())
    } else {
        Kinds::PerSlot(spread(&held.kinds, 0, held, streams.rows))
    };
    Column { data, kinds, order: streams.order.clone(), rows: streams.rows }
}

/// One value a slot.
fn spread<T: Copy>(values: &[T], absent: T, held: &Collected, rows: usize) -> Vec<T> {
    let mut values = values.iter().copied();
    (0..rows).map(|slot| if held.has(slot) { values.next().unwrap_or(absent) } else { absent }).collect()
}

fn map(held: &Collected, rows: usize) -> Option<Vec<u64>> {
    (!held.is_dense(rows)).then(|| {
        let mut map = vec![0u64; rows.div_ceil(64)];
        (0..rows).filter(|&slot| held.has(slot)).for_each(|slot| map[slot / 64] |= 1 << (slot % 64));
        map
    })
}

/// Texts of rows.
fn valid(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| bad("a text is not UTF-8"))
}

/// A column's values; `text` has them one after another, where it is held as texts.
fn data(held: &Collected, text: String, rows: usize) -> ColumnData {
    let of_dictionary = |i: usize| String::from_utf8_lossy(held.texts.get(i));
    match held.form {
        Form::Ints => {
            let present = map(held, rows);
            ColumnData::Int { values: Ints::new(held.ints.clone()).spread(present.as_deref(), rows), present }
        }
        Form::Dictionary if held.is_dense(rows) && held.codes.iter().all(|&c| c == held.codes[0]) => {
            ColumnData::Const(of_dictionary(held.codes[0] as usize).into())
        }
        Form::Dictionary => ColumnData::Dict {
            values: (0..held.texts.len()).map(of_dictionary).collect(),
            codes: Codes::new(held.texts.len(), held.codes.iter().copied())
                .spread(map(held, rows).as_deref(), rows),
        },
        Form::Texts | Form::Alias | Form::Empty => {
            let mut ends = Vec::with_capacity(rows);
            let mut next = held.texts.ends.iter().copied();
            let mut end = 0;
            for slot in 0..rows {
                if held.has(slot) {
                    end = next.next().unwrap_or(end);
                }
                ends.push(end);
            }
            ColumnData::Text { text, ends, present: map(held, rows) }
        }
    }
}

/// The message's values, where this column has any.
fn alias(held: &Collected, message: &Collected, rows: usize) -> Result<ColumnData> {
    let text = if message.form == Form::Texts { valid(message.texts.bytes.clone())? } else { String::new() };
    Ok(match data(message, text, rows) {
        ColumnData::Const(text) => ColumnData::Dict {
            values: [text].iter().collect(),
            codes: Codes::new(1, (0..rows).map(|slot| if held.has(slot) { 0 } else { ColumnData::ABSENT })),
        },
        ColumnData::Dict { values, codes } => {
            let code = |slot| if held.has(slot) { codes.get(slot) } else { ColumnData::ABSENT };
            let codes = Codes::new(values.len(), (0..rows).map(code));
            ColumnData::Dict { values, codes }
        }
        ColumnData::Text { text, ends, .. } => ColumnData::Text { text, ends, present: map(held, rows) },
        ColumnData::Int { values, .. } => ColumnData::Int { values, present: map(held, rows) },
        ColumnData::Decimal { values, scale, .. } => {
            ColumnData::Decimal { values, scale, present: map(held, rows) }
        }
    })
}

/// The names that [`Block::field_names`] lists, sorted.
pub(crate) fn field_names<'a>(
    columns: impl Iterator<Item = &'a str>,
    labels: impl Iterator<Item = &'a str>,
) -> Vec<String> {
    let shadowed = [names::TIME, names::STREAM];
    let mut all: Vec<String> =
        columns.chain(labels).filter(|name| !shadowed.contains(name)).map(str::to_owned).collect();
    all.sort_unstable();
    all.dedup();
    all
}

impl Block for MemoryBlock {
    fn rows(&self) -> usize {
        self.times.len()
    }

    fn times(&self) -> Result<Arc<Vec<i64>>> {
        Ok(self.times.clone())
    }

    fn field_names(&self) -> Result<Vec<String>> {
        Ok(field_names(self.columns.iter().map(|(name, _)| &**name), self.streams.names()))
    }

    fn column(&self, name: &str) -> Result<Option<Arc<Column>>> {
        if name != names::STREAM && !self.has_label(name) {
            return Ok(self.stored(name).cloned());
        }
        // Blocks are shared by queries: none waits here for another, nor in a forked child for a thread that is not there.
        if let Some(column) = self.of_labels.try_lock().ok().and_then(|made| made.get(name).cloned()) {
            return Ok(column);
        }
        let column = if name == names::STREAM {
            Some(self.streams.stream_column())
        } else {
            self.streams.label_column(name, self.stored(name).map(|c| &**c))?
        };
        let column = column.map(Arc::new);
        if let Ok(mut made) = self.of_labels.try_lock() {
            made.insert(name.to_owned(), column.clone());
        }
        Ok(column)
    }

    fn rows_of_streams(&self, test: &dyn StreamTest) -> Result<Option<Vec<u64>>> {
        let wanted: Vec<bool> = self.streams.sets.iter().map(|set| test.wants(&texts(set))).collect();
        Ok(Some(self.streams.rows_of(&wanted)))
    }

    fn is_label(&self, name: &str) -> bool {
        self.stored(name).is_none() && self.has_label(name)
    }

    fn rows_of_label(&self, name: &str, is_wanted: &dyn Fn(&str) -> bool) -> Result<Option<Vec<u64>>> {
        if !self.is_label(name) {
            return Ok(None);
        }
        Ok(Some(self.streams.rows_of(&are_wanted(&self.streams.sets, name, is_wanted))))
    }

    fn may_contain_words(&self, name: &str, words: &[u64]) -> Result<bool> {
        let known = name == names::STREAM || self.by_name.contains_key(name) || self.has_label(name);
        Ok(words.is_empty() || known)
    }

    fn int_range(&self, _name: &str) -> Result<Option<(i64, i64)>> {
        Ok(None)
    }

    fn identity(&self, row: usize) -> Result<(u64, u64)> {
        match (self.writers.get(row), self.seqs.get(row)) {
            (Some(&writer), Some(&seq)) => Ok((writer as u64, seq as u64)),
            _ => Err(Error::Invalid(format!("row {row} of a block of {}", self.times.len()))),
        }
    }
}
