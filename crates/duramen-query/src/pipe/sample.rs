//! `sample 100`: about one of a hundred rows. Which ones depends on nothing but their number, so that the same query
//! over the same entries has the same answer.

use super::custom::CustomPipe;
use super::{Flow, Passes, Stage};
use crate::error::{ParseError, Result};
use crate::exec::context::Run;
use crate::exec::project::Projection;
use crate::parse::Parser;
use crate::row::ResultRow;
use std::fmt;
use xxhash_rust::xxh3::xxh3_64;

/// One of how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    of: usize,
}

impl Sample {
    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let at = p.token.start;
        match p.count("one of how many rows to keep")? {
            0 => Err(ParseError::new(p.text, at, "a sample is one of at least 1", "write sample 100")),
            of => {
                p.end_of_pipe()?;
                Ok(Self { of })
            }
        }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sample {}", self.of)
    }
}

impl CustomPipe for Sample {
    fn passes(&self) -> Passes {
        Passes::All
    }

    fn needs(&self, needed: Projection) -> Projection {
        needed
    }

    fn stage<'a>(&'a self, _run: &'a Run<'a>, next: Box<dyn Stage + 'a>) -> Result<Box<dyn Stage + 'a>> {
        Ok(Box::new(SampleStage { of: self.of as u64, seen: 0, next }))
    }
}

struct SampleStage<'a> {
    of: u64,
    seen: u64,
    next: Box<dyn Stage + 'a>,
}

impl Stage for SampleStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        self.seen += 1;
        if xxh3_64(&self.seen.to_le_bytes()).is_multiple_of(self.of) {
            self.next.push(row)
        } else {
            Ok(Flow::Continue)
        }
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}
