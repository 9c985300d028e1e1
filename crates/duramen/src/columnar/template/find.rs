//! Finding texts by the words they hold, before they are put together.
//!
//! No word reaches over the edge of a piece, so that a text holds a word exactly if one of its pieces does. Most
//! templates are ruled out by what they say themselves; of the others, only the variables that may hold a word that
//! is still missing are decoded.

use super::super::leaf::{Presence, Sought};
use super::parts::{Parts, Place};
use crate::block::Needle;
use crate::column::{Column, ColumnData, IntText};
use crate::error::Result;
use memchr::memmem::Finder;
use std::cell::OnceCell;
use std::sync::Arc;

/// Tells where in another column a word is.
pub(crate) type Elsewhere<'a> = dyn Fn(usize, &str) -> Result<Presence> + 'a;

/// What finding needs to know of the rest of the block.
pub(crate) struct Surroundings<'a> {
    /// The slot of each text.
    pub(crate) slots: &'a dyn Fn() -> Vec<u32>,
    /// Where in another column a word is.
    pub(crate) presence: &'a Elsewhere<'a>,
    /// That column.
    pub(crate) column: &'a dyn Fn(usize) -> Result<Arc<Column>>,
}

/// Which of some texts pass, one bit each; no text is in both.
#[derive(Debug, Default)]
pub(crate) struct FoundTexts {
    pub(crate) certain: Vec<u64>,
    pub(crate) possible: Vec<u64>,
}

/// Which texts of one template pass.
enum Of {
    None,
    AllCertain,
    AllPossible,
    /// These may.
    Some(Vec<bool>),
}

impl Parts<'_> {
    /// Finds the texts that may hold all of the needle's words, and among them some that pass for certain.
    pub(crate) fn find(
        &self,
        needle: &Needle<'_>,
        words: &[Sought<'_>],
        around: &Surroundings<'_>,
    ) -> Result<FoundTexts> {
        let (slots, texts_of) = (OnceCell::new(), OnceCell::new());
        let slots_of = |template: usize| {
            let slots: &Vec<u32> = slots.get_or_init(|| (around.slots)());
            let texts_of: &TextsOf = texts_of.get_or_init(|| TextsOf::new(self.numbers(), self.templates()));
            texts_of.get(template).iter().map(|&i| slots.get(i as usize).copied().unwrap_or(0)).collect()
        };
        let (whole_certain, whole_possible) = self.find_whole(needle, words)?;
        let mut any = !whole_possible.is_empty() || !whole_certain.is_empty();
        let mut of = Vec::with_capacity(self.templates());
        for t in 0..self.templates() {
            let found = self.of_template(t, needle, words, &slots_of, around)?;
            any |= !matches!(found, Of::None);
            of.push(found);
        }
        if !any {
            return Ok(FoundTexts::default());
        }
        let room = self.numbers().len().div_ceil(64);
        let mut found = FoundTexts { certain: vec![0; room], possible: vec![0; room] };
        // Most texts are of templates, or all of them, that have nothing.
        let has_any: Vec<bool> = std::iter::once(!whole_possible.is_empty())
            .chain(of.iter().map(|of| !matches!(of, Of::None)))
            .collect();
        let mut next = vec![0usize; has_any.len()];
        for (i, &n) in self.numbers().iter().enumerate().filter(|(_, n)| has_any[**n as usize]) {
            let n = n as usize;
            let (is_certain, is_possible) = match n.checked_sub(1).map(|template| &of[template]) {
                None => (whole_certain[next[0]], whole_possible[next[0]]),
                Some(Of::None) => (false, false),
                Some(Of::AllCertain) => (true, false),
                Some(Of::AllPossible) => (false, true),
                Some(Of::Some(texts)) => (false, texts[next[n]]),
            };
            next[n] += 1;
            found.certain[i / 64] |= u64::from(is_certain) << (i % 64);
            found.possible[i / 64] |= u64::from(is_possible) << (i % 64);
        }
        Ok(found)
    }

    /// Whether a word may be in any text, as far as can be told cheaply.
    pub(crate) fn presence_in_any(&self, word: &Sought<'_>, elsewhere: &Elsewhere<'_>) -> Result<Presence> {
        if self.whole()?.presence(word)? != Presence::Nowhere {
            return Ok(Presence::Perhaps);
        }
        for t in 0..self.templates() {
            if self.may_say(t, word)? {
                return Ok(Presence::Perhaps);
            }
            for place in self.holes(t) {
                if presence(&place?, word, elsewhere)? != Presence::Nowhere {
                    return Ok(Presence::Perhaps);
                }
            }
        }
        Ok(Presence::Nowhere)
    }

    /// Of the texts without a template, those that pass for certain, and those that may.
    fn find_whole(&self, needle: &Needle<'_>, words: &[Sought<'_>]) -> Result<(Vec<bool>, Vec<bool>)> {
        let whole = self.whole()?;
        for word in words {
            if whole.presence(word)? == Presence::Nowhere {
                return Ok((Vec::new(), Vec::new()));
            }
        }
        let mut possible = vec![true; self.whole_count()];
        for word in words {
            and(&mut possible, &whole.hold(&word.word)?);
            if !possible.contains(&true) {
                return Ok((Vec::new(), Vec::new()));
            }
        }
        let mut certain = vec![false; possible.len()];
        let some: Vec<u32> = (0..).zip(&possible).filter(|(_, is)| **is).map(|(i, _)| i).collect();
        let texts = whole.decode(Some(&some), &mut self.budget())?;
        let mut digits = IntText::default();
        for (at, i) in some.into_iter().map(|i| i as usize).enumerate() {
            certain[i] = str::from_utf8(texts.get(at, &mut digits)).is_ok_and(|text| (needle.certain)(text));
            possible[i] = !certain[i];
        }
        Ok((certain, possible))
    }

    fn of_template(
        &self,
        t: usize,
        needle: &Needle<'_>,
        words: &[Sought<'_>],
        slots_of: &dyn Fn(usize) -> Vec<u32>,
        around: &Surroundings<'_>,
    ) -> Result<Of> {
        let mut says_all = true;
        let mut perhaps: Vec<(&Sought<'_>, Vec<Place<'_>>)> = Vec::new();
        for word in words {
            if self.may_say(t, word)? {
                continue;
            }
            says_all = false;
            let mut places_of_word = Vec::new();
            let mut everywhere = false;
            for place in self.holes(t) {
                let place = place?;
                match presence(&place, word, around.presence)? {
                    Presence::Nowhere => {}
                    Presence::Perhaps => places_of_word.push(place),
                    Presence::Everywhere => everywhere = true,
                }
            }
            if !everywhere {
                if places_of_word.is_empty() {
                    return Ok(Of::None);
                }
                perhaps.push((word, places_of_word));
            }
        }
        // A text that passes holds all the words.
        if says_all {
            for place in self.places(t) {
                if matches!(place?, Place::Literal(text) if (needle.certain)(text)) {
                    return Ok(Of::AllCertain);
                }
            }
        }
        if perhaps.is_empty() {
            return Ok(Of::AllPossible);
        }
        let mut rows = vec![true; self.count(t)];
        for (word, places) in perhaps {
            let mut holds = vec![false; rows.len()];
            for place in places {
                match place {
                    Place::Variable(lazy) => or(&mut holds, &lazy.hold(&word.word)?),
                    Place::Reference(of) => {
                        or(&mut holds, &column_holds(&*(around.column)(of)?, &slots_of(t), &word.word))
                    }
                    Place::Literal(_) | Place::Time(_) => {}
                }
            }
            and(&mut rows, &holds);
            if !rows.contains(&true) {
                return Ok(Of::None);
            }
        }
        Ok(Of::Some(rows))
    }
}

