//! Which values the variable parts of a file have, and how often: what is drawn from.
//!
//! A part's *slot* is where it stands: the JSON field, what stands in front of it, its kind. `status=404` and `port 404`
//! are two slots. What becomes of a value is told by how it is spread over the file:
//!
//! - seen in 2 % of the slot's places or more: it stays (a status, a version, a host of few);
//! - seen far apart in the file: it is known, and another known one may stand for it (clients, paths, users);
//! - seen once, or only within one stretch of the file: it is new each time (identities of requests, ports).
//!
//! So the share of places with new values is about what it is in the file (Good and Turing's estimate).

use crate::input::Source;
use crate::redraw::{leaves, number_token};
use crate::token::{Kind, Token, Tokens};
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::hash::BuildHasher;

/// Of a slot's places, one in so many makes a value frequent.
const FREQUENT_ONE_IN: u32 = 50;
/// A value that stays within so many entries is local; within a tenth of the file, if that is less.
const LOCAL_ENTRIES: u32 = 1_000;
/// Bytes in front of a part that tell slots apart.
const CONTEXT_BYTES: usize = 12;
/// Numbers that mostly rise, by no more than this, count something.
const COUNTER_STEP_MAX: i64 = 10_000;

/// All slots of a file.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary {
    slots: HashMap<u64, Slot, FixedState>,
}

/// What becomes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Stays,
    /// Another known one, or itself.
    Known,
    New,
    /// The slot counts: it goes on counting.
    Counts,
}

#[derive(Debug, Default)]
struct Slot {
    places: u32,
    rises: u32,
    last: i64,
    values: HashMap<Box<str>, Seen, FixedState>,
    /// The known values, each with the places of all up to it.
    known: Vec<(Box<str>, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    count: u32,
    first: u32,
    last: u32,
}

/// The slot of a part: `path` is the field's, `before` what stands between it and the part before.
pub(crate) fn slot_of(path: u64, before: &str, previous: Option<Kind>, kind: Kind) -> u64 {
    let before = before.as_bytes();
    let near = &before[before.len().saturating_sub(CONTEXT_BYTES)..];
    FixedState::default().hash_one((path, near, previous, kind))
}

/// Each part of a text with its slot.
pub(crate) fn slots_of<'t>(
    tokens: &'t Tokens,
    path: u64,
    text: &'t str,
) -> impl Iterator<Item = (u64, Token)> + 't {
    let (mut end, mut previous) = (0, None);
    tokens.of(text).map(move |token| {
        let slot = slot_of(path, &text[end..token.range.start], previous, token.kind);
        (end, previous) = (token.range.end, Some(token.kind));
        (slot, token)
    })
}

impl Vocabulary {
    /// Of all entries of a file.
    pub(crate) fn of(source: &Source, tokens: &Tokens) -> Self {
        let mut all = Self::default();
        for (place, entry) in (0..).zip(&source.entries) {
            let Ok(mut object) = serde_json::from_str(&entry.json) else { continue };
            leaves(&mut object, &mut |path, leaf| match leaf {
                serde_json::Value::String(text) => {
                    for (slot, token) in slots_of(tokens, path, text) {
                        if token.kind != Kind::Stamp {
                            all.see(slot, &text[token.range], place);
                        }
                    }
                }
                serde_json::Value::Number(number) => {
                    if let Some((kind, text)) = number_token(number) {
                        all.see(slot_of(path, "", None, kind), &text, place);
                    }
                }
                _ => {}
            });
        }
        let local = LOCAL_ENTRIES.min(u32::try_from(source.entries.len()).unwrap_or(u32::MAX) / 10);
        all.slots.values_mut().for_each(|slot| slot.settle(local));
        all
    }

