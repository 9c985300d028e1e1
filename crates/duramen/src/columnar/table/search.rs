//! Rows that may hold words, told by a column of templates before it is put together.

use super::super::bytes::bad;
use super::super::directory::Form;
use super::super::leaf::{self, Presence, Sought};
use super::super::template::{Elsewhere, FoundTexts, Surroundings, TEMPLATES};
use super::TableBlock;
use super::column::{MAX_DEPTH, kinds_of, slots_of};
use crate::block::{Found, Needle, Word, is_few, names};
use crate::column::Order;
use crate::error::Result;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// So many slots are looked for one by one.
const FEW_SLOTS: usize = 4;

/// Which row has this slot. A chunk that does not have it is passed over without a branch for each.
fn row_of(order: &[u32], slot: u32) -> Option<usize> {
    let has = |chunk: &[u32]| chunk.iter().fold(false, |has, &of| has | (of == slot));
    let chunk = order.chunks(64).position(has)? * 64;
    let within = order[chunk..].iter().position(|&of| of == slot)?;
    Some(chunk + within)
}

/// The first of these slots and how many they are, if there are no others between them.
fn range_of(slots: &[u64]) -> Option<(u32, u32)> {
    let (at, word) = slots.iter().enumerate().find(|(_, word)| **word != 0)?;
    let first = at as u32 * 64 + word.trailing_zeros();
    let (at, word) = slots.iter().enumerate().rfind(|(_, word)| **word != 0)?;
    let len = at as u32 * 64 + (64 - word.leading_zeros()) - first;
    (len == slots.iter().map(|word| word.count_ones()).sum::<u32>()).then_some((first, len))
}

/// Which of up to 64 slots are wanted, one bit each.
fn which(order: &[u32], is_wanted: impl Fn(u32) -> bool) -> u64 {
    let mut wanted = [0u8; 64];
    wanted.iter_mut().zip(order).for_each(|(wanted, &slot)| *wanted = u8::from(is_wanted(slot)));
    let (eights, _) = wanted.as_chunks::<8>();
    // The product has the eight lowest bits of the bytes side by side in its highest byte.
    let bits = |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    eights.iter().zip((0..64).step_by(8)).fold(0, |all, (eight, shift)| all | bits(eight) << shift)
}

/// The slots of some texts of a column with this map, which tells the slots that have one. Where none of them is, a word of
/// the map is passed over.
fn slots_of_texts(chosen: &[u64], map: Option<&Vec<u64>>) -> Vec<u64> {
    let Some(map) = map else { return chosen.to_vec() };
    let mut first = 0;
    let slots_of_word = |&(mut word): &u64| {
        let (at, shift) = (first / 64, first % 64);
        let of = |at: usize| chosen.get(at).copied().unwrap_or(0);
        // Those of the texts from `first` on; of more than the word has, none is asked for.
        let mut texts = of(at) >> shift | of(at + 1).checked_shl(64 - shift as u32).unwrap_or(0);
        first += word.count_ones() as usize;
        let mut slots = 0;
        while texts != 0 && word != 0 {
            slots |= (word & word.wrapping_neg()) * (texts & 1);
            word &= word - 1;
            texts >>= 1;
        }
        slots
    };
    map.iter().map(slots_of_word).collect()
}

impl TableBlock {
    /// [`crate::block::Block::search`].
    pub(super) fn find_rows(&self, name: &str, needle: &Needle<'_>) -> Result<Option<Found>> {
        if needle.words.is_empty() || name == names::STREAM || self.has_label(name) {
            return Ok(None);
        }
        let Some(i) = self.number_of(name) else { return Ok(None) };
        let Some(FoundTexts { certain, possible }) = self.find_texts(i, needle, 0)? else { return Ok(None) };
        let map = self.map_of(&self.directory.columns[i])?;
        Ok(Some(Found {
            certain: self.rows_of_texts(&certain, map)?,
            possible: self.rows_of_texts(&possible, map)?,
        }))
    }

