//! `sample 100`: about one of a hundred rows. Which ones depends, of log entries, on nothing but which they are, and of other rows on
//! nothing but their number, so that the same query over the same entries has the same answer.

use super::custom::CustomPipe;
use super::{Flow, Passes, Stage};
use crate::bitmap::Bitmap;
use crate::error::{ParseError, Result};
use crate::exec::context::Run;
use crate::exec::project::Projection;
use crate::parse::Parser;
use crate::row::ResultRow;
use duramen::block::Block;
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

impl Sample {
    /// Of the rows of a block that were found, those that are in the sample. They are in it or not wherever they lie.
    pub(crate) fn of_entries(&self, block: &dyn Block, found: &Bitmap) -> duramen::Result<Bitmap> {
        let mut sample = Bitmap::none(found.len());
        for row in found.iter() {
            let (writer, seq) = block.identity(row)?;
            let identity = u128::from(writer) << 64 | u128::from(seq);
            if self.takes(&identity.to_le_bytes()) {
                sample.insert(row);
            }
        }
        Ok(sample)
    }

    /// Whether what these bytes tell apart from others is in it.
    fn takes(&self, bytes: &[u8]) -> bool {
        // As likely as that the remainder is 0, and no division.
        (u128::from(xxh3_64(bytes)) * self.of as u128) >> 64 == 0
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

    fn thins_out(&self) -> Option<&Sample> {
        Some(self)
    }

    fn needs(&self, needed: Projection) -> Projection {
        needed
    }

    fn stage<'a>(&'a self, _run: &'a Run<'a>, next: Box<dyn Stage + 'a>) -> Result<Box<dyn Stage + 'a>> {
        Ok(Box::new(SampleStage { sample: self, seen: 0, next }))
    }
}

struct SampleStage<'a> {
    sample: &'a Sample,
    seen: u64,
    next: Box<dyn Stage + 'a>,
}

impl Stage for SampleStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        self.seen += 1;
        if self.sample.takes(&self.seen.to_le_bytes()) { self.next.push(row) } else { Ok(Flow::Continue) }
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}
