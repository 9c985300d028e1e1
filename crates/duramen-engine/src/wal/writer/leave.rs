//! Ending a log that is to be found again as it is.

use super::{Inner, Wal};
use crate::Result;

impl Wal {
    /// Ends the log as [`Wal::close`] does, but for what tells that it was closed: the segment that takes the next record
    /// stays, without a SEAL, cut to its length. So a recovery finds all that is in it, and misses it if it is gone.
    ///
    /// # Errors
    /// As [`Wal::close`].
    pub(crate) fn leave(&self) -> Result<()> {
        let inner = &*self.inner;
        inner.not_forked()?;
        inner.refuse_appends();
        self.threads.stop(inner);
        // What could not be finished is nobody's to finish once others may have the directory.
        let left = inner.poison(inner.make_last());
        inner.unlock();
        left
    }

    /// Whether nothing is in it that was not released.
    pub(crate) fn is_drained(&self) -> bool {
        let state = self.inner.state();
        state.immutable.is_empty() && state.active.as_ref().is_none_or(|active| active.records == 0)
    }
}

impl Inner {
    /// Seals what is full and syncs all there is, once nobody appends any more.
    fn make_last(&self) -> Result<()> {
        let end = self.settle_last(|_| ())?;
        if self.dir.is_some() {
            self.sync_through(end)?;
        }
        let last = self.state().active.take();
        if let Some(last) = last.filter(|last| last.handle.path.is_some()) {
            // Else it keeps its space until it is recovered.
            let _best_effort = last.handle.segment.truncate(last.tail.end());
        }
        Ok(())
    }
}
