//! A run of text that lies across the edges of pieces. No word reaches over an edge, so that there are few places where it can be
//! cut, and what stays the same between two pieces mostly leaves one. Then a value's end, a value as a whole and another one's
//! start tell whether a text has it, those of a dictionary once for all texts, and no text is put together.

use super::find::{Surroundings, TheirRows, ranks_of};
use super::parts::{Parts, Place};
use crate::block::Run;
use crate::column::{Column, ColumnData, IntText};
use crate::error::Result;
use crate::token;

/// If there are more ways to lie across edges, texts are put together.
const MAX_WAYS: usize = 32;
/// So many steps are taken to find them.
const MAX_STEPS: usize = 2_000;

/// What a value must be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Like<'r> {
    /// It ends with the run's start.
    Ends(&'r str),
    /// It is a part of the run.
    Is(&'r str),
    /// It begins with the run's end.
    Begins(&'r str),
}

impl Like<'_> {
    fn holds(self, text: &str, run: &Run<'_>) -> bool {
        match self {
            Self::Ends(start) => text.strip_suffix(start).is_some_and(|before| run.may_follow(before)),
            Self::Is(part) => text == part,
            Self::Begins(end) => text.strip_prefix(end).is_some_and(|after| run.may_precede(after)),
        }
    }
}

impl Like<'_> {
    /// The number that an integer must be that is so, but for its sign: its digits are one word.
    fn number(self, run: &Run<'_>) -> Option<u64> {
        let digits = match self {
            Self::Ends(start) if run.starts_word => start,
            Self::Begins(end) if run.ends_word => end,
            Self::Is(part) => part,
            _ => return None,
        };
        digits.parse().ok()
    }
}

/// What the values of some holes must be like, by the numbers of their places: then the run lies across.
type Way<'r> = Vec<(usize, Like<'r>)>;

/// Looks for the ways.
struct Ways<'a, 'r> {
    places: &'a [Place<'a>],
    run: &'a Run<'r>,
    found: Vec<Way<'r>>,
    steps: usize,
}

/// The two parts of each cut.
fn cuts(text: &str) -> impl Iterator<Item = (&str, &str)> {
    token::cuts(text).map(|at| text.split_at(at))
}

impl<'a, 'r> Ways<'a, 'r> {
    /// All, unless they are too many.
    fn of(places: &'a [Place<'a>], run: &'a Run<'r>) -> Option<Vec<Way<'r>>> {
        let mut ways = Self { places, run, found: Vec::new(), steps: 0 };
        for (at, place) in places.iter().enumerate() {
            for (start, rest) in cuts(run.text) {
                match place {
                    Place::Literal(text) => {
                        if Like::Ends(start).holds(text, run) {
                            ways.go_on(at + 1, rest, &mut Vec::new())?;
                        }
                    }
                    _ => ways.go_on(at + 1, rest, &mut vec![(at, Like::Ends(start))])?,
                }
            }
        }
        Some(ways.found)
    }

    /// The ways on, from a place where the rest must begin; nothing if that takes too long.
    fn go_on(&mut self, at: usize, rest: &'r str, way: &mut Way<'r>) -> Option<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS || self.found.len() > MAX_WAYS {
            return None;
        }
        match self.places.get(at) {
            None => {}
            Some(Place::Literal(text)) => {
                if Like::Begins(rest).holds(text, self.run) {
                    self.found.push(way.clone());
                } else if let Some(rest) = rest.strip_prefix(text) {
                    // Where both end together, the run may go no further.
                    if !rest.is_empty() {
                        self.go_on(at + 1, rest, way)?;
                    }
                }
            }
            Some(_) => {
                way.push((at, Like::Begins(rest)));
                self.found.push(way.clone());
                way.pop();
                for (part, rest) in cuts(rest) {
                    way.push((at, Like::Is(part)));
                    self.go_on(at + 1, rest, way)?;
                    way.pop();
                }
            }
        }
        Some(())
    }
}

/// How a run may lie across the edges of a template's pieces.
#[derive(Debug)]
pub(super) struct Crossing<'a, 'r> {
    places: Vec<Place<'a>>,
    run: Run<'r>,
    ways: Vec<Way<'r>>,
    budget: usize,
}

impl<'a> Parts<'a> {
    /// How a run may lie across the edges of a template's pieces; nothing if there are too many ways.
    pub(super) fn crossing<'r>(&self, template: usize, run: Run<'r>) -> Result<Option<Crossing<'a, 'r>>> {
        let places: Vec<Place<'_>> = self.places(template).collect::<Result<_>>()?;
        let ways = Ways::of(&places, &run);
        Ok(ways.map(|ways| Crossing { places, run, ways, budget: self.budget() }))
    }
}

impl Crossing<'_, '_> {
    /// Whether it asks for values of other columns.
    pub(super) fn refers(&self) -> bool {
        let mut asked = self.ways.iter().flatten();
        asked.any(|&(at, _)| matches!(self.places[at], Place::Reference(_)))
    }