/// Where in the texts of a template a word is, as far as one of its holes can tell cheaply.
fn presence(place: &Place<'_>, word: &Sought<'_>, elsewhere: &Elsewhere<'_>) -> Result<Presence> {
    match place {
        Place::Literal(_) => Ok(Presence::Nowhere),
        Place::Variable(lazy) => lazy.presence(word),
        Place::Reference(of) => word.in_column(*of, || elsewhere(*of, word.text())),
        // Its words are numbers, sometimes with a letter, and three letters of a month or a day of the week.
        Place::Time(_) if word.text().len() <= 3 || word.text().bytes().any(|c| c.is_ascii_digit()) => {
            Ok(Presence::Everywhere)
        }
        Place::Time(_) => Ok(Presence::Nowhere),
    }
}

/// The texts of each template, by number.
pub(super) struct TextsOf {
    texts: Vec<u32>,
    ends: Vec<usize>,
}

impl TextsOf {
    /// Of texts with these numbers: 0 none, n template n-1.
    pub(super) fn new(numbers: &[u32], templates: usize) -> Self {
        let mut ends = vec![0usize; templates + 1];
        numbers.iter().for_each(|&n| ends[n as usize] += 1);
        ends.remove(0);
        let mut end = 0;
        let mut next = Vec::with_capacity(templates);
        for count in &mut ends {
            next.push(end);
            end += *count;
            *count = end;
        }
        let mut texts = vec![0u32; end];
        for (i, &n) in (0..).zip(numbers) {
            if let Some(t) = (n as usize).checked_sub(1) {
                texts[next[t]] = i;
                next[t] += 1;
            }
        }
        Self { texts, ends }
    }

    pub(super) fn get(&self, template: usize) -> &[u32] {
        let start = template.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.texts[start..self.ends[template]]
    }
}

fn and(all: &mut [bool], more: &[bool]) {
    all.iter_mut().zip(more).for_each(|(a, b)| *a &= b);
}

fn or(all: &mut [bool], more: &[bool]) {
    all.iter_mut().zip(more).for_each(|(a, b)| *a |= b);
}

/// Whether the values of a column in these slots hold a word.
fn column_holds(column: &Column, slots: &[u32], word: &Finder<'_>) -> Vec<bool> {
    let holds = |text: &str| word.find(text.as_bytes()).is_some();
    if let ColumnData::Dict { values, codes } = &column.data {
        let of_value: Vec<bool> = values.iter().map(|text| holds(text)).collect();
        let code = |slot: &u32| codes.get(*slot as usize).and_then(|&code| of_value.get(code as usize));
        return slots.iter().map(|slot| code(slot).copied().unwrap_or(false)).collect();
    }
    let mut digits = IntText::default();
    slots.iter().map(|&slot| column.text_at(slot as usize, &mut digits).is_some_and(holds)).collect()
}
