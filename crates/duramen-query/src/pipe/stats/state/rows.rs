//! Whole rows as JSON: the first ones, in some order.

use crate::error::Result;
use crate::exec::memory::Memory;
use crate::number::Number;
use crate::order::SortKey;
use crate::pipe::sort::{Arrival, Directed, Sort};
use crate::pipe::stats::function::Function;
use crate::pipe::stats::kind::{Cell, Kind, Named};
use crate::row::ResultRow;
use std::cmp::Ordering;

#[derive(Clone, Debug)]
struct Kept {
    keys: Box<[Directed]>,
    arrival: Arrival,
    json: Box<str>,
}

impl Kept {
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.keys, self.arrival).cmp(&(&other.keys, other.arrival))
    }

    fn bytes(&self) -> usize {
        self.json.len() + 64 * (1 + self.keys.len())
    }
}

/// Rows, and the last of the best once as many were seen as are kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    kept: Vec<Kept>,
    worst: Option<(Box<[Directed]>, Arrival)>,
}

impl Rows {
    pub fn add(
        &mut self,
        function: &Function,
        cells: &[Named<'_>],
        arrival: Arrival,
        memory: &Memory,
    ) -> Result<()> {
        let (sorted_by, shown) = cells.split_at(function.sort.len().min(cells.len()));
        let Some(keys) = self.wants(function, sorted_by, arrival) else { return Ok(()) };
        let mut row = ResultRow::new();
        for c in shown.iter().filter(|c| !c.cell.is_empty()) {
            c.cell.with_text(|text| row.set(c.name, text, c.kind));
        }
        let mut json = Vec::new();
        row.write_json(&mut json);
        let kept = Kept { keys, arrival, json: String::from_utf8(json).unwrap_or_default().into() };
        memory.charge(kept.bytes(), "rows")?;
        if function.limit == Some(1) {
            // It is better than the one there is, if there is one: of millions of groups each has room for no more.
            self.kept.drain(..).for_each(|kept| memory.release(kept.bytes()));
            self.kept.reserve_exact(1);
            self.worst = Some((kept.keys.clone(), arrival));
        }
        self.kept.push(kept);
        self.keep_first(function, memory, 2);
        Ok(())
    }

    /// What a row is compared by, if it may be among the first: its values of the fields that the function sorts by.
    pub fn wants(
        &self,
        function: &Function,
        sorted_by: &[Named<'_>],
        arrival: Arrival,
    ) -> Option<Box<[Directed]>> {
        // A row without the field has neither the least nor the greatest value of it.
        let extreme = matches!(function.kind, Kind::RowMin | Kind::RowMax);
        if extreme && sorted_by.iter().any(|c| c.cell.is_empty()) {
            return None;
        }
        let key = |name: &str, cell: Cell<'_>| match cell {
            Cell::Int(n) => SortKey::int(n),
            cell => cell.with_text(|text| Sort::key(name, text)),
        };
        let keys = function.sort.iter().zip(sorted_by);
        let keys: Box<[Directed]> =
            keys.map(|((name, desc), c)| Directed::new(key(name, c.cell), *desc)).collect();
        let is_late = self.worst.as_ref().is_some_and(|(k, a)| (&keys, arrival) >= (k, *a));
        (!is_late).then_some(keys)
    }

    /// What the first row is sorted by, if it is one number.
    pub fn number(&self) -> Option<Number> {
        match &*self.kept.iter().min_by(|a, b| a.cmp(b))?.keys {
            [key] => key.number(),
            _ => None,
        }
    }

    fn keep_first(&mut self, function: &Function, memory: &Memory, slack: usize) {
        let limit = function.limit.unwrap_or(usize::MAX);
        if self.kept.len() > limit.saturating_mul(slack) {
            self.kept.sort_by(Kept::cmp);
            self.kept.drain(limit..).for_each(|kept| memory.release(kept.bytes()));
            self.worst = self.kept.last().map(|kept| (kept.keys.clone(), kept.arrival));
        }
    }

    pub fn merge(&mut self, function: &Function, other: Self, memory: &Memory) {
        self.kept.extend(other.kept);
        // Of one row, each is known to be the last of the best.
        self.keep_first(function, memory, if function.limit == Some(1) { 1 } else { 2 });
    }

    /// One object, or of `json_values` an array of them.
    pub fn into_json(mut self, function: &Function, memory: &Memory) -> String {
        self.keep_first(function, memory, 1);
        self.kept.sort_by(Kept::cmp);
        let objects = self.kept.iter().map(|kept| &*kept.json);
        match function.kind {
            Kind::JsonValues => format!("[{}]", objects.collect::<Vec<_>>().join(",")),
            _ => self.kept.first().map_or_else(|| "{}".into(), |kept| kept.json.to_string()),
        }
    }
}
