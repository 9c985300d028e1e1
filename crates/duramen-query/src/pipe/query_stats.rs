//! `query_stats`: what the query before it has cost, instead of its rows.

use super::custom::CustomPipe;
use super::{Flow, Passes, Stage};
use crate::error::Result;
use crate::exec::context::Run;
use crate::exec::project::Projection;
use crate::row::ResultRow;
use duramen::ValueKind;
use std::fmt;

/// The pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryStats;

impl fmt::Display for QueryStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("query_stats")
    }
}

impl CustomPipe for QueryStats {
    fn passes(&self) -> Passes {
        Passes::All
    }

    fn needs(&self, _needed: Projection) -> Projection {
        // As if the rows were the answer.
        Projection::All
    }

    fn stage<'a>(&'a self, run: &'a Run<'a>, next: Box<dyn Stage + 'a>) -> Result<Box<dyn Stage + 'a>> {
        Ok(Box::new(QueryStatsStage { run, next }))
    }
}

struct QueryStatsStage<'a> {
    run: &'a Run<'a>,
    next: Box<dyn Stage + 'a>,
}

impl Stage for QueryStatsStage<'_> {
    fn push(&mut self, _row: &mut ResultRow) -> Result<Flow> {
        Ok(Flow::Continue)
    }

    fn finish(&mut self) -> Result<()> {
        let mut row = ResultRow::new();
        {
            let cost = self.run.cost.borrow();
            let mut number = |name: &str, n: u128| row.push(name, &n.to_string(), ValueKind::Number);
            number("BytesReadTotal", cost.bytes_read.into());
            number("BlocksTotal", cost.blocks_total.into());
            number("BlocksProcessed", cost.blocks_read.into());
            number("RowsProcessed", cost.rows_scanned.into());
            number("RowsFound", cost.rows_matched.into());
            if let Some(elapsed) = self.run.cancel.elapsed() {
                number("QueryDurationNsecs", elapsed.as_nanos());
            }
        }
        self.next.push(&mut row)?;
        self.next.finish()
    }
}
