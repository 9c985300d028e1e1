//! Queries for numbers: an expression is worked out from its leaves, each a pass over the entries of its windows
//! (`range`), for all steps at once. What only counts, the store
//! counts by itself (`counted`).

mod aggregate;
mod binary;
mod counted;
mod range;
mod replace;
mod window;

use crate::ast::{MetricExpr, Operation, RangeFunction};
use crate::error::{Error, Result};
use duramen::block::BlockHandle;
use duramen_query::exec::memory::Memory;
use duramen_query::{Cancel, RunOptions, RunStats};
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

/// The most steps from the first time of a query to its last, so that there may be one time more.
pub const MAX_STEPS: usize = 11_000;

/// Names and values, sorted by name; no value is empty.
pub type LabelSet = Vec<(Box<str>, Box<str>)>;

/// A series: labels, and a value or none for each step.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its labels, which no other series has.
    pub labels: LabelSet,
    /// Its values, one for each step of the query.
    pub points: Vec<Option<f64>>,
}

/// The times that a query is answered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The first, ns since the epoch.
    pub start_ns: i64,
    /// None is after this.
    pub end_ns: i64,
    /// From one to the next, ns; at least 1.
    pub step_ns: i64,
}

impl Steps {
    /// One time.
    pub fn at(time_ns: i64) -> Self {
        Self { start_ns: time_ns, end_ns: time_ns, step_ns: 1 }
    }

    /// The times, in order.
    pub fn times(&self) -> impl Iterator<Item = i64> {
        let step = usize::try_from(self.step_ns.max(1)).unwrap_or(usize::MAX);
        (self.start_ns..=self.end_ns).step_by(step)
    }

    /// How many times there are.
    pub fn count(&self) -> usize {
        let span = i128::from(self.end_ns) - i128::from(self.start_ns);
        if span < 0 {
            0
        } else {
            usize::try_from(span / i128::from(self.step_ns.max(1)) + 1).unwrap_or(usize::MAX)
        }
    }
}

/// What a query may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Memory, rows and threads. Its order and its limit play no part.
    pub run: RunOptions,
    /// How many series an answer may have. Default: 500, as in Loki.
    pub max_series: usize,
    /// How many steps it may have, each from one time to the next. Default: [`MAX_STEPS`]. Who moves a span to multiples of its
    /// step gives it one more.
    pub max_steps: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { run: RunOptions::default(), max_series: 500, max_steps: MAX_STEPS }
    }
}

/// The answer to a query for numbers.
#[derive(Debug)]
pub struct Answer {
    /// Whether it is a number, and no series: then there is one, without labels.
    pub is_scalar: bool,
    /// The series, in order of their labels; of one step and a query that sorts, in order of their values.
    pub series: Vec<Series>,
    /// What it took.
    pub stats: RunStats,
}

/// A query for numbers over time.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricQuery {
    expr: MetricExpr,
}

/// Gives the blocks that may have entries from one time to another, both included.
pub(crate) type Source<'a> = &'a dyn Fn(i64, i64) -> Vec<Arc<dyn BlockHandle>>;

/// What the parts of a run share.
struct Run<'a> {
    source: Source<'a>,
    steps: Steps,
    limits: &'a Limits,
    cancel: &'a Cancel,
    memory: Memory,
    stats: RefCell<RunStats>,
}

enum Value {
    Number(f64),
    Series(Vec<Series>),
}

impl MetricQuery {
    pub(crate) fn new(expr: MetricExpr) -> Self {
        Self { expr }
    }

