//! Which groups come first: by their values, by a function's result, or by how many rows they have.

use super::give::FirstBy;
use super::{Groups, values};
use crate::order::PlaceKey;
use crate::pipe::sort::Directed;
use crate::pipe::stats::state::State;
use std::cmp::Reverse;

impl Groups<'_> {
    /// The first of these groups, in the order of their values.
    pub(super) fn first(&self, of: impl Iterator<Item = u32>, keep: usize) -> Vec<u32> {
        if self.aggregate.by.len() == 1 {
            // Most have one key, which then need not be looked for somewhere else each time it is compared.
            let place = |group: u32| PlaceKey::new(self.value(group));
            return sorted(of.map(|group| (place(group), group)), keep);
        }
        sorted(of.map(|group| (self.place(group), group)), keep)
    }

    /// The groups that may be first when they are sorted; `None` if that is dear to find out.
    pub(super) fn candidates(&self, by: FirstBy) -> Option<Vec<u32>> {
        let (of, function) = (*self.state_of.get(by.function)?, self.aggregate.functions.get(by.function)?);
        if self.keys.len() <= by.keep {
            return Some((0..self.keys.len() as u32).collect());
        }
        let keys = self.states.chunks(self.functions()).map(|states| states.get(of)?.sort_key(function));
        let keys = keys.map(|key| Some(Directed::new(key?, by.desc))).collect::<Option<Vec<_>>>()?;
        let all = 0..self.keys.len() as u32;
        let Some(last) = by.keep.checked_sub(1) else { return Some(Vec::new()) };
        let mut places: Vec<&Directed> = keys.iter().collect();
        let (_, last, _) = places.select_nth_unstable(last);
        Some(all.zip(&keys).filter(|(_, key)| key <= last).map(|(group, _)| group).collect())
    }

    /// The groups with the most rows, those of as many in the order of their values; of an aggregate that counts rows first.
    pub(super) fn largest(&self, keep: usize) -> Vec<u32> {
        let count = |group: u32| match self.states.get(group as usize * self.functions()) {
            Some(State::Count(n)) => *n,
            _ => 0,
        };
        let mut counts: Vec<u64> = (0..self.keys.len() as u32).map(count).collect();
        // Only those that may be among them are put in order.
        let least = match keep.checked_sub(1) {
            Some(last) if last < counts.len() => *counts.select_nth_unstable_by(last, |a, b| b.cmp(a)).1,
            Some(_) => 0,
            None => return Vec::new(),
        };
        let candidates = (0..self.keys.len() as u32).filter(|&group| count(group) >= least);
        let mut all: Vec<_> =
            candidates.map(|group| (Reverse(count(group)), self.place(group), group)).collect();
        all.sort_unstable();
        all.into_iter().map(|(.., group)| group).take(keep).collect()
    }

    /// A group's value, if it has one.
    fn value(&self, group: u32) -> &str {
        values(self.keys.get(group as usize), 1).next().unwrap_or("")
    }

    /// What a group's place in the order of values goes by.
    fn place(&self, group: u32) -> Vec<PlaceKey<'_>> {
        values(self.keys.get(group as usize), self.aggregate.by.len()).map(PlaceKey::new).collect()
    }
}

/// The first groups of these, by their places.
fn sorted<P: Ord>(groups: impl Iterator<Item = (P, u32)>, keep: usize) -> Vec<u32> {
    let mut all: Vec<_> = groups.collect();
    all.sort_unstable();
    all.into_iter().map(|(_, group)| group).take(keep).collect()
}
