//! `union (query)`: the rows of another query, after these.

use super::custom::CustomPipe;
use super::{Flow, Passes, Stage};
use crate::error::{ParseError, Result};
use crate::exec::context::Run;
use crate::exec::project::Projection;
use crate::parse::Parser;
use crate::query::Query;
use crate::row::ResultRow;
use std::fmt;

/// The other query.
#[derive(Clone, Debug, PartialEq)]
pub struct Union {
    query: Query,
}

impl Union {
    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.expect_punct('(')?;
        let query = p.subquery()?;
        p.expect_punct(')')?;
        p.end_of_pipe()?;
        Ok(Self { query })
    }
}

impl fmt::Display for Union {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "union ({})", self.query)
    }
}

impl CustomPipe for Union {
    fn passes(&self) -> Passes {
        Passes::All
    }

    fn needs(&self, needed: Projection) -> Projection {
        needed
    }

    fn stage<'a>(&'a self, run: &'a Run<'a>, next: Box<dyn Stage + 'a>) -> Result<Box<dyn Stage + 'a>> {
        Ok(Box::new(UnionStage { query: &self.query, run, next }))
    }

    fn for_each_query<'p>(&'p self, see: &mut dyn FnMut(&'p Query)) {
        see(&self.query);
    }
}

struct UnionStage<'a> {
    query: &'a Query,
    run: &'a Run<'a>,
    next: Box<dyn Stage + 'a>,
}

impl Stage for UnionStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        // What stops the rows before it may still want some of its own.
        self.next.push(row)
    }

    fn finish(&mut self) -> Result<()> {
        let next = &mut *self.next;
        self.run.each_row(self.query, &mut |row| next.push(row))?;
        self.next.finish()
    }
}
