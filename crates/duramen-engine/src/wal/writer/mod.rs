//! Appending, rotating, syncing.
//!
//! ```text
//!            append: lock, copy, raise `committed`, unlock            no I/O, no allocation, but that records which are
//!               │                                                     synced one at a time are gathered, and copied by
//!               │                                                     the kernel
//!               │ full                          ▲ a prepared segment
//!               ▼                               │
//!  immutable segments ──seal──▶ flush ──release─┘   stall while max_write_buffer_number hold records
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | `state` | what the lock guards |
//! | `append` | the critical section, and waiting for room |
//! | `create` | a directory and a lock of one's own |
//! | `handle` | one segment, made and remembered |
//! | `durable` | publishing and syncing, many records at once |
//! | `background` | preparing, sealing, interval syncs, noticing flushes |
//! | `leave` | ending a log that is to be found again |
//! | `let_go` | giving up a log that has stopped, while it is still there |
//! | `threads` | who does that, and when |

mod append;
mod background;
mod create;
mod durable;
mod handle;
mod leave;
mod let_go;
mod state;
mod threads;

use super::group::{Group, Position};
use super::index::Kept;
use super::options::{Durability, WalOptions, WriteOptions};
use super::reader::SegmentReader;
use crate::io::os::fork_generation;
use crate::io::{Env, Lock};
use crate::{Error, Result};
use handle::Handle;
use state::State;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use threads::{Threads, Work};

/// Where a record went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The sequence number of its first entry.
    pub first_seq: u64,
    /// The segment it is in.
    pub segment: u64,
    /// Where its payload begins, in bytes from the start of the segment.
    pub payload_offset: u32,
}

/// What a WAL has done since it was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct WalMetrics {
    /// Records appended, the WAL's own not counted.
    pub records: u64,
    /// Bytes appended, headers and the WAL's own records included.
    pub bytes: u64,
    /// Segments sealed.
    pub segments_sealed: u64,
    /// Syncs of segments that made records durable.
    pub syncs: u64,
    /// How often an append had to wait for a write buffer, or would have had to.
    pub stalls: u64,
    /// How long appends waited for one, in ns, all together.
    pub stall_ns: u64,
    /// How often a segment could not be prepared.
    pub prepare_failures: u64,
}

/// A writer's log. All methods may be called from any number of threads.
///
/// A log does not outlive a fork: in the child every call fails, and dropping it does nothing.
/// Dropping it without [`Wal::close`] leaves what the death of the process would leave: records that are to be
/// recovered.
///
/// ```
/// use duramen_engine::{io::Env, wal::{Wal, WalOptions, WriteOptions}};
/// # let dir = tempfile::tempdir().unwrap();
/// let wal = Wal::create(&Env::os(), &dir.path().join("wal"), WalOptions::default())?;
/// let seq = wal.append(0, 1, b"it survives kill -9 from here on", WriteOptions::default())?;
/// let segment = &wal.live_segments()[0];
/// let (record, _next) = segment.next_record(segment.start())?.unwrap();
/// assert_eq!((record.seq, record.payload), (seq, &b"it survives kill -9 from here on"[..]));
/// wal.close()?;
/// # Ok::<(), duramen_engine::Error>(())
/// ```
#[derive(Debug)]
pub struct Wal {
    inner: Arc<Inner>,
    threads: Threads,
}

/// What the appending threads and the background share.
#[derive(Debug)]
struct Inner {
    env: Env,
    options: WalOptions,
    writer_id: u64,
    /// The writer's directory; `None` if it keeps no files.
    dir: Option<PathBuf>,
    lock: Mutex<Option<Box<dyn Lock>>>,
    state: Mutex<State>,
    /// Signalled when appends that wait for room should look again.
    room: Condvar,
    work: Work,
    /// Held to prepare: one at a time.
    preparing: Mutex<()>,
    /// Held to seal: one at a time.
    settling: Mutex<()>,
    publishing: Group,
    syncing: Group,
    /// Whether the names of our directory and of the one it lies in are durable.
    parents_synced: AtomicBool,
    /// Whether mapping turned out not to work here.
    unmapped: AtomicBool,
    /// Whether somebody has wanted records on the device before their segment was sealed.
    syncs_records: AtomicBool,
    syncs: AtomicU64,
    poison: OnceLock<String>,
    /// The log has stopped, and its owner has done with it.
    let_go: AtomicBool,
    /// The process that made it, in its line of forks.
    generation: u64,
}

