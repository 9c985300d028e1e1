//! `stats by (app, _time:5m) count() errors, max(took)`: figures over groups of rows.
//!
//! [`by`] says what a group is, [`function`] what is computed of it, [`groups`] holds the groups while
//! rows come in. `top` and `uniq` are made of the same parts.

pub mod by;
pub mod function;
pub mod groups;
mod keys;
pub mod kind;
pub(crate) mod state;

pub use by::By;
pub use function::Function;
pub use groups::Groups;
pub(crate) use groups::{FirstBy, GiveRow, ToBeat, Wanted};
pub use kind::{Cell, Named};

use super::{Flow, Stage};
use crate::error::{ParseError, Result};
use crate::exec::Cancel;
use crate::exec::context::Run;
use crate::filter::Filter;
use crate::parse::{Parser, quote};
use crate::pipe::fields::NamePattern;
use crate::pipe::sort::Sort;
use crate::row::ResultRow;
use duramen::block::names;
use std::fmt;

/// Groups of rows and what to compute of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// What makes a group; nothing: all rows are one, even if there is none.
    pub by: Vec<By>,
    /// What to compute.
    pub functions: Vec<Function>,
    /// The most groups to keep, the first in order; only for functions that
    /// remember little however many rows they see: what others were charged for would not be given back.
    pub keep: Option<usize>,
}

impl Aggregate {
    /// Calls `see` with what names every field that the functions look at.
    pub(crate) fn for_each_field(&self, see: &mut dyn FnMut(NamePattern)) {
        self.functions.iter().for_each(|f| f.for_each_field(see));
    }

    /// Whether results depend on the order of the rows.
    pub(crate) fn is_ordered(&self) -> bool {
        self.functions.iter().any(|f| f.kind.is_ordered())
    }

    /// Whether its functions need the rows' order, or their times, which are cheaper to have in order. Conditions on the time do
    /// with any.
    pub(crate) fn looks_at_time(&self) -> bool {
        let fields = self.functions.iter().flat_map(|function| &function.fields);
        self.is_ordered() || fields.into_iter().any(|pattern| pattern.matches(names::TIME))
    }

    /// For each function the first that remembers the same: it remembers for all of them.
    pub(super) fn states(&self) -> Vec<usize> {
        let first = |f: &Function| self.functions.iter().position(|other| other.remembers_as(f)).unwrap_or(0);
        self.functions.iter().map(first).collect()
    }

    /// The same with the subqueries of its conditions answered.
    pub(crate) fn answered(&self, run: &Run<'_>) -> Result<Self> {
        let mut answered = self.clone();
        for function in &mut answered.functions {
            if let Some(condition) = &mut function.condition {
                *condition = run.answered(condition)?.into_owned();
            }
        }
        Ok(answered)
    }

    /// Calls `see` with every condition of a function.
    pub(crate) fn for_each_condition<'f>(&'f self, see: &mut dyn FnMut(&'f Filter)) {
        self.functions.iter().filter_map(|f| f.condition.as_ref()).for_each(see);
    }
}

/// The pipe.
#[derive(Clone, Debug, PartialEq)]
pub struct Stats {
    /// The groups and functions.
    pub aggregate: Aggregate,
    /// The name of each function's result.
    pub names: Vec<Box<str>>,
}

impl Stats {
    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let by = if p.at_word("by") || p.at_punct('(') { By::parse_list(p)? } else { Vec::new() };
        let mut stats =
            Self { aggregate: Aggregate { by, functions: Vec::new(), keep: None }, names: Vec::new() };
        loop {
            let at = p.token.start;
            let function = Function::parse(p)?;
            let name = match p.result_name_before_comma()? {
                Some(name) => name,
                None => function.to_string().into(),
            };
            let taken = stats.names.contains(&name) || stats.aggregate.by.iter().any(|b| b.field == name);
            if taken {
                let message = format!("there are two results named `{name}`");
                return Err(ParseError::new(p.text, at, message, "give it a name of its own: … as name"));
            }
            stats.aggregate.functions.push(function);
            stats.names.push(name);
            if !p.eat_punct(',')? {
                return if p.at_pipe_end() {
                    Ok(stats)
                } else {
                    Err(p.expected("`,` and another function, or `|`"))
                };
            }
        }
    }

    /// Leaves out what is wanted under no name. If that is all, rows are counted under the first name, for whoever wants to know
    /// the groups.
    pub(crate) fn only(&mut self, is_wanted: &dyn Fn(&str) -> bool) {
        let functions = std::mem::take(&mut self.aggregate.functions);
        let named = functions.into_iter().zip(std::mem::take(&mut self.names));
        let (wanted, others): (Vec<_>, Vec<_>) = named.partition(|(_, name)| is_wanted(name));
        let first = others.into_iter().next().filter(|_| wanted.is_empty());
        let counted = first.map(|(_, name)| (Function::count(), name));
        (self.aggregate.functions, self.names) = wanted.into_iter().chain(counted).unzip();
    }

    /// Tells rates how long a time the rows are of: a bucket, or the range of the query if that has two ends.
    pub(crate) fn set_seconds(&mut self, (from, to): (i64, i64)) {
        let bucket = self.aggregate.by.iter().find_map(By::time_step_ns);
        let range = (from > i64::MIN && to < i64::MAX && from <= to)
            .then(|| i128::from(to) - i128::from(from) + 1)
            .map(|ns| ns as f64);
        let seconds = bucket.map(|ns| ns as f64).or(range).map(|ns| ns / 1e9);
        for function in &mut self.aggregate.functions {
            if matches!(function.kind, kind::Kind::Rate | kind::Kind::RateSum) {
                function.seconds = seconds;
            }
        }
    }

    /// The same with the subqueries of its conditions answered.
    pub(crate) fn answered(&self, run: &Run<'_>) -> Result<Self> {
        Ok(Self { aggregate: self.aggregate.answered(run)?, names: self.names.clone() })
    }

    /// Of which rows a sort that follows needs the first, if it has a limit and goes by a result before all else.
    pub(super) fn first_by(&self, sort: &Sort) -> Option<FirstBy> {
        let (name, desc) = sort.by.first()?;
        let function = self.names.iter().position(|result| result == name && **name != *names::TIME)?;
        let keep = sort.limit?.saturating_add(sort.offset);
        sort.partition.is_empty().then_some(FirstBy { function, desc: *desc, keep })
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stats ")?;
        if !self.aggregate.by.is_empty() {
            write!(f, "by {} ", By::show(&self.aggregate.by))?;
        }
        for (i, (function, name)) in self.aggregate.functions.iter().zip(&self.names).enumerate() {
            write!(f, "{}{function} as {}", if i > 0 { ", " } else { "" }, quote(name))?;
        }
        Ok(())
    }
}

/// Gives rows on until no more are wanted.
pub(crate) fn give(rows: &mut [ResultRow], next: &mut dyn Stage, cancel: &Cancel) -> Result<()> {
    for (i, row) in rows.iter_mut().enumerate() {
        if i % 1024 == 1023 {
            cancel.check()?;
        }
        if next.push(row)? == Flow::Stop {
            break;
        }
    }
    Ok(())
}
