//! The rows that come out of groups.

use super::{Groups, of_group, taken, values};
use crate::error::Result;
use crate::exec::memory::Memory;
use crate::pipe::Flow;
use crate::row::ResultRow;
use duramen::ValueKind;

/// Of groups, only those matter that come first when they are sorted by a function's result, whatever else they are sorted by
/// behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstBy {
    /// The function's place among the aggregate's.
    pub function: usize,
    /// Whether the greatest comes first.
    pub desc: bool,
    /// How many matter.
    pub keep: usize,
}

/// Which rows of groups are wanted, and in which order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// All, in the order of their values.
    InOrder,
    /// All, in whatever order.
    InAnyOrder,
    /// Those that come first, in the order of their values.
    First(FirstBy),
}

/// Takes the rows of groups, one after another; each is the caller's to use again.
pub(crate) type GiveRow<'g> = dyn FnMut(&mut ResultRow) -> Result<Flow> + 'g;

impl Groups<'_> {
    /// The results of a group's functions so far.
    pub(crate) fn results(&self, group: usize) -> impl Iterator<Item = (String, ValueKind)> {
        let first = group * self.functions();
        let pairs = self.state_of.iter().zip(&self.aggregate.functions);
        // Copies were not charged for.
        pairs.map(move |(&of, function)| self.states[first + of].clone().result(function, &Memory::new(0)))
    }

    /// Gives a row for each group, in the order of their values, unless any order will do, with the functions' results under these
    /// names. If only some of them matter, others may be missing.
    pub(crate) fn give_rows(
        mut self,
        names: &[Box<str>],
        wanted: Wanted,
        give: &mut GiveRow<'_>,
    ) -> Result<()> {
        self.add_the_only_group();
        let first = match wanted {
            Wanted::InOrder => None,
            Wanted::First(first) => Some(first),
            Wanted::InAnyOrder if self.aggregate.keep.is_none() => {
                return self.give_these(0..self.keys.len() as u32, names, give);
            }
            Wanted::InAnyOrder => None,
        };
        let candidates = first.filter(|_| self.aggregate.keep.is_none()).and_then(|by| self.candidates(by));
        let keep = self.aggregate.keep.unwrap_or(usize::MAX);
        let groups = match candidates {
            Some(candidates) => self.first(candidates.into_iter(), keep),
            None => self.first(0..self.keys.len() as u32, keep),
        };
        self.give_these(groups.into_iter(), names, give)
    }

    /// The same of the groups with the most rows, largest first, if the first function counts them.
    pub(crate) fn give_largest(
        mut self,
        keep: usize,
        names: &[Box<str>],
        give: &mut GiveRow<'_>,
    ) -> Result<()> {
        self.add_the_only_group();
        let largest = self.largest(keep);
        self.give_these(largest.into_iter(), names, give)
    }

    /// Without fields to group by all rows are one group, even if there is none.
    fn add_the_only_group(&mut self) {
        if self.aggregate.by.is_empty()
            && let Err(mark) = self.keys.find(&[])
        {
            self.add_group(&[], mark);
        }
    }

    fn give_these(
        &mut self,
        groups: impl Iterator<Item = u32>,
        names: &[Box<str>],
        give: &mut GiveRow<'_>,
    ) -> Result<()> {
        let (aggregate, functions) = (self.aggregate, self.functions());
        let mut all = std::mem::take(&mut self.states);
        let mut row = ResultRow::new();
        let mut flow = Flow::Continue;
        for group in groups {
            let states = of_group(&mut all, group as usize, functions);
            row.clear();
            let values = values(self.keys.get(group as usize), aggregate.by.len());
            for (by, value) in aggregate.by.iter().zip(values) {
                row.push(&by.field, value, ValueKind::String);
            }
            for (i, (function, name)) in aggregate.functions.iter().zip(names).enumerate() {
                let of = self.state_of[i];
                let is_last = !self.state_of[i + 1..].contains(&of);
                let (text, kind) = if is_last {
                    taken(&mut states[of]).result(function, self.memory)
                } else {
                    // A copy was not charged for.
                    states[of].clone().result(function, &Memory::new(0))
                };
                row.push(name, &text, kind);
            }
            if flow == Flow::Continue {
                flow = give(&mut row)?;
            }
            // What the others remember gives back what was charged for it.
            if flow == Flow::Stop && aggregate.functions.iter().all(|f| f.kind.remembers_little()) {
                break;
            }
        }
        Ok(())
    }
}
