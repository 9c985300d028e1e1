//! Finding texts by the words they hold, before they are put together.
//!
//! No word reaches over the edge of a piece, so that a text holds a word exactly if one of its pieces does. Most
//! templates are ruled out by what they say themselves; of the others, only the variables that may hold a word that
//! is still missing are decoded.

use super::super::leaf::{Held, Presence, Sought};
use super::across::Crossing;
use super::parts::{Parts, Place};
use super::sure::{Elsewhere, Rows, sure};
use crate::block::{Needle, Word, is_few};
use crate::column::Column;
use crate::error::Result;
use std::cell::{LazyCell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;

/// Tells whether another column has a word.
pub(crate) type PresenceIn<'a> = dyn Fn(usize, Word<'_>) -> Result<Presence> + 'a;

/// What finding needs to know of the rest of the block.
pub(crate) struct Surroundings<'a, 'w> {
    /// The slot of each text.
    pub(crate) slots: &'a dyn Fn() -> Vec<u32>,
    /// The time of each text's row.
    pub(crate) near: &'a dyn Fn() -> Result<Vec<i64>>,
    /// Whether another column has a word.
    pub(crate) presence: &'a PresenceIn<'a>,
    /// Another column, decoded.
    pub(crate) column: &'a dyn Fn(usize) -> Result<Arc<Column>>,
    /// Where in that column a word is.
    pub(crate) elsewhere: &'a dyn Fn(usize, Word<'w>) -> Result<Rc<Elsewhere>>,
}

/// Whether a run lies across edges of what refers to other columns is looked at in this part of all texts or more: for less, to
/// decode whole columns does not pay.
const ACROSS_SHARE: usize = 128;

/// The rows of the texts of a template, as far as somebody asks for them.
pub(super) struct TheirRows<'a> {
    /// The slot of each.
    pub(super) slots: LazyCell<Vec<u32>, Box<dyn FnOnce() -> Vec<u32> + 'a>>,
    /// The time of each.
    pub(super) times: Box<dyn Fn() -> Result<Vec<i64>> + 'a>,
}

/// Which of some texts pass, one bit each; no text is in both.
#[derive(Debug, Default)]
pub(crate) struct FoundTexts {
    pub(crate) certain: Vec<u64>,
    pub(crate) possible: Vec<u64>,
}

/// Which texts of one number pass; the ranks among them are ascending.
#[derive(Debug, Default)]
struct Passing {
    certain: Ranks,
    possible: Ranks,
}

#[derive(Debug)]
enum Ranks {
    All,
    Some(Vec<u32>),
}

impl Default for Ranks {
    fn default() -> Self {
        Self::Some(Vec::new())
    }
}

impl Ranks {
    fn is_empty(&self) -> bool {
        matches!(self, Self::Some(ranks) if ranks.is_empty())
    }
}

impl Passing {
    fn is_empty(&self) -> bool {
        self.certain.is_empty() && self.possible.is_empty()
    }
}

