//! `drop_empty_fields`: rows without the fields that are empty; and without rows, if all are.

use super::custom::CustomPipe;
use super::{Flow, Passes, Stage};
use crate::error::Result;
use crate::exec::context::Run;
use crate::exec::project::Projection;
use crate::row::ResultRow;
use std::fmt;

/// The pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropEmptyFields;

impl fmt::Display for DropEmptyFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("drop_empty_fields")
    }
}

impl CustomPipe for DropEmptyFields {
    fn passes(&self) -> Passes {
        Passes::Filtered
    }

    fn needs(&self, _needed: Projection) -> Projection {
        // Whether a row stays may depend on any of its fields.
        Projection::All
    }

    fn stage<'a>(&'a self, _run: &'a Run<'a>, next: Box<dyn Stage + 'a>) -> Result<Box<dyn Stage + 'a>> {
        Ok(Box::new(DropEmptyStage { next }))
    }
}

struct DropEmptyStage<'a> {
    next: Box<dyn Stage + 'a>,
}

impl Stage for DropEmptyStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        row.retain_filled();
        if row.is_empty() { Ok(Flow::Continue) } else { self.next.push(row) }
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}
