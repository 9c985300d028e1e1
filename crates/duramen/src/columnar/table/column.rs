//! Decoding one column, or what a few rows have in it.

use super::super::bytes::bad;
use super::super::chosen::Chosen;
use super::super::directory::{ColumnEntry, Form};
use super::super::leaf::{self, Leaf};
use super::super::streams::Part;
use super::super::template::{self, Made};
use super::super::texts::Texts;
use super::super::{ints, presence};
use super::bundles::ReadBundle;
use super::pages::lens_on_pages;
use super::wanted::Wanted;
use super::{TableBlock, by_slot};
use crate::block::{Block, LengthUnit, names};
use crate::column::{Codes, Column, ColumnData, Ints, Kinds, Strings, bit};
use crate::error::Result;
use crate::narrow::spread;
use crate::value::ValueKind;
use std::sync::Arc;

/// How many columns may refer one to another.
pub(super) const MAX_DEPTH: u32 = 3;

impl TableBlock {
    /// A stored column. `depth` counts how many columns have asked for another on the way here.
    pub(super) fn stored(&self, i: usize, depth: u32) -> Result<&Arc<Column>> {
        self.columns[i].get_or_make(&self.clock, || self.decode_column(i, None, depth, None).map(Arc::new))
    }

    /// [`crate::block::Block::column_at`].
    pub(super) fn column_of(&self, name: &str, rows: &[u64]) -> Result<Option<Arc<Column>>> {
        let number = self.number_of(name);
        let is_label = self.has_label(name);
        if let Some(column) = number.filter(|_| !is_label).and_then(|i| self.columns[i].get(&self.clock)) {
            return Ok(Some(column.clone()));
        }
        let Some(wanted) = Wanted::new(rows, self.directory.rows, self.order()?) else {
            return self.column(name);
        };
        let stored = number.map(|i| self.decode_column(i, Some(&wanted), 0, None)).transpose()?;
        let few = || self.streams().map(|streams| streams.few(wanted.places(), wanted.order()));
        Ok(if name == names::STREAM {
            Some(few()?.stream_column())
        } else if is_label {
            few()?.label_column(name, stored.as_ref())?.or(stored)
        } else {
            stored
        }
        .map(Arc::new))
    }

    /// [`crate::block::Block::lengths`].
    pub(super) fn lengths_of(&self, name: &str, unit: LengthUnit) -> Result<Option<Column>> {
        let Some(i) = self.number_of(name).filter(|_| !self.has_label(name)) else { return Ok(None) };
        let entry = &self.directory.columns[i];
        let Form::Texts { at, pages, .. } = &entry.form else { return Ok(None) };
        if self.columns[i].peek().is_some() {
            return Ok(None);
        }
        let (rows, map, order) = (self.directory.rows, self.map_of(entry)?, self.order()?.clone());
        let lens = self.with_part(at, true, |part| {
            let _kinds = kinds_of(entry, part)?;
            if !pages.is_empty() {
                // How many characters there are, only the pages tell.
                let is_told = unit == LengthUnit::Bytes;
                return is_told.then(|| lens_on_pages(pages, part, entry.count)).transpose();
            }
            let Some(outline) = self.outline(i, part)? else { return Ok(None) };
            let outline = outline.of(part);
            self.with_context(i, (map, rows), None, 0, |context| outline.lens(unit, context)).map(Some)
        })?;
        Ok(lens.map(|lens| Column {
            data: ColumnData::Int {
                values: Ints::new(spread(lens, map.map(Vec::as_slice), rows)),
                present: None,
            },
            kinds: Kinds::All(ValueKind::Number),
            order,
            rows,
        }))
    }

