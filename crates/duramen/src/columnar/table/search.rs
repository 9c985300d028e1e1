//! Rows that may hold words, told by a column of templates before it is put together.

use super::super::bytes::bad;
use super::super::directory::Form;
use super::super::leaf::{self, Presence, Sought};
use super::super::template::{FoundTexts, Surroundings};
use super::TableBlock;
use super::column::{MAX_DEPTH, kinds_of, slots_of};
use crate::block::{Found, Needle, names};
use crate::column::{Order, bit};
use crate::error::Result;

/// So many slots are looked for one by one.
const FEW_SLOTS: usize = 4;

/// Which row has this slot. A chunk that does not have it is passed over without a branch for each.
fn row_of(order: &[u32], slot: u32) -> Option<usize> {
    let has = |chunk: &[u32]| chunk.iter().fold(false, |has, &of| has | (of == slot));
    let chunk = order.chunks(64).position(has)? * 64;
    let within = order[chunk..].iter().position(|&of| of == slot)?;
    Some(chunk + within)
}

impl TableBlock {
    /// [`crate::block::Block::search`].
    pub(super) fn find_rows(&self, name: &str, needle: &Needle<'_>) -> Result<Option<Found>> {
        if needle.words.is_empty() || name == names::STREAM || self.is_label(name) {
            return Ok(None);
        }
        let Some(&i) = self.by_name.get(name) else { return Ok(None) };
        let entry = &self.directory.columns[i];
        let Form::Texts { at, .. } = &entry.form else { return Ok(None) };
        if self.columns[i].get().is_some() {
            return Ok(None);
        }
        let (rows, map) = (self.directory.rows, self.map_of(entry)?);
        // What was looked for is mostly read right after.
        let mut part = self.bundle(at.bundle)?.part(&at.starts, &at.lens)?;
        kinds_of(entry, &mut part)?;
        let Some(outline) = self.outline(i, &part)? else { return Ok(None) };
        // Long words are rare: the others are looked for only where the longest is.
        let mut words = needle.words.to_vec();
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        let mut words: Vec<Sought<'_>> = words.into_iter().map(Sought::here_and_there).collect();
        if let Some(longest) = words.first_mut() {
            longest.look_up(&part);
        }
        let around = Surroundings {
            slots: &|| slots_of(map, rows),
            presence: &|of, word| self.presence(of, word, 0),
            column: &|of| self.referenced(of, i, None, 0),
        };
        let FoundTexts { certain, possible } = outline.of(&part).find(needle, &words, &around)?;
        Ok(Some(Found {
            certain: self.rows_of_texts(&certain, map)?,
            possible: self.rows_of_texts(&possible, map)?,
        }))
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
        let Order::Slots(order) = self.order()? else { return Ok(slots) };
        let mut found = vec![0u64; rows.div_ceil(64)];
        // Nobody keeps which row a slot has; of few slots the rows are soon found.
        if slots.iter().map(|word| word.count_ones() as usize).sum::<usize>() <= FEW_SLOTS {
            for (i, &word) in slots.iter().enumerate().filter(|(_, word)| **word != 0) {
                let of_word = (0..64).filter(|i| word >> i & 1 == 1).map(|of_word| (i * 64 + of_word) as u32);
                for row in of_word.filter_map(|slot| row_of(order, slot)) {
                    found[row / 64] |= 1 << (row % 64);
                }
            }
            return Ok(found);
        }
        for (found, order) in found.iter_mut().zip(order.chunks(64)) {
            for (row, &slot) in order.iter().enumerate() {
                let word = slots.get(slot as usize / 64).copied().unwrap_or(0);
                *found |= (word >> (slot % 64) & 1) << row;
            }
        }
        Ok(found)
    }

    /// Where in column `i` a word is, as far as can be told without decoding it.
    fn presence(&self, i: usize, word: &str, depth: u32) -> Result<Presence> {
        if depth > MAX_DEPTH {
            return Err(bad("columns refer to each other in a circle"));
        }
        let entry = self.directory.columns.get(i).ok_or_else(|| bad("a template refers to no column"))?;
        Ok(match &entry.form {
            Form::Constant(text) => Presence::perhaps(text.contains(word)),
            Form::Integers { .. } => Presence::perhaps(word.bytes().all(|c| c.is_ascii_digit())),
            Form::Alias => Presence::Perhaps,
            Form::Texts { at, .. } => {
                let mut part = self.bundle(at.bundle)?.part(&at.starts, &at.lens)?;
                let sought = Sought::new(word, &part);
                kinds_of(entry, &mut part)?;
                if let Some(outline) = self.outline(i, &part)? {
                    let elsewhere = |of: usize, word: &str| self.presence(of, word, depth + 1);
                    return outline.of(&part).presence_in_any(&sought, &elsewhere);
                }
                // Not every text of that column is in one that refers to it.
                Presence::perhaps(leaf::presence(&mut part, entry.count, &sought)? != Presence::Nowhere)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_slots_are_found() {
        let order: Vec<u32> = (0..1000u32).map(|row| row * 7 % 1000).collect();
        for (row, &slot) in order.iter().enumerate() {
            assert_eq!(row_of(&order, slot), Some(row));
        }
        assert_eq!(row_of(&order, 1000), None);
    }
}
