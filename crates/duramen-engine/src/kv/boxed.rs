//! A store in a box is a store: so what [`open`](super::open()) gives has [`Engine::scan`], too, which takes ranges of any kind
//! and so has no place in a `dyn Engine`.

use super::{Engine, ReadOptions, Scan, Snapshot, SortedRun, Value, WriteBatch, WriteOptions};
use crate::Result;
use std::ops::Bound;
use std::path::Path;

impl<E: Engine + ?Sized> Engine for Box<E> {
    #[inline]
    fn put_with(&self, key: &[u8], value: &[u8], options: WriteOptions) -> Result<()> {
        (**self).put_with(key, value, options)
    }

    #[inline]
    fn delete_with(&self, key: &[u8], options: WriteOptions) -> Result<()> {
        (**self).delete_with(key, options)
    }

    #[inline]
    fn write(&self, batch: &WriteBatch, options: WriteOptions) -> Result<()> {
        (**self).write(batch, options)
    }

    #[inline]
    fn get_with(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Value>> {
        (**self).get_with(key, options)
    }

    fn scan_with(&self, start: Bound<&[u8]>, end: Bound<&[u8]>, options: &ReadOptions) -> Result<Scan> {
        (**self).scan_with(start, end, options)
    }

    fn snapshot(&self) -> Snapshot {
        (**self).snapshot()
    }

    fn flush(&self) -> Result<()> {
        (**self).flush()
    }

    fn compact(&self) -> Result<()> {
        (**self).compact()
    }

    fn checkpoint(&self, dir: &Path) -> Result<()> {
        (**self).checkpoint(dir)
    }

    fn ingest(&self, run: SortedRun<'_>) -> Result<u64> {
        (**self).ingest(run)
    }

    fn close(&self) -> Result<()> {
        (**self).close()
    }
}
