//! A query: a filter, and pipes behind it.

use crate::bitmap::Bitmap;
use crate::error::{Error, ParseError, Result};
use crate::exec::project::Projection;
use crate::exec::written::Text;
use crate::exec::{self, Cancel, RunOptions, RunStats, open::Open, skip};
use crate::filter::Filter;
use crate::parse::{ParseOptions, Parser};
use crate::pipe::Pipe;
use crate::row::ResultRow;
use duramen::block::{Block, BlockHandle};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A query, read and ready to run, any number of times and on any number of threads at once.
///
/// Its [`Display`](fmt::Display) is LogsQL again: relative times are absolute there, and values quoted where needed.
///
/// ```
/// use duramen_query::{ParseOptions, Query};
/// let query = Query::parse("level:error \"connection refused\" | top 5 by (app)", &ParseOptions::default())?;
/// assert_eq!(query.to_string(), "level:error \"connection refused\" | top 5 by (app)");
/// # Ok::<(), duramen_query::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    filter: Filter,
    pipes: Vec<Pipe>,
    max_threads: Option<usize>,
}

impl Query {
    /// A query of a filter and pipes, for other languages that end in the same plan; `max_threads` as in
    /// [`max_threads`](Self::max_threads).
    pub fn new(filter: Filter, pipes: Vec<Pipe>, max_threads: Option<usize>) -> Self {
        Self { filter, pipes, max_threads }
    }

    /// Reads LogsQL.
    ///
    /// # Errors
    /// [`ParseError`], which says where and what was expected.
    pub fn parse(text: &str, options: &ParseOptions) -> Result<Self, ParseError> {
        let mut p = Parser::new(text, options)?;
        if p.at_end() {
            return Err(p.error("the query is empty", "write * for everything, or a word to search for"));
        }
        let query = p.query()?;
        if !p.at_end() {
            return Err(p.expected("`|` and a pipe, or the end of the query"));
        }
        Ok(query)
    }

    /// The filter.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The pipes.
    pub fn pipes(&self) -> &[Pipe] {
        &self.pipes
    }

    /// The most threads that may read blocks, if the query says so in `options(concurrency=…)`.
    pub fn max_threads(&self) -> Option<usize> {
        self.max_threads
    }

    /// The name of the field that its rows have, if they have one and the last pipe says which.
    pub fn only_field(&self) -> Option<&str> {
        match self.pipes.last()? {
            Pipe::Fields(fields) => fields.only(),
            Pipe::Uniq(uniq) => uniq.only(),
            _ => None,
        }
    }

    pub(crate) fn pipes_mut(&mut self) -> &mut Vec<Pipe> {
        &mut self.pipes
    }

    /// Whether the query looks at entries that its filter does not match: those of queries inside it, or those
    /// around the ones it finds.
    pub fn looks_beyond_filter(&self) -> bool {
        let mut beyond = self.pipes.iter().any(|pipe| match pipe {
            // A range that is no wider than any other is one that says nothing.
            Pipe::Custom(custom) => custom.pipe().widened((0, 0)) != (0, 0),
            _ => false,
        });
        self.for_each_query(&mut |_| beyond = true);
        beyond
    }

    /// The earliest and latest time (both inclusive, ns since the epoch) that an entry can have which the query, or
    /// one inside it, looks at, to choose blocks by. The first is greater than the second where nothing can match.
    pub fn time_range(&self) -> (i64, i64) {
        let mut range = self.filter.time_range();
        if range.0 <= range.1 {
            for pipe in &self.pipes {
                if let Pipe::Custom(custom) = pipe {
                    range = custom.pipe().widened(range);
                }
            }
        }
        self.for_each_query(&mut |query| {
            let inner = query.time_range();
            if range.0 > range.1 {
                range = inner;
            } else if inner.0 <= inner.1 {
                range = (range.0.min(inner.0), range.1.max(inner.1));
            }
        });
        range
    }

    fn for_each_query<'q>(&'q self, see: &mut dyn FnMut(&'q Self)) {
        self.filter.for_each_subquery(&mut |subquery| see(&subquery.query));
        self.pipes.iter().for_each(|pipe| pipe.for_each_query(see));
    }

    /// Runs the query, and gives its rows to `sink` as they are found, until that breaks.
    ///
    /// Without `sort`, `stats`, `top` or `uniq`, rows come while blocks are still being read, and little more
    /// than a block is held at a time. A block that cannot be read is left out, and counted in the result.
    ///
    /// # Errors
    /// [`Error::MemoryLimit`], and those of [`Cancel::check`];
    /// rows that `sink` has seen stay true.
    pub fn run(
        &self,
        blocks: Vec<Arc<dyn BlockHandle>>,
        options: &RunOptions,
        cancel: &Cancel,
        sink: &mut dyn FnMut(&ResultRow) -> ControlFlow<()>,
    ) -> Result<RunStats> {
        exec::run(self, &blocks, options, cancel, sink)
    }

    /// Runs the query as [`Query::run`] does, and writes its rows, in the same order, many side by side where they do not depend on
    /// others: on [`RunOptions::threads`].
    ///
    /// # Errors
    /// As [`Query::run`]; what was taken of the text stays true.
    pub fn write(
        &self,
        blocks: Vec<Arc<dyn BlockHandle>>,
        options: &RunOptions,
        cancel: &Cancel,
        text: Text<'_>,
    ) -> Result<RunStats> {
        exec::write(self, &blocks, options, cancel, text)
    }

    /// The rows of one block, whose rows are in order of time, that the filter finds, for live tail. Pipes play no part.
    ///
    /// # Errors
    /// [`Error::Block`] if a column cannot be read, [`Error::Subquery`] if
    /// the filter depends on another query.
    pub fn matches(&self, block: &Arc<dyn Block>) -> Result<Bitmap> {
        if self.filter.has_subquery() {
            return Err(Error::Subquery);
        }
        let rows = block.rows();
        if !skip::may_match(&self.filter, &**block)? {
            return Ok(Bitmap::none(rows));
        }
        Ok(exec::eval::eval(&self.filter, &mut Open::new(block.clone()), &Bitmap::all(rows), &|| false)?)
    }

    /// How the query will run, for people to read.
    pub fn explain(&self) -> String {
        let (from, to) = self.time_range();
        let fields = match Projection::of(&self.pipes) {
            Projection::All => "all".to_string(),
            Projection::Only(names) => names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        };
        let time = |ns: i64| match ns {
            i64::MIN => "the beginning".into(),
            i64::MAX => "the end".into(),
            ns => crate::parse::time::format_time(ns),
        };
        let mut out =
            format!("time    {} to {}\nfilter  {}\nreads   {fields}\n", time(from), time(to), self.filter);
        for pipe in &self.pipes {
            out.push_str(&format!("pipe    {pipe}\n"));
        }
        out
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(threads) = self.max_threads {
            write!(f, "options(concurrency={threads}) ")?;
        }
        self.filter.fmt(f)?;
        self.pipes.iter().try_for_each(|pipe| write!(f, " | {pipe}"))
    }
}
