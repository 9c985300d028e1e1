//! What is done off the writers' path: compacting when it is due, syncing at intervals.

use super::Inner;
use super::append::State;
use crate::Result;
use std::sync::PoisonError;
use std::time::Duration;

impl Inner {
    /// The thread.
    pub(super) fn run(&self) {
        loop {
            let mut state = self.state();
            loop {
                if state.closed || self.usable().is_err() {
                    return;
                }
                match self.due_in(&state) {
                    Some(Duration::ZERO) => break,
                    Some(wait) => {
                        let woken = self.work.wait_timeout(state, wait);
                        state = woken.unwrap_or_else(PoisonError::into_inner).0;
                    }
                    None => state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner),
                }
            }
            drop(state);
            // A failed sync is told to writers, a failed compaction counted.
            let _told_elsewhere = self.background_step();
        }
    }

    /// How long until something is to be done; `None` if nothing is.
    fn due_in(&self, state: &State) -> Option<Duration> {
        if state.end >= state.compaction_due_at {
            return Some(Duration::ZERO);
        }
        state.sync_due.map(|due| due.saturating_sub(self.env.clock.monotonic()))
    }

    pub(super) fn background_step(&self) -> Result<bool> {
        let state = self.state();
        self.writable(&state)?;
        let end = state.position();
        let sync = state.sync_due.is_some_and(|due| due <= self.env.clock.monotonic());
        drop(state);
        if sync {
            self.sync_through(end)?;
        }
        Ok(self.compact_if_due()? || sync)
    }
}
