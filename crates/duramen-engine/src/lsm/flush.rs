//! From memtable to table.
//!
//! ```text
//!  immutable memtable ─write─▶ table, not synced ─▶ readers use it; the write buffer is free again
//!                                   └─sync─▶ manifest edit ─▶ the WAL segment is removed
//! ```
//!
//! A table is as good as its memtable the moment it is written: the WAL segment is still there, and survives what
//! it always did. So no write waits for a sync that it did not ask for. Only when the table is on the device and
//! the manifest says so, durably, is the segment removed.

use super::db::Inner;
use super::events::Event;
use super::listener::FlushInfo;
use super::memtable::{SortedEntry, SortedIter};
use super::read::{CompactionIter, ForwardSource, RangeTombstones};
use super::superversion::{Immutable, Origin, SuperVersion};
use super::table::{MadeOf, PendingSync, TableOptions, TableWriter};
use super::version::{TableFacts, TableFile, Version};
use crate::kv::OpKind;
use crate::manifest::Edit;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

/// The manifest's name for [`flushed_seq`].
pub(crate) const FLUSHED_SEQ: &[u8] = b"flushed_seq";

/// A memtable's versions, for the flush.
struct InOrder<'a> {
    entries: SortedIter<'a>,
    now: SortedEntry<'a>,
}

impl<'a> InOrder<'a> {
    fn new(entries: SortedIter<'a>) -> Self {
        Self { entries, now: SortedEntry { key: &[], seq: 0, kind: OpKind::Delete, value: &[] } }
    }
}

impl ForwardSource for InOrder<'_> {
    #[inline]
    fn advance(&mut self) -> Result<bool> {
        match self.entries.next() {
            Some(entry) => {
                self.now = entry;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.now.key
    }

    #[inline]
    fn seq(&self) -> u64 {
        self.now.seq
    }

    #[inline]
    fn kind(&self) -> OpKind {
        self.now.kind
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.now.value
    }
}

/// A table that readers use already, but that the manifest does not know yet.
#[derive(Debug)]
pub(super) struct Uncommitted {
    /// `None` if nothing of the memtable had to be kept.
    table: Option<(Arc<TableFile>, Option<PendingSync>)>,
    /// The segment it was made of.
    origin: Origin,
    /// The sequence number of the last write of that.
    last_seq: u64,
}

impl Uncommitted {
    pub(super) fn file(&self) -> Option<&Arc<TableFile>> {
        self.table.as_ref().map(|(file, _)| file)
    }
}

/// The manifest's value for: every write up to this one is in tables.
pub(super) fn flushed_seq(seq: u64) -> (Vec<u8>, Vec<u8>) {
    (FLUSHED_SEQ.to_vec(), seq.to_le_bytes().to_vec())
}

/// Where the table of this number lies.
pub(super) fn path_of(dir: &Path, number: u64) -> PathBuf {
    dir.join(super::paths::table(number))
}

/// Somebody waits until all is flushed, while this lives.
pub(super) struct FlushWaiter<'a>(&'a Inner);

impl<'a> FlushWaiter<'a> {
    pub(super) fn new(inner: &'a Inner) -> Self {
        inner.flush_waiters.fetch_add(1, Ordering::Relaxed);
        Self(inner)
    }
}

impl Drop for FlushWaiter<'_> {
    fn drop(&mut self) {
        self.0.flush_waiters.fetch_sub(1, Ordering::Relaxed);
        self.0.background.wake();
    }
}

impl Inner {
    /// Writes the oldest immutable memtable to a table. Whether there was one.
    pub(super) fn flush_one(&self) -> Result<bool> {
        let one_at_a_time = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(oldest) = self.current.load().immutables.last().cloned() else { return Ok(false) };
        while self.uncommitted().len() >= self.options.max_write_buffer_number {
            self.commit_one()?;
        }
        let started = self.options.env.clock.monotonic();
        let table = self.write_table(&oldest)?;
        let mut info = FlushInfo::default();
        if let Some((file, _)) = &table {
            info = FlushInfo {
                table: file.meta.number,
                path: file.path().to_path_buf(),
                file_bytes: file.meta.file_bytes,
                entries: file.meta.entries,
                deletes: file.facts.deletes,
                range_deletes: file.facts.range_deletes,
                min_seq: file.facts.min_seq,
                max_seq: file.facts.max_seq,
                ..FlushInfo::default()
            };
        }
        let took = self.options.env.clock.monotonic().saturating_sub(started);
        info.duration_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.metrics.flushes.fetch_add(1, Ordering::Relaxed);
        self.metrics.flush_bytes.fetch_add(info.file_bytes, Ordering::Relaxed);

        let file = table.as_ref().map(|(file, _)| Arc::clone(file));
        // Held until readers see the table: who commits it before might have it compacted away, and it would come back.
        // Who looks for either finds one.
        let mut uncommitted = self.uncommitted();
        uncommitted.push_back(Uncommitted {
            table,
            origin: oldest.origin.clone(),
            last_seq: oldest.last_seq,
        });
        self.change(|now| {
            let mut immutables = now.immutables.clone();
            immutables.retain(|i| !Arc::ptr_eq(i, &oldest));
            let mut version = Version::clone(&now.version);
            if let Some(file) = &file {
                version.add_to_level0(Arc::clone(file));
            }
            Some(SuperVersion::new(now.active.clone(), immutables, Arc::new(version)))
        });
        drop(uncommitted);
        if let (Some(wal), false) = (&self.wal, oldest.origin.recovered) {
            wal.unload(oldest.origin.number);
        }
        drop(oldest);
        self.set_pace();
        self.tell_later(|| Event::Flush(info));
        self.background.wake();
        drop(one_at_a_time);
        Ok(true)
    }

