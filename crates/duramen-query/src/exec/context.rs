//! What a run shares with the runs of the queries inside it: the blocks, and what it may use.

use super::memory::Memory;
use super::project::Projection;
use super::read::{InOrder, Reader, RowLimit};
use super::told::Told;
use super::written::Last;
use super::{Cancel, RunOptions, RunStats, skip};
use crate::error::Result;
use crate::filter::{Filter, Test};
use crate::pipe::{Flow, Stage};
use crate::query::Query;
use crate::row::ResultRow;
use duramen::block::BlockHandle;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) struct Run<'a> {
    pub blocks: &'a [Arc<dyn BlockHandle>],
    pub options: &'a RunOptions,
    pub memory: &'a Memory,
    pub cancel: &'a Cancel,
    pub rows: &'a RowLimit,
    pub cost: RefCell<RunStats>,
}

impl Run<'_> {
    /// What reads blocks for a filter, of which something is told, on at most so many threads; `needs`: see [`Reader`].
    pub fn reader<'f>(
        &'f self,
        told: &'f Told<'f>,
        needs: &'f Projection,
        max_threads: Option<usize>,
    ) -> Reader<'f> {
        let threads = self.options.threads.min(max_threads.unwrap_or(usize::MAX));
        let looks = skip::looks(told.filter());
        let (cancel, rows, sample, in_order) = (self.cancel, self.rows, None, InOrder::All);
        Reader { told, needs, looks, cancel, rows, threads, sample, in_order }
    }

    /// Adds to what the run has cost so far.
    pub fn spent(&self, stats: &mut RunStats) {
        self.cost.borrow_mut().add(std::mem::take(stats));
    }

    /// Runs a query over the same blocks, within the same limits, and pushes its rows until no more are wanted.
    pub fn each_row(
        &self,
        query: &Query,
        push: &mut dyn FnMut(&mut ResultRow) -> Result<Flow>,
    ) -> Result<()> {
        super::execute(self, query, None, Last::Stage(Box::new(Pushing { push, stopped: false })))
    }

    /// A filter with its subqueries answered.
    pub fn answered<'f>(&self, filter: &'f Filter) -> Result<Cow<'f, Filter>> {
        filter.answered(&mut |subquery| {
            let values = self.values(&subquery.query, &subquery.output)?;
            let test: Test = subquery.used.test(values);
            Ok(test)
        })
    }

    /// The different values of a field of a query's rows; no value is none of them.
    fn values(&self, query: &Query, field: &str) -> Result<BTreeSet<Box<str>>> {
        let mut values: BTreeSet<Box<str>> = BTreeSet::new();
        self.each_row(query, &mut |row| {
            if let Some(text) = row.get(field).filter(|text| !text.is_empty() && !values.contains(*text)) {
                self.memory.charge(text.len() + 48, "the values of a subquery")?;
                values.insert(text.into());
            }
            Ok(Flow::Continue)
        })?;
        Ok(values)
    }
}

/// The end of the chain of a query inside another.
struct Pushing<'a> {
    push: &'a mut dyn FnMut(&mut ResultRow) -> Result<Flow>,
    stopped: bool,
}

impl Stage for Pushing<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        if !self.stopped {
            self.stopped = (self.push)(row)? == Flow::Stop;
        }
        Ok(if self.stopped { Flow::Stop } else { Flow::Continue })
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}
