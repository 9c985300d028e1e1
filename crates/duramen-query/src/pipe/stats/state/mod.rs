//! What the functions remember of the rows they have seen: one file per family.
//!
//! Rows are seen by several threads, each with states of its own; these are put together in the end, in any order, and
//! the result does not depend on it.

mod extreme;
mod histogram;
mod numbers;
mod quantile;
mod rows;
mod sets;

use super::function::Function;
use super::kind::{Kind, Named};
use crate::error::Result;
use crate::exec::memory::Memory;
use crate::number::Number;
use crate::order::SortKey;
use crate::pipe::sort::Arrival;
use crate::row::is_json_number;
use duramen::ValueKind;
use extreme::Extreme;
use histogram::Histogram;
use numbers::{Moments, Sum};
use quantile::Quantile;
use rows::Rows;
use sets::{Hashes, Values};

/// What a function remembers.
#[derive(Clone, Debug)]
pub(crate) enum State {
    Count(u64),
    Set(sets::Set),
    Hashes(Hashes),
    Values(Values),
    Sum(Sum),
    Moments(Moments),
    Extreme(Extreme),
    Quantile(Quantile),
    Histogram(Histogram),
    Rows(Rows),
}

impl State {
    /// What it remembers before the first row.
    pub fn new(function: &Function) -> Self {
        match function.kind {
            Kind::Count | Kind::CountEmpty | Kind::SumLen | Kind::Rate => Self::Count(0),
            Kind::UniqValues => Self::Set(sets::Set::default()),
            Kind::CountUniq | Kind::CountUniqHash => Self::Hashes(Hashes::default()),
            Kind::Values | Kind::Any => Self::Values(Values::default()),
            Kind::Sum | Kind::Avg | Kind::RateSum => Self::Sum(Sum::default()),
            Kind::Stddev => Self::Moments(Moments::default()),
            Kind::Min | Kind::Max => Self::Extreme(Extreme::default()),
            Kind::Quantile(_) => Self::Quantile(Quantile::default()),
            Kind::Histogram => Self::Histogram(Histogram::default()),
            Kind::RowAny | Kind::RowMin | Kind::RowMax | Kind::JsonValues => Self::Rows(Rows::default()),
        }
    }

