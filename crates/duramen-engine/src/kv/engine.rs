//! What a store can do.

use super::{Scan, Snapshot, Value, WriteBatch};
use crate::Result;
use crate::wal::WriteOptions;
use std::fmt::Debug;
use std::ops::{Bound, RangeBounds};
use std::path::Path;

/// Which engine a directory belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// [`Lsm`](crate::lsm::Lsm).
    Lsm,
    /// [`Log`](crate::log::Log).
    Log,
}

/// How to read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Read the store as this snapshot has it; as it is now if `None`, the default.
    pub snapshot: Option<Snapshot>,
    /// Whether a scan goes from the end of the range to its start. Default false.
    pub reverse: bool,
    /// Whether blocks that are read stay in the block cache: false for a scan over more than it holds, which
    /// would push out everything else. Default true.
    pub fill_cache: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { snapshot: None, reverse: false, fill_cache: true }
    }
}

/// Entries for [`Engine::ingest`]: keys strictly ascending.
pub type SortedRun<'a> = &'a mut dyn Iterator<Item = Result<(Vec<u8>, Vec<u8>)>>;

/// A key-value store. All methods may be called from any number of threads.
///
/// A write that has returned `Ok` is seen by every read that begins afterwards, and is as durable as its
/// [`WriteOptions`] say. A write that fails with [`Error::Io`](crate::Error::Io) may or may not be there after
/// the store is opened again, but never in part; until then the store refuses writes with
/// [`Error::Poisoned`](crate::Error::Poisoned) and goes on reading. Where there was no room for the write from the start (no
/// segment of the WAL could be prepared), nothing was written, and the store takes the next one.
///
/// A store does not outlive a fork: in the child whatever writes, and `close`, fails with
/// [`Error::Forked`](crate::Error::Forked), and dropping it does nothing. Open it again there, once the parent has closed it.
pub trait Engine: Send + Sync + Debug {
    /// Sets a key's value.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Error::InvalidArgument) for a key or value over its limit, or in a store opened
    /// read-only; [`Stalled`](crate::Error::Stalled) with `no_slowdown` or past `stall_timeout`; [`FlushFails`](crate::Error::FlushFails);
    /// [`Io`](crate::Error::Io); [`Poisoned`](crate::Error::Poisoned) after an earlier one.
    fn put_with(&self, key: &[u8], value: &[u8], options: WriteOptions) -> Result<()>;

    /// Removes a key, if it is there.
    ///
    /// # Errors
    /// As [`Engine::put_with`].
    fn delete_with(&self, key: &[u8], options: WriteOptions) -> Result<()>;

    /// Does all writes of a batch, or none.
    ///
    /// # Errors
    /// As [`Engine::put_with`].
    fn write(&self, batch: &WriteBatch, options: WriteOptions) -> Result<()>;

    /// The value of a key, if it is there.
    ///
    /// # Errors
    /// [`Corruption`](crate::Error::Corruption) where a block is damaged, [`Io`](crate::Error::Io);
    /// [`InvalidArgument`](crate::Error::InvalidArgument) for a snapshot of another store.
    fn get_with(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Value>>;

    /// The entries from `start` to `end`, in order.
    ///
    /// # Errors
    /// As [`Engine::get_with`].
    fn scan_with(&self, start: Bound<&[u8]>, end: Bound<&[u8]>, options: &ReadOptions) -> Result<Scan>;

    /// The store as it is now, to be read later.
    fn snapshot(&self) -> Snapshot;

    /// Brings everything that was written before this call into files that survive a loss of power.
    ///
    /// # Errors
    /// As [`Engine::put_with`].
    fn flush(&self) -> Result<()>;

    /// Rewrites the store's files into as few and as small ones as there can be, now. Returns when it is done.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io), [`Corruption`](crate::Error::Corruption).
    fn compact(&self) -> Result<()>;

    /// Makes `dir`, which must not exist, a store of its own that holds what this one holds now, durably. Where
    /// the file system can, files are linked, not copied. Writes go on meanwhile.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Error::InvalidArgument) if `dir` exists; as [`Engine::flush`].
    fn checkpoint(&self, dir: &Path) -> Result<()>;

    /// Adds many entries that are already sorted, faster than writing them: they go straight into a table. They
    /// are newer than everything written before, become visible together, and are durable when this returns.
    /// Says how many there were.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Error::InvalidArgument) if keys are not strictly ascending, or over a limit;
    /// the run's own errors; as [`Engine::flush`]. Nothing was added then.
    fn ingest(&self, run: SortedRun<'_>) -> Result<u64>;

    /// Ends background work, makes everything durable and gives the directory back. Later calls that write fail.
    /// A second close does nothing. A store that is dropped without it loses nothing that was promised.
    ///
    /// Waits for those who are at work in the directory on other threads (of an [`Lsm`](crate::lsm::Lsm): [`Engine::compact`],
    /// [`Engine::ingest`], [`Engine::checkpoint`], [`Engine::flush`]; of a [`Log`](crate::log::Log): [`Engine::compact`]):
    /// compactions and ingestions give up and fail. Called from within one of these, by the entries' iterator, or by a listener, it
    /// does not wait: the directory is given back when the last of them has returned. A listener has been told everything before
    /// this returns, unless it is called from within like that.
    ///
    /// # Errors
    /// As [`Engine::flush`].
    fn close(&self) -> Result<()>;

    /// [`Engine::put_with`] the store's own options.
    ///
    /// # Errors
    /// As there.
    #[inline]
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put_with(key, value, WriteOptions::default())
    }

    /// [`Engine::delete_with`] the store's own options.
    ///
    /// # Errors
    /// As there.
    #[inline]
    fn delete(&self, key: &[u8]) -> Result<()> {
        self.delete_with(key, WriteOptions::default())
    }

    /// Removes every key from `start` on that is below `end`, at once.
    ///
    /// # Errors
    /// As [`Engine::put_with`].
    fn delete_range(&self, start: &[u8], end: &[u8]) -> Result<()> {
        let mut batch = WriteBatch::new();
        batch.delete_range(start, end)?;
        self.write(&batch, WriteOptions::default())
    }

    /// [`Engine::get_with`] the default options.
    ///
    /// # Errors
    /// As there.
    #[inline]
    fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        self.get_with(key, &ReadOptions::default())
    }

    /// The entries of a range, in order: `scan(..)`, `scan(b"a".as_slice()..)`.
    ///
    /// # Errors
    /// As [`Engine::get_with`].
    fn scan<'a>(&self, range: impl RangeBounds<&'a [u8]>) -> Result<Scan>
    where
        Self: Sized,
    {
        let (start, end) = (range.start_bound().cloned(), range.end_bound().cloned());
        self.scan_with(start, end, &ReadOptions::default())
    }
}
