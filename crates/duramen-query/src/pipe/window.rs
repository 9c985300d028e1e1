//! `running_stats by (app) sum(n) as so_far`, `total_stats by (app) count() as n`: every row with figures of the rows up
//! to it, in order of time, or of all of them.
//!
//! Entries that come in order of time have their figures at once. All other rows are held.

use super::custom::{Added, Custom, CustomPipe};
use super::sort::{Sort, SortStage, Sorter};
use super::stats::kind::Kind;
use super::stats::{Aggregate, Groups, Stats};
use super::{Flow, Passes, Stage};
use crate::error::{ParseError, Result};
use crate::exec::Order;
use crate::exec::context::Run;
use crate::exec::project::Projection;
use crate::held_row::{HeldRow, Holder};
use crate::parse::Parser;
use crate::row::ResultRow;
use duramen::block::names;
use std::fmt;

/// What is computed, and of which rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    stats: Stats,
    /// By time.
    sort: Sort,
    /// Of all rows, not of those up to each.
    total: bool,
    /// If rows are entries that come oldest first: in which order those of one time go on.
    of_entries: Option<Order>,
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
        let by = vec![(names::TIME.into(), false)];
        let sort = Sort { by, partition: Vec::new(), offset: 0, limit: None, rank: None };
        Ok(Self { stats, sort, total, of_entries: None })
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

    fn oldest_first(&self, order: Order) -> Option<Custom> {
        (!self.total).then(|| Custom::new(Self { of_entries: Some(order), ..self.clone() }))
    }

    fn stage<'a>(&'a self, run: &'a Run<'a>, next: Box<dyn Stage + 'a>) -> Result<Box<dyn Stage + 'a>> {
        let groups = Groups::new(&self.stats.aggregate, run.memory);
        let figures = Figures { stats: &self.stats, groups, total: self.total, next };
        Ok(match self.of_entries {
            Some(Order::OldestFirst) => Box::new(figures),
            Some(Order::NewestFirst) => {
                let (holder, held) = (Holder::default(), Vec::new());
                Box::new(EntriesStage { run, figures, time: None, holder, held })
            }
            None if self.total => {
                let sorter = Sorter::new(&self.sort, run.memory, run.cancel);
                Box::new(TotalStage { sorter, arrived: 0, figures })
            }
            None => Box::new(SortStage::new(&self.sort, run, Box::new(figures))),
        })
    }
}

/// Gives rows their figures: those of the rows so far, or of all.
struct Figures<'a> {
    stats: &'a Stats,
    groups: Groups<'a>,
    /// All rows were added.
    total: bool,
    next: Box<dyn Stage + 'a>,
}

impl Figures<'_> {
    fn add(&mut self, row: &ResultRow) -> Result<usize> {
        let group = self.groups.group_of_row(row)?;
        self.groups.add_row_to(group, row, [0; 3])?;
        Ok(group)
    }
}

impl Stage for Figures<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        let group = if self.total { self.groups.group_of_row(row)? } else { self.add(row)? };
        for ((text, kind), name) in self.groups.results(group).zip(&self.stats.names) {
            row.set(name, &text, kind);
        }
        self.next.push(row)
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}

/// Takes entries oldest first, and lets those of one time go on the other way round.
struct EntriesStage<'a> {
    run: &'a Run<'a>,
    figures: Figures<'a>,
    /// That of the entries that are held.
    time: Option<i64>,
    holder: Holder,
    held: Vec<(HeldRow, usize)>,
}

impl EntriesStage<'_> {
    fn let_go(&mut self) -> Result<Flow> {
        let mut row = ResultRow::new();
        while let Some((held, bytes)) = self.held.pop() {
            if self.held.len() % 1024 == 1023 {
                self.run.cancel.check()?;
            }
            self.run.memory.release(bytes);
            held.fill(&mut row);
            if self.figures.push(&mut row)? == Flow::Stop {
                self.held.clear();
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}

impl Stage for EntriesStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        if self.time != row.time_ns() && self.let_go()? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        self.time = row.time_ns();
        let (held, bytes) = self.holder.hold(row);
        let bytes = bytes + size_of::<(HeldRow, usize)>();
        self.run.memory.charge(bytes, "running_stats of one time")?;
        self.held.push((held, bytes));
        Ok(Flow::Continue)
    }

    fn finish(&mut self) -> Result<()> {
        self.let_go()?;
        self.figures.finish()
    }
}

/// Takes rows as they come, and gives them on in order of time.
struct TotalStage<'a> {
    sorter: Sorter<'a>,
    arrived: i64,
    figures: Figures<'a>,
}

impl Stage for TotalStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        self.arrived += 1;
        self.figures.add(row)?;
        self.sorter.add_row(row, [0, 0, self.arrived])?;
        Ok(Flow::Continue)
    }

    fn finish(&mut self) -> Result<()> {
        self.sorter.drain(&mut self.figures)?;
        self.figures.finish()
    }
}
