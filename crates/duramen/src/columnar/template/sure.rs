//! Which texts of a template hold words in what varies in them, and which pass for certain because of it: what stands in a
//! hole was cut out between two words, as literals are, so that a text need not be put together to be found.

use super::super::leaf::{Held, Sought, texts_that_hold};
use super::super::timetext::TimeWriter;
use super::find::{Surroundings, TheirRows, ranks_of};
use super::parts::{Lazy, Place};
use crate::block::{Needle, is_few};
use crate::column::{Column, ColumnData, IntText, bit};
use crate::error::Result;
use std::rc::Rc;
use std::sync::Arc;

/// Where in a column that others refer to a word is.
#[derive(Debug)]
pub(crate) enum Elsewhere {
    /// Look for it in here.
    Column(Arc<Column>),
    /// In these slots, one bit each, and in no others.
    Found {
        /// Where what is there makes a text pass.
        certain: Vec<u64>,
        /// Where it may.
        possible: Vec<u64>,
    },
}

impl Elsewhere {
    fn held(&self, slot: usize) -> Held {
        match self {
            Self::Found { certain, .. } if bit(certain, slot) => Held::Certain,
            Self::Found { possible, .. } if !bit(possible, slot) => Held::Not,
            _ => Held::Perhaps,
        }
    }
}

/// What is known of the texts of a template, one of each a text.
#[derive(Debug)]
pub(super) struct Rows {
    /// Those that hold all words that were looked for.
    pub(super) hold: Vec<bool>,
    /// Those of them that pass for certain.
    pub(super) certain: Vec<bool>,
    /// Those that may pass because of what stands in one hole alone.
    pub(super) within: Vec<bool>,
    looked: bool,
}

impl Rows {
    /// Of so many texts, with no word looked for yet.
    pub(super) fn new(count: usize) -> Self {
        Self {
            hold: vec![true; count],
            certain: vec![false; count],
            within: vec![false; count],
            looked: false,
        }
    }

    /// Those that hold the words so far and do not pass for certain, ascending.
    pub(super) fn undecided(&self) -> impl Iterator<Item = u32> {
        let are = self.hold.iter().zip(&self.certain).map(|(hold, certain)| *hold && !certain);
        (0..).zip(are).filter(|(_, is)| *is).map(|(i, _)| i)
    }

    /// Whether no other word can tell more: all that hold the words so far pass for certain.
    pub(super) fn are_decided(&self) -> bool {
        self.undecided().next().is_none()
    }

    /// Leaves of the undecided those that may pass because of one hole, and those in which the run lies across edges.
    pub(super) fn decide(&mut self, across: &[u32]) {
        self.hold.iter_mut().zip(&self.certain).zip(&self.within).for_each(|((hold, certain), within)| {
            *hold = *certain || (*hold && *within);
        });
        for &rank in across {
            (self.hold[rank as usize], self.certain[rank as usize]) = (true, true);
        }
    }

