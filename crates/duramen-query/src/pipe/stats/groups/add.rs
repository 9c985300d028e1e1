//! What comes into groups: rows, values, numbers, and counts of rows that were not looked at.

use super::Groups;
use crate::error::Result;
use crate::number::Number;
use crate::pipe::sort::Arrival;
use crate::pipe::stats::state::State;
use crate::pipe::stats::{Cell, Named};
use crate::row::ResultRow;
use duramen::ValueKind;

impl<'a> Groups<'a> {
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

    /// Whether a function of a group that shows rows may show one with these values of the fields it sorts by.
    pub(crate) fn wants_row(
        &mut self,
        group: usize,
        function: usize,
        sorted_by: &[Named<'_>],
        arrival: Arrival,
    ) -> bool {
        let of = &self.aggregate.functions[function];
        match &self.states_of(group)[function] {
            State::Rows(rows) => rows.wants(of, sorted_by, arrival).is_some(),
            _ => true,
        }
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
        if let [by] = &aggregate.by[..] {
            return self.group_of_one(&by.value(row.get(&by.field).unwrap_or("")));
        }
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
            if function.is_plain_count() {
                self.count(i, std::iter::once((group, 1)));
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
}