    /// Runs the query. `blocks` is asked for the blocks that may hold entries from one time to another, both included (ns
    /// since the epoch), once for each selector in the query: give it those of one snapshot.
    ///
    /// A block that cannot be read is left out, and counted in the result.
    ///
    /// # Errors
    /// Any [`Error`].
    pub fn run(
        &self,
        blocks: &dyn Fn(i64, i64) -> Vec<Arc<dyn BlockHandle>>,
        steps: Steps,
        limits: &Limits,
        cancel: &Cancel,
    ) -> Result<Answer> {
        let count = steps.count();
        if count > limits.max_steps.saturating_add(1) {
            return Err(Error::StepLimit { limit: limits.max_steps });
        }
        let memory = Memory::new(limits.run.memory_limit_bytes);
        let run = Run { source: blocks, steps, limits, cancel, memory, stats: RefCell::default() };
        let value = run.value(&self.expr)?;
        let (is_scalar, mut series) = match value {
            Value::Number(n) => (true, vec![Series { labels: Vec::new(), points: vec![Some(n); count] }]),
            Value::Series(series) => (false, series),
        };
        series.retain(|s| s.points.iter().any(Option::is_some));
        if series.len() > limits.max_series {
            return Err(Error::SeriesLimit { limit: limits.max_series });
        }
        if !(count == 1 && self.sorts()) {
            series.sort_by(|a, b| a.labels.cmp(&b.labels));
        }
        let mut stats = run.stats.into_inner();
        stats.elapsed = cancel.elapsed();
        Ok(Answer { is_scalar, series, stats })
    }

    fn sorts(&self) -> bool {
        use Operation::{BottomK, Sort, SortDesc, TopK};
        matches!(&self.expr, MetricExpr::Aggregate(a) if matches!(a.operation, Sort | SortDesc | TopK | BottomK))
    }
}

impl Run<'_> {
    fn value(&self, expr: &MetricExpr) -> Result<Value> {
        self.cancel.check()?;
        Ok(match expr {
            MetricExpr::Number(n) => Value::Number(*n),
            MetricExpr::Vector(n) => {
                let points = vec![Some(*n); self.steps.count()];
                Value::Series(vec![Series { labels: Vec::new(), points }])
            }
            MetricExpr::Range(range) => Value::Series(self.range(range, range.grouping.as_ref())?),
            MetricExpr::Aggregate(aggregation) => {
                // Sums of sums are sums of all at once: what is summed away need not be read.
                if let (Operation::Sum, MetricExpr::Range(range)) =
                    (aggregation.operation, &aggregation.inner)
                    && range.grouping.is_none()
                    && matches!(
                        range.function,
                        RangeFunction::Count
                            | RangeFunction::Rate
                            | RangeFunction::Bytes
                            | RangeFunction::BytesRate
                            | RangeFunction::Sum
                    )
                {
                    let everything = crate::ast::Grouping { without: false, labels: Vec::new() };
                    let grouping = aggregation.grouping.as_ref().unwrap_or(&everything);
                    return Ok(Value::Series(self.range(range, Some(grouping))?));
                }
                Value::Series(aggregate::aggregate(aggregation, self.series(&aggregation.inner)?, self)?)
            }
            MetricExpr::Binary(binary) => {
                let (left, right) = (self.value(&binary.left)?, self.value(&binary.right)?);
                binary::apply(binary, left, right, self)?
            }
            MetricExpr::LabelReplace(replace) => {
                Value::Series(replace::replace(replace, self.series(&replace.inner)?)?)
            }
        })
    }

    fn series(&self, expr: &MetricExpr) -> Result<Vec<Series>> {
        Ok(match self.value(expr)? {
            Value::Series(series) => series,
            Value::Number(n) => {
                vec![Series { labels: Vec::new(), points: vec![Some(n); self.steps.count()] }]
            }
        })
    }

    /// A series without values yet.
    fn empty_series(&self, labels: LabelSet) -> Result<Series> {
        let count = self.steps.count();
        let names: usize = labels.iter().map(|(n, v)| n.len() + v.len() + 32).sum();
        self.memory.charge(count * size_of::<Option<f64>>() + names, "series")?;
        Ok(Series { labels, points: vec![None; count] })
    }
}

impl fmt::Display for MetricQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}
