//! The groups while rows come in: a hash table from the group's values to what its functions remember.
//!
//! | module | one idea |
//! |---|---|
//! | `add` | what comes in: rows, values, numbers, counts |
//! | `order` | which groups come first |
//! | `give` | the rows that come out |

mod add;
mod give;
mod order;

pub(crate) use give::{FirstBy, GiveRow, Wanted};

use super::Aggregate;
use super::keys::{Keys, Mark};
use super::state::State;
use crate::error::Result;
use crate::exec::memory::Memory;
use crate::number::Number;
use crate::parse::time::parse_time;

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