impl Parts<'_> {
    /// Finds the texts that may hold all of the needle's words, and among them some that pass for certain.
    pub(crate) fn find<'w>(
        &self,
        needle: &Needle<'_>,
        words: &[Sought<'w>],
        around: &Surroundings<'_, 'w>,
    ) -> Result<FoundTexts> {
        let (slots, near, texts_of) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        let by_number =
            || -> &TextsOf { texts_of.get_or_init(|| TextsOf::new(self.numbers(), self.templates())) };
        let of_template = |template: usize| by_number().get(template + 1).iter().map(|&i| i as usize);
        let slots_of = &|template: usize| -> Vec<u32> {
            let slots: &Vec<u32> = slots.get_or_init(|| (around.slots)());
            of_template(template).map(|i| slots.get(i).copied().unwrap_or(0)).collect()
        };
        let near_of = &|template: usize| -> Result<Vec<i64>> {
            let known: &Vec<i64> = match near.get() {
                Some(known) => known,
                None => {
                    let times = (around.near)()?;
                    near.get_or_init(|| times)
                }
            };
            Ok(of_template(template).map(|i| known.get(i).copied().unwrap_or(0)).collect())
        };
        let mut passing = vec![(0, self.find_whole(needle, words)?)];
        let candidates = match words.first() {
            Some(word) => self.with_word(word, around.presence)?,
            None => vec![true; self.templates()],
        };
        for (t, _) in candidates.into_iter().enumerate().filter(|(_, is)| *is) {
            let rows = TheirRows {
                slots: LazyCell::new(Box::new(move || slots_of(t))),
                times: Box::new(move || near_of(t)),
            };
            passing.push((t + 1, self.of_template(t, needle, words, &rows, around)?));
        }
        passing.retain(|(_, passing)| !passing.is_empty());
        if passing.is_empty() {
            return Ok(FoundTexts::default());
        }
        let room = self.numbers().len().div_ceil(64);
        let mut found = FoundTexts { certain: vec![0; room], possible: vec![0; room] };
        let texts_of = if passing.len() > FEW_NUMBERS { Some(by_number()) } else { None };
        for (number, Passing { certain, possible }) in &passing {
            let texts = texts_of.map(|texts| texts.get(*number));
            mark(self.numbers(), *number as u16, texts, certain, &mut found.certain);
            mark(self.numbers(), *number as u16, texts, possible, &mut found.possible);
        }
        Ok(found)
    }

    /// Whether a word may be in any text, as far as can be told cheaply.
    pub(crate) fn presence_in_any(&self, word: &Sought<'_>, elsewhere: &PresenceIn<'_>) -> Result<Presence> {
        if self.whole()?.presence(word)? != Presence::Nowhere {
            return Ok(Presence::Perhaps);
        }
        let candidates = self.with_word(word, elsewhere)?;
        for (t, _) in candidates.iter().enumerate().filter(|(_, is)| **is) {
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

    /// Of the texts without a template.
    fn find_whole(&self, needle: &Needle<'_>, words: &[Sought<'_>]) -> Result<Passing> {
        let whole = self.whole()?;
        let mut holds_all = vec![true; self.whole_count()];
        for word in words {
            if whole.presence(word)? == Presence::Nowhere {
                return Ok(Passing::default());
            }
            and(&mut holds_all, &whole.hold(word)?);
            let left = holds_all.iter().filter(|is| **is).count();
            if left == 0 {
                return Ok(Passing::default());
            }
            // The other words are looked for in these alone.
            if is_few(left, holds_all.len()) {
                break;
            }
        }
        let some = ranks_of(&holds_all);
        let judged = whole.judge(&some, &mut self.budget(), |text| {
            // What is not UTF-8 is damaged: whoever decodes it says so.
            let held = str::from_utf8(text).map_or(Held::Perhaps, |text| sure(text, needle));
            if held != Held::Perhaps {
                held
            } else if needle.run.is_some() {
                // There is nothing around it to reach for.
                Held::Not
            } else if words.iter().all(|word| word.find(text).is_some()) {
                Held::Perhaps
            } else {
                Held::Not
            }
        })?;
        let of = |held| some.iter().zip(&judged).filter(move |(_, is)| **is == held).map(|(&rank, _)| rank);
        let ranks = |held| Ranks::Some(of(held).collect());
        Ok(Passing { certain: ranks(Held::Certain), possible: ranks(Held::Perhaps) })
    }

    fn of_template<'w>(
        &self,
        t: usize,
        needle: &Needle<'_>,
        words: &[Sought<'w>],
        their: &TheirRows<'_>,
        around: &Surroundings<'_, 'w>,
    ) -> Result<Passing> {
        let mut says_all = true;
        let mut perhaps: Vec<(&Sought<'w>, Vec<Place<'_>>)> = Vec::new();
        for word in words {
            if self.may_say(t, word)? && self.says(t, word)? {
                continue;
            }
            says_all = false;
            let holes = self.holes_with(t, word, around)?;
            if holes.is_empty() {
                return Ok(Passing::default());
            }
            perhaps.push((word, holes));
        }
        // A text that passes holds all the words.
        if says_all {
            for place in self.places(t) {
                if matches!(place?, Place::Literal(text) if (needle.certain)(text)) {
                    return Ok(Passing { certain: Ranks::All, ..Passing::default() });
                }
            }
        }
        let crossing = needle.run.map(|run| self.crossing(t, run)).transpose()?.flatten();
        let is_worth_it = |crossing: &Crossing<'_, '_>, texts| {
            !crossing.refers() || texts * ACROSS_SHARE >= self.numbers().len()
        };
        let crossing = crossing.filter(|crossing| is_worth_it(crossing, self.count(t)));
        // What has all the words of a run elsewhere may hold it in one hole as well.
        if says_all
            && crossing.is_some()
            && let Some(word) = words.first()
        {
            perhaps.push((word, self.holes_with(t, word, around)?));
        }
        if perhaps.is_empty() {
            return Ok(Passing { possible: Ranks::All, ..Passing::default() });
        }
        let mut rows = Rows::new(self.count(t));
        let mut budget = self.budget();
        for (word, places) in perhaps {
            rows.look_for(word, &places, needle, around, their, &mut budget)?;
            if says_all {
                rows.hold.fill(true);
            }
            if let Some(crossing) = &crossing
                && is_worth_it(crossing, rows.undecided().count())
            {
                let undecided: Vec<u32> = rows.undecided().collect();
                rows.decide(&crossing.of(&undecided, their, around)?);
                break;
            }
            if rows.are_decided() {
                break;
            }
        }
        Ok(Passing {
            certain: Ranks::Some(ranks_of(&rows.certain)),
            possible: Ranks::Some(rows.undecided().collect()),
        })
    }

    /// The holes of a template that may hold a word.
    fn holes_with<'w>(
        &self,
        t: usize,
        word: &Sought<'w>,
        around: &Surroundings<'_, 'w>,
    ) -> Result<Vec<Place<'_>>> {
        let mut holes = Vec::new();
        for place in self.holes(t) {
            let place = place?;
            if presence(&place, word, around.presence)? == Presence::Perhaps {
                holes.push(place);
            }
        }
        Ok(holes)
    }
}

