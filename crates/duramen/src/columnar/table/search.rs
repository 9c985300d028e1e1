//! Rows that may hold words, told by a column of templates before it is put together.

use super::super::bytes::bad;
use super::super::directory::Form;
use super::super::leaf::{self, Presence, Sought, integer_may_hold};
use super::super::row_slots::rows_of_slots;
use super::super::template::{Elsewhere, FoundTexts, Surroundings, TEMPLATES};
use super::TableBlock;
use super::column::{MAX_DEPTH, kinds_of, slots_of};
use crate::block::{Found, Needle, Word, is_few, names};
use crate::column::ColumnData;
use crate::error::Result;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

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
        if self.columns[i].peek().is_some() {
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
            near: &|| {
                let times = self.times_of_slots(None)?;
                Ok(slots_of(map, rows).into_iter().map(|slot| times[slot as usize]).collect())
            },
            column: &|of| self.referenced(of, i, None, depth),
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
            // What is in there is not all of the text.
            let needle = Needle { words: &[word], run: None, ..*needle };
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
        Ok(rows_of_slots(self.order()?, slots, self.directory.rows))
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
            &Form::Integers { min, max, .. } if min <= max => {
                Presence::perhaps(integer_may_hold(min, max, word))
            }
            Form::Integers { .. } => Presence::Perhaps, // damaged: whoever decodes it says so
            Form::Alias => Presence::Perhaps,
            Form::Texts { pages, .. } if !pages.is_empty() => Presence::Perhaps,
            Form::Texts { at, .. } => {
                if let Some(presence) = self.presence_in_decoded(i, at.bundle, word) {
                    return Ok(presence);
                }
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

    /// Where in column `i` a word is, if that is decoded and its bundle, which might tell more, need not be read then.
    fn presence_in_decoded(&self, i: usize, bundle: usize, word: Word<'_>) -> Option<Presence> {
        let column = self.columns[i].get(&self.clock)?;
        let sought = Sought::here_and_there(word);
        let has = |text: &str| sought.find(text.as_bytes()).is_some();
        Some(Presence::perhaps(match &column.data {
            ColumnData::Const(text) => has(text),
            ColumnData::Dict { values, .. } => values.iter().any(has),
            _ if self.bundles[bundle].peek().is_some() => return None,
            ColumnData::Int { .. } | ColumnData::Decimal { .. } => {
                word.text.bytes().all(|c| c.is_ascii_digit())
            }
            ColumnData::Text { text, .. } => has(text),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
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
