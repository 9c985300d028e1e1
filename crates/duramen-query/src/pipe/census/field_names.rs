//! `field_names`: which fields the rows have, and how many rows each.

use super::Census;
use crate::error::Result;
use crate::exec::Cancel;
use crate::exec::context::Run;
use crate::exec::project::Projection;
use crate::exec::read::Reader;
use crate::pipe::custom::{CustomPipe, OverBlocks};
use crate::pipe::stats::give;
use crate::pipe::{Flow, Passes, Stage};
use crate::row::ResultRow;
use duramen::ValueKind;
use std::fmt;

/// The pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldNames;

fn rows(census: &Census<'_>) -> Vec<ResultRow> {
    let row = |(name, counted): (&str, &super::Counted)| {
        let mut row = ResultRow::new();
        row.push("name", name, ValueKind::String);
        row.push("hits", &counted.hits.to_string(), ValueKind::Number);
        row
    };
    census.in_order().into_iter().filter(|(_, counted)| counted.hits > 0).map(row).collect()
}

impl fmt::Display for FieldNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("field_names")
    }
}

impl CustomPipe for FieldNames {
    fn passes(&self) -> Passes {
        Passes::All
    }

    fn needs(&self, _needed: Projection) -> Projection {
        Projection::All
    }

    fn stage<'a>(&'a self, run: &'a Run<'a>, next: Box<dyn Stage + 'a>) -> Result<Box<dyn Stage + 'a>> {
        Ok(Box::new(FieldNamesStage { census: Census::new(None, run.memory), cancel: run.cancel, next }))
    }

    fn over_blocks(&self) -> Option<&dyn OverBlocks> {
        Some(self)
    }
}

impl OverBlocks for FieldNames {
    fn run(&self, run: &Run<'_>, reader: &Reader<'_>, _: &Projection, next: &mut dyn Stage) -> Result<()> {
        give(&mut rows(&Census::of_blocks(None, run, reader)?), next, run.cancel)
    }
}

struct FieldNamesStage<'a> {
    census: Census<'a>,
    cancel: &'a Cancel,
    next: Box<dyn Stage + 'a>,
}

impl Stage for FieldNamesStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        self.census.add_row(row)?;
        Ok(Flow::Continue)
    }

    fn finish(&mut self) -> Result<()> {
        give(&mut rows(&self.census), &mut *self.next, self.cancel)?;
        self.next.finish()
    }
}