    fn see(&mut self, slot: u64, value: &str, place: u32) {
        let slot = self.slots.entry(slot).or_default();
        slot.places += 1;
        if let Ok(number) = value.parse::<i64>() {
            let step = number.saturating_sub(slot.last);
            slot.rises += u32::from((1..=COUNTER_STEP_MAX).contains(&step));
            slot.last = number;
        }
        match slot.values.get_mut(value) {
            Some(seen) => {
                seen.count += 1;
                seen.last = place;
            }
            None => {
                slot.values.insert(value.into(), Seen { count: 1, first: place, last: place });
            }
        }
    }

    pub(crate) fn fate(&self, slot: u64, value: &str) -> Fate {
        let Some(slot) = self.slots.get(&slot) else { return Fate::New };
        match slot.values.get(value) {
            Some(seen) if slot.is_frequent(*seen) => Fate::Stays,
            _ if slot.counts() => Fate::Counts,
            Some(_) => Fate::Known,
            None => Fate::New,
        }
    }

    /// A known value of the slot, each as likely as it is in the file.
    pub(crate) fn draw(&self, slot: u64, rng: &mut fastrand::Rng) -> Option<&str> {
        let known = &self.slots.get(&slot)?.known;
        let at = rng.u32(..known.last()?.1);
        let index = known.partition_point(|(_, up_to)| *up_to <= at);
        known.get(index).map(|(value, _)| &**value)
    }
}

impl Slot {
    fn is_frequent(&self, seen: Seen) -> bool {
        seen.count >= 3 && seen.count >= self.places / FREQUENT_ONE_IN
    }

    fn counts(&self) -> bool {
        self.places > 20 && self.rises > self.places / 10 * 6
    }

    /// Forgets values that are new each time.
    fn settle(&mut self, local: u32) {
        let places = self.places;
        let frequent = |seen: &Seen| seen.count >= 3 && seen.count >= places / FREQUENT_ONE_IN;
        self.values
            .retain(|_, seen| frequent(seen) || (seen.count > 1 && seen.last - seen.first >= local.max(1)));
        let mut known: Vec<_> = self.values.iter().filter(|(_, seen)| !frequent(seen)).collect();
        known.sort_unstable_by_key(|(value, _)| *value);
        let mut up_to = 0;
        self.known = known
            .into_iter()
            .map(|(value, seen)| {
                up_to += seen.count;
                (value.clone(), up_to)
            })
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 lines: of three statuses, 200 clients that come back, and requests of two lines.
    fn source() -> Source {
        let line = |i: usize| {
            format!(
                "client {} request {} status {}\n",
                1000 + i * 127 % 200,
                70_000 + (i / 2) * 37 % 9_001,
                [200, 404, 500][i % 3]
            )
        };
        let text: String = (0..1_000).map(line).collect();
        Source::of("a.log", text.as_bytes(), 1_720_000_000_000_000_000, false).unwrap()
    }

    #[test]
    fn values_are_told_by_their_spread() {
        let tokens = Tokens::new().unwrap();
        let source = source();
        let vocabulary = Vocabulary::of(&source, &tokens);
        let mut fates = Vec::new();
        let mut object = serde_json::from_str(&source.entries[500].json).unwrap();
        leaves(&mut object, &mut |path, leaf| {
            let text = leaf.as_str().unwrap();
            fates.extend(
                slots_of(&tokens, path, text).map(|(slot, token)| vocabulary.fate(slot, &text[token.range])),
            );
        });
        assert_eq!(fates, [Fate::Known, Fate::New, Fate::Stays]);
    }

    #[test]
    fn numbers_that_rise_count() {
        let tokens = Tokens::new().unwrap();
        let text: String = (0..1_000).map(|i| format!("record {}\n", 5_000 + i * 3)).collect();
        let source = Source::of("a.log", text.as_bytes(), 0, false).unwrap();
        let vocabulary = Vocabulary::of(&source, &tokens);
        let path = FixedState::default().hash_one((0_u64, "_msg"));
        let (slot, _) = slots_of(&tokens, path, "record 5003").next().unwrap();
        assert_eq!(vocabulary.fate(slot, "5003"), Fate::Counts);
    }
}
