//! Waiting for room on a disk that the store's own lines fill.

use crate::error::{Error, Result};
use crate::store::{Batch, SourcePosition, Store};
use duramen_engine::Error as EngineError;
use duramen_engine::wal::WriteOptions;
use std::time::Duration;

/// The pause between two attempts.
const RETRY_EVERY: Duration = Duration::from_millis(20);

impl Store {
    /// Makes what was appended as safe as `options` ask, where an append has said that it `waits` for room
    /// ([`Error::waits_for_room`]).
    ///
    /// # Errors
    /// As that append, if there is no room yet; anything else if the writer has stopped: then nobody knows whether it
    /// is in the log.
    pub(crate) fn publish(&self, waits: &Error, options: WriteOptions) -> Result<()> {
        let in_doubt = || EngineError::Poisoned { reason: waits.to_string() };
        let Error::Engine(EngineError::Io { path, .. }) = waits else { return Err(in_doubt().into()) };
        // Another writer may have taken its place, and knows nothing of it.
        let wal = self.shared.wal.newest().filter(|wal| wal.writer_dir() == path.parent());
        Ok(wal.ok_or_else(in_doubt)?.publish(options)?)
    }

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
        let mut full = None;
        loop {
            // What waits for room is in the log once, though not in its file.
            let waits = full.take().filter(Error::waits_for_room);
            let done = match &waits {
                Some(waits) => self.publish(waits, WriteOptions::default()),
                None => self.append_batch(batch, source),
            };
            let error = match (done, waits) {
                (Err(e), _) if e.is_full() || e.waits_for_room() => e,
                (Err(_), Some(waits)) => return Err(waits),
                (Ok(()), _) => {
                    batch.clear();
                    return Ok(());
                }
                (Err(e), None) => return Err(e),
            };
            if rested.max(clock.monotonic().saturating_sub(began)) >= most {
                return Err(error);
            }
            full = Some(error);
            std::thread::park_timeout(RETRY_EVERY);
            rested += RETRY_EVERY;
        }
    }
}
