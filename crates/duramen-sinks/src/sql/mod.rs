//! LogsQL over a table of logs: SQL narrows, the query engine decides.
//!
//! A query's rows come as [blocks](duramen::block), some thousand each, in order of time. Of each block the database
//! gives only the rows that may match (by time, level, and texts that a matching row holds somewhere); what
//! matches, and every pipe, is then the business of the engine that queries stores, so that both give one answer.
//!
//! | file | what it is |
//! |---|---|
//! | `narrow` | a filter as SQL that every matching row satisfies |
//! | `blocks` | the table as blocks |

mod blocks;
mod narrow;

pub use blocks::SqlLogs;
pub(crate) use blocks::ordered;
pub(crate) use narrow::{Dialect, Narrow, Param};

use crate::error::Result;
use crate::line::Stored;
use std::fmt::Debug;

/// A connection that sees the database as it was when it was made.
pub(crate) trait Reader: Send + Debug {
    /// Which SQL it speaks.
    fn dialect(&self) -> Dialect;
    /// How many bytes the log table takes, about.
    fn table_bytes(&mut self) -> Result<u64>;
    /// Runs a query whose rows are integers.
    fn integers(&mut self, sql: &str, params: &[Param]) -> Result<Vec<Vec<i64>>>;
    /// Runs a query whose columns are those of [`Stored`], in its order.
    fn lines(
        &mut self,
        sql: &str,
        params: &[Param],
        each: &mut dyn FnMut(Stored<'_>) -> Result<()>,
    ) -> Result<()>;
}
