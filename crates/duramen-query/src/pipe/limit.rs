//! `limit N` lets the first rows through, `offset N` all but the first.

use super::{Flow, Stage};
use crate::error::Result;
use crate::row::ResultRow;

pub(super) struct LimitStage<'a> {
    pub left: usize,
    pub next: Box<dyn Stage + 'a>,
}

impl Stage for LimitStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        if self.left == 0 {
            return Ok(Flow::Stop);
        }
        self.left -= 1;
        let flow = self.next.push(row)?;
        Ok(if self.left == 0 { Flow::Stop } else { flow })
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}

pub(super) struct OffsetStage<'a> {
    pub left: usize,
    pub next: Box<dyn Stage + 'a>,
}

impl Stage for OffsetStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        if self.left > 0 {
            self.left -= 1;
            return Ok(Flow::Continue);
        }
        self.next.push(row)
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}
