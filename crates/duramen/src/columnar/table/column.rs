//! Decoding one column.

use super::super::bytes::bad;
use super::super::directory::{ColumnEntry, Form};
use super::super::leaf::{self, Leaf};
use super::super::streams::Part;
use super::super::texts::Texts;
use super::super::{ints, presence, template};
use super::search::kinds_of;
use super::{TableBlock, get_or_make};
use crate::block::names;
use crate::column::{Column, ColumnData, Kinds, bit};
use crate::error::Result;
use crate::value::ValueKind;
use std::sync::Arc;

/// How many columns may refer one to another.
pub(super) const MAX_DEPTH: u32 = 3;
/// Dictionaries beyond this size are handed out as plain texts: so many small strings are dear to make.
const MAX_DICTIONARY: usize = 8192;

impl TableBlock {
    /// A stored column. `depth` counts how many columns have asked for another on the way here.
    pub(super) fn stored(&self, i: usize, depth: u32) -> Result<&Arc<Column>> {
        get_or_make(&self.columns[i], || {
            if depth > MAX_DEPTH {
                return Err(bad("columns refer to each other in a circle"));
            }
            self.decode_column(i, depth).map(Arc::new)
        })
    }

    /// A column that the texts of column `i` refer to.
    pub(super) fn referenced(&self, of: usize, i: usize, depth: u32) -> Result<Arc<Column>> {
        if of == i || of >= self.columns.len() {
            return Err(bad("a template refers to no column"));
        }
        self.stored(of, depth + 1).cloned()
    }

    /// The time of the row of each value of a column with this map.
    pub(super) fn times_of(&self, map: Option<&Vec<u64>>) -> Result<Vec<i64>> {
        let times = self.times_of_rows()?;
        let mut by_slot = times.to_vec();
        if let Some(order) = &self.streams()?.order {
            order.iter().zip(&**times).for_each(|(&slot, &time)| by_slot[slot as usize] = time);
        }
        Ok(slots_of(map, by_slot.len()).into_iter().map(|slot| by_slot[slot as usize]).collect())
    }

    /// The map that says which slots have a value of the column; `None`: all.
    pub(super) fn map_of(&self, entry: &ColumnEntry) -> Result<Option<&Vec<u64>>> {
        let Some(map) = entry.map else { return Ok(None) };
        let map = self.map(map)?;
        if presence::count(map) != entry.count {
            return Err(bad("a map has another count than its column"));
        }
        Ok(Some(map))
    }

    fn decode_column(&self, i: usize, depth: u32) -> Result<Column> {
        let entry = &self.directory.columns[i];
        let rows = self.directory.rows;
        let streams = self.streams()?;
        let map = self.map_of(entry)?;
        let mut kinds = Kinds::All(entry.kind.and_then(ValueKind::from_u8).unwrap_or_default());
        let mut take_kinds = |part: &mut Part<'_>| -> Result<()> {
            if entry.kind.is_none() {
                let stored = kinds_of(entry, part)?;
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
                    let parts = template::Parts::read(part, entry.count)?;
                    return texts(parts.texts(None, &context)?, map, rows);
                }
                let leaf = leaf::decode(part, entry.count)?;
                from_leaf(leaf, entry.count, map, rows)
            })?,
        };
        Ok(Column { data, kinds, order: streams.order.clone(), rows })
    }
}

/// The slots that have a value.
pub(super) fn slots_of(map: Option<&Vec<u64>>, rows: usize) -> Vec<u32> {
    (0..rows).filter(|&slot| map.is_none_or(|map| bit(map, slot))).map(|slot| slot as u32).collect()
}

fn integers(values: Vec<i64>, map: Option<&Vec<u64>>, rows: usize) -> ColumnData {
    ColumnData::Int { values: spread(&values, 0, map.map(Vec::as_slice), rows), present: map.cloned() }
}

/// One value a slot from one a set bit.
pub(super) fn spread<T: Copy>(values: &[T], absent: T, map: Option<&[u64]>, rows: usize) -> Vec<T> {
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

pub(super) fn texts(texts: Texts, map: Option<&Vec<u64>>, rows: usize) -> Result<ColumnData> {
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
