//! An entry's variable parts drawn anew: times move, frequent values stay, others become known or new ones, as
//! [`crate::vocabulary`] says. Within a run the same value becomes the same value, wherever it stands, so that a request's
//! lines stay a request's lines.

use crate::fresh::fresh;
use crate::stamp::{Stamps, moved_epoch};
use crate::token::{Kind, Tokens};
use crate::vocabulary::{Fate, Vocabulary, slot_of, slots_of};
use fastrand::Rng;
use foldhash::fast::FixedState;
use serde_json::{Map, Number, Value};
use std::collections::HashMap;
use std::hash::BuildHasher;

/// Shorter values mean something else elsewhere: they are the same only in their slot.
const TELLING_BYTES: usize = 4;

/// Calls for each string and number of an object, with a hash of the names that lead to it.
pub(crate) fn leaves(object: &mut Map<String, Value>, call: &mut impl FnMut(u64, &mut Value)) {
    members(object, 0, call);
}

fn members(object: &mut Map<String, Value>, path: u64, call: &mut impl FnMut(u64, &mut Value)) {
    for (name, value) in object {
        walk(value, FixedState::default().hash_one((path, name.as_str())), call);
    }
}

fn walk(value: &mut Value, path: u64, call: &mut impl FnMut(u64, &mut Value)) {
    match value {
        Value::Object(object) => members(object, path, call),
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, path, call)),
        Value::String(_) | Value::Number(_) => call(path, value),
        Value::Null | Value::Bool(_) => {}
    }
}

/// A number without its sign, as a part of a text; none if it is written with an exponent.
pub(crate) fn number_token(number: &Number) -> Option<(Kind, String)> {
    let text = number.to_string();
    let digits = text.trim_start_matches('-');
    let kind = if digits.contains('.') { Kind::Dotted } else { Kind::Number };
    digits.bytes().all(|b| b.is_ascii_digit() || b == b'.').then(|| (kind, digits.to_owned()))
}

/// Redraws the entries of a file.
#[derive(Debug)]
pub(crate) struct Redraw<'a> {
    tokens: &'a Tokens,
    stamps: &'a Stamps,
    vocabulary: Vocabulary,
    rng: Rng,
    /// What values became in this run.
    run: HashMap<(u64, Box<str>), String, FixedState>,
    /// What is added to the counting slots' values in this run.
    offsets: HashMap<u64, i64, FixedState>,
    /// How far the counting slots have counted.
    counted: HashMap<u64, i64, FixedState>,
}

impl<'a> Redraw<'a> {
    pub(crate) fn new(tokens: &'a Tokens, stamps: &'a Stamps, vocabulary: Vocabulary, rng: Rng) -> Self {
        let (run, offsets, counted) = Default::default();
        Self { tokens, stamps, vocabulary, rng, run, offsets, counted }
    }

    /// What comes has nothing to do with what was.
    pub(crate) fn begin_run(&mut self) {
        self.run.clear();
        self.offsets.clear();
    }

    /// The entry's object, which was written at `entry_ns`, as if written at `new_ns`.
    pub(crate) fn entry(&mut self, object: &mut Map<String, Value>, entry_ns: i64, new_ns: i64) {
        leaves(object, &mut |path, leaf| match leaf {
            Value::String(text) => *text = self.text(path, text, entry_ns, new_ns),
            Value::Number(number) => {
                if let Some(new) = self.number(path, number, entry_ns, new_ns) {
                    *number = new;
                }
            }
            _ => {}
        });
    }

    fn text(&mut self, path: u64, text: &str, entry_ns: i64, new_ns: i64) -> String {
        let mut out = String::with_capacity(text.len() + 16);
        let mut end = 0;
        for (slot, token) in slots_of(self.tokens, path, text) {
            out.push_str(&text[end..token.range.start]);
            end = token.range.end;
            let old = &text[token.range];
            match token.kind {
                Kind::Stamp => match self.stamps.moved(old, entry_ns, new_ns) {
                    Some(moved) => out.push_str(&moved),
                    None => out.push_str(old),
                },
                kind => out.push_str(&self.value(slot, kind, old, entry_ns, new_ns)),
            }
        }
        out.push_str(&text[end..]);
        out
    }

    /// A number of the same type and sign, if there is one of the shape.
    fn number(&mut self, path: u64, number: &Number, entry_ns: i64, new_ns: i64) -> Option<Number> {
        let (kind, digits) = number_token(number)?;
        let new = self.value(slot_of(path, "", None, kind), kind, &digits, entry_ns, new_ns);
        let sign = if number.to_string().starts_with('-') { "-" } else { "" };
        let new: Number = serde_json::from_str(&format!("{sign}{new}")).ok()?;
        let same = new.is_i64() == number.is_i64() && new.is_u64() == number.is_u64();
        same.then_some(new)
    }