impl Wal {
    /// Appends a record of `kind` (0..=239) that takes `count` (1..2^24) sequence numbers, and returns the first.
    /// When it returns, the record is as durable as `options` ask, or the log's own options if they do not.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `kind`, `count` or the payload's length is out of range, or the log is
    /// closed; [`Error::Stalled`] if every write buffer is full and `options` say not to wait (or nobody but the
    /// caller could free one, with a manual background); [`Error::Io`] if there is no room for a segment. In
    /// all these cases nothing was appended, and a later append may succeed. If the error
    /// [waits for room](Error::waits_for_room), the record is in the log, but not in its file: [`Wal::publish`] and later
    /// appends try again, and nothing else is appended before. Any other [`Error::Io`] is from a failed
    /// write or sync: whether the record survives is unknown until recovery. [`Error::Poisoned`] ever after:
    /// nothing was appended.
    /// [`Error::Forked`] from this and every other call in a child forked from the process that made the log.
    #[inline]
    pub fn append(&self, kind: u8, count: u32, payload: &[u8], options: WriteOptions) -> Result<u64> {
        Ok(self.inner.append(kind, count, payload, options, |_, _, _| 0)?.first_seq)
    }

    /// As [`Wal::append`], and says where the payload is.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn append_located(
        &self,
        kind: u8,
        count: u32,
        payload: &[u8],
        options: WriteOptions,
    ) -> Result<Appended> {
        self.inner.append(kind, count, payload, options, |_, _, _| 0)
    }

    /// As [`Wal::append_located`], and calls `then` as soon as the record is in its segment, with the reader of
    /// that: before any later append, and before the record is waited for to be durable. It is where an index
    /// over the segment is kept; it says how many bytes that index takes now, which count as used of the segment's
    /// buffer. It runs under the writer's lock, so it must be short, and must not call this log.
    ///
    /// # Errors
    /// As there. If the record could not be made durable, `then` was called all the same.
    #[inline]
    pub fn append_then(
        &self,
        kind: u8,
        count: u32,
        payload: &[u8],
        options: WriteOptions,
        then: impl FnOnce(Appended, &Arc<SegmentReader>) -> usize,
    ) -> Result<Appended> {
        self.inner.append(kind, count, payload, options, |at, reader, _| then(at, reader))
    }

    /// As [`Wal::append_then`], and gives `then` also what it has kept beside this segment before, which is nothing at first.
    /// It is dropped when records go to another segment: with it, an index need not be looked up for every record.
    #[inline]
    pub(crate) fn append_keeping(
        &self,
        kind: u8,
        count: u32,
        payload: &[u8],
        options: WriteOptions,
        then: impl FnOnce(Appended, &Arc<SegmentReader>, &mut Kept) -> usize,
    ) -> Result<Appended> {
        self.inner.append(kind, count, payload, options, then)
    }

    /// Makes everything appended so far survive a loss of power.
    ///
    /// # Errors
    /// [`Error::Io`] if a write or sync fails now, [`Error::Poisoned`] if one did before;
    /// [`Error::InvalidArgument`] without files (`wal_kind` none).
    pub fn sync(&self) -> Result<()> {
        self.inner.not_forked()?;
        self.inner.usable()?;
        let end = self.inner.state().end;
        self.inner.sync_through(end)
    }

    /// Makes all records that were appended as safe as an append with these options does, where one has said that there was no
    /// room for that ([`Error::waits_for_room`]).
    ///
    /// # Errors
    /// As that append; [`Error::Poisoned`] if the log has stopped meanwhile.
    pub fn publish(&self, options: WriteOptions) -> Result<()> {
        self.inner.not_forked()?;
        self.inner.usable()?;
        let end = self.inner.state().end;
        match options.durability.unwrap_or(self.inner.options.durability) {
            Durability::Sync => self.inner.sync_through(end),
            _ => self.inner.publish_through(end),
        }
    }

    /// Makes the active segment immutable if it holds records, so that they can be flushed, and says its number.
    /// Waits for a free write buffer like an append. The background seals it afterwards.
    ///
    /// # Errors
    /// As [`Wal::append`], without `no_slowdown`.
    pub fn rotate(&self) -> Result<Option<u64>> {
        self.inner.rotate(WriteOptions::default())
    }

    /// As [`Wal::rotate`], without waiting: for who may be the only one that could free a write buffer.
    ///
    /// # Errors
    /// As [`Wal::append`], with `no_slowdown`. [`Error::Stalled`] also if the next segment was not ready: it is wanted
    /// from now on, and the next [`Wal::background_step`] makes it.
    pub fn rotate_at_once(&self) -> Result<Option<u64>> {
        self.inner.rotate(WriteOptions { no_slowdown: true, ..WriteOptions::default() })
    }

    /// Appends that find no room fail from now on, also those that wait for it.
    pub(crate) fn refuse_appends(&self) {
        self.inner.refuse_appends();
    }

    /// Seals and syncs what is there, gives space and lock back, and stops the thread. Later appends fail; a
    /// second close does nothing.
    ///
    /// # Errors
    /// [`Error::Io`] if a write or sync fails now, [`Error::Poisoned`] if one did before. The lock is given back
    /// even then, so that the records can be recovered.
    pub fn close(&self) -> Result<()> {
        self.inner.not_forked()?;
        self.inner.refuse_appends();
        self.threads.stop(&self.inner);
        // From here on it is for others to write to its files, whatever kept this from being done.
        let closed = self.inner.poison(self.inner.finish());
        self.inner.unlock();
        closed
    }

    /// The records of every segment up to this number are in tables, durably. Their buffers are free again.
    /// Removing the files is the caller's.
    pub fn release(&self, through_segment_number: u64) {
        self.inner.release(|number| number <= through_segment_number);
    }

    /// The records of every segment up to this number can be read elsewhere, though not durably yet. Their
    /// buffers are free again; the segments stay, and are synced before any later record counts as synced, until
    /// [`Wal::release`].
    pub fn unload(&self, through_segment_number: u64) {
        let mut state = self.inner.state();
        let mut unloaded = Vec::new();
        for i in &mut state.immutable {
            if i.handle.number <= through_segment_number && !i.unloaded {
                i.unloaded = true;
                unloaded.push(Arc::clone(&i.handle));
            }
        }
        drop(state);
        self.inner.room.notify_all();
        for handle in unloaded {
            handle.unload(0..usize::MAX);
        }
    }

    /// Releases the sealed segments whose file is gone: another process flushed them.
    pub fn poll_released(&self) {
        self.inner.poll_released();
    }

    /// Says that the segments cannot be flushed, and why; or with `None`, that they can. Appends that find
    /// all write buffers full, those that already wait included, then fail with [`Error::FlushFails`]
    /// instead of waiting for what may never come.
    pub fn set_flush_error(&self, reason: Option<String>) {
        let mut state = self.inner.state();
        let fails = reason.is_some();
        state.flush_error = reason;
        drop(state);
        if fails {
            self.inner.room.notify_all();
        }
    }

    /// Stops the log, as a failed write does: what its owner has found out means that records no longer go where
    /// they will be found.
    pub fn abandon(&self, reason: impl Into<String>) {
        let stopped: Result<()> = Err(Error::InvalidArgument(reason.into()));
        let _that_is_the_reason = self.inner.poison(stopped);
    }

    /// Does what is due in the background: prepares the next segment, seals immutable ones and tells
    /// [`WalOptions::on_sealed`], syncs at intervals, notices what others flushed. Called by the log's own threads
    /// unless the background is manual; calling it besides does no harm. Not to be called from `on_sealed`.
    ///
    /// # Errors
    /// [`Error::Poisoned`], or the [`Error::Io`] that poisoned the log now; [`Error::Io`] if the next segment
    /// could not be prepared, which harms nothing yet.
    pub fn background_step(&self) -> Result<()> {
        self.inner.background_step(false)
    }

    /// The segments that are not released, oldest first, the active one last. They read this process's memory:
    /// every record whose append has returned is in there.
    pub fn live_segments(&self) -> Vec<Arc<SegmentReader>> {
        let state = self.inner.state();
        let immutable = state.immutable.iter().map(|i| &i.handle);
        immutable.chain(state.active.as_ref().map(|a| &a.handle)).map(|h| Arc::clone(&h.reader)).collect()
    }

    /// The segment that is written to, and the last sequence number that was taken before now.
    pub(crate) fn active_segment(&self) -> Option<(Arc<SegmentReader>, u64)> {
        let state = self.inner.state();
        state.active.as_ref().map(|active| (Arc::clone(&active.handle.reader), state.next_seq - 1))
    }

    /// Does something under the writer's lock, if nothing was appended after `seq`. It must be short, and not call this log.
    pub(crate) fn while_last_is(&self, seq: u64, what: &mut dyn FnMut()) {
        let state = self.inner.state();
        if state.next_seq - 1 == seq {
            what();
        }
    }

    /// This writer's identity.
    pub fn writer_id(&self) -> u64 {
        self.inner.writer_id
    }

    /// This writer's directory; `None` without files (`wal_kind` none).
    pub fn writer_dir(&self) -> Option<&Path> {
        self.inner.dir.as_deref()
    }

    /// Why the log refuses every call, if it does.
    pub fn poisoned(&self) -> Option<String> {
        self.inner.poison.get().cloned()
    }

    /// What was done so far.
    pub fn metrics(&self) -> WalMetrics {
        WalMetrics { syncs: self.inner.syncs.load(Ordering::Relaxed), ..self.inner.state().metrics }
    }
}