    /// Which of some texts of the template, ascending, have it.
    pub(super) fn of(
        &self,
        some: &[u32],
        their: &TheirRows<'_>,
        around: &Surroundings<'_, '_>,
    ) -> Result<Vec<u32>> {
        let mut has = vec![false; some.len()];
        for way in &self.ways {
            let mut left: Vec<u32> = (0..).zip(&has).filter(|(_, has)| !**has).map(|(i, _)| i).collect();
            for &(at, like) in way {
                if left.is_empty() {
                    break;
                }
                let ranks: Vec<u32> = left.iter().map(|&i| some[i as usize]).collect();
                let is_so = |text: &str| like.holds(text, &self.run);
                // What is not UTF-8, and damaged, has it not.
                let are_so = |text: &[u8]| str::from_utf8(text).is_ok_and(is_so);
                let mut budget = self.budget;
                let hold = match &self.places[at] {
                    Place::Literal(text) => vec![is_so(text); ranks.len()],
                    Place::Variable(lazy) => lazy.judge(&ranks, &mut budget, are_so)?,
                    Place::Time(lazy) => lazy.judge(&ranks, &their.times, &mut budget, are_so)?,
                    Place::Reference(of) => {
                        let slot =
                            |&rank: &u32| their.slots.get(rank as usize).copied().unwrap_or(0) as usize;
                        holding(
                            &*(around.column)(*of)?,
                            ranks.iter().map(slot),
                            like.number(&self.run),
                            is_so,
                        )
                    }
                };
                let mut hold = hold.into_iter();
                left.retain(|_| hold.next() == Some(true));
            }
            left.into_iter().for_each(|i| has[i as usize] = true);
        }
        Ok(ranks_of(&has).into_iter().map(|i| some[i as usize]).collect())
    }
}

/// Of the values of a column in these slots, which are so: of those that are there many times, once. An integer that is so is
/// this number, if one is told.
fn holding(
    column: &Column,
    slots: impl ExactSizeIterator<Item = usize>,
    number: Option<u64>,
    is_so: impl Fn(&str) -> bool,
) -> Vec<bool> {
    if let ColumnData::Dict { values, codes } = &column.data
        && values.len() <= slots.len()
    {
        let of_value: Vec<bool> = values.iter().map(is_so).collect();
        return slots.map(|slot| of_value.get(codes.get(slot) as usize) == Some(&true)).collect();
    }
    let mut digits = IntText::default();
    let mut is_so = |slot| column.text_at(slot, &mut digits).is_some_and(&is_so);
    match (&column.data, number) {
        (ColumnData::Int { values, .. }, Some(number)) => {
            slots.map(|slot| values.get(slot).unsigned_abs() == number && is_so(slot)).collect()
        }
        _ => slots.map(is_so).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ways of a phrase across these places, of which `None` is a hole.
    fn ways(places: &[Option<&'static str>], text: &str) -> Option<Vec<String>> {
        let place = |place: &Option<&'static str>| place.map_or(Place::Reference(0), Place::Literal);
        let places: Vec<Place<'_>> = places.iter().map(place).collect();
        let run = Run { text, starts_word: true, ends_word: true };
        let ways = Ways::of(&places, &run)?;
        Some(ways.iter().map(|way| format!("{way:?}")).collect())
    }

    #[test]
    fn what_stays_the_same_leaves_few_ways() {
        let request = [Some("\""), None, Some(" "), None, Some("\" "), None];
        assert_eq!(ways(&request, "GET /image").unwrap(), [r#"[(1, Ends("GET")), (3, Begins("/image"))]"#]);
        // What comes before a hole is its value's start, its end, or all of it.
        assert_eq!(
            ways(&request, "\"GET /").unwrap(),
            [
                r#"[(1, Begins("GET /"))]"#,
                r#"[(1, Is("GET")), (3, Begins("/"))]"#,
                r#"[(1, Ends("\"GET")), (3, Begins("/"))]"#
            ]
        );
        assert_eq!(
            ways(&request, "1.1\" 200").unwrap(),
            [r#"[(1, Ends("1.1\"")), (3, Begins("200"))]"#, r#"[(3, Ends("1.1")), (5, Begins("200"))]"#]
        );
        assert_eq!(
            ways(&request, "a b").unwrap(),
            [r#"[(1, Ends("a")), (3, Begins("b"))]"#],
            "not across the one before"
        );
        assert_eq!(ways(&request, "nothing").unwrap(), [""; 0], "a word reaches over no edge");
        assert_eq!(ways(&[Some("user "), None], "a user x").unwrap(), [""; 0]);
        assert_eq!(ways(&[Some("user "), None], "user x").unwrap(), [r#"[(1, Begins("x"))]"#]);
        assert_eq!(ways(&[Some("superuser "), None], "user x").unwrap(), [""; 0], "it is another word");
        assert_eq!(ways(&[None, Some(" users")], "x user").unwrap(), [""; 0], "it is another word");
        assert_eq!(ways(&[None, None], "- +").unwrap().len(), 2);
        assert_eq!(ways(&[None; 40], "a b c d e f g h i j"), None, "too many");
    }
}