    /// Takes a row's values of the function's fields: first those it sorts by, then the others.
    pub fn add(
        &mut self,
        function: &Function,
        cells: &[Named<'_>],
        arrival: Arrival,
        memory: &Memory,
    ) -> Result<()> {
        match self {
            Self::Count(n) => match function.kind {
                Kind::CountEmpty => *n += u64::from(cells.iter().all(|c| c.cell.is_empty())),
                Kind::SumLen => *n += cells.iter().map(|c| c.cell.with_text(str::len) as u64).sum::<u64>(),
                _ => *n += u64::from(function.fields.is_empty() || cells.iter().any(|c| !c.cell.is_empty())),
            },
            Self::Set(set) => set.add(function, cells, memory)?,
            Self::Hashes(hashes) => hashes.add(function, cells, memory)?,
            Self::Values(values) => values.add(function, cells, arrival, memory)?,
            Self::Extreme(extreme) => {
                cells.iter().for_each(|c| extreme.offer(function, c.cell.number(), || c.cell));
            }
            Self::Rows(rows) => rows.add(function, cells, arrival, memory)?,
            Self::Sum(_) | Self::Moments(_) | Self::Quantile(_) | Self::Histogram(_) => {
                for number in cells.iter().filter_map(|c| c.cell.number()) {
                    self.add_number(number, memory)?;
                }
            }
        }
        Ok(())
    }

    /// Takes numbers, if the function is [one of numbers](Kind::is_of_numbers).
    pub fn add_numbers(&mut self, numbers: impl Iterator<Item = Number>, memory: &Memory) -> Result<()> {
        if let Self::Sum(sum) = self {
            // It is the same sum, and need not be asked for before each.
            let mut more = Sum::default();
            numbers.for_each(|number| more.add(number));
            sum.merge(&more);
            return Ok(());
        }
        let mut numbers = numbers;
        numbers.try_for_each(|number| self.add_number(number, memory))
    }

    /// Takes a number, if the function is [one of numbers](Kind::is_of_numbers).
    pub fn add_number(&mut self, number: Number, memory: &Memory) -> Result<()> {
        match self {
            Self::Sum(sum) => sum.add(number),
            Self::Moments(moments) => moments.add(number.as_f64()),
            Self::Quantile(quantile) => quantile.add(number, memory)?,
            Self::Histogram(histogram) => histogram.add(number.as_f64()),
            _ => {}
        }
        Ok(())
    }

    /// Adds what another remembers of other rows.
    pub fn merge(&mut self, function: &Function, other: Self, memory: &Memory) -> Result<()> {
        match (self, other) {
            (Self::Count(a), Self::Count(b)) => *a += b,
            (Self::Set(a), Self::Set(b)) => a.merge(function, b, memory),
            (Self::Hashes(a), Self::Hashes(b)) => a.merge(b, memory),
            (Self::Values(a), Self::Values(b)) => a.merge(function, b, memory),
            (Self::Sum(a), Self::Sum(b)) => a.merge(&b),
            (Self::Moments(a), Self::Moments(b)) => a.merge(&b),
            (Self::Extreme(a), Self::Extreme(b)) => a.merge(function, b),
            (Self::Quantile(a), Self::Quantile(b)) => a.merge(b, memory)?,
            (Self::Histogram(a), Self::Histogram(b)) => a.merge(&b),
            (Self::Rows(a), Self::Rows(b)) => a.merge(function, b, memory),
            // States of one function are of one family.
            _ => {}
        }
        Ok(())
    }

    /// What the result is sorted by, if that is cheap to tell.
    pub fn sort_key(&self, function: &Function) -> Option<SortKey> {
        let int = |n: u64| i64::try_from(n).map_or_else(|_| SortKey::new(&n.to_string()), SortKey::int);
        Some(match self {
            Self::Count(n) if function.kind == Kind::Rate => {
                SortKey::new(&numbers::per_second(*n as f64, function))
            }
            Self::Count(n) => int(*n),
            Self::Hashes(hashes) => int(hashes.count(function) as u64),
            Self::Sum(sum) => SortKey::new(&sum.result(function)),
            Self::Moments(moments) => SortKey::new(&moments.result()),
            Self::Extreme(extreme) => SortKey::new(extreme.text()),
            Self::Quantile(quantile) => match function.kind {
                Kind::Quantile(phi) => SortKey::new(&quantile.clone().result(phi)),
                _ => return None,
            },
            Self::Set(_) | Self::Values(_) | Self::Histogram(_) | Self::Rows(_) => return None,
        })
    }

    /// The result.
    pub fn result(self, function: &Function, memory: &Memory) -> (String, ValueKind) {
        let text = match self {
            Self::Count(n) if function.kind == Kind::Rate => numbers::per_second(n as f64, function),
            Self::Count(n) => n.to_string(),
            Self::Set(set) => return (set.into_json(function, memory), ValueKind::Json),
            Self::Hashes(hashes) => hashes.count(function).to_string(),
            Self::Values(values) => return values.result(function, memory),
            Self::Sum(sum) => sum.result(function),
            Self::Moments(moments) => moments.result(),
            Self::Extreme(extreme) => extreme.result(),
            Self::Quantile(quantile) => match function.kind {
                Kind::Quantile(phi) => quantile.result(phi),
                _ => String::new(),
            },
            Self::Histogram(histogram) => return (histogram.into_json(), ValueKind::Json),
            Self::Rows(rows) => return (rows.into_json(function, memory), ValueKind::Json),
        };
        let kind = if is_json_number(&text) { ValueKind::Number } else { ValueKind::String };
        (text, kind)
    }
}
