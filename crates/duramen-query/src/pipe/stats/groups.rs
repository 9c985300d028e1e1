//! The groups while rows come in: a hash table from the group's values to what its functions remember.

use super::state::State;
use super::{Aggregate, Cell, Named};
use crate::error::Result;
use crate::exec::memory::Memory;
use crate::order::PlaceKey;
use crate::pipe::sort::Arrival;
use crate::row::ResultRow;
use duramen::ValueKind;
use hashbrown::HashMap;

/// Groups of one aggregate, of the rows that one thread has seen.
#[derive(Debug)]
pub struct Groups<'a> {
    aggregate: &'a Aggregate,
    memory: &'a Memory,
    index: HashMap<Box<[u8]>, u32, foldhash::fast::FixedState>,
    keys: Vec<Box<[u8]>>,
    /// What the functions of each group remember; nothing, for those that go by what an earlier one does.
    states: Vec<Vec<State>>,
    /// By whose state each function goes: its own, or that of an earlier one that remembers the same.
    state_of: Vec<usize>,
    /// Goes up when groups are dropped, and their numbers change.
    generation: u64,
    scratch: Vec<u8>,
}

impl<'a> Groups<'a> {
    pub(crate) fn new(aggregate: &'a Aggregate, memory: &'a Memory) -> Self {
        Self {
            aggregate,
            memory,
            index: HashMap::default(),
            keys: Vec::new(),
            states: Vec::new(),
            state_of: aggregate.states(),
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
        for value in values {
            key.extend_from_slice(&(value.len() as u32).to_le_bytes());
            key.extend_from_slice(value.as_bytes());
        }
        let group = self.group_of_key(&key);
        self.scratch = key;
        group
    }

    fn group_of_key(&mut self, key: &[u8]) -> Result<usize> {
        if let Some(&group) = self.index.get(key) {
            return Ok(group as usize);
        }
        let bytes = self.state_of.len() * size_of::<State>();
        self.memory.charge(key.len() * 2 + 96 + bytes, "groups")?;
        let group = self.states.len();
        self.index.insert(key.into(), group as u32);
        self.keys.push(key.into());
        self.states.push(self.new_states());
        Ok(group)
    }

    fn new_states(&self) -> Vec<State> {
        self.aggregate.functions.iter().map(State::new).collect()
    }

    /// Whether a function has to see rows at all: not if an earlier one remembers for it.
    pub(crate) fn sees_rows(&self, function: usize) -> bool {
        self.state_of.get(function) == Some(&function)
    }

    /// Gives a row's values to one of a group's functions.
    pub(crate) fn add(
        &mut self,
        group: usize,
        function: usize,
        cells: &[Named<'_>],
        arrival: Arrival,
    ) -> Result<()> {
        let of = &self.aggregate.functions[function];
        self.states[group][function].add(of, cells, arrival, self.memory)
    }

    /// Counts rows that were not looked at: for `count()` of all.
    pub(crate) fn add_rows(&mut self, group: usize, rows: u64) {
        for state in &mut self.states[group] {
            if let State::Count(n) = state {
                *n += rows;
            }
        }
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
        let states = &self.states[group];
        let pairs = self.state_of.iter().zip(&self.aggregate.functions);
        // Copies were not charged for.
        pairs.map(|(&of, function)| states[of].clone().result(function, &Memory::new(0)))
    }

    /// Drops what cannot be among the first groups any more, if only so many are to be kept.
    pub(crate) fn tidy(&mut self) {
        if let Some(keep) = self.aggregate.keep
            && self.keys.len() > keep.saturating_mul(2).saturating_add(256)
        {
            self.keep_first(keep);
        }
    }

    fn keep_first(&mut self, keep: usize) {
        // Values are read as numbers once, and not at every comparison.
        let place = |key: &[u8]| -> Box<[PlaceKey]> {
            values(key).zip(&self.aggregate.by).map(|(value, by)| PlaceKey::new(&by.field, value)).collect()
        };
        let groups = std::mem::take(&mut self.keys).into_iter().zip(std::mem::take(&mut self.states));
        let mut all: Vec<_> = groups.map(|(key, states)| (place(&key), key, states)).collect();
        all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (_, key, states) in all.drain(keep.min(all.len())..) {
            self.memory.release(key.len() * 2 + 96 + states.len() * size_of::<State>());
        }
        self.index.clear();
        self.index.extend(all.iter().enumerate().map(|(i, (_, key, _))| (key.clone(), i as u32)));
        (self.keys, self.states) = all.into_iter().map(|(_, key, states)| (key, states)).unzip();
        self.generation += 1;
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

    /// Adds another thread's groups.
    pub(crate) fn merge(&mut self, other: Self) -> Result<()> {
        for (key, states) in other.keys.into_iter().zip(other.states) {
            let group = self.group_of_key(&key)?;
            let functions = self.aggregate.functions.iter();
            for ((mine, theirs), function) in self.states[group].iter_mut().zip(states).zip(functions) {
                mine.merge(function, theirs, self.memory)?;
            }
        }
        self.tidy();
        Ok(())
    }

    /// One row a group, in the order of their values, with the functions' results under these names.
    pub(crate) fn into_rows(mut self, names: &[Box<str>]) -> Vec<ResultRow> {
        if self.aggregate.by.is_empty() && self.keys.is_empty() {
            self.keys.push(Box::default());
            self.states.push(self.new_states());
        }
        self.keep_first(self.aggregate.keep.unwrap_or(usize::MAX));
        let groups = std::mem::take(&mut self.keys).into_iter().zip(std::mem::take(&mut self.states));
        groups
            .map(|(key, mut states)| {
                let mut row = ResultRow::new();
                for (by, value) in self.aggregate.by.iter().zip(values(&key)) {
                    row.push(&by.field, value, ValueKind::String);
                }
                for (i, (function, name)) in self.aggregate.functions.iter().zip(names).enumerate() {
                    let of = self.state_of[i];
                    let is_last = !self.state_of[i + 1..].contains(&of);
                    let (text, kind) = if is_last {
                        std::mem::replace(&mut states[of], State::Count(0)).result(function, self.memory)
                    } else {
                        // A copy was not charged for.
                        states[of].clone().result(function, &Memory::new(0))
                    };
                    row.push(name, &text, kind);
                }
                row
            })
            .collect()
    }
}

/// The values in a key.
fn values(key: &[u8]) -> impl Iterator<Item = &str> {
    let mut rest = key;
    std::iter::from_fn(move || {
        let (len, after) = rest.split_first_chunk::<4>()?;
        let (value, after) = after.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        rest = after;
        std::str::from_utf8(value).ok()
    })
}