    fn write_table(&self, immutable: &Immutable) -> Result<Option<(Arc<TableFile>, Option<PendingSync>)>> {
        let number = self.next_table.fetch_add(1, Ordering::Relaxed);
        let path = super::paths::table(number);
        let memtable = &immutable.memtable;
        let ranges = memtable.range_tombstones();
        let options = TableOptions::from(&self.options);
        let mut writer = TableWriter::create(&self.options.env, &self.dir.join(&path), &options)?;
        let origin = &immutable.origin;
        writer.made_of(match origin.path {
            Some(_) => MadeOf::Segment(origin.writer_id, origin.number),
            None => MadeOf::NoFile,
        });
        if !self.is_manual() {
            writer.write_behind()?;
        }
        let covering = Arc::new(RangeTombstones::new(ranges.iter()));
        let sorted = Arc::clone(memtable).sorted();
        let mut kept =
            CompactionIter::new(InOrder::new(sorted.iter()), self.snapshots.alive(), covering, false, |_| {
                false
            });
        while kept.advance()? {
            writer.add(kept.key(), kept.seq(), kept.kind(), kept.value())?;
        }
        for tombstone in ranges.iter() {
            writer.add_range_tombstone(tombstone)?;
        }
        if writer.entries() == 0 && ranges.is_empty() {
            return Ok(None);
        }
        let mut pending = writer.finish_unsynced()?;
        pending.name()?;
        let summary = pending.summary();
        let newest_unix_s = self.options.env.clock.now_unix_ns() / 1_000_000_000;
        let meta = TableFacts { newest_unix_s, ..TableFacts::of(summary) }.meta(number, path, summary);
        let file = TableFile::new(&self.dir, meta, &self.obsolete)?;
        // Nobody compacts it before the manifest knows it.
        file.uncommitted.store(true, Ordering::Relaxed);
        file.compacting.store(true, Ordering::Relaxed);
        Ok(Some((file, Some(pending))))
    }

    /// Makes the oldest uncommitted table durable and known. Whether there was one. A failed sync leaves the store
    /// poisoned: that it succeeds later proves nothing. Where there is no room for the edit, it is tried again.
    pub(super) fn commit_one(&self) -> Result<bool> {
        let mut manifest = self.manifest();
        let Some(mut next) = self.uncommitted().pop_front() else { return Ok(false) };
        let origin = &next.origin;
        let pending = next.table.as_mut().and_then(|(_, pending)| pending.take());
        let synced = pending.map_or(Ok(()), |pending| pending.sync().map(drop));
        let committed = synced.map_err(|e| self.poison(e)).and_then(|()| {
            // A recovered memtable of nothing but an ingestion's record may be flushed after a later ingestion.
            let state = Arc::clone(manifest.get()?.state());
            let known = super::recover::flushed_seq_of(&state)?;
            let mut edit = Edit {
                add_tables: next.file().map(|file| file.meta.clone()).into_iter().collect(),
                flushed: vec![(origin.writer_id, origin.number)],
                set_values: vec![flushed_seq(next.last_seq.max(known))],
                ..Edit::default()
            };
            let is_last = self.uncommitted().is_empty() && self.current.load().immutables.is_empty();
            self.follow_opening(&state, origin, is_last, &mut edit);
            self.apply(&mut manifest, edit)
        });
        if let Err(e) = committed {
            self.uncommitted().push_front(next);
            return Err(e);
        }
        if let Some(file) = next.file() {
            file.uncommitted.store(false, Ordering::Relaxed);
            file.compacting.store(false, Ordering::Relaxed);
        }
        drop(manifest);
        self.remove_segment(&next.origin);
        self.background.wake();
        Ok(true)
    }