    /// Calls `f` with what putting the texts of column `i` together needs to know of the block. `slots` are those that have a
    /// value, and how many there are.
    pub(super) fn with_context<T>(
        &self,
        i: usize,
        (map, slots): (Option<&Vec<u64>>, usize),
        wanted: Option<&Wanted>,
        depth: u32,
        f: impl FnOnce(&template::Context<'_>) -> Result<T>,
    ) -> Result<T> {
        let texts_of = || slots_of(map, slots);
        let near = || {
            let times = self.times_of_slots(wanted)?;
            Ok(texts_of().into_iter().map(|slot| times[slot as usize]).collect())
        };
        let column = |of| self.referenced(of, i, wanted, depth);
        f(&template::Context { near: &near, slots: &texts_of, column: &column })
    }

    /// A column that the texts of column `i` refer to.
    pub(super) fn referenced(
        &self,
        of: usize,
        i: usize,
        wanted: Option<&Wanted>,
        depth: u32,
    ) -> Result<Arc<Column>> {
        if of == i || of >= self.columns.len() {
            return Err(bad("a template refers to no column"));
        }
        match wanted {
            None => self.stored(of, depth + 1).cloned(),
            Some(wanted) => wanted.referenced(of, || self.decode_column(of, Some(wanted), depth + 1, None)),
        }
    }

    /// The time of the row of each slot.
    pub(super) fn times_of_slots(&self, wanted: Option<&Wanted>) -> Result<Vec<i64>> {
        let times = self.times_of_rows()?;
        if let Some(wanted) = wanted {
            return Ok(wanted.times(times));
        }
        Ok(by_slot(self.order()?, times.to_vec()))
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

    /// Decodes a column: all of it, or what lies in the slots that are wanted. `read` is the bundle of its texts, if somebody
    /// has read it already.
    pub(super) fn decode_column(
        &self,
        i: usize,
        wanted: Option<&Wanted>,
        depth: u32,
        read: Option<ReadBundle<'_>>,
    ) -> Result<Column> {
        if depth > MAX_DEPTH {
            return Err(bad("columns refer to each other in a circle"));
        }
        let entry = self.directory.columns.get(i).ok_or_else(|| bad("there is no such column"))?;
        let rows = self.directory.rows;
        let whole_map = self.map_of(entry)?;
        let in_column = wanted.map(|wanted| wanted.in_column(whole_map));
        let (slots, order, chosen, map) = match (wanted, &in_column) {
            (Some(wanted), Some(some)) => {
                let chosen = Chosen::some(entry.count, &some.values)?;
                (wanted.slots(), wanted.order(), chosen, some.map.as_ref())
            }
            _ => (rows, self.order()?.clone(), Chosen::all(entry.count), whole_map),
        };
        let mut kinds = spread_kinds(entry, Vec::new(), None, 0);
        let mut take_kinds = |part: &mut Part<'_>| -> Result<()> {
            if entry.kind.is_none() {
                kinds = spread_kinds(entry, chosen.of(kinds_of(entry, part)?.to_vec()), map, slots);
            }
            Ok(())
        };
        let data = match &entry.form {
            // None of the slots has a value.
            _ if chosen.len() == 0 && map.is_some() => {
                ColumnData::Dict { values: Strings::default(), codes: Codes::of_map(&[], slots) }
            }
            Form::Constant(text) => match map {
                None => ColumnData::Const(text.clone()),
                Some(map) => ColumnData::where_set(text.clone(), map, slots),
            },
            Form::Alias => {
                let message = self.number_of(names::MESSAGE).filter(|&m| m != i);
                let message = message.ok_or_else(|| bad("there is no message"))?;
                restrict(&self.referenced(message, i, wanted, depth)?.data, map.map(Vec::as_slice), slots)
            }
            Form::Integers { at, .. } => self.with_part(at, wanted.is_none(), |part| {
                take_kinds(part)?;
                Ok(integers(ints::decode_chosen(part, chosen)?, map, slots))
            })?,
            Form::Texts { at, pages, .. } if !pages.is_empty() => {
                self.with_part(at, wanted.is_none(), |part| {
                    take_kinds(part)?;
                    texts(self.texts_on_pages(pages, part, chosen)?, map, slots)
                })?
            }
            Form::Texts { at, .. } => {
                let bundle = read.map_or_else(|| self.bundle_of(at, wanted.is_none()), Ok)?;
                let mut part = bundle.part(&at.starts, &at.lens)?;
                take_kinds(&mut part)?;
                let plain = if bundle.is_only_for(at) { leaf::plain_ends(&part, entry.count)? } else { None };
                match plain {
                    Some(ends) => texts(Texts { bytes: bundle.into_text(), ends }, map, slots)?,
                    None => self.decode_texts(i, &mut part, chosen, (map, slots), wanted, depth)?,
                }
            }
        };
        Ok(Column { data, kinds, order, rows })
    }

    /// The texts of column `i`; of its part, what comes before them was read.
    fn decode_texts(
        &self,
        i: usize,
        part: &mut Part<'_>,
        chosen: Chosen<'_>,
        (map, slots): (Option<&Vec<u64>>, usize),
        wanted: Option<&Wanted>,
        depth: u32,
    ) -> Result<ColumnData> {
        let Some(outline) = self.outline(i, part)? else {
            return from_leaf(leaf::decode_chosen(part, chosen)?, chosen.len(), map, slots);
        };
        let outline = outline.of(part);
        let made =
            self.with_context(i, (map, slots), wanted, depth, |context| outline.texts(chosen, context));
        match made? {
            Made::Texts(whole) => texts(whole, map, slots),
            Made::Dictionary { values, codes } => dictionary(values, codes, map, slots),
        }
    }
}

/// The kinds of a column's values, one a value, if they are not all one; they come first.
pub(super) fn kinds_of<'a>(entry: &ColumnEntry, part: &mut Part<'a>) -> Result<&'a [u8]> {
    if entry.kind.is_some() {
        return Ok(&[]);
    }
    let stored = part.bytes.take(entry.count)?;
    if stored.iter().any(|&k| k > 4) {
        return Err(bad("a kind of values is unknown"));
    }
    Ok(stored)
}

