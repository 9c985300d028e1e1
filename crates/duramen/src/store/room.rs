//! Waiting for room on a disk that the store's own lines fill.

use crate::error::Result;
use crate::store::{Batch, SourcePosition, Store};
use std::time::Duration;

/// The pause between two attempts.
const RETRY_EVERY: Duration = Duration::from_millis(20);

impl Store {
    /// As [`Store::append_batch`]; but where the disk is full it is tried again, for as long as `most`. What was appended
    /// lately takes many times the room that it will take once the keeper has put it into tables, which is soon. For
    /// who fills a store faster than that, and has nobody to tell that there is no room for the moment.
    ///
    /// # Errors
    /// As [`Store::append_batch`].
    pub fn append_batch_patiently(
        &self,
        batch: &mut Batch,
        source: Option<&SourcePosition>,
        most: Duration,
    ) -> Result<()> {
        let clock = &self.shared.env.clock;
        let began = clock.monotonic();
        // What was rested counts even where the clock does not move.
        let mut rested = Duration::ZERO;
        loop {
            let full = match self.append_batch(batch, source) {
                Err(e) if e.is_full() => e,
                other => return other,
            };
            if rested.max(clock.monotonic().saturating_sub(began)) >= most {
                return Err(full);
            }
            std::thread::park_timeout(RETRY_EVERY);
            rested += RETRY_EVERY;
        }
    }
}