    /// The segment's records are in a durable table.
    fn remove_segment(&self, origin: &Origin) {
        let fs = &self.options.env.fs;
        if let Some(path) = &origin.path {
            if origin.damaged {
                let _else_it_is_found_again = super::recover::put_aside(&self.options.env, &self.dir, path);
            } else {
                // One that stays is found flushed at the next opening.
                let _best_effort = fs.remove_file(path);
            }
        }
        if !origin.recovered {
            if let Some(wal) = &self.wal {
                wal.release(origin.number);
            }
        } else if let Some(dir) = origin.path.as_deref().and_then(|p| p.parent()) {
            self.forget_writer_if_empty(dir, origin.writer_id);
        }
    }

    /// Waits until everything written before the call is in durable tables. Who calls may hold up writes: the listener is told
    /// later.
    pub(super) fn flush_all(&self) -> Result<()> {
        let wal = self.writable()?;
        loop {
            match wal.rotate() {
                Err(Error::Stalled { .. }) if self.is_manual() => {
                    if !self.work_once()? {
                        return wal.rotate().map(|_| ());
                    }
                }
                other => {
                    other?;
                    break;
                }
            }
        }
        if let Some((reader, last_seq)) = wal.active_segment() {
            self.switch_memtable(&reader, last_seq);
        }
        // Who has nothing to wait for, however often, holds nobody back.
        let has_some = !self.current.load().immutables.is_empty() || !self.uncommitted().is_empty();
        let _comes_first = has_some.then(|| FlushWaiter::new(self));
        while self.flush_one()? {}
        while self.commit_one()? {}
        Ok(())
    }

    /// Makes tables of what was found in the WAL.
    pub(super) fn flush_recovered(&self) -> Result<()> {
        while self.flush_one()? {}
        while self.commit_one()? {}
        Ok(())
    }

    pub(super) fn uncommitted(&self) -> MutexGuard<'_, std::collections::VecDeque<Uncommitted>> {
        self.uncommitted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces what readers see by what `next` makes of it, if it makes something.
    pub(super) fn change(&self, next: impl FnOnce(&SuperVersion) -> Option<SuperVersion>) {
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(next) = next(&self.current.load()) {
            self.current.store(Arc::new(next));
        }
    }

    /// Opens tables, as many as may be open. Whether none is missing: whoever reads of one is told what else is wrong with it.
    pub(super) fn open_tables(&self) -> bool {
        let now = self.current.load();
        let is_missing = |table| matches!(self.tables.reader(table), Err(e) if e.is_not_found());
        !now.version.tables().take(self.options.max_open_files).any(|table| is_missing(table))
    }

    /// Shows readers the same tables, those closed that were not read from lately, if more are open than may be.
    pub(super) fn close_idle_tables(&self) {
        self.change(|now| {
            let version = now.version.with_idle_closed(self.options.max_open_files)?;
            Some(SuperVersion::new(now.active.clone(), now.immutables.clone(), Arc::new(version)))
        });
    }

    /// Puts an edit into the manifest, durably, and shows readers the tables that there are then. If it fails and it is not
    /// known what the manifest says, the store is poisoned.
    pub(super) fn apply(&self, manifest: &mut super::db::ManifestSlot, edit: Edit) -> Result<()> {
        let manifest = manifest.get()?;
        let state = match manifest.apply(edit) {
            Err(e @ Error::Io { .. }) if !manifest.is_poisoned() => return Err(e),
            other => other.map_err(|e| self.poison(e))?,
        };
        let mut failed = None;
        self.change(|now| {
            let mut version = match Version::of(&self.dir, &state, &now.version, &self.obsolete) {
                Ok(version) => version,
                Err(e) => {
                    failed = Some(e);
                    return None;
                }
            };
            let uncommitted = |t: &&Arc<TableFile>| {
                t.uncommitted.load(Ordering::Relaxed) && !state.tables.contains_key(&t.meta.number)
            };
            for file in now.version.levels[0].iter().filter(uncommitted) {
                version.add_to_level0(Arc::clone(file));
            }
            for gone in now.version.tables().filter(|t| !version.has(t.meta.number)) {
                gone.mark_dropped();
            }
            Some(SuperVersion::new(now.active.clone(), now.immutables.clone(), Arc::new(version)))
        });
        self.set_pace();
        failed.map_or(Ok(()), |e| Err(self.poison(e)))
    }
}
