//! The groups while rows come in: a hash table from the group's values to what its functions remember.

use super::keys::{Keys, Mark};
use super::state::State;
use super::{Aggregate, Cell, Named};
use crate::error::Result;
use crate::exec::memory::Memory;
use crate::number::Number;
use crate::order::PlaceKey;
use crate::parse::time::parse_time;
use crate::pipe::Flow;
use crate::pipe::sort::{Arrival, Directed};
use crate::row::ResultRow;
use duramen::ValueKind;
use std::cmp::Reverse;

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

/// The best value of a group so far, if it is a number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToBeat {
    pub number: Number,
    /// Whether an integer that is the same number is no better.
    pub beats_equals: bool,
}

/// Groups of one aggregate, of the rows that one thread has seen.
#[derive(Debug)]
pub struct Groups<'a> {
    aggregate: &'a Aggregate,
    memory: &'a Memory,
    keys: Keys,
    /// What the functions of each group remember, one group after another; nothing, for those that go by what an earlier
    /// one does.
    states: Vec<State>,
    /// By whose state each function goes: its own, or that of an earlier one that remembers the same.
    state_of: Vec<usize>,
    /// What keys take that two threads had: one of each is there for nothing.
    twice_bytes: usize,
    /// Goes up when groups are dropped, and their numbers change.
    generation: u64,
    scratch: Vec<u8>,
}

impl<'a> Groups<'a> {
    pub(crate) fn new(aggregate: &'a Aggregate, memory: &'a Memory) -> Self {
        Self {
            aggregate,
            memory,
            keys: Keys::default(),
            states: Vec::new(),
            state_of: aggregate.states(),
            twice_bytes: 0,
            generation: 0,
            scratch: Vec::new(),
        }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// The number of the group with these values, which is there then. It holds until [`Groups::tidy`].
    pub(crate) fn group<'v>(&mut self, values: impl Iterator<Item = &'v str>) -> Result<usize> {
        let mut key = std::mem::take(&mut self.scratch);
        key.clear();
        for (i, value) in values.enumerate() {
            // How long the last one is, its end tells.
            if i + 1 < self.aggregate.by.len() {
                key.extend_from_slice(&(value.len() as u32).to_le_bytes());
            }
            key.extend_from_slice(value.as_bytes());
        }
        let group = self.group_of_key(&key);
        self.scratch = key;
        group
    }

    /// The same, if there is one value.
    pub(crate) fn group_of_one(&mut self, value: &str) -> Result<usize> {
        self.group_of_key(value.as_bytes())
    }

    /// The same of another aggregation's group, which is there then.
    pub(crate) fn group_of(&mut self, other: &Self, group: usize) -> Result<usize> {
        self.group_of_key(other.keys.get(group))
    }

