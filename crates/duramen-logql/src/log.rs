//! Queries for lines: rows of the store, through the stages, to whoever asked.

use crate::ast::LogExpr;
use crate::error::Result;
use crate::labels::{Entry, EntryReader};
use crate::parse;
use crate::plan::Plan;
use duramen::block::BlockHandle;
use duramen_query::filter::Filter;
use duramen_query::filter::time::TimeRange;
use duramen_query::{Cancel, ParseError, RunOptions, RunStats};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A query for log lines: a selector, and stages.
#[derive(Clone, Debug, PartialEq)]
pub struct LogQuery {
    expr: LogExpr,
}

impl LogQuery {
    pub(crate) fn new(expr: LogExpr) -> Self {
        Self { expr }
    }

    /// Reads a selector alone, such as `{app="web"}`.
    ///
    /// # Errors
    /// [`ParseError`], which says where and what was expected.
    pub fn parse_selector(text: &str) -> Result<Self, ParseError> {
        Ok(Self { expr: parse::parse_selector(text)? })
    }

    /// What the store can answer of it: a filter that finds every entry of the answer, and, where stages
    /// or labels that are made of others decide, some more.
    pub fn filter(&self) -> Filter {
        Plan::new(&self.expr).filter
    }

    /// The labels that its selector names, in order, each once.
    pub fn selected_labels(&self) -> Vec<&str> {
        let mut labels: Vec<&str> = Vec::new();
        for matcher in &self.expr.selector {
            if !labels.contains(&&*matcher.label) {
                labels.push(&matcher.label);
            }
        }
        labels
    }

    /// The query that is its selector alone.
    pub fn selector(&self) -> Self {
        Self { expr: LogExpr { selector: self.expr.selector.clone(), stages: Vec::new() } }
    }

    /// Runs the query over the entries from `start_ns` on and before `end_ns`, and gives those of the answer to `sink` as
    /// they are found, in the order that the options say and not more than their limit, until it breaks. Entries of one
    /// time come in an order that is always the same.
    ///
    /// A block that cannot be read is left out, and counted in the result.
    ///
    /// # Errors
    /// [`Error::Run`](crate::Error::Run); what `sink` has seen stays true.
    pub fn run(
        &self,
        blocks: Vec<Arc<dyn BlockHandle>>,
        start_ns: i64,
        end_ns: i64,
        options: &RunOptions,
        cancel: &Cancel,
        sink: &mut dyn FnMut(&Entry<'_>) -> ControlFlow<()>,
    ) -> Result<RunStats> {
        let plan = Plan::new(&self.expr);
        let range = TimeRange { min: start_ns, max: end_ns.saturating_sub(1) };
        let mut left = options.limit.unwrap_or(usize::MAX);
        if end_ns <= start_ns || left == 0 {
            return Ok(RunStats::default());
        }
        let mut reader = EntryReader::default();
        let unlimited = RunOptions { limit: None, ..options.clone() };
        let stats = plan.query(range, None).run(blocks, &unlimited, cancel, &mut |row| {
            let mut entry = reader.read(row, None);
            if !plan.apply(&mut entry) {
                return ControlFlow::Continue(());
            }
            left -= 1;
            match sink(&entry) {
                ControlFlow::Continue(()) if left > 0 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        })?;
        Ok(stats)
    }
}

impl fmt::Display for LogQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}
