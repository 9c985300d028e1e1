//! What is done off the writers' path: preparing, sealing, interval syncs, noticing flushes.

use super::Inner;
use super::durable::raise;
use super::handle::Handle;
use super::state::{PREFAULT_STEP_BYTES, PrepareError, Prepared};
use crate::wal::format::{FIRST_RECORD, SEALED};
use crate::wal::group::Position;
use crate::{Error, Result};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, PoisonError};

impl Inner {
    /// One round of everything that is due. `closing` seals durably whatever the options say.
    pub(super) fn background_step(&self, closing: bool) -> Result<()> {
        self.usable()?;
        // Before anything slow: appends may be waiting for it.
        let prepared = self.make_ready();
        self.settle(closing)?;
        prepared
    }

    /// What appends will need.
    pub(super) fn make_ready(&self) -> Result<()> {
        let done = {
            let _one_at_a_time = self.preparing.lock().unwrap_or_else(PoisonError::into_inner);
            self.usable().and_then(|()| {
                let prepared = self.prepare();
                self.prefault();
                let _removed = self.discard();
                prepared
            })
        };
        self.unlock_if_let_go();
        done
    }

    /// What is to be done with records that were appended.
    pub(super) fn settle(&self, closing: bool) -> Result<()> {
        let mut sealed = Vec::new();
        let done = {
            let _one_at_a_time = self.settling.lock().unwrap_or_else(PoisonError::into_inner);
            self.usable().and_then(|()| self.seal_and_sync(closing, &mut sealed))
        };
        self.unlock_if_let_go();
        if let Some(on_sealed) = &self.options.on_sealed {
            for (number, bytes) in sealed {
                on_sealed(number, bytes);
            }
        }
        done
    }

    fn seal_and_sync(&self, closing: bool, sealed: &mut Vec<(u64, u64)>) -> Result<()> {
        while let Some((handle, len)) = self.next_to_seal() {
            self.seal(&handle, len, closing || self.options.sync_on_seal)?;
            sealed.push((handle.number, len as u64));
        }
        if self.is_sync_due() {
            let end = self.state().end;
            self.sync_through(end)?;
        }
        self.poll_released();
        Ok(())
    }

    /// Gets the memory ready that the next records go to.
    fn prefault(&self) {
        let mut state = self.state();
        while let Some(mut part) = state.next_prefault() {
            let Range { start, end } = part.range;
            drop(state);
            part.handle.segment.prefault(start, end.saturating_sub(start).min(PREFAULT_STEP_BYTES));
            part.range.start = start + PREFAULT_STEP_BYTES;
            state = self.state();
            if part.range.start < end && state.prefault.is_none() && !state.closed {
                state.prefault = Some(part);
            }
            // The next segment comes first: appends wait for that, when it is missing.
            if state.wanted_bytes != 0 || state.stop {
                return;
            }
        }
    }

    /// Makes the next segment, if one is wanted and the one there is, is too short.
    fn prepare(&self) -> Result<()> {
        let mut state = self.state();
        let wanted = std::mem::take(&mut state.wanted_bytes);
        let long_enough = |bytes: usize| wanted <= bytes;
        if wanted == 0
            || state.closed
            || state.prepared.as_ref().is_some_and(|p| long_enough(p.tail.end() + p.tail.room()))
        {
            return Ok(());
        }
        let (number, bytes) = state.next_segment(wanted);
        drop(state);
        let mut made = self.make_segment(number, bytes);
        // A segment that is not used may have the space that is missing: after a rotation, one that was ready.
        if made.is_err() && self.discard() {
            made = self.make_segment(number, bytes);
        }
        let mut state = self.state();
        let done = match made {
            Ok((handle, tail)) => {
                let made = Prepared::new(handle, tail);
                let unused = if state.closed { Some(made) } else { state.prepared.replace(made) };
                state.discarded.extend(unused.and_then(|unused| unused.handle.path.clone()));
                state.prepare_error = None;
                state.grow();
                Ok(())
            }
            Err(e) => {
                state.metrics.prepare_failures += 1;
                state.prepare_error = Some(PrepareError::remember(&e));
                Err(e)
            }
        };
        drop(state);
        self.room.notify_all();
        done
    }

    /// Removes the files of segments that were never used; whether there were any. One that stays is found empty by
    /// recovery.
    fn discard(&self) -> bool {
        let discarded = std::mem::take(&mut self.state().discarded);
        for path in &discarded {
            let _best_effort = self.env.fs.remove_file(path);
        }
        !discarded.is_empty()
    }

    fn next_to_seal(&self) -> Option<(Arc<Handle>, usize)> {
        let state = self.state();
        let next = state.immutable.iter().find(|i| !i.sealed)?;
        Some((Arc::clone(&next.handle), next.len))
    }

    /// Brings a segment into its final form. Its records are first made durable, then declared complete: who
    /// reads `sealed` may rely on them.
    fn seal(&self, handle: &Handle, len: usize, durably: bool) -> Result<()> {
        let end = Position { number: handle.number, offset: len as u64 };
        if !handle.segment.is_mapped() {
            self.publish_through(end)?;
        }
        if handle.path.is_some() && durably {
            self.sync_sealed(end)?;
        }
        let path = handle.path.as_deref().unwrap_or(Path::new("(memory)"));
        self.poison(raise(handle, SEALED, len).map_err(Error::io("write", path)))?;
        if handle.path.is_some() {
            self.poison(handle.segment.truncate(len).map_err(Error::io("truncate", path)))?;
            if durably {
                self.poison(handle.segment.sync(0, FIRST_RECORD).map_err(Error::io("sync", path)))?;
            }
        }
        if self.options.unload_sealed {
            handle.segment.unload();
        }
        let mut state = self.state();
        if let Some(immutable) = state.immutable.iter_mut().find(|i| i.handle.number == handle.number) {
            immutable.sealed = true;
        }
        state.metrics.segments_sealed += 1;
        Ok(())
    }

    fn is_sync_due(&self) -> bool {
        let due = self.state().sync_due;
        due.is_some_and(|due| due <= self.env.clock.monotonic())
    }
}
