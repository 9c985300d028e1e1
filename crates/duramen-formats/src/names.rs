//! The names that an entry has already.

use duramen::Value;
use foldhash::fast::FixedState;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::hash::BuildHasher;

/// Up to so many names are compared one by one.
const FEW: usize = 64;

/// Tells which names an entry has, for protocols that may say one twice: values that differ are all kept, the later ones
/// as `name#1`, `name#2` and so on; a value that its name has already is not. Keeps its memory from entry to entry.
#[derive(Debug, Default)]
pub struct Names {
    hasher: FixedState,
    /// Hashes of the first names, and of the value that each has.
    few: Vec<u64>,
    values: Vec<u64>,
    /// What there is before the mark, and what came since.
    parts: [Part; 2],
    /// How many of the few there were at the mark.
    marked: Option<usize>,
    renamed: String,
}

/// What is known of names beyond the few that have one value each.
#[derive(Debug, Default)]
struct Part {
    /// By the name's hash, how often it was said again and its first value: all names beyond the few, and those that were
    /// said again.
    counts: HashMap<u64, (u32, u64), FixedState>,
    /// Hashes of the names that were said again, each with the value it had then.
    pairs: HashSet<(u64, u64), FixedState>,
}

impl Part {
    fn clear(&mut self) {
        self.counts.clear();
        self.pairs.clear();
    }
}

impl Names {
    /// No names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the entry before, and the mark.
    pub fn clear(&mut self) {
        self.few.clear();
        self.values.clear();
        self.parts.iter_mut().for_each(Part::clear);
        self.marked = None;
    }

    /// Marks what is here now, for [`Names::rewind`]: names that many entries share are then taken once.
    pub fn mark(&mut self) {
        if self.marked.is_none() {
            self.marked = Some(self.few.len());
        }
    }

    /// Forgets what came after the mark; without one, everything.
    pub fn rewind(&mut self) {
        let Some(marked) = self.marked else { return self.clear() };
        self.few.truncate(marked);
        self.values.truncate(marked);
        self.parts[1].clear();
    }

    /// Takes a name and gives the one that its field can have: the same, or `name#1` and so on if others had it before;
    /// `None` if it had the same value.
    pub fn take<'n>(&'n mut self, name: &'n str, value: Value<'_>) -> Option<&'n str> {
        let hash = self.hasher.hash_one(name.as_bytes());
        let value = self.hash_of(value);
        match self.enter(hash, value) {
            None if is_reserved(name) => {}
            None => return Some(name),
            Some(first) if first == value => return None,
            Some(_) if self.parts.iter().any(|part| part.pairs.contains(&(hash, value))) => return None,
            Some(_) => _ = self.part().pairs.insert((hash, value)),
        }
        loop {
            let (said_before, first) = self.count(hash).unwrap_or((0, self.value_of(hash)));
            let said_before = said_before + 1;
            self.part().counts.insert(hash, (said_before, first));
            self.renamed.clear();
            // Writing to a String cannot fail.
            let _infallible = write!(self.renamed, "{name}#{said_before}");
            let hash = self.hasher.hash_one(self.renamed.as_bytes());
            if self.enter(hash, value).is_none() {
                return Some(&self.renamed);
            }
        }
    }

    /// Keeps a name from who comes later, whatever value it brings.
    pub fn reserve(&mut self, name: &str) {
        let hash = self.hasher.hash_one(name.as_bytes());
        // No value is equal to this.
        let nothing = self.hasher.hash_one((u8::MAX, 0_u64));
        let _there_or_not = self.enter(hash, nothing);
    }

    /// The first value of a name with this hash, if it was said; else it has this value from now on.
    fn enter(&mut self, hash: u64, value: u64) -> Option<u64> {
        if let Some(at) = self.few.iter().position(|few| *few == hash) {
            return self.values.get(at).copied();
        }
        if let Some((_, first)) = self.count(hash) {
            return Some(first);
        }
        match self.few.len() < FEW {
            true => {
                self.few.push(hash);
                self.values.push(value);
            }
            false => _ = self.part().counts.insert(hash, (0, value)),
        }
        None
    }

    fn value_of(&self, hash: u64) -> u64 {
        let at = self.few.iter().position(|few| *few == hash);
        at.and_then(|at| self.values.get(at)).copied().unwrap_or_default()
    }

    fn count(&self, hash: u64) -> Option<(u32, u64)> {
        let [before, since] = &self.parts;
        since.counts.get(&hash).or_else(|| before.counts.get(&hash)).copied()
    }

    /// What may be changed.
    fn part(&mut self) -> &mut Part {
        &mut self.parts[usize::from(self.marked.is_some())]
    }

    fn hash_of(&self, value: Value<'_>) -> u64 {
        match value {
            // The same number is a text here and a number there.
            Value::Str(text) | Value::Number(text) | Value::Json(text) => {
                self.hasher.hash_one(text.as_bytes())
            }
            Value::Int(n) => self.hasher.hash_one((0_u8, n)),
            Value::Float(x) => self.hasher.hash_one((1_u8, x.to_bits())),
            Value::Bool(b) => self.hasher.hash_one((2_u8, b)),
            Value::Null => self.hasher.hash_one((3_u8, ())),
        }
    }
}

