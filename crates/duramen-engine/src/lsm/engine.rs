//! [`Engine`] for the LSM tree.

use super::db::{Inner, Lsm};
use super::stall::Pace;
use crate::Result;
use crate::kv::{Engine, OpKind, ReadOptions, Scan, Snapshot, SortedRun, Value, WriteBatch, WriteOptions};
use std::ops::Bound;
use std::path::Path;
use std::sync::PoisonError;

impl Engine for Lsm {
    #[inline]
    fn put_with(&self, key: &[u8], value: &[u8], options: WriteOptions) -> Result<()> {
        self.inner.write_one(OpKind::Put, key, value, options)
    }

    #[inline]
    fn delete_with(&self, key: &[u8], options: WriteOptions) -> Result<()> {
        self.inner.write_one(OpKind::Delete, key, &[], options)
    }

    fn write(&self, batch: &WriteBatch, options: WriteOptions) -> Result<()> {
        self.inner.write_batch(batch, options)
    }

    #[inline]
    fn get_with(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Value>> {
        self.inner.get(key, options)
    }

    fn scan_with(&self, start: Bound<&[u8]>, end: Bound<&[u8]>, options: &ReadOptions) -> Result<Scan> {
        Inner::scan(&self.inner, start, end, options)
    }

    fn snapshot(&self) -> Snapshot {
        loop {
            let (seq, guard) = self.inner.snapshots.take(&self.inner.visible);
            if self.inner.stall.pace() != Pace::Ingesting {
                return Snapshot::new(self.inner.id, seq, guard);
            }
            // A write that was quicker than the ingestion's end may have made its number visible: what the snapshot
            // reads would change when the tables come.
            let _ended = self.inner.ingesting.lock().unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn flush(&self) -> Result<()> {
        let _inside = self.inner.enter()?;
        let done = self.inner.flush_all();
        self.inner.tell_what_happened();
        done
    }

    fn compact(&self) -> Result<()> {
        let _inside = self.inner.enter()?;
        let flushed = self.inner.flush_all();
        self.inner.tell_what_happened();
        flushed?;
        let compacted = self.inner.compact_all();
        self.inner.tell_what_happened();
        compacted?;
        self.inner.remove_obsolete();
        Ok(())
    }

    fn checkpoint(&self, dir: &Path) -> Result<()> {
        let _inside = self.inner.enter()?;
        let done = self.inner.checkpoint(dir);
        self.inner.tell_what_happened();
        done
    }

    fn ingest(&self, run: SortedRun<'_>) -> Result<u64> {
        let _inside = self.inner.enter()?;
        let done = self.inner.ingest(run);
        self.inner.tell_what_happened();
        done
    }

    fn close(&self) -> Result<()> {
        self.inner.not_forked()?;
        if self.inner.wal.is_none() {
            self.stop_threads();
            return Ok(());
        }
        if self.inner.is_closed() {
            // A listener may have closed it, while there was more to tell. Whoever is inside, a listener may wait for.
            if !self.inner.in_use.is_inside() {
                self.stop_telling();
            }
            return Ok(());
        }
        let finished = self.inner.finish();
        if !self.inner.in_use.close() {
            // Another thread is at it.
            return finished;
        }
        let is_own = self.stop_threads();
        if let Some(wal) = &self.inner.wal {
            // Nobody frees a write buffer any more: who is inside must not wait for one.
            wal.refuse_appends();
        }
        if !self.inner.in_use.wait_until_free(is_own) {
            self.inner.events.end();
            return finished;
        }
        let closed = finished.and(self.inner.give_back());
        self.stop_telling();
        self.inner.tell_what_happened();
        closed
    }
}