/// The kinds of the values in slots, of which those with one are `stored`, if they are not all of one.
pub(super) fn spread_kinds(
    entry: &ColumnEntry,
    stored: Vec<u8>,
    map: Option<&Vec<u64>>,
    slots: usize,
) -> Kinds {
    match entry.kind {
        Some(kind) => Kinds::All(ValueKind::from_u8(kind).unwrap_or_default()),
        None => Kinds::PerSlot(spread(stored, map.map(Vec::as_slice), slots)),
    }
}

/// The slots that have a value.
pub(super) fn slots_of(map: Option<&Vec<u64>>, rows: usize) -> Vec<u32> {
    (0..rows).filter(|&slot| map.is_none_or(|map| bit(map, slot))).map(|slot| slot as u32).collect()
}

fn integers(values: Vec<i64>, map: Option<&Vec<u64>>, rows: usize) -> ColumnData {
    ColumnData::Int { values: Ints::new(values).spread(map.map(Vec::as_slice), rows), present: map.cloned() }
}

/// Another column's values, where this one has any.
fn restrict(data: &ColumnData, map: Option<&[u64]>, rows: usize) -> ColumnData {
    let Some(map) = map else { return data.clone() };
    match data.clone() {
        ColumnData::Const(text) => ColumnData::where_set(text, map, rows),
        ColumnData::Dict { values, codes } => {
            let code = |slot| if bit(map, slot) { codes.get(slot) } else { ColumnData::ABSENT };
            let codes = Codes::new(values.len(), (0..rows).map(code));
            ColumnData::Dict { values, codes }
        }
        ColumnData::Int { values, present } => ColumnData::Int { values, present: Some(both(present, map)) },
        ColumnData::Decimal { values, scale, present } => {
            ColumnData::Decimal { values, scale, present: Some(both(present, map)) }
        }
        ColumnData::Text { text, ends, present } => {
            ColumnData::Text { text, ends, present: Some(both(present, map)) }
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
    Ok(match leaf {
        Leaf::Constant(text) => {
            let text = String::from_utf8(text).map_err(|_| bad("a text is not UTF-8"))?.into();
            match map {
                None => ColumnData::Const(text),
                Some(map) => ColumnData::where_set(text, map, rows),
            }
        }
        Leaf::Integers(values) => integers(values, map, rows),
        Leaf::Decimals(scale, values) => ColumnData::Decimal {
            values: Ints::new(values).spread(map.map(Vec::as_slice), rows),
            scale,
            present: map.cloned(),
        },
        Leaf::Dictionary { values, codes } if values.len() <= count => dictionary(values, codes, map, rows)?,
        leaf => texts(leaf.into_texts(count)?, map, rows)?,
    })
}

fn dictionary(values: Texts, codes: Vec<u32>, map: Option<&Vec<u64>>, rows: usize) -> Result<ColumnData> {
    let codes = Codes::new(values.len(), codes).spread(map.map(Vec::as_slice), rows);
    let text = String::from_utf8(values.bytes).map_err(|_| bad("a text is not UTF-8"))?;
    let ends = values.ends.into_iter().map(|end| end as usize).collect();
    let values = Strings::from_parts(text, ends).ok_or_else(|| bad("a text is not UTF-8"))?;
    Ok(ColumnData::Dict { values, codes })
}

fn texts(texts: Texts, map: Option<&Vec<u64>>, rows: usize) -> Result<ColumnData> {
    let text = String::from_utf8(texts.bytes).map_err(|_| bad("a text is not UTF-8"))?;
    Ok(ColumnData::Text { text, ends: ends_of_slots(texts.ends, map, rows), present: map.cloned() })
}

/// Where the text of each slot ends, from where those end that there are.
pub(super) fn ends_of_slots(of_texts: Vec<u32>, map: Option<&Vec<u64>>, rows: usize) -> Vec<u32> {
    let Some(map) = map else { return of_texts };
    let mut ends = Vec::with_capacity(map.len() * 64);
    let mut next = of_texts.iter();
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
