//! Asking a store: the short way for programs that link it.

use crate::error::{Error, ParseError};
use crate::exec::{Cancel, RunOptions, RunStats};
use crate::parse::ParseOptions;
use crate::query::Query;
use crate::row::ResultRow;
use duramen::Store;
use std::ops::ControlFlow;

/// Why a store has no answer, or did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The text is no query; the error shows where.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] duramen::Error),
    /// The query ran out of memory or was cancelled.
    #[error(transparent)]
    Run(#[from] Error),
    /// Pipes, or queries in the filter, where a filter alone can say what is meant.
    #[error("what to delete is said by a filter alone, without pipes (`|`) and without queries in it")]
    OnlyFilter,
}

/// Queries for a [`Store`].
pub trait QueryStore {
    /// Asks in LogsQL, and calls `each` with every row of the answer as it is found, the newest first, until
    /// it breaks. Time filters such as `_time:5m` count from `options.now_ns`.
    ///
    /// A block that cannot be read is left out and counted: look at [`RunStats::blocks_failed`].
    ///
    /// ```
    /// use duramen::{EntryBuf, Level, Store};
    /// use duramen_query::{ParseOptions, QueryStore};
    /// use std::ops::ControlFlow;
    /// # let dir = tempfile::tempdir()?;
    /// let store = Store::open(dir.path().join("logs"))?;
    /// let mut entry = EntryBuf::new(["app"]);
    /// entry.start(1).level(Level::Error).message("connection refused").field("app", "checkout");
    /// store.append(entry.finish()?)?;
    ///
    /// let mut found = Vec::new();
    /// store.query("level:error refused", &ParseOptions::default(), &mut |row| {
    ///     found.push(row.get("app").unwrap_or_default().to_owned());
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(found, ["checkout"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`QueryError`].
    fn query(
        &self,
        text: &str,
        options: &ParseOptions,
        each: &mut dyn FnMut(&ResultRow) -> ControlFlow<()>,
    ) -> Result<RunStats, QueryError>;
}

impl QueryStore for Store {
    fn query(
        &self,
        text: &str,
        options: &ParseOptions,
        each: &mut dyn FnMut(&ResultRow) -> ControlFlow<()>,
    ) -> Result<RunStats, QueryError> {
        let query = Query::parse(text, options)?;
        let snapshot = self.snapshot()?;
        let (min_time, max_time) = query.time_range();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let run = RunOptions { threads, ..RunOptions::default() };
        Ok(query.run(snapshot.blocks(min_time, max_time), &run, &Cancel::new(), each)?)
    }
}