    fn value(&mut self, slot: u64, kind: Kind, old: &str, entry_ns: i64, new_ns: i64) -> String {
        if matches!(kind, Kind::Number | Kind::Dotted)
            && let Some(moved) = moved_epoch(old, entry_ns, new_ns)
        {
            return moved;
        }
        let fate = self.vocabulary.fate(slot, old);
        if fate == Fate::Stays {
            return old.to_owned();
        }
        let key = (if old.len() < TELLING_BYTES { slot } else { 0 }, old.into());
        if let Some(new) = self.run.get(&key) {
            return new.clone();
        }
        let new = match fate {
            Fate::Counts => self.count(slot, old),
            Fate::Known => self.vocabulary.draw(slot, &mut self.rng).unwrap_or(old).to_owned(),
            Fate::New | Fate::Stays => fresh(kind, old, &mut self.rng),
        };
        self.run.insert(key, new.clone());
        new
    }

    /// Goes on from where the run before ended, until there is no more room in so many digits.
    fn count(&mut self, slot: u64, old: &str) -> String {
        let Ok(number) = old.parse::<i64>() else { return old.to_owned() };
        let counted = self.counted.entry(slot).or_insert(number);
        let offset = *self.offsets.entry(slot).or_insert(counted.saturating_sub(number));
        let new = number.saturating_add(offset).max(0);
        let new = if new.to_string().len() > old.len() {
            self.offsets.insert(slot, 0);
            number
        } else {
            new
        };
        *counted = new;
        format!("{new:0width$}", width = old.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Source;

    fn redrawn(text: &str, entries: &[usize]) -> Vec<Map<String, Value>> {
        let (tokens, stamps) = (Tokens::new().unwrap(), Stamps::new().unwrap());
        let source = Source::of("a", text.as_bytes(), 1_720_000_000_000_000_000, false).unwrap();
        let vocabulary = Vocabulary::of(&source, &tokens);
        let mut redraw = Redraw::new(&tokens, &stamps, vocabulary, Rng::with_seed(3));
        let mut all = Vec::new();
        for &i in entries {
            let mut object = serde_json::from_str(&source.entries[i].json).unwrap();
            redraw.entry(&mut object, source.entries[i].time_ns, 1_767_571_200_000_000_000);
            all.push(object);
        }
        all
    }

    #[test]
    fn a_value_becomes_the_same_value_throughout_a_run() {
        let id = |i: usize| format!("{:016x}", (i as u64 / 2 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let line = |i: usize| {
            format!(
                "{{\"id\":\"{0}\",\"_msg\":\"begin {0} port {1}\"}}\n",
                id(i),
                40_000 + i * 17_389 % 20_011
            )
        };
        let text: String = (0..1_000).map(line).collect();
        let all = redrawn(&text, &[600, 601, 602]);
        let id_of = |i: usize| all[i]["id"].as_str().unwrap();
        assert_ne!(id_of(0), id(600));
        assert_eq!(id_of(0), id_of(1));
        assert_ne!(id_of(0), id_of(2));
        assert!(all[1]["_msg"].as_str().unwrap().starts_with(&format!("begin {} port ", id_of(0))));
    }

    #[test]
    fn types_signs_and_structure_stay() {
        let text = "{\"ts\":\"2024-06-27T00:00:08.250Z\",\"a\":{\"b\":[-17,1.5,true,null,\"x 12\"]},\"big\":18446744073709551615}\n";
        let [object] = &redrawn(text, &[0])[..] else { panic!() };
        assert_eq!(object["ts"], "2026-01-05T00:00:00.000Z");
        let items = object["a"]["b"].as_array().unwrap();
        assert!(
            items[0].as_i64().unwrap() < 0
                && items[1].is_f64()
                && items[4].as_str().unwrap().starts_with("x ")
        );
        assert_eq!((&items[2], &items[3]), (&Value::Bool(true), &Value::Null));
        assert!(object["big"].is_u64());
    }

    #[test]
    fn a_counter_goes_on() {
        let text: String = (0..1_000).map(|i| format!("record {} done\n", 5_000 + i * 3)).collect();
        let all = redrawn(&text, &[500, 501, 502]);
        let number =
            |i: usize| all[i]["_msg"].as_str().unwrap().split(' ').nth(1).unwrap().parse::<i64>().unwrap();
        assert_eq!((number(1) - number(0), number(2) - number(1)), (3, 3));
    }
}
