//! A pipe that the executor knows nothing of but what it says of itself.

use super::maker::Maker;
use super::sample::Sample;
use super::words::Split;
use super::{Passes, Pipe, Stage};
use crate::error::Result;
use crate::exec::Order;
use crate::exec::context::Run;
use crate::exec::project::Projection;
use crate::exec::read::Reader;
use crate::query::Query;
use std::any::Any;
use std::fmt::{Debug, Display};
use std::sync::Arc;

/// Equality behind `dyn`.
pub(crate) trait Same: Any {
    fn as_any(&self) -> &dyn Any;
    fn same(&self, other: &dyn Any) -> bool;
}

impl<T: Any + PartialEq> Same for T {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn same(&self, other: &dyn Any) -> bool {
        other.downcast_ref().is_some_and(|other| self == other)
    }
}

/// The fields that a pipe adds to each row of what was counted.
#[derive(Debug, Default)]
pub(crate) struct Added<'a> {
    /// Texts, which tell series apart.
    pub labels: Vec<&'a str>,
    pub figures: Vec<&'a str>,
}

/// What a pipe says of itself. Its [`Display`] is the pipe as LogsQL.
pub(crate) trait CustomPipe: Same + Debug + Display + Send + Sync {
    /// What becomes of each row.
    fn passes(&self) -> Passes;
    /// What rows that come in must have, so that rows that go out have what is needed.
    fn needs(&self, needed: Projection) -> Projection;
    /// The pipe at work, before the next.
    fn stage<'a>(&'a self, run: &'a Run<'a>, next: Box<dyn Stage + 'a>) -> Result<Box<dyn Stage + 'a>>;
    /// Calls `see` with every query inside it.
    fn for_each_query<'p>(&'p self, _see: &mut dyn FnMut(&'p Query)) {}
    /// The pipe with the subqueries of its filters answered, if there are any, and its own.
    fn answered(&self, _run: &Run<'_>) -> Result<Option<Custom>> {
        Ok(None)
    }
    /// For a pipe that looks at blocks and not at rows, and therefore comes first: does all its work.
    fn over_blocks(&self) -> Option<&dyn OverBlocks> {
        None
    }
    /// If it takes some rows at random: those of log entries, before any other pipe, need not be looked at further.
    fn thins_out(&self) -> Option<&Sample> {
        None
    }
    /// What it makes of which fields, one after another, if that is all it does, to every row.
    fn makers(&self) -> Option<Vec<Maker<'_>>> {
        None
    }
    /// If it makes, of every row, an array of the parts of a text: how.
    fn splits(&self) -> Option<&Split> {
        None
    }
    /// A pipe that does what this one does behind another, if that is quicker than both.
    fn behind(&self, _before: &dyn CustomPipe) -> Option<Custom> {
        None
    }
    /// The fields that it adds to each row of what was counted; `None` if it does more than that.
    fn adds(&self) -> Option<Added<'_>> {
        None
    }
    /// If it is the first pipe, and would rather have entries oldest first: the pipe that takes them so, and gives what this one does
    /// of entries in this order.
    fn oldest_first(&self, _order: Order) -> Option<Custom> {
        None
    }
    /// The time range that a query with this pipe looks at, if its filter looks at this one.
    fn widened(&self, range: (i64, i64)) -> (i64, i64) {
        range
    }
}

/// A first pipe that reads the blocks itself.
pub(crate) trait OverBlocks {
    /// Reads what the filter finds, and pushes rows with what the next pipes need. Whoever calls it finishes the stage.
    fn run(
        &self,
        run: &Run<'_>,
        reader: &Reader<'_>,
        projection: &Projection,
        next: &mut dyn Stage,
    ) -> Result<()>;
}

/// Such a pipe, in a query.
#[derive(Clone, Debug)]
pub struct Custom(Arc<dyn CustomPipe>);

impl Custom {
    pub(crate) fn new(pipe: impl CustomPipe) -> Self {
        Self(Arc::new(pipe))
    }

    pub(crate) fn pipe(&self) -> &dyn CustomPipe {
        &*self.0
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        self.pipe().same(other.pipe().as_any())
    }
}

impl<T: CustomPipe> From<T> for Pipe {
    fn from(pipe: T) -> Self {
        Self::Custom(Custom::new(pipe))
    }
}
