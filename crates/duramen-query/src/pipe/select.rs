//! `filter …` (or `where …`): lets the rows through that match. Behind `stats` it is what SQL calls HAVING.

use super::{Flow, Stage};
use crate::error::Result;
use crate::filter::Filter;
use crate::row::ResultRow;

pub(super) struct SelectStage<'a> {
    pub filter: &'a Filter,
    pub next: Box<dyn Stage + 'a>,
}

impl Stage for SelectStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        if self.filter.matches(row) { self.next.push(row) } else { Ok(Flow::Continue) }
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}