impl Drop for Wal {
    fn drop(&mut self) {
        if self.inner.not_forked().is_err() {
            // The threads are not in this process, and a lock may be held for ever: all of it stays as it is.
            std::mem::forget((Arc::clone(&self.inner), self.threads.take()));
            return;
        }
        self.inner.refuse_appends();
        self.threads.stop(&self.inner);
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails in a child forked from the process that made it.
    #[inline]
    fn not_forked(&self) -> Result<()> {
        if self.generation == fork_generation() { Ok(()) } else { Err(Error::Forked) }
    }

    /// Fails if an earlier write or sync did.
    #[inline]
    fn usable(&self) -> Result<()> {
        match self.poison.get() {
            None => Ok(()),
            Some(reason) => Err(Error::Poisoned { reason: reason.clone() }),
        }
    }

    /// Remembers the first failure of a write or sync, after which nobody knows what is on the device.
    fn poison<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(e) = &result {
            let _the_first_stays = self.poison.set(e.to_string());
            // Whoever waits under the lock is to see it.
            drop(self.state());
            self.room.notify_all();
            self.work.notify_all();
        }
        result
    }

    fn refuse_appends(&self) {
        self.state().closed = true;
        self.room.notify_all();
    }

    /// Seals what is left, once nobody appends any more.
    fn finish(&self) -> Result<()> {
        let end = self.settle_last(|state| _ = state.retire_active())?;
        // What was sealed before may not have been synced then.
        if self.dir.is_some() { self.sync_sealed(end) } else { Ok(()) }
    }