    /// Leaves those that hold one more word, which is in these places or nowhere. `their` rows are those of the texts; decoding
    /// may make so many bytes.
    pub(super) fn look_for<'w>(
        &mut self,
        word: &Sought<'w>,
        places: &[Place<'_>],
        needle: &Needle<'_>,
        around: &Surroundings<'_, 'w>,
        their: &TheirRows<'_>,
        budget: &mut usize,
    ) -> Result<()> {
        // What is certain because of one place holds all words there, the first one, too.
        let is_first = !self.looked;
        self.looked = true;
        let mut hold = vec![false; self.hold.len()];
        for place in places {
            match place {
                Place::Variable(lazy) => {
                    let mut here = lazy.hold(word)?;
                    if is_first {
                        self.certain_of(lazy, &mut here, needle, budget)?;
                    }
                    hold.iter_mut().zip(&here).for_each(|(any, here)| *any |= here);
                }
                Place::Reference(of) => {
                    let (here, is_known) = match &*(around.elsewhere)(*of, word.word())? {
                        Elsewhere::Column(column) => {
                            (held(column, *of, &their.slots, &self.hold, word, needle), true)
                        }
                        found => (their.slots.iter().map(|&slot| found.held(slot as usize)).collect(), false),
                    };
                    for (i, held) in here.into_iter().enumerate() {
                        hold[i] |= held != Held::Not;
                        self.certain[i] |= is_first && held == Held::Certain;
                        self.within[i] |= is_first && held == Held::Perhaps && !is_known;
                    }
                }
                Place::Literal(_) | Place::Time(_) => {}
            }
        }
        for place in places {
            let Place::Time(lazy) = place else { continue };
            // Writing a time takes a while: nobody does where it does not matter any more.
            let matters = |i: usize| self.hold[i] && if is_first { !self.certain[i] } else { !hold[i] };
            let some: Vec<u32> = (0..hold.len()).filter(|&i| matters(i)).map(|i| i as u32).collect();
            if some.is_empty() {
                continue;
            }
            let fraction = lazy.form.fraction(word.word());
            let mut writer = TimeWriter::default();
            let times = lazy.times(&some, &their.times, &mut budget.clone())?;
            for (i, time) in some.into_iter().zip(times) {
                if fraction.is_some_and(|fraction| !fraction.is_of(time)) {
                    continue;
                }
                let text = writer.write(lazy.form, time);
                if word.find(text).is_some() {
                    // What is damaged is told by who puts it together.
                    let held = str::from_utf8(text).map_or(Held::Perhaps, |text| sure(text, needle));
                    hold[i as usize] |= held != Held::Not;
                    self.certain[i as usize] |= is_first && held == Held::Certain;
                }
            }
        }
        self.hold.iter_mut().zip(&hold).for_each(|(all, one)| *all &= one);
        Ok(())
    }

    /// Looks at the variable's values that hold a word: which make a text pass, and which cannot.
    fn certain_of(
        &mut self,
        lazy: &Lazy<'_>,
        hold: &mut [bool],
        needle: &Needle<'_>,
        budget: &mut usize,
    ) -> Result<()> {
        let ranks: Vec<u32> = (0..).zip(&*hold).filter(|(_, hold)| **hold).map(|(i, _)| i).collect();
        if ranks.is_empty() {
            return Ok(());
        }
        // What is not UTF-8 is damaged: whoever puts it together says so.
        let held = |text: &[u8]| str::from_utf8(text).map_or(Held::Perhaps, |text| sure(text, needle));
        for (held, rank) in lazy.judge(&ranks, budget, held)?.into_iter().zip(ranks) {
            hold[rank as usize] = held != Held::Not;
            self.certain[rank as usize] |= held == Held::Certain;
        }
        Ok(())
    }
}

/// What a text holds by a part that has one of the words.
pub(super) fn sure(part: &str, needle: &Needle<'_>) -> Held {
    if (needle.certain)(part) {
        Held::Certain
    } else if (needle.reaches)(part) {
        Held::Perhaps
    } else {
        Held::Not
    }
}

