//! Publishing (for segments that are not mapped) and syncing, for many records at once.

use super::Inner;
use super::handle::Handle;
use super::state::State;
use crate::error::WAITS_FOR_ROOM;
use crate::wal::format::{FIRST_RECORD, FIRST_SEQ, PUBLISHED, SYNCED};
use crate::wal::group::Position;
use crate::{Error, Result};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The pages that a file system writes.
const PAGE: usize = 4096;

impl Inner {
    /// Returns once every record up to `position` survives this process.
    pub(super) fn publish_through(&self, position: Position) -> Result<()> {
        self.publishing.reach(position, || self.usable(), || self.poison_unless_full(self.publish_round()))
    }

    /// Returns once every record up to `position` survives a loss of power.
    pub(super) fn sync_through(&self, position: Position) -> Result<()> {
        if self.dir.is_none() {
            return Err(Error::InvalidArgument("wal_kind none keeps no file that could be synced".into()));
        }
        self.syncing.reach(position, || self.usable(), || self.poison_unless_full(self.sync_round(None)))
    }

    /// The same for a segment that takes no more; leaves the active one alone.
    pub(super) fn sync_sealed(&self, position: Position) -> Result<()> {
        let lead = || self.poison_unless_full(self.sync_round(Some(position)));
        self.syncing.reach(position, || self.usable(), lead)
    }

    /// Hands everything that is not with the kernel yet to it: first the records, then the counter that readers
    /// in other processes follow.
    fn publish_round(&self) -> Result<Position> {
        let state = self.state();
        let (segments, reached) = behind(&state, None, |h| &h.published);
        let held = state.held;
        drop(state);
        for (handle, end) in segments {
            if handle.path.is_none() {
                continue;
            }
            if !handle.mapped
                && let Err(e) = publish(&handle, end)
            {
                let refused = handle.refused("write", e);
                if is_full(&refused) {
                    self.state().hold();
                }
                return Err(refused);
            }
            handle.published.store(end as u64, Ordering::Release);
        }
        self.not_let_go()?;
        if held {
            self.state().go_on();
            self.room.notify_all();
        }
        Ok(reached)
    }

    /// As [`Inner::poison`]; but records that wait in memory for room in their file harm nothing.
    pub(super) fn poison_unless_full<T>(&self, result: Result<T>) -> Result<T> {
        match result {
            Err(e) if is_full(&e) => Err(e),
            other => self.poison(other),
        }
    }

    /// Syncs every segment that is behind, oldest first, so that what is durable is always a prefix.
    fn sync_round(&self, through: Option<Position>) -> Result<Position> {
        if through.is_none() {
            self.syncs_records.store(true, Ordering::Relaxed);
        }
        let mut state = self.state();
        let was_due = state.sync_due.is_some();
        if through.is_none() {
            // Not without the look at what there is: a record in between would be synced, and a sync of it due for ever.
            state.begin_sync();
        }
        let (segments, reached) = behind(&state, through, |h| &h.synced);
        drop(state);
        self.not_let_go()?;
        if segments.first.is_none() {
            return Ok(reached);
        }
        let mut full = None;
        if segments.first.iter().chain(&segments.rest).any(|(handle, _)| !handle.mapped) {
            full = match self.publish_through(reached) {
                Err(e) if is_full(&e) => Some(e),
                other => other.map(|()| None)?,
            };
        }
        for (handle, mut end) in segments {
            let (Some(path), Some(dir)) = (&handle.path, &self.dir) else { continue };
            if full.is_some() {
                // What others were told is safe from the process is still to be safe from more than that.
                end = end.min(handle.published.load(Ordering::Acquire) as usize);
                if end as u64 <= handle.synced.load(Ordering::Relaxed) {
                    continue;
                }
            }
            if !handle.name_synced.load(Ordering::Relaxed) {
                self.sync_parents(dir)?;
                self.env.fs.sync_dir(dir).map_err(Error::io("sync directory", dir))?;
                handle.name_synced.store(true, Ordering::Relaxed);
            }
            let from = handle.synced.load(Ordering::Relaxed) as usize / PAGE * PAGE;
            handle.segment.sync(from, end - from).map_err(Error::io("sync", path))?;
            handle.synced.store(end as u64, Ordering::Relaxed);
            match raise(&handle, SYNCED, end).map_err(|e| handle.refused("write", e)) {
                // It only proves damage, if there is some.
                Err(e) if is_full(&e) => {}
                other => other?,
            }
            self.syncs.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(full) = full {
            if was_due {
                self.state().sync_again(self.env.clock.monotonic());
            }
            return Err(full);
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

/// Whether it says that records wait in memory, for want of room in their file.
pub(super) fn is_full(error: &Error) -> bool {
    error.waits_for_room()
}

impl Handle {
    /// An operation that was refused. One for want of room is made again later, where all is as it was before it.
    pub(super) fn refused(&self, operation: &'static str, error: io::Error) -> Error {
        let for_room = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        let again = for_room && !self.mapped && self.segment.may_publish_again();
        let path = self.path.as_deref().unwrap_or(Path::new("(memory)"));
        Error::io(if again { WAITS_FOR_ROOM } else { operation }, path)(error)
    }
}

fn publish(handle: &Handle, end: usize) -> io::Result<()> {
    let from = handle.published.load(Ordering::Relaxed) as usize;
    if from == 0 {
        handle.segment.publish(FIRST_SEQ, 8)?;
    }
    let from = from.max(FIRST_RECORD);
    handle.segment.publish(from, end - from)?;
    raise(handle, PUBLISHED, end)
}

/// Raises a counter of the header, in the file too.
pub(super) fn raise(handle: &Handle, counter: usize, value: usize) -> io::Result<()> {
    handle.segment.memory().counter(counter).store(value as u64, Ordering::Release);
    handle.segment.publish(counter, 8)
}

/// Segments, and where their records end. There is hardly ever more than one, and that asks for no memory.
struct Behind {
    first: Option<(Arc<Handle>, usize)>,
    rest: Vec<(Arc<Handle>, usize)>,
}

impl IntoIterator for Behind {
    type Item = (Arc<Handle>, usize);
    type IntoIter = std::iter::Chain<std::option::IntoIter<Self::Item>, std::vec::IntoIter<Self::Item>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.rest)
    }
}

/// The segments of which `progress` does not cover all records, with where those end, oldest first; and the
/// position that is reached when it does. Only up to `through`, if given, which is a segment's end.
fn behind(
    state: &State,
    through: Option<Position>,
    progress: impl Fn(&Handle) -> &AtomicU64,
) -> (Behind, Position) {
    let immutable = state.immutable.iter().map(|i| (&i.handle, i.len));
    let active = state.active.as_ref().map(|a| (&a.handle, a.tail.end()));
    let mut segments = immutable
        .chain(active.filter(|(_, end)| *end > FIRST_RECORD))
        .filter(|(h, _)| through.is_none_or(|t| h.number <= t.number))
        .filter(|(h, end)| progress(h).load(Ordering::Relaxed) < *end as u64)
        .map(|(h, end)| (Arc::clone(h), end));
    (Behind { first: segments.next(), rest: segments.collect() }, through.unwrap_or(state.end))
}
