//! A query: a filter, and pipes behind it.

use crate::bitmap::Bitmap;
use crate::error::{ParseError, Result};
use crate::exec::project::Projection;
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
}

impl Query {
    /// Reads LogsQL.
    ///
    /// # Errors
    /// [`ParseError`], which says where and what was expected.
    pub fn parse(text: &str, options: &ParseOptions) -> Result<Self, ParseError> {
        let mut p = Parser::new(text, options)?;
        if p.at_end() {
            return Err(p.error("the query is empty", "write * for everything, or a word to search for"));
        }
        let mut filter = p.filter(None)?;
        let mut pipes = Vec::new();
        while p.eat_punct('|')? {
            match p.pipe()? {
                // Filters directly behind the filter are part of it.
                Pipe::Filter(more) if pipes.is_empty() => filter = filter.and(more),
                pipe => pipes.push(pipe),
            }
        }
        if !p.at_end() {
            return Err(p.expected("`|` and a pipe, or the end of the query"));
        }
        Ok(Self { filter, pipes })
    }

    /// The filter.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The pipes.
    pub fn pipes(&self) -> &[Pipe] {
        &self.pipes
    }

    /// The earliest and latest time (both inclusive, ns since the epoch) that a matching entry can have, to
    /// choose blocks by. The first is greater than the second where nothing can match.
    pub fn time_range(&self) -> (i64, i64) {
        self.filter.time_range()
    }

    /// Runs the query, and gives its rows to `sink` as they are found, until that breaks.
    ///
    /// Without `sort`, `stats`, `top` or `uniq`, rows come while blocks are still being read, and little more
    /// than a block is held at a time. A block that cannot be read is left out, and counted in the result.
    ///
    /// # Errors
    /// [`Error::MemoryLimit`](crate::Error::MemoryLimit) and [`Error::Cancelled`](crate::Error::Cancelled);
    /// rows that `sink` has seen stay true.
    pub fn run(
        &self,
        blocks: Vec<Arc<dyn BlockHandle>>,
        options: &RunOptions,
        cancel: &Cancel,
        sink: &mut dyn FnMut(&ResultRow) -> ControlFlow<()>,
    ) -> Result<RunStats> {
        exec::run(&self.filter, &self.pipes, blocks, options, cancel, sink)
    }

    /// The rows of one block that the filter finds, for live tail. Pipes play no part.
    ///
    /// # Errors
    /// [`Error::Block`](crate::Error::Block) if a column cannot be read.
    pub fn matches(&self, block: &Arc<dyn Block>) -> Result<Bitmap> {
        let rows = block.rows();
        if !skip::may_match(&self.filter, &**block)? {
            return Ok(Bitmap::none(rows));
        }
        Ok(exec::eval::eval(&self.filter, &mut Open::new(block.clone()), &Bitmap::all(rows))?)
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
        self.filter.fmt(f)?;
        self.pipes.iter().try_for_each(|pipe| write!(f, " | {pipe}"))
    }
}
