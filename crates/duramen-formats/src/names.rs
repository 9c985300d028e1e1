//! The names that an entry has already.

use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::fmt::Write;
use std::hash::BuildHasher;

/// Up to so many names are compared one by one.
const FEW: usize = 64;

/// Tells which names an entry has, for protocols that may say one twice: both are kept, the later one as `name#1`,
/// `name#2` and so on. Keeps its memory from entry to entry.
#[derive(Debug, Default)]
pub struct Names {
    hasher: FixedState,
    few: Vec<u64>,
    /// By the name's hash, how often it was said again: all names beyond the few, and those of the few that were.
    counts: HashMap<u64, u32, FixedState>,
    renamed: String,
}

impl Names {
    /// No names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the entry before.
    pub fn clear(&mut self) {
        self.few.clear();
        self.counts.clear();
    }

    /// Takes a name and gives the one that its field can have: the same, or `name#1` and so on if others had it before.
    pub fn take<'n>(&'n mut self, name: &'n str) -> &'n str {
        let hash = self.hasher.hash_one(name.as_bytes());
        if self.is_new(hash) {
            return name;
        }
        loop {
            let said_before = self.counts.entry(hash).or_insert(0);
            *said_before += 1;
            self.renamed.clear();
            // Writing to a String cannot fail.
            let _infallible = write!(self.renamed, "{name}#{said_before}");
            let hash = self.hasher.hash_one(self.renamed.as_bytes());
            if self.is_new(hash) {
                return &self.renamed;
            }
        }
    }

    /// Whether no name had this hash so far; from now on, one has.
    fn is_new(&mut self, hash: u64) -> bool {
        if self.few.contains(&hash) || self.counts.contains_key(&hash) {
            return false;
        }
        match self.few.len() < FEW {
            true => self.few.push(hash),
            false => _ = self.counts.insert(hash, 0),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_said_again_gets_a_number() {
        let mut names = Names::new();
        for _ in 0..2 {
            assert_eq!(
                ["b#1", "b", "b", "b"].map(|name| names.take(name).to_owned()),
                ["b#1", "b", "b#2", "b#3"]
            );
            names.clear();
            let got: Vec<_> =
                ["a", "b", "a", "", "a", "", "b"].map(|name| names.take(name).to_owned()).into();
            assert_eq!(got, ["a", "b", "a#1", "", "a#2", "#1", "b#1"]);
            for i in 0..500 {
                let name = format!("f{i}");
                assert_eq!(names.take(&name), name);
            }
            assert_eq!([names.take("f499").to_owned(), names.take("f1").to_owned()], ["f499#1", "f1#1"]);
            assert_eq!([names.take("f499").to_owned(), names.take("a").to_owned()], ["f499#2", "a#3"]);
            names.clear();
        }
    }
}