    /// The texts of column `i` that may hold what is sought, if it has templates and nobody has decoded it. `depth` counts
    /// how many columns have asked for another on the way here.
    fn find_texts(&self, i: usize, needle: &Needle<'_>, depth: u32) -> Result<Option<FoundTexts>> {
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
        words.sort_by_key(|word| std::cmp::Reverse(word.text.len()));
        let mut words: Vec<Sought<'_>> = words.into_iter().map(Sought::here_and_there).collect();
        if let Some(longest) = words.first_mut() {
            longest.look_up(&part);
        }
        // Many templates refer to one column.
        let known: RefCell<BTreeMap<(usize, Word<'_>), Rc<Elsewhere>>> = RefCell::default();
        let around = Surroundings {
            slots: &|| slots_of(map, rows),
            presence: &|of, word| self.presence(of, word, 0),
            elsewhere: &|of, word| {
                if let Some(known) = known.borrow().get(&(of, word)) {
                    return Ok(known.clone());
                }
                let found = Rc::new(self.find_elsewhere(i, of, word, needle, depth)?);
                known.borrow_mut().insert((of, word), found.clone());
                Ok(found)
            },
        };
        outline.of(&part).find(needle, &words, &around).map(Some)
    }

    /// Where in column `of`, to which column `i` refers, a word is: found as in any column, as long as that tells of most
    /// of its texts, or else looked for in the decoded column.
    fn find_elsewhere(
        &self,
        i: usize,
        of: usize,
        word: Word<'_>,
        needle: &Needle<'_>,
        depth: u32,
    ) -> Result<Elsewhere> {
        if of != i && of < self.columns.len() && depth < MAX_DEPTH {
            let needle = Needle { words: &[word], ..*needle };
            if let Some(FoundTexts { certain, possible }) = self.find_texts(of, &needle, depth + 1)?
                && is_few(possible.iter().map(|word| word.count_ones() as usize).sum(), self.directory.rows)
            {
                let map = self.map_of(&self.directory.columns[of])?;
                let slots_of = |texts: &[u64]| slots_of_texts(texts, map);
                return Ok(Elsewhere::Found { certain: slots_of(&certain), possible: slots_of(&possible) });
            }
        }
        self.referenced(of, i, None, depth).map(Elsewhere::Column)
    }

    /// The rows of some texts of a column with this map.
    fn rows_of_texts(&self, chosen: &[u64], map: Option<&Vec<u64>>) -> Result<Vec<u64>> {
        if chosen.iter().all(|&word| word == 0) {
            return Ok(Vec::new());
        }
        self.rows_of_slots(slots_of_texts(chosen, map))
    }

    /// The rows of some slots.
    pub(super) fn rows_of_slots(&self, slots: Vec<u64>) -> Result<Vec<u64>> {
        let rows = self.directory.rows;
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
        // Streams whose labels have something in common lie together.
        let range = range_of(&slots);
        for (found, order) in found.iter_mut().zip(order.chunks(64)) {
            *found = match range {
                Some((first, len)) => which(order, |slot| slot.wrapping_sub(first) < len),
                None => which(order, |slot| {
                    slots.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
                }),
            };
        }
        Ok(found)
    }

    /// Where in column `i` a word is, as far as can be told without decoding it.
    fn presence(&self, i: usize, word: Word<'_>, depth: u32) -> Result<Presence> {
        if depth > MAX_DEPTH {
            return Err(bad("columns refer to each other in a circle"));
        }
        let entry = self.directory.columns.get(i).ok_or_else(|| bad("a template refers to no column"))?;
        Ok(match &entry.form {
            Form::Constant(text) => {
                Presence::perhaps(Sought::here_and_there(word).find(text.as_bytes()).is_some())
            }
            Form::Integers { .. } => Presence::perhaps(word.text.bytes().all(|c| c.is_ascii_digit())),
            Form::Alias => Presence::Perhaps,
            Form::Texts { pages, .. } if !pages.is_empty() => Presence::Perhaps,
            Form::Texts { at, .. } => {
                // Where a word is, the letters mostly say.
                let letters = if entry.kind.is_some() { Some(self.letters_of(at)?) } else { None };
                let mut part = match letters.filter(|letters| leaf::peek(letters) != Some(TEMPLATES)) {
                    Some(letters) => letters,
                    None => self.bundle(at.bundle)?.part(&at.starts, &at.lens)?,
                };
                let sought = Sought::new(word, &part);
                kinds_of(entry, &mut part)?;
                if let Some(outline) = self.outline(i, &part)? {
                    let elsewhere = |of: usize, word: Word<'_>| self.presence(of, word, depth + 1);
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

    proptest::proptest! {
        #[test]
        fn ranges_of_slots_and_wanted_ones_are_told(
            is_set in proptest::collection::vec(proptest::bool::weighted(0.9), 0..200), from in 0..200usize, to in 0..200usize,
        ) {
            let mut slots = vec![0u64; 4];
            (from..to).filter(|&slot| is_set.get(slot) == Some(&true)).for_each(|slot| slots[slot / 64] |= 1 << (slot % 64));
            let set: Vec<u32> = (0..256).filter(|slot| slots[*slot as usize / 64] >> (slot % 64) & 1 == 1).collect();
            let whole = set.first().zip(set.last()).filter(|(first, last)| (*last - *first) as usize + 1 == set.len());
            assert_eq!(range_of(&slots), whole.map(|(first, _)| (*first, set.len() as u32)));
            let order: Vec<u32> = (0..64.min(is_set.len() as u32)).map(|row| row * 37 % 200).collect();
            let expected = (0..).zip(&order).fold(0, |all, (row, slot)| all | u64::from(set.contains(slot)) << row);
            assert_eq!(which(&order, |slot| set.contains(&slot)), expected);
        }

        #[test]
        fn slots_of_texts_are_found(
            has_text in proptest::collection::vec(proptest::bool::weighted(0.7), 0..400),
            is_chosen in proptest::collection::vec(proptest::bool::weighted(0.1), 400),
        ) {
            let bits = |bools: &[bool]| {
                let word = |bools: &[bool]| (0..).zip(bools).fold(0u64, |word, (i, &is)| word | u64::from(is) << i);
                bools.chunks(64).map(word).collect::<Vec<_>>()
            };
            let texts = has_text.iter().filter(|has| **has).count();
            let mut chosen = is_chosen[..texts].iter();
            let expected: Vec<bool> = has_text.iter().map(|has| *has && chosen.next() == Some(&true)).collect();
            let found = slots_of_texts(&bits(&is_chosen[..texts]), Some(&bits(&has_text)));
            assert_eq!(found, bits(&expected));
        }
    }
}
