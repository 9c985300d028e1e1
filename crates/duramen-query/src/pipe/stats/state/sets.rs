//! Values: each once, by their hashes, or all of them.

use crate::error::Result;
use crate::exec::memory::Memory;
use crate::order::compare;
use crate::pipe::sort::Arrival;
use crate::pipe::stats::function::Function;
use crate::pipe::stats::kind::{Kind, Named};
use crate::row::write_json_array;
use duramen::ValueKind;
use hashbrown::HashSet;
use xxhash_rust::xxh3::xxh3_128;

type Fast = foldhash::fast::FixedState;

fn entry_bytes(text: &str) -> usize {
    text.len() + 40
}

/// Different texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Set(HashSet<Box<str>, Fast>);

impl Set {
    pub fn add(&mut self, function: &Function, cells: &[Named<'_>], memory: &Memory) -> Result<()> {
        for cell in cells.iter().filter(|c| !c.cell.is_empty()) {
            cell.cell.with_text(|text| self.insert(text, memory))?;
        }
        self.keep_first(function, memory, 2);
        Ok(())
    }

    fn insert(&mut self, text: &str, memory: &Memory) -> Result<()> {
        if !self.0.contains(text) {
            memory.charge(entry_bytes(text), "unique values")?;
            self.0.insert(text.into());
        }
        Ok(())
    }

    /// Keeps the first values in order, once there are `slack` times as many as the limit. What is among the
    /// first of all is among the first of any part, so that nothing kept in the end was ever dropped.
    fn keep_first(&mut self, function: &Function, memory: &Memory, slack: usize) {
        let Some(limit) = function.limit else { return };
        if self.0.len() > limit.saturating_mul(slack) {
            let mut values: Vec<Box<str>> = self.0.drain().collect();
            values.sort_unstable_by(|a, b| compare(a, b));
            values.drain(limit..).for_each(|v| memory.release(entry_bytes(&v)));
            self.0.extend(values);
        }
    }

    pub fn merge(&mut self, function: &Function, other: Self, memory: &Memory) {
        for value in other.0 {
            let bytes = entry_bytes(&value);
            if !self.0.insert(value) {
                memory.release(bytes);
            }
        }
        self.keep_first(function, memory, 2);
    }

    pub fn into_json(mut self, function: &Function, memory: &Memory) -> String {
        self.keep_first(function, memory, 1);
        let mut values: Vec<Box<str>> = self.0.into_iter().collect();
        values.sort_unstable_by(|a, b| compare(a, b));
        write_json_array(values.iter().map(|v| &**v))
    }
}

/// Calls `see` with a text that is another for every other combination of values; not if they are all empty.
fn with_tuple<T>(cells: &[Named<'_>], see: impl FnOnce(&str) -> T) -> Option<T> {
    if cells.iter().all(|c| c.cell.is_empty()) {
        return None;
    }
    if let [one] = cells {
        return Some(one.cell.with_text(see));
    }
    let mut tuple = String::new();
    for cell in cells.iter().filter(|c| !c.cell.is_empty()) {
        // Names and lengths make ("a", "bc") differ from ("ab", "c"), and from the same of other fields.
        cell.cell.with_text(|text| tuple.push_str(&format!("{}:{}:{text}", cell.name, text.len())));
    }
    Some(see(&tuple))
}

/// Hashes of different combinations of values, of 128 bits: of a thousand million, two are the same with a probability of
/// 1.5e-21. So long texts take no more memory than short ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hashes(HashSet<u128, Fast>);

impl Hashes {
    /// About what one takes, with the room that a table keeps free.
    const BYTES: usize = 32;

    pub fn add(&mut self, function: &Function, cells: &[Named<'_>], memory: &Memory) -> Result<()> {
        if self.0.len() < function.limit.unwrap_or(usize::MAX)
            && let Some(hash) = with_tuple(cells, |text| xxh3_128(text.as_bytes()))
            && self.0.insert(hash)
        {
            memory.charge(Self::BYTES, "hashes of unique values")?;
        }
        Ok(())
    }

    pub fn merge(&mut self, other: Self, memory: &Memory) {
        for hash in other.0 {
            if !self.0.insert(hash) {
                memory.release(Self::BYTES);
            }
        }
    }

    pub fn count(&self, function: &Function) -> usize {
        function.limit.unwrap_or(usize::MAX).min(self.0.len())
    }
}

/// Values in the order of their rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values(Vec<(Arrival, Box<str>)>);

impl Values {
    pub fn add(
        &mut self,
        function: &Function,
        cells: &[Named<'_>],
        arrival: Arrival,
        memory: &Memory,
    ) -> Result<()> {
        if function.kind == Kind::Any {
            let earlier = self.0.first().is_none_or(|(held, _)| arrival < *held);
            if let Some(cell) = cells.iter().find(|c| !c.cell.is_empty()).filter(|_| earlier) {
                let text: Box<str> = cell.cell.with_text(|text| text.into());
                memory.charge(entry_bytes(&text), "values")?;
                self.0.drain(..).for_each(|(_, text)| memory.release(entry_bytes(&text)));
                self.0.push((arrival, text));
            }
            return Ok(());
        }
        for cell in cells {
            let text: Box<str> = cell.cell.with_text(|text| text.into());
            memory.charge(entry_bytes(&text), "values")?;
            self.0.push((arrival, text));
        }
        self.keep_first(function, memory, 2);
        Ok(())
    }

    /// As [`Set::keep_first`], by the order of rows.
    fn keep_first(&mut self, function: &Function, memory: &Memory, slack: usize) {
        let limit = if function.kind == Kind::Any { 1 } else { function.limit.unwrap_or(usize::MAX) };
        if self.0.len() > limit.saturating_mul(slack) {
            self.0.sort_by_key(|(arrival, _)| *arrival);
            self.0.drain(limit..).for_each(|(_, text)| memory.release(entry_bytes(&text)));
        }
    }

    pub fn merge(&mut self, function: &Function, other: Self, memory: &Memory) {
        self.0.extend(other.0);
        self.keep_first(function, memory, 2);
    }

    pub fn result(mut self, function: &Function, memory: &Memory) -> (String, ValueKind) {
        self.keep_first(function, memory, 1);
        self.0.sort_by_key(|(arrival, _)| *arrival);
        if function.kind == Kind::Any {
            let first = self.0.into_iter().next().map(|(_, text)| text.into());
            return (first.unwrap_or_default(), ValueKind::String);
        }
        (write_json_array(self.0.iter().map(|(_, text)| &**text)), ValueKind::Json)
    }
}