/// Whether a name belongs to the entry itself, so that its field is kept with a number behind it from the first on.
fn is_reserved(name: &str) -> bool {
    matches!(name, "" | "_time" | "_msg" | "_stream" | "_stream_id")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes names, each with another value.
    fn take<const N: usize>(names: &mut Names, wanted: [&str; N], n: &mut i64) -> [String; N] {
        wanted.map(|name| {
            *n += 1;
            names.take(name, Value::Int(*n)).unwrap().to_owned()
        })
    }

    #[test]
    fn a_name_said_again_gets_a_number() {
        let (mut names, mut n) = (Names::new(), 0);
        for _ in 0..2 {
            assert_eq!(take(&mut names, ["b#1", "b", "b", "b"], &mut n), ["b#1", "b", "b#2", "b#3"]);
            names.clear();
            let got = take(&mut names, ["a", "b", "a", "", "a", "", "b"], &mut n);
            assert_eq!(got, ["a", "b", "a#1", "#1", "a#2", "#2", "b#1"]);
            for i in 0..500 {
                let name = format!("f{i}");
                assert_eq!(take(&mut names, [&name], &mut n), [&*name]);
            }
            assert_eq!(take(&mut names, ["f499", "f1"], &mut n), ["f499#1", "f1#1"]);
            assert_eq!(take(&mut names, ["f499", "a"], &mut n), ["f499#2", "a#3"]);
            names.clear();
        }
    }

    #[test]
    fn names_of_the_entry_itself_are_had_by_it() {
        let (mut names, mut n) = (Names::new(), 0);
        let wanted = ["_msg", "_msg", "_time#1", "_time", "_time"];
        assert_eq!(take(&mut names, wanted, &mut n), ["_msg#1", "_msg#2", "_time#1", "_time#2", "_time#3"]);
        assert_eq!(names.take("_stream", Value::Str("x")), Some("_stream#1"));
        assert_eq!(names.take("_stream", Value::Str("x")), None);
    }

    #[test]
    fn a_value_that_is_there_is_not_there_twice() {
        let mut names = Names::new();
        for others in [0, 100] {
            for i in 0..others {
                let name = format!("f{i}");
                assert_eq!(names.take(&name, Value::Null), Some(&*name));
            }
            let mut told = |name: &str, value: &str| names.take(name, Value::Str(value)).map(str::to_owned);
            assert_eq!(told("a", "1").as_deref(), Some("a"));
            assert_eq!(told("a", "1"), None);
            assert_eq!(told("a", "2").as_deref(), Some("a#1"));
            assert_eq!([told("a", "2"), told("a", "1")], [None, None]);
            assert_eq!(told("a", "3").as_deref(), Some("a#2"));
            names.clear();
        }
        for value in [Value::Int(5), Value::Float(0.5), Value::Bool(true), Value::Null] {
            let name = format!("{value:?}");
            assert_eq!(names.take(&name, value), Some(&*name));
            assert_eq!(names.take(&name, value), None);
        }
        names.reserve("kept");
        assert_eq!(names.take("kept", Value::Null), Some("kept#1"));
    }

    #[test]
    fn what_came_after_the_mark_is_forgotten() {
        for shared in [2, 100] {
            let (mut names, mut n) = (Names::new(), 0);
            for i in 0..shared {
                take(&mut names, [&format!("f{i}")], &mut n);
            }
            take(&mut names, ["f0"], &mut n);
            names.mark();
            for _ in 0..3 {
                names.rewind();
                let got = take(&mut names, ["f0", "f1", "f1", "x", "x"], &mut n);
                assert_eq!(got, ["f0#2", "f1#1", "f1#2", "x", "x#1"]);
                assert_eq!(names.take("f0", Value::Int(1)), None);
                assert_eq!(names.take("f1", Value::Str("y")), Some("f1#3"));
                assert_eq!(names.take("f1", Value::Str("y")), None);
            }
            names.clear();
            assert_eq!(names.take("x", Value::Null), Some("x"));
        }
    }
}
