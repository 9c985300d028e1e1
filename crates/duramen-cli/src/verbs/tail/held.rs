//! Blocks in memory, as the query engine takes them.

use duramen::block::{Block, BlockHandle};
use std::sync::Arc;

/// A block that is open already.
#[derive(Debug)]
pub(super) struct Held {
    block: Arc<dyn Block>,
    times: (i64, i64),
}

impl Held {
    /// A handle of the block, which must have a row.
    pub(super) fn handle(block: Arc<dyn Block>) -> duramen::Result<Arc<dyn BlockHandle>> {
        let times = block.times()?;
        let times = (times.first().copied().unwrap_or(i64::MIN), times.last().copied().unwrap_or(i64::MAX));
        Ok(Arc::new(Self { block, times }))
    }
}

impl BlockHandle for Held {
    fn rows(&self) -> usize {
        self.block.rows()
    }

    fn min_time(&self) -> i64 {
        self.times.0
    }

    fn max_time(&self) -> i64 {
        self.times.1
    }

    fn open(&self) -> duramen::Result<Arc<dyn Block>> {
        Ok(self.block.clone())
    }
}