    /// The last round, of what `change` leaves: nothing is prepared any more. Where the records end.
    fn settle_last(&self, change: impl FnOnce(&mut State)) -> Result<Position> {
        self.usable()?;
        let mut state = self.state();
        change(&mut state);
        if let Some(prepared) = state.prepared.take() {
            state.discarded.extend(prepared.handle.path.clone());
        }
        state.wanted_bytes = 0;
        let end = state.end;
        drop(state);
        self.background_step(true)?;
        Ok(end)
    }

    fn release(&self, released: impl Fn(u64) -> bool) {
        let mut state = self.state();
        let before = state.immutable.len();
        state.immutable.retain(|i| !released(i.handle.number));
        let freed = state.immutable.len() < before;
        drop(state);
        if freed {
            self.room.notify_all();
        }
    }

    fn poll_released(&self) {
        let sealed: Vec<Arc<Handle>> =
            self.state().immutable.iter().filter(|i| i.sealed).map(|i| Arc::clone(&i.handle)).collect();
        let gone = |h: &Handle| h.path.as_ref().is_some_and(|p| matches!(self.env.fs.exists(p), Ok(false)));
        let gone: Vec<u64> = sealed.iter().filter(|h| gone(h)).map(|h| h.number).collect();
        if !gone.is_empty() {
            self.release(|number| gone.contains(&number));
        }
    }

    fn wants_sync_early(&self) -> bool {
        matches!(self.options.durability, Durability::Sync | Durability::IntervalMs(_))
    }
}