/// Whether the values of column `of` in these slots hold a word. Where it does not matter any more, either is said.
fn held(
    column: &Column,
    of: usize,
    slots: &[u32],
    matters: &[bool],
    word: &Sought<'_>,
    needle: &Needle<'_>,
) -> Vec<Held> {
    let held = |text: &str| match word.find(text.as_bytes()) {
        None => Held::Not,
        Some(_) => sure(text, needle),
    };
    match &column.data {
        // Many templates refer to one column.
        ColumnData::Dict { values, codes } => {
            let of_value = word.in_values(of, || values.iter().map(held).collect());
            let code = |slot: &u32| of_value.get(codes.get(*slot as usize) as usize);
            return slots.iter().map(|slot| code(slot).copied().unwrap_or(Held::Not)).collect();
        }
        ColumnData::Text { text, ends, .. }
            if !is_few(matters.iter().filter(|is| **is).count(), ends.len()) =>
        {
            let of_slot = word.in_values(of, || held_by_slots(column, (text, ends), word, needle));
            let held = |slot: &u32| of_slot.get(*slot as usize).copied().unwrap_or(Held::Not);
            return slots.iter().map(held).collect();
        }
        // The only word of an integer are its digits.
        ColumnData::Int { values, .. } if word.word().is_whole => {
            let number = word.word().text.parse::<u64>().ok();
            let mut digits = IntText::default();
            let of_slot = |&slot: &u32| {
                if Some(values.get(slot as usize).unsigned_abs()) != number {
                    return Held::Not;
                }
                column.text_at(slot as usize, &mut digits).map_or(Held::Not, held)
            };
            return slots.iter().map(of_slot).collect();
        }
        _ => {}
    }
    let mut digits = IntText::default();
    let mut all = vec![Held::Not; slots.len()];
    for i in ranks_of(matters) {
        if let (Some(one), Some(&slot)) = (all.get_mut(i as usize), slots.get(i as usize)) {
            *one = column.text_at(slot as usize, &mut digits).map_or(Held::Not, held);
        }
    }
    all
}

/// Whether the text in each slot of a column, all of which end there, holds a word: they are looked through at once.
fn held_by_slots(
    column: &Column,
    (text, ends): (&str, &[u32]),
    word: &Sought<'_>,
    needle: &Needle<'_>,
) -> Rc<[Held]> {
    let mut digits = IntText::default();
    let mut held = vec![Held::Not; ends.len()];
    for slot in texts_that_hold(ends, word, |from| word.find_from(text.as_bytes(), from)) {
        held[slot] = column.text_at(slot, &mut digits).map_or(Held::Not, |text| sure(text, needle));
    }
    held.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Word;
    use crate::column::{Kinds, Order};
    use crate::value::ValueKind;

    proptest::proptest! {
        #[test]
        fn texts_looked_through_at_once_hold_what_each_does(
            texts in proptest::collection::vec(proptest::option::weighted(0.9, "[ab. é]{0,6}"), 1..200),
            word in "[ab]{1,3}|é",
            any_case: bool,
        ) {
            let (mut text, mut ends, mut present) = (String::new(), Vec::new(), vec![0u64; texts.len().div_ceil(64)]);
            for (slot, one) in texts.iter().enumerate() {
                // Where there is none, there may be bytes all the same.
                text.push_str(one.as_deref().unwrap_or("ab"));
                ends.push(text.len() as u32);
                present[slot / 64] |= u64::from(one.is_some()) << (slot % 64);
            }
            let is_certain = |text: &str| text.starts_with('a');
            let needle = Needle { words: &[], certain: &is_certain, reaches: &|text| !text.ends_with('b'), run: None };
            let sought = Sought::here_and_there(Word { text: &word, is_whole: false, any_case });
            let data = ColumnData::Text { text: text.clone(), ends: ends.clone(), present: Some(present) };
            let column = Column { data, kinds: Kinds::All(ValueKind::String), order: Order::Rows, rows: texts.len() };
            let all = held_by_slots(&column, (&text, &ends), &sought, &needle);
            let slots: Vec<u32> = (0..texts.len() as u32).collect();
            for matters in [vec![true; texts.len()], (0..texts.len()).map(|slot| slot % 16 == 3).collect()] {
                let found = held(&column, 7, &slots, &matters, &sought, &needle);
                for (slot, _) in matters.iter().enumerate().filter(|(_, matters)| **matters) {
                    let of_text = texts[slot].as_deref().filter(|text| text.contains(&*word));
                    let expected = of_text.map_or(Held::Not, |text| sure(text, &needle));
                    assert_eq!((found[slot], all[slot]), (expected, expected), "{:?}", texts[slot]);
                }
            }
        }
    }
}
