//! `field_names as name`: which fields the rows have, and how many rows each.

use super::Census;
use crate::error::{ParseError, Result};
use crate::exec::Cancel;
use crate::exec::context::Run;
use crate::exec::project::Projection;
use crate::exec::read::Reader;
use crate::parse::{Parser, quote};
use crate::pipe::custom::{CustomPipe, OverBlocks};
use crate::pipe::stats::{By, give};
use crate::pipe::{Flow, Passes, Stage};
use crate::row::ResultRow;
use duramen::ValueKind;
use std::fmt;

/// The pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldNames {
    /// The field that holds the names.
    to: Box<str>,
}

impl FieldNames {
    pub(in crate::pipe) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let to = p.result_name()?.unwrap_or_else(|| "name".into());
        p.end_of_pipe()?;
        Ok(Self { to })
    }

    fn rows(&self, census: &Census<'_>) -> Vec<ResultRow> {
        let hits = By::free_name(&[], "hits", &self.to);
        let row = |(name, counted): (&str, &super::Counted)| {
            let mut row = ResultRow::new();
            row.push(&self.to, name, ValueKind::String);
            row.push(&hits, &counted.hits.to_string(), ValueKind::Number);
            row
        };
        census.in_order().into_iter().filter(|(_, counted)| counted.hits > 0).map(row).collect()
    }
}

impl fmt::Display for FieldNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("field_names")?;
        if *self.to == *"name" { Ok(()) } else { write!(f, " as {}", quote(&self.to)) }
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
        Ok(Box::new(FieldNamesStage {
            names: self,
            census: Census::new(None, run.memory),
            cancel: run.cancel,
            next,
        }))
    }

    fn over_blocks(&self) -> Option<&dyn OverBlocks> {
        Some(self)
    }
}

impl OverBlocks for FieldNames {
    fn run(&self, run: &Run<'_>, reader: &Reader<'_>, _: &Projection, next: &mut dyn Stage) -> Result<()> {
        give(&mut self.rows(&Census::of_blocks(None, run, reader)?), next, run.cancel)
    }
}

struct FieldNamesStage<'a> {
    names: &'a FieldNames,
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
        give(&mut self.names.rows(&self.census), &mut *self.next, self.cancel)?;
        self.next.finish()
    }
}
