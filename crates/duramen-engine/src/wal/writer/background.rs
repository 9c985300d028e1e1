//! What is done off the writers' path: preparing, sealing, interval syncs, noticing flushes.

use super::Inner;
use super::durable::{is_full, raise};
use super::handle::{Handle, Takes};
use super::state::{Active, PREFAULT_STEP_BYTES, PrepareError, State};
use crate::wal::format::{FIRST_RECORD, SEALED};
use crate::wal::group::Position;
use crate::{Error, Result};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// From this length on it pays to take all of a segment's memory at once.
const LEAST_AT_ONCE_BYTES: usize = 4 << 20;
/// If a segment takes longer than this to fill, its memory is not taken at once: by then the system may have begun to write
/// zeros to the device.
const MOST_TO_FILL: Duration = Duration::from_secs(5);

/// How long after a look for room in the file that records wait for the next one is.
pub(super) const FULL_AGAIN: Duration = Duration::from_millis(50);

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
        let done = self.seal_all(closing, sealed);
        self.state().seals_later = done.as_ref().is_err_and(is_full);
        // What is in its file already is synced in time, though a segment waits to be sealed.
        let full = match done {
            Err(e) if is_full(&e) => Some(e),
            other => other.map(|()| None)?,
        };
        if let Some(end) = self.take_due_sync()
            && let Err(e) = self.sync_through(end)
        {
            self.state().sync_again(self.env.clock.monotonic());
            return Err(e);
        }
        self.poll_released();
        full.map_or(Ok(()), Err)
    }

    fn seal_all(&self, closing: bool, sealed: &mut Vec<(u64, u64)>) -> Result<()> {
        while let Some((handle, len)) = self.next_to_seal() {
            self.seal(&handle, len, closing || self.options.sync_on_seal)?;
            sealed.push((handle.number, len as u64));
        }
        Ok(())
    }

    /// Gets the memory ready that the next records go to.
    fn prefault(&self) {
        let mut state = self.state();
        while let Some(mut part) = state.next_prefault() {
            let Range { start, end } = part.range;
            let behind = part.behind.take().filter(|_| self.options.unload_written);
            drop(state);
            part.handle.segment.prefault(start, end.saturating_sub(start).min(PREFAULT_STEP_BYTES));
            // What records are about to need comes first.
            if let Some(Range { start, end }) = behind {
                part.handle.unload(start..end);
            }
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
        let follows = state.end.number;
        let fast = bytes >= LEAST_AT_ONCE_BYTES && self.fills_fast(&state);
        let takes = if fast { Takes::All } else { Takes::Little };
        drop(state);
        let mut made = self.make_segment(number, follows, bytes, takes);
        // A segment that is not used may have the space that is missing: after a rotation, one that was ready.
        if made.is_err() && self.discard() {
            made = self.make_segment(number, follows, bytes, takes);
        }
        let mut state = self.state();
        let done = match made {
            Ok(made) => {
                let unused = if state.closed { Some(made) } else { state.prepared.replace(made) };
                state.discarded.extend(unused.and_then(|unused| unused.handle.path.clone()));
                state.prepare_error = None;
                state.check_prepared();
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

    /// Whether the next segment is likely to be full before the system writes its memory to the device by itself, and nobody
    /// has records synced: a sync writes all of the piece of memory that a record lies in.
    fn fills_fast(&self, state: &State) -> bool {
        let fast = |active: &Active| {
            let took = self.env.clock.monotonic().saturating_sub(active.since);
            let room = active.tail.room() as f64 / active.tail.end().max(1) as f64;
            took.mul_f64(1.0 + room) < MOST_TO_FILL
        };
        !self.wants_sync_early()
            && !self.syncs_records.load(Ordering::Relaxed)
            && state.active.as_ref().is_some_and(fast)
    }

    /// Removes the files of segments that were never used; whether there were any. One that stays is found empty by
    /// recovery.
    fn discard(&self) -> bool {
        let discarded = std::mem::take(&mut self.state().discarded);
        self.remove_all(&discarded);
        !discarded.is_empty()
    }

    /// The same under the writer's lock, for once in a while.
    pub(super) fn remove_discarded(&self, state: &mut State) {
        self.remove_all(&std::mem::take(&mut state.discarded));
    }

    fn remove_all(&self, discarded: &[PathBuf]) {
        for path in discarded {
            let _best_effort = self.env.fs.remove_file(path);
        }
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
        if !handle.mapped {
            self.publish_through(end)?;
        }
        if handle.path.is_some() && durably {
            self.sync_sealed(end)?;
        }
        let path = handle.path.as_deref().unwrap_or(Path::new("(memory)"));
        self.poison_unless_full(raise(handle, SEALED, len).map_err(|e| handle.refused("write", e)))?;
        if handle.path.is_some() {
            let cut = handle.segment.truncate(len).map_err(|e| handle.refused("truncate", e));
            self.poison_unless_full(cut)?;
            if durably {
                self.poison(handle.segment.sync(0, FIRST_RECORD).map_err(Error::io("sync", path)))?;
            }
        }
        if self.options.unload_written {
            handle.unload(0..usize::MAX);
        }
        let mut state = self.state();
        if let Some(immutable) = state.immutable.iter_mut().find(|i| i.handle.number == handle.number) {
            immutable.sealed = true;
        }
        state.metrics.segments_sealed += 1;
        Ok(())
    }

    /// Up to where records are to be synced now, which is asked for once: another sync may have come so far already.
    fn take_due_sync(&self) -> Option<Position> {
        let mut state = self.state();
        state.sync_due.take_if(|due| *due <= self.env.clock.monotonic())?;
        Some(state.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::Sim;
    use crate::wal::options::{Background, Durability};
    use crate::wal::{Wal, WalOptions, WriteOptions};

    fn wal(sim: &Sim, durability: Durability) -> Result<Wal> {
        let options = WalOptions {
            background: Background::Manual,
            durability,
            first_segment_bytes: 4 << 20,
            ..WalOptions::default()
        };
        Wal::create(&sim.env(), Path::new("/wal"), options)
    }

    #[test]
    fn memory_is_taken_at_once_where_a_segment_fills_fast_and_nobody_syncs() -> Result<()> {
        let sim = Sim::new(1);
        let wal = wal(&sim, Durability::Process)?;
        let takes = || wal.inner.fills_fast(&wal.inner.state());
        for _ in 0..20 {
            wal.append(0, 1, &[7; 100_000], WriteOptions::default())?;
        }
        // Half of it in a second, or in a few.
        sim.clock().advance(Duration::from_secs(1));
        assert!(takes());
        sim.clock().advance(Duration::from_secs(3));
        assert!(!takes());
        wal.rotate()?;
        wal.append(0, 1, &[7; 100_000], WriteOptions::default())?;
        assert!(takes());
        wal.append(
            0,
            1,
            b"safe",
            WriteOptions { durability: Some(Durability::Sync), ..WriteOptions::default() },
        )?;
        assert!(!takes());
        Ok(())
    }

    #[test]
    fn a_sync_that_sealing_has_done_already_is_not_due_for_ever() -> Result<()> {
        let sim = Sim::new(1);
        let wal = wal(&sim, Durability::IntervalMs(10))?;
        assert!(wal.inner.options.sync_on_seal);
        wal.append(0, 1, b"record", WriteOptions::default())?;
        wal.rotate()?;
        wal.background_step()?;
        let syncs = wal.metrics().syncs;
        sim.clock().advance(Duration::from_millis(20));
        wal.background_step()?;
        let state = wal.inner.state();
        assert_eq!(state.sync_due, None);
        assert_ne!(wal.inner.settles_in(&state), Some(Duration::ZERO), "the thread would not rest");
        drop(state);
        assert_eq!(wal.metrics().syncs, syncs);
        // What comes later is synced as ever.
        wal.append(0, 1, b"record", WriteOptions::default())?;
        assert!(wal.inner.state().sync_due.is_some());
        sim.clock().advance(Duration::from_millis(20));
        wal.background_step()?;
        assert_eq!(wal.inner.state().sync_due, None);
        assert_eq!(wal.metrics().syncs, syncs + 1);
        Ok(())
    }

    #[test]
    fn memory_is_not_taken_at_once_where_records_are_synced_anyway() -> Result<()> {
        for durability in [Durability::Sync, Durability::IntervalMs(10)] {
            let wal = wal(&Sim::new(1), durability)?;
            assert!(!wal.inner.fills_fast(&wal.inner.state()));
        }
        Ok(())
    }
}