    /// How many groups there are.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    fn group_of_key(&mut self, key: &[u8]) -> Result<usize> {
        let mark = match self.keys.find(key) {
            Ok(group) => return Ok(group),
            Err(mark) => mark,
        };
        self.memory.charge(self.bytes_of_group(key), "groups")?;
        Ok(self.add_group(key, mark))
    }

    /// Adds a group that is not there, and gives its number.
    fn add_group(&mut self, key: &[u8], mark: Mark) -> usize {
        self.states.extend(self.aggregate.functions.iter().map(State::new));
        self.keys.add(key, mark)
    }

    /// About how many bytes a group takes, with what vectors keep in reserve.
    fn bytes_of_group(&self, key: &[u8]) -> usize {
        bytes_of_key(key) + self.bytes_besides_key()
    }

    fn bytes_besides_key(&self) -> usize {
        100 + self.functions() * size_of::<State>()
    }

    fn bytes_of_groups(&self) -> usize {
        let of_groups = (0..self.keys.len()).map(|group| self.bytes_of_group(self.keys.get(group)));
        of_groups.sum::<usize>() + self.twice_bytes
    }

    /// Gives back what was charged for the groups, of which no function has seen a row.
    pub(crate) fn forget(self) {
        self.memory.release(self.bytes_of_groups());
    }

    /// How many functions each group has.
    fn functions(&self) -> usize {
        self.state_of.len()
    }

    /// What the functions of a group remember.
    fn states_of(&mut self, group: usize) -> &mut [State] {
        let functions = self.functions();
        of_group(&mut self.states, group, functions)
    }

    /// Whether a function has to see rows at all: not if an earlier one remembers for it.
    pub(crate) fn sees_rows(&self, function: usize) -> bool {
        self.state_of.get(function) == Some(&function)
    }

    /// If all rows are one group: the best value of those that were added here so far, of a function that wants that.
    pub(crate) fn to_beat(&self, function: usize) -> Option<ToBeat> {
        self.aggregate.functions.get(function)?.wants_best_of()?;
        match self.states.get(function).filter(|_| self.aggregate.by.is_empty())? {
            State::Extreme(extreme) => extreme.to_beat(),
            State::Rows(rows) => rows.number().map(|number| ToBeat { number, beats_equals: false }),
            _ => None,
        }
    }

    /// The first or the last time so far of a function that wants that, in the group that is another aggregation's one of this
    /// number; nothing if there is no such group here, or it has none.
    pub(crate) fn time_of(&mut self, other: &Self, group: usize, function: usize) -> Option<i64> {
        let group = self.keys.find_other(&other.keys, group).ok()?;
        match self.states.get(group * self.functions() + self.state_of.get(function)?)? {
            State::Extreme(extreme) => parse_time(extreme.text()),
            _ => None,
        }
    }

    /// Gives a row's values to one of a group's functions.
    pub(crate) fn add(
        &mut self,
        group: usize,
        function: usize,
        cells: &[Named<'_>],
        arrival: Arrival,
    ) -> Result<()> {
        let (aggregate, memory) = (self.aggregate, self.memory);
        self.states_of(group)[function].add(&aggregate.functions[function], cells, arrival, memory)
    }

    /// Counts so much more in these groups with one function, which counts.
    pub(crate) fn count(&mut self, function: usize, more: impl Iterator<Item = (usize, u64)>) {
        let functions = self.functions();
        for (group, more) in more {
            if let State::Count(n) = &mut self.states[group * functions + function] {
                *n += more;
            }
        }
    }

    /// Gives numbers to one function of their groups.
    pub(crate) fn add_numbers(
        &mut self,
        function: usize,
        numbers: impl Iterator<Item = (usize, Number)>,
    ) -> Result<()> {
        let functions = self.functions();
        for (group, number) in numbers {
            self.states[group * functions + function].add_number(number, self.memory)?;
        }
        Ok(())
    }

    /// Gives numbers to one function of one group.
    pub(crate) fn add_numbers_of(
        &mut self,
        group: usize,
        function: usize,
        numbers: impl Iterator<Item = Number>,
    ) -> Result<()> {
        let memory = self.memory;
        self.states_of(group)[function].add_numbers(numbers, memory)
    }

    /// Gives a value, and the number that it is, to one of a group's functions: the least or the greatest value.
    pub(crate) fn offer<'c>(
        &mut self,
        group: usize,
        function: usize,
        number: Option<Number>,
        cell: impl FnOnce() -> Cell<'c>,
    ) {
        let of = &self.aggregate.functions[function];
        if let State::Extreme(extreme) = &mut self.states_of(group)[function] {
            extreme.offer(of, number, cell);
        }
    }

    /// Counts rows that were not looked at: for `count()` of all.
    pub(crate) fn add_rows(&mut self, group: usize, rows: u64) {
        let functions = &self.aggregate.functions;
        for (state, _) in self.states_of(group).iter_mut().zip(functions).filter(|(_, f)| f.is_plain_count())
        {
            if let State::Count(n) = state {
                *n += rows;
            }
        }
    }

    /// Gives a value of rows that were not looked at to the group's functions that [want it](Function::distinct_of).
    pub(crate) fn add_value(&mut self, group: usize, name: &str, value: &str) -> Result<()> {
        let cells = [Named { name, cell: Cell::Text(value), kind: ValueKind::String }];
        for (i, function) in self.aggregate.functions.iter().enumerate() {
            if self.sees_rows(i) && function.distinct_of() == Some(name) {
                self.add(group, i, &cells, [0; 3])?;
            }
        }
        Ok(())
    }

    /// The number of a row's group.
    pub(crate) fn group_of_row(&mut self, row: &ResultRow) -> Result<usize> {
        let aggregate = self.aggregate;
        let values: Vec<_> = aggregate.by.iter().map(|b| b.value(row.get(&b.field).unwrap_or(""))).collect();
        self.group(values.iter().map(|v| &**v))
    }

    /// Adds a row that came out of another pipe.
    pub(crate) fn add_row(&mut self, row: &ResultRow, arrival: Arrival) -> Result<()> {
        let group = self.group_of_row(row)?;
        self.add_row_to(group, row, arrival)?;
        self.tidy();
        Ok(())
    }

    /// Adds such a row to a group.
    pub(crate) fn add_row_to(&mut self, group: usize, row: &ResultRow, arrival: Arrival) -> Result<()> {
        for (i, function) in self.aggregate.functions.iter().enumerate() {
            if !self.sees_rows(i)
                || function.condition.as_ref().is_some_and(|condition| !condition.matches(row))
            {
                continue;
            }
            let value = |name: &'a str| {
                let found = row.iter().find(|(n, ..)| *n == name);
                let (_, text, kind) = found.unwrap_or((name, "", ValueKind::String));
                Named { name, cell: Cell::Text(text), kind }
            };
            let mut cells: Vec<Named<'_>> = function.sort.iter().map(|(name, _)| value(name)).collect();
            for pattern in &function.fields {
                if pattern.prefix {
                    let named = row.iter().filter(|(name, ..)| pattern.matches(name));
                    cells.extend(named.map(|(name, text, kind)| Named {
                        name,
                        cell: Cell::Text(text),
                        kind,
                    }));
                } else {
                    cells.push(value(&pattern.name));
                }
            }
            self.add(group, i, &cells, arrival)?;
        }
        Ok(())
    }

    /// The results of a group's functions so far.
    pub(crate) fn results(&self, group: usize) -> impl Iterator<Item = (String, ValueKind)> {
        let first = group * self.functions();
        let pairs = self.state_of.iter().zip(&self.aggregate.functions);
        // Copies were not charged for.
        pairs.map(move |(&of, function)| self.states[first + of].clone().result(function, &Memory::new(0)))
    }

    /// Drops what cannot be among the first groups any more, if only so many are to be kept.
    pub(crate) fn tidy(&mut self) {
        if let Some(keep) = self.aggregate.keep
            && self.keys.len() > keep.saturating_mul(2).saturating_add(256)
        {
            let first = self.first(0..self.keys.len() as u32, keep);
            let mut states = std::mem::take(&mut self.states);
            let mut bytes = self.bytes_of_groups();
            for &group in &first {
                bytes -= self.bytes_of_group(self.keys.get(group as usize));
                self.states
                    .extend(of_group(&mut states, group as usize, self.functions()).iter_mut().map(taken));
            }
            self.memory.release(bytes);
            self.keys = self.keys.only(&first);
            self.twice_bytes = 0;
            self.generation += 1;
        }
    }

    /// The first of these groups, in the order of their values.
    fn first(&self, of: impl Iterator<Item = u32>, keep: usize) -> Vec<u32> {
        if self.aggregate.by.len() == 1 {
            // Most have one key, which then need not be looked for somewhere else each time it is compared.
            let place = |group: u32| PlaceKey::new(self.value(group));
            return sorted(of.map(|group| (place(group), group)), keep);
        }
        sorted(of.map(|group| (self.place(group), group)), keep)
    }

    /// The groups that may be first when they are sorted; `None` if that is dear to find out.
    fn candidates(&self, by: FirstBy) -> Option<Vec<u32>> {
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
    fn largest(&self, keep: usize) -> Vec<u32> {
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

    /// Those of all threads together.
    pub(crate) fn of_threads(
        aggregate: &'a Aggregate,
        memory: &'a Memory,
        threads: impl IntoIterator<Item = Self>,
    ) -> Result<Self> {
        let mut threads = threads.into_iter();
        let mut all = threads.next().unwrap_or_else(|| Self::new(aggregate, memory));
        threads.try_for_each(|groups| all.merge(groups))?;
        Ok(all)
    }

    /// Adds another thread's groups, which were charged for.
    pub(crate) fn merge(&mut self, other: Self) -> Result<()> {
        let mut theirs = other.states.into_iter();
        let (aggregate, memory, besides_key) = (self.aggregate, self.memory, self.bytes_besides_key());
        for group in self.keys.absorb(other.keys) {
            let Some(group) = group else {
                self.states.extend(theirs.by_ref().take(self.state_of.len()));
                continue;
            };
            for (mine, function) in self.states_of(group as usize).iter_mut().zip(&aggregate.functions) {
                if let Some(theirs) = theirs.next() {
                    mine.merge(function, theirs, memory)?;
                }
            }
            memory.release(besides_key);
            self.twice_bytes += bytes_of_key(self.keys.get(group as usize));
        }
        self.tidy();
        Ok(())
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

/// The first groups of these, by their places.
fn sorted<P: Ord>(groups: impl Iterator<Item = (P, u32)>, keep: usize) -> Vec<u32> {
    let mut all: Vec<_> = groups.collect();
    all.sort_unstable();
    all.into_iter().map(|(_, group)| group).take(keep).collect()
}

/// About how many bytes a key takes.
fn bytes_of_key(key: &[u8]) -> usize {
    key.len() + key.len() / 8
}

/// What so many functions of a group remember, of that of all.
fn of_group(all: &mut [State], group: usize, functions: usize) -> &mut [State] {
    &mut all[group * functions..(group + 1) * functions]
}

/// A state, which is of no use any more where it was.
fn taken(state: &mut State) -> State {
    std::mem::replace(state, State::Count(0))
}

/// The values in a key of so many.
fn values(key: &[u8], count: usize) -> impl Iterator<Item = &str> {
    let mut rest = key;
    (1..=count).map_while(move |nth| {
        let value = if nth == count {
            rest
        } else {
            let (len, after) = rest.split_first_chunk::<4>()?;
            let (value, after) = after.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            rest = after;
            value
        };
        std::str::from_utf8(value).ok()
    })
}
