//! [`Engine`] for the LSM tree.

use super::db::Lsm;
use crate::Result;
use crate::kv::{Engine, OpKind, ReadOptions, Scan, Snapshot, SortedRun, Value, WriteBatch, WriteOptions};
use std::ops::Bound;
use std::path::Path;

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
        self.inner.scan(start, end, options)
    }

    fn snapshot(&self) -> Snapshot {
        let (seq, guard) = self.inner.snapshots.take(&self.inner.visible);
        Snapshot::new(self.inner.id, seq, guard)
    }

    fn flush(&self) -> Result<()> {
        self.inner.flush_all()
    }

    fn compact(&self) -> Result<()> {
        self.inner.flush_all()?;
        self.inner.compact_all()?;
        self.inner.remove_obsolete();
        Ok(())
    }

    fn checkpoint(&self, dir: &Path) -> Result<()> {
        self.inner.checkpoint(dir)
    }

    fn ingest(&self, run: SortedRun<'_>) -> Result<u64> {
        self.inner.ingest(run)
    }

    fn close(&self) -> Result<()> {
        if self.inner.wal.is_none() {
            self.stop_threads();
            return Ok(());
        }
        if self.inner.is_closed() {
            return Ok(());
        }
        let finished = self.inner.finish();
        self.stop_threads();
        let given_back = self.inner.give_back();
        finished.and(given_back)
    }
}
