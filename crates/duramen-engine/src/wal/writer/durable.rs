//! Publishing (for segments that are not mapped) and syncing, for many records at once.

use super::Inner;
use super::handle::Handle;
use super::state::State;
use crate::wal::format::{FIRST_RECORD, FIRST_SEQ, PUBLISHED, SYNCED};
use crate::wal::group::Position;
use crate::{Error, Result};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The pages that a file system writes.
const PAGE: usize = 4096;

impl Inner {
    /// Returns once every record up to `position` survives this process.
    pub(super) fn publish_through(&self, position: Position) -> Result<()> {
        self.publishing.reach(position, || self.usable(), || self.poison(self.publish_round()))
    }

    /// Returns once every record up to `position` survives a loss of power.
    pub(super) fn sync_through(&self, position: Position) -> Result<()> {
        if self.dir.is_none() {
            return Err(Error::InvalidArgument("wal_kind none keeps no file that could be synced".into()));
        }
        self.syncing.reach(position, || self.usable(), || self.poison(self.sync_round(None)))
    }

    /// The same for a segment that takes no more; leaves the active one alone.
    pub(super) fn sync_sealed(&self, position: Position) -> Result<()> {
        self.syncing.reach(position, || self.usable(), || self.poison(self.sync_round(Some(position))))
    }

    /// Hands everything that is not with the kernel yet to it: first the records, then the counter that readers
    /// in other processes follow.
    fn publish_round(&self) -> Result<Position> {
        let (segments, reached) = behind(&self.state(), None, |h| &h.published);
        for (handle, end) in segments {
            let Some(path) = &handle.path else { continue };
            if !handle.segment.is_mapped() {
                publish(&handle, end).map_err(Error::io("write", path))?;
            }
            handle.published.store(end as u64, Ordering::Relaxed);
        }
        self.not_let_go()?;
        Ok(reached)
    }

    /// Syncs every segment that is behind, oldest first, so that what is durable is always a prefix.
    fn sync_round(&self, through: Option<Position>) -> Result<Position> {
        if through.is_none() {
            self.syncs_records.store(true, Ordering::Relaxed);
        }
        let mut state = self.state();
        if through.is_none() {
            // Not without the look at what there is: a record in between would be synced, and a sync of it due for ever.
            state.begin_sync();
        }
        let (segments, reached) = behind(&state, through, |h| &h.synced);
        drop(state);
        self.not_let_go()?;
        if segments.is_empty() {
            return Ok(reached);
        }
        if segments.iter().any(|(handle, _)| !handle.segment.is_mapped()) {
            self.publish_through(reached)?;
        }
        for (handle, end) in segments {
            let (Some(path), Some(dir)) = (&handle.path, &self.dir) else { continue };
            if !handle.name_synced.load(Ordering::Relaxed) {
                self.sync_parents(dir)?;
                self.env.fs.sync_dir(dir).map_err(Error::io("sync directory", dir))?;
                handle.name_synced.store(true, Ordering::Relaxed);
            }
            let from = handle.synced.load(Ordering::Relaxed) as usize / PAGE * PAGE;
            handle.segment.sync(from, end - from).map_err(Error::io("sync", path))?;
            handle.synced.store(end as u64, Ordering::Relaxed);
            raise(&handle, SYNCED, end).map_err(Error::io("write", path))?;
            self.syncs.fetch_add(1, Ordering::Relaxed);
        }
        let mut state = self.state();
        state.mark = state.mark.max(Some(reached));
        drop(state);
        Ok(reached)
    }

    pub(super) fn unsynced_entries(&self) -> u64 {
        let (segments, _) = behind(&self.state(), None, |h| &h.synced);
        let mut entries = 0;
        for (handle, _) in segments {
            let mut at = handle.synced.load(Ordering::Relaxed).max(FIRST_RECORD as u64);
            while let Ok(Some((record, next))) = handle.reader.next_record(at) {
                entries += u64::from(record.count);
                at = next;
            }
        }
        entries
    }

    /// Makes the name of our directory durable, and that of the directory it lies in.
    pub(super) fn sync_parents(&self, dir: &Path) -> Result<()> {
        if self.parents_synced.load(Ordering::Acquire) {
            return Ok(());
        }
        for parent in dir.ancestors().skip(1).take(2).filter(|p| !p.as_os_str().is_empty()) {
            self.env.fs.sync_dir(parent).map_err(Error::io("sync directory", parent))?;
        }
        self.parents_synced.store(true, Ordering::Release);
        Ok(())
    }
}

fn publish(handle: &Handle, end: usize) -> std::io::Result<()> {
    let from = handle.published.load(Ordering::Relaxed) as usize;
    if from == 0 {
        handle.segment.publish(FIRST_SEQ, 8)?;
    }
    let from = from.max(FIRST_RECORD);
    handle.segment.publish(from, end - from)?;
    raise(handle, PUBLISHED, end)
}

/// Raises a counter of the header, in the file too.
pub(super) fn raise(handle: &Handle, counter: usize, value: usize) -> std::io::Result<()> {
    handle.segment.memory().counter(counter).store(value as u64, Ordering::Release);
    handle.segment.publish(counter, 8)
}

/// The segments of which `progress` does not cover all records, with where those end, oldest first; and the
/// position that is reached when it does. Only up to `through`, if given, which is a segment's end.
fn behind(
    state: &State,
    through: Option<Position>,
    progress: impl Fn(&Handle) -> &AtomicU64,
) -> (Vec<(Arc<Handle>, usize)>, Position) {
    let immutable = state.immutable.iter().map(|i| (&i.handle, i.len));
    let active = state.active.as_ref().map(|a| (&a.handle, a.tail.end()));
    let segments = immutable
        .chain(active.filter(|(_, end)| *end > FIRST_RECORD))
        .filter(|(h, _)| through.is_none_or(|t| h.number <= t.number))
        .filter(|(h, end)| progress(h).load(Ordering::Relaxed) < *end as u64)
        .map(|(h, end)| (Arc::clone(h), end))
        .collect();
    (segments, through.unwrap_or(state.end))
}
