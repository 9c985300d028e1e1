//! `running_stats by (app) sum(n) as so_far`, `total_stats by (app) count() as n`: every row with figures of the rows up
//! to it, in order of time, or of all of them.

use super::custom::{Added, CustomPipe};
use super::sort::Sort;
use super::stats::kind::Kind;
use super::stats::{Aggregate, Groups, Stats, give};
use super::{Flow, Passes, Stage};
use crate::error::{ParseError, Result};
use crate::exec::context::Run;
use crate::exec::project::Projection;
use crate::order::SortKey;
use crate::parse::Parser;
use crate::row::ResultRow;
use duramen::block::names;
use std::fmt;

/// What is computed, and of which rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    stats: Stats,
    /// Of all rows, not of those up to each.
    total: bool,
}

impl Window {
    pub(super) fn parse(p: &mut Parser<'_>, total: bool) -> Result<Self, ParseError> {
        let at = p.token.start;
        let stats = Stats::parse(p)?;
        let simple = |kind: Kind| matches!(kind, Kind::Count | Kind::Sum | Kind::Min | Kind::Max);
        if let Some(other) = stats.aggregate.functions.iter().find(|f| !simple(f.kind)) {
            let message = format!("`{other}` is not known here");
            return Err(ParseError::new(p.text, at, message, "expected count, sum, min or max"));
        }
        let Aggregate { functions, .. } = &stats.aggregate;
        if functions.iter().any(|f| f.condition.as_ref().is_some_and(|c| c.has_subquery())) {
            let message = "a condition here cannot depend on another query";
            return Err(ParseError::new(p.text, at, message, "use a filter before"));
        }
        Ok(Self { stats, total })
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.total { "total_" } else { "running_" };
        write!(f, "{name}{}", self.stats)
    }
}

impl CustomPipe for Window {
    fn passes(&self) -> Passes {
        Passes::All
    }

    fn needs(&self, needed: Projection) -> Projection {
        let aggregate = &self.stats.aggregate;
        let mut needed = needed.with(aggregate.by.iter().map(|by| &*by.field)).with([names::TIME]);
        aggregate.for_each_field(&mut |pattern| needed.add(pattern));
        needed
    }

    fn adds(&self) -> Option<Added<'_>> {
        Some(Added { figures: self.stats.names.iter().map(|name| &**name).collect(), ..Added::default() })
    }

    fn stage<'a>(&'a self, run: &'a Run<'a>, next: Box<dyn Stage + 'a>) -> Result<Box<dyn Stage + 'a>> {
        Ok(Box::new(WindowStage { window: self, run, held: Vec::new(), next }))
    }
}

struct WindowStage<'a> {
    window: &'a Window,
    run: &'a Run<'a>,
    held: Vec<(SortKey, ResultRow)>,
    next: Box<dyn Stage + 'a>,
}

impl Stage for WindowStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        self.run
            .memory
            .charge(row.heap_bytes() + size_of::<SortKey>(), "the rows of running_stats or total_stats")?;
        let time = Sort::key(names::TIME, row.get(names::TIME).unwrap_or(""));
        self.held.push((time, row.compact()));
        Ok(Flow::Continue)
    }

    fn finish(&mut self) -> Result<()> {
        let Window { stats, total } = self.window;
        self.held.sort_by(|a, b| a.0.cmp(&b.0));
        let mut groups = Groups::new(&stats.aggregate, self.run.memory);
        let mut of_row = Vec::new();
        for (i, (_, row)) in self.held.iter_mut().enumerate() {
            if i % 1024 == 1023 {
                self.run.cancel.check()?;
            }
            let group = groups.group_of_row(row)?;
            groups.add_row_to(group, row, [0, 0, i as i64])?;
            if *total {
                of_row.push(group);
            } else {
                set_results(row, stats, &groups, group);
            }
        }
        for ((_, row), group) in self.held.iter_mut().zip(of_row) {
            set_results(row, stats, &groups, group);
        }
        let mut rows: Vec<ResultRow> = self.held.drain(..).map(|(_, row)| row).collect();
        give(&mut rows, &mut *self.next, self.run.cancel)?;
        self.next.finish()
    }
}

fn set_results(row: &mut ResultRow, stats: &Stats, groups: &Groups<'_>, group: usize) {
    for ((text, kind), name) in groups.results(group).zip(&stats.names) {
        row.set(name, &text, kind);
    }
}