/// Where in the texts of a template a word is, as far as one of its holes can tell cheaply.
pub(super) fn presence(place: &Place<'_>, word: &Sought<'_>, elsewhere: &PresenceIn<'_>) -> Result<Presence> {
    match place {
        Place::Literal(_) => Ok(Presence::Nowhere),
        Place::Variable(lazy) => lazy.presence(word),
        Place::Reference(of) => word.in_column(*of, || elsewhere(*of, word.word())),
        Place::Time(lazy) if lazy.form.may_have(word.word()) => Ok(Presence::Perhaps),
        Place::Time(_) => Ok(Presence::Nowhere),
    }
}

/// The texts of each number.
pub(super) struct TextsOf {
    texts: Vec<u32>,
    ends: Vec<usize>,
}

impl TextsOf {
    /// Of texts with these numbers: 0 none, n template n-1.
    pub(super) fn new(numbers: &[u16], templates: usize) -> Self {
        let mut ends = vec![0usize; templates + 1];
        numbers.iter().for_each(|&n| ends[n as usize] += 1);
        let mut end = 0;
        let mut next = Vec::with_capacity(ends.len());
        for count in &mut ends {
            next.push(end);
            end += *count;
            *count = end;
        }
        let mut texts = vec![0u32; end];
        for (i, &n) in (0..).zip(numbers) {
            texts[next[n as usize]] = i;
            next[n as usize] += 1;
        }
        Self { texts, ends }
    }

    pub(super) fn get(&self, number: usize) -> &[u32] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.texts[start..self.ends[number]]
    }
}

/// The texts of so many numbers are found by running over all numbers, each time.
const FEW_NUMBERS: usize = 8;

/// Sets the bits of some of the texts that have this number. `texts` are all that have it, if somebody knows.
fn mark(numbers: &[u16], number: u16, texts: Option<&[u32]>, ranks: &Ranks, bits: &mut [u64]) {
    let mut set = |i: usize| bits[i / 64] |= 1 << (i % 64);
    match (ranks, texts) {
        (Ranks::All, Some(texts)) => texts.iter().for_each(|&i| set(i as usize)),
        (Ranks::Some(ranks), Some(texts)) => {
            ranks.iter().for_each(|&rank| set(texts[rank as usize] as usize))
        }
        (Ranks::All, None) => {
            for (bits, numbers) in bits.iter_mut().zip(numbers.chunks(64)) {
                let these = numbers.iter().enumerate();
                *bits |= these.fold(0, |bits, (i, &n)| bits | u64::from(n == number) << i);
            }
        }
        (Ranks::Some(ranks), None) => {
            let mut ranks = ranks.iter().map(|&rank| rank as usize).peekable();
            let mut before = 0;
            for (chunk, numbers) in numbers.chunks(CHUNK).enumerate() {
                let Some(&rank) = ranks.peek() else { return };
                let here = numbers.iter().filter(|&&n| n == number).count();
                if rank < before + here {
                    let these = numbers.iter().enumerate().filter(|(_, n)| **n == number);
                    for (rank, (i, _)) in (before..).zip(these) {
                        if ranks.next_if_eq(&rank).is_some() {
                            set(chunk * CHUNK + i);
                        }
                    }
                }
                before += here;
            }
        }
    }
}

/// So many numbers are counted at once.
const CHUNK: usize = 256;

/// Which of them are true: mostly few, so that whole chunks are passed over.
pub(super) fn ranks_of(are: &[bool]) -> Vec<u32> {
    let mut ranks = Vec::new();
    for (chunk, are) in are.chunks(CHUNK).enumerate() {
        if are.iter().fold(false, |any, is| any | is) {
            let first = (chunk * CHUNK) as u32;
            ranks.extend((first..).zip(are).filter(|(_, is)| **is).map(|(i, _)| i));
        }
    }
    ranks
}

fn and(all: &mut [bool], more: &[bool]) {
    all.iter_mut().zip(more).for_each(|(a, b)| *a &= b);
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn texts_are_marked_alike_whether_all_of_a_number_are_known(
            numbers in proptest::collection::vec(0..4u16, 0..1500),
            chosen in proptest::collection::vec(proptest::bool::weighted(0.02), 1500),
        ) {
            let texts_of = TextsOf::new(&numbers, 3);
            for number in 0..4 {
                let texts = texts_of.get(number as usize);
                assert!(texts.iter().all(|&i| numbers[i as usize] == number));
                for ranks in [Ranks::All, Ranks::Some(ranks_of(&chosen[..texts.len()]))] {
                    let (mut known, mut counted) = (vec![0; 24], vec![0; 24]);
                    mark(&numbers, number, Some(texts), &ranks, &mut known);
                    mark(&numbers, number, None, &ranks, &mut counted);
                    assert_eq!(known, counted);
                    let set: u32 = known.iter().map(|bits| bits.count_ones()).sum();
                    let wanted = if let Ranks::Some(ranks) = &ranks { ranks.len() } else { texts.len() };
                    assert_eq!(set as usize, wanted);
                }
            }
        }
    }
}
