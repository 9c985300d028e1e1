//! Rows found, and columns of some rows: what of a column of templates is not needed is not put together.

use super::super::bytes::bad;
use super::super::directory::{ColumnEntry, Form};
use super::super::leaf::{self, Presence, Sought};
use super::super::streams::Part;
use super::super::template::{self, Context, FoundTexts, Parts, Surroundings};
use super::TableBlock;
use super::column::{MAX_DEPTH, slots_of, texts};
use crate::block::{Found, Needle, names};
use crate::column::{Column, Kinds, bit};
use crate::error::Result;
use crate::value::ValueKind;
use std::sync::Arc;

impl TableBlock {
    /// Calls `f` with the parts of column `i`, if it is one of templates; with the kinds of its values before it.
    fn with_templates<T>(
        &self,
        i: usize,
        f: impl FnOnce(&Part<'_>, &[u8], &Parts<'_>, Option<&Vec<u64>>) -> Result<T>,
    ) -> Result<Option<T>> {
        let entry = &self.directory.columns[i];
        let Form::Texts { at } = &entry.form else { return Ok(None) };
        let map = self.map_of(entry)?;
        // What was looked for is mostly read right after.
        let mut part = self.bundle(at.bundle)?.part(&at.starts, &at.lens)?;
        let whole = part.clone();
        let kinds = kinds_of(entry, &mut part)?;
        if entry.count == 0 || leaf::peek(&part) != Some(template::TEMPLATES) {
            return Ok(None);
        }
        part.meta.u8()?;
        f(&whole, kinds, &Parts::read(&mut part, entry.count)?, map).map(Some)
    }

    /// [`crate::block::Block::search`].
    pub(super) fn find_rows(&self, name: &str, needle: &Needle<'_>) -> Result<Option<Found>> {
        if needle.words.is_empty() || name == names::STREAM || self.is_label(name) {
            return Ok(None);
        }
        let Some(&i) = self.by_name.get(name) else { return Ok(None) };
        if self.columns[i].get().is_some() {
            return Ok(None);
        }
        let rows = self.directory.rows;
        self.with_templates(i, |part, _, parts, map| {
            let words: Vec<Sought<'_>> = needle.words.iter().map(|word| Sought::new(word, part)).collect();
            let around = Surroundings {
                slots: &|| slots_of(map, rows),
                presence: &|of, word| self.presence(of, word, 0),
                column: &|of| self.referenced(of, i, 0),
            };
            let FoundTexts { certain, possible } = parts.find(needle, &words, &around)?;
            Ok(Found {
                certain: self.rows_of_texts(&certain, map)?,
                possible: self.rows_of_texts(&possible, map)?,
            })
        })
    }

    /// The rows of some texts of a column with this map.
    fn rows_of_texts(&self, chosen: &[u64], map: Option<&Vec<u64>>) -> Result<Vec<u64>> {
        if chosen.iter().all(|&word| word == 0) {
            return Ok(Vec::new());
        }
        let rows = self.directory.rows;
        let slots = match map {
            None => chosen.to_vec(),
            Some(map) => {
                let mut slots = vec![0u64; map.len()];
                for (i, slot) in slots_of(Some(map), rows).into_iter().enumerate() {
                    slots[slot as usize / 64] |= u64::from(bit(chosen, i)) << (slot % 64);
                }
                slots
            }
        };
        let Some(order) = &self.streams()?.order else { return Ok(slots) };
        let mut found = vec![0u64; rows.div_ceil(64)];
        for (row, &slot) in order.iter().enumerate() {
            found[row / 64] |= u64::from(bit(&slots, slot as usize)) << (row % 64);
        }
        Ok(found)
    }

    /// Where in column `i` a word is, as far as can be told without decoding it.
    fn presence(&self, i: usize, word: &str, depth: u32) -> Result<Presence> {
        if depth > MAX_DEPTH {
            return Err(bad("columns refer to each other in a circle"));
        }
        let entry = self.directory.columns.get(i).ok_or_else(|| bad("a template refers to no column"))?;
        let perhaps = |perhaps: bool| if perhaps { Presence::Perhaps } else { Presence::Nowhere };
        Ok(match &entry.form {
            Form::Constant(text) => perhaps(text.contains(word)),
            Form::Integers { .. } => perhaps(word.bytes().all(|c| c.is_ascii_digit())),
            Form::Alias => Presence::Perhaps,
            Form::Texts { at } => {
                let mut part = self.bundle(at.bundle)?.part(&at.starts, &at.lens)?;
                let sought = Sought::new(word, &part);
                kinds_of(entry, &mut part)?;
                if entry.count > 0 && leaf::peek(&part) == Some(template::TEMPLATES) {
                    part.meta.u8()?;
                    let around = Surroundings {
                        slots: &Vec::new,
                        presence: &|of, word| self.presence(of, word, depth + 1),
                        column: &|of| self.referenced(of, i, depth),
                    };
                    return Parts::read(&mut part, entry.count)?.presence_in_any(&sought, &around);
                }
                // Not every text of that column is in one that refers to it.
                perhaps(leaf::presence(&mut part, entry.count, &sought)? != Presence::Nowhere)
            }
        })
    }

    /// [`crate::block::Block::column_at`] of a stored column.
    pub(super) fn column_at_rows(&self, i: usize, wanted: &[u64]) -> Result<Option<Arc<Column>>> {
        if let Some(column) = self.columns[i].get() {
            return Ok(Some(column.clone()));
        }
        let rows = self.directory.rows;
        let made = self.with_templates(i, |_, kinds, parts, map| {
            let streams = self.streams()?;
            let mut slots = vec![0u64; rows.div_ceil(64)];
            for row in (0..rows).filter(|&row| bit(wanted, row)) {
                let slot = streams.order.as_ref().map_or(row, |order| order[row] as usize);
                slots[slot / 64] |= 1 << (slot % 64);
            }
            let chosen = match map {
                None => slots,
                Some(map) => {
                    let mut chosen = vec![0u64; rows.div_ceil(64)];
                    for (i, slot) in slots_of(Some(map), rows).into_iter().enumerate() {
                        chosen[i / 64] |= u64::from(bit(&slots, slot as usize)) << (i % 64);
                    }
                    chosen
                }
            };
            let context = Context {
                near: &|| self.times_of(map),
                slots: &|| slots_of(map, rows),
                column: &|of| self.referenced(of, i, 0),
            };
            let data = texts(parts.texts(Some(&chosen), &context)?, map, rows)?;
            let entry = &self.directory.columns[i];
            let kinds = match entry.kind {
                Some(kind) => Kinds::All(ValueKind::from_u8(kind).unwrap_or_default()),
                None => Kinds::PerSlot(super::column::spread(kinds, 0, map.map(Vec::as_slice), rows)),
            };
            Ok(Arc::new(Column { data, kinds, order: streams.order.clone(), rows }))
        })?;
        match made {
            Some(column) => Ok(Some(column)),
            None => self.stored(i, 0).cloned().map(Some),
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
