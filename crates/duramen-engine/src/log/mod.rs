//! One append-only file, scanned to read: for tiny stores, and as the baseline that everything else is measured
//! against.
//!
//! ```text
//! <store>/ENGINE    which engine it is
//!         LOCK      held while it is open to write
//!         LOG       a header, then every write as a checksummed frame, in order
//! ```
//!
//! There is no index: a get reads the file from start to end, and the last that says something of the key is right.
//! A write is one system call, and a sync that all who wait at the same time share. When too much of the file is
//! garbage, it is written anew without it and renamed over the old one, which those who are reading keep.
//!
//! | module | one idea |
//! |---|---|
//! | `format` | every byte of the file |
//! | `options` | [`LogOptions`]: how it is to behave |
//! | `frames` | reading frames in chunks |
//! | `recover` | what a file holds that somebody left, however they left it |
//! | `survey` | what a damaged file holds |
//! | `whose` | whose frames these are, where the header no longer tells |
//! | `health` | verifying and repairing |
//! | `dump` | the file, line by line |
//! | `open` | from a directory to a store |
//! | `append` | the critical section; syncing, many writes at once |
//! | `read` | get and scan: going through the file |
//! | `snapshots` | which old states somebody may still read |
//! | `new_file` | writing a whole file, which then takes the place of the old one |
//! | `compact` | what is worth keeping |
//! | `background` | compacting when it is due, syncing at intervals |
//! | `ingest` | many sorted entries at once |
//! | `checkpoint` | a store of its own that holds the same |

mod append;
mod background;
mod checkpoint;
mod compact;
mod dump;
mod format;
mod frames;
mod health;
mod ingest;
mod new_file;
mod open;
mod options;
mod read;
mod recover;
mod snapshots;
mod survey;
mod whose;

pub(crate) use dump::dump;
pub(crate) use format::MAGIC;
pub(crate) use health::{repair, verify};
pub(crate) use open::LOG as FILE_NAME;
pub use options::LogOptions;

use crate::io::os::fork_generation;
use crate::io::{Env, File, Lock};
use crate::kv::{Engine, OpKind, ReadOptions, Scan, Snapshot, SortedRun, Value, WriteBatch, WriteOptions};
use crate::wal::Group;
use crate::{Error, Result};
use append::{State, draft};
use format::Identity;
use snapshots::Snapshots;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

/// A key-value store in one append-only file. See [`Engine`] for what it can do, and promises.
///
/// Writes are synced unless [`LogOptions::durability`] or the write says otherwise. A get takes time in proportion
/// to the file, and 64 KiB of memory (or the largest batch, if that is more); a scan holds what is in its range in
/// memory, a compaction the keys. Only while a compaction puts the new file in the old one's place, or an ingest
/// appends what it has prepared, do writes wait.
///
/// One process at a time has it open to write; any number read what was there when they opened it.
///
/// ```
/// use duramen_engine::{kv::Engine, log::{Log, LogOptions}};
/// # let dir = tempfile::tempdir().unwrap();
/// let store = Log::open(&dir.path().join("store"), LogOptions::default())?;
/// store.put(b"answer", b"42")?; // it survives a loss of power from here on
/// assert_eq!(store.get(b"answer")?.unwrap(), b"42");
/// store.close()?;
/// # Ok::<(), duramen_engine::Error>(())
/// ```
pub struct Log {
    inner: Arc<Inner>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Where it is, not all that it holds: that is the whole store, in a program's logs and panics.
impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("dir", &self.inner.dir).finish_non_exhaustive()
    }
}

/// What a log has done since it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LogMetrics {
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// Syncs that made writes durable.
    pub syncs: u64,
    /// Compactions done, in the background or not.
    pub compactions: u64,
    /// Compactions in the background that failed. The store goes on with the file it has, and tries again when that
    /// has grown by a quarter.
    pub compaction_failures: u64,
}

/// What a reader needs: a file, and up to where to read it.
#[derive(Clone, Debug)]
struct View {
    file: Arc<dyn File>,
    identity: Identity,
    end: u64,
    /// The last visible write's sequence number.
    seq: u64,
}

/// What all threads share.
#[derive(Debug)]
struct Inner {
    env: Env,
    options: LogOptions,
    dir: PathBuf,
    path: PathBuf,
    /// Which open store a snapshot is of.
    engine_id: u64,
    /// The process that opened it: a child forked from it writes at the same end of the same file.
    generation: u64,
    read_only: bool,
    lock: Mutex<Option<Box<dyn Lock>>>,
    /// Held to append.
    state: Mutex<State>,
    /// Replaced with the state held, read without.
    view: Mutex<View>,
    snapshots: Arc<Snapshots>,
    /// Signalled when there is something to do in the background.
    work: Condvar,
    /// Held to rewrite the file: one at a time.
    rewriting: Mutex<()>,
    syncing: Group,
    poison: OnceLock<String>,
    ingests: AtomicU64,
    syncs: AtomicU64,
    compactions: AtomicU64,
    compaction_failures: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn view(&self) -> View {
        lock(&self.view).clone()
    }

    /// Fails in a child forked from the process that opened it, where a lock may be held for ever.
    fn not_forked(&self) -> Result<()> {
        if self.generation == fork_generation() { Ok(()) } else { Err(Error::Forked) }
    }

    /// Fails if an earlier write or sync did.
    fn usable(&self) -> Result<()> {
        match self.poison.get() {
            None => Ok(()),
            Some(reason) => Err(Error::Poisoned { reason: reason.clone() }),
        }
    }

    /// Fails if there can be no more writes.
    fn writable(&self, state: &State) -> Result<()> {
        if self.read_only {
            return Err(Error::InvalidArgument(format!("{} was opened read-only", self.dir.display())));
        }
        if state.closed {
            return Err(Error::InvalidArgument(format!("{} was closed", self.dir.display())));
        }
        self.usable()
    }

    /// Remembers the first failure of a write or sync, after which nobody knows what is on the device.
    fn poison<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(e) = &result {
            let _the_first_stays = self.poison.set(e.to_string());
            self.work.notify_all();
        }
        result
    }
}

impl Log {
    /// Opens the store in `dir`, which is created if it is missing. What a crash left unfinished is cut off; what
    /// was acknowledged is there, and durable.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if an option is out of range, or `dir` belongs to the other engine or is something
    /// else; [`Error::Locked`] if it is open already; [`Error::Corruption`] if the file is damaged, other than by
    /// a crash; [`Error::TooNew`]; [`Error::Io`].
    pub fn open(dir: impl AsRef<Path>, options: LogOptions) -> Result<Self> {
        // A program that goes elsewhere is to go on finding it.
        open::open(&options.env.fs.absolute(dir.as_ref()), options, false)
    }

    /// Opens the store in `dir` to read it as it is now, whether or not it is open to write elsewhere: later writes
    /// are not seen. Nothing on disk is changed. Writing methods fail with [`Error::InvalidArgument`].
    ///
    /// # Errors
    /// As [`Log::open`], save for [`Error::Locked`]; [`Error::InvalidArgument`] if there is no store.
    pub fn open_read_only(dir: impl AsRef<Path>, options: LogOptions) -> Result<Self> {
        open::open(&options.env.fs.absolute(dir.as_ref()), options, true)
    }

    /// Does what is due in the background: a sync, a compaction. Whether there was anything to do. Called by the
    /// log's own thread unless [`Background::Manual`](crate::wal::Background::Manual); calling it besides does no
    /// harm.
    ///
    /// # Errors
    /// As [`Engine::flush`] and [`Engine::compact`].
    pub fn background_step(&self) -> Result<bool> {
        self.inner.not_forked()?;
        self.inner.background_step()
    }

    /// What was done so far.
    pub fn metrics(&self) -> LogMetrics {
        LogMetrics {
            file_bytes: self.inner.view().end,
            syncs: self.inner.syncs.load(Ordering::Relaxed),
            compactions: self.inner.compactions.load(Ordering::Relaxed),
            compaction_failures: self.inner.compaction_failures.load(Ordering::Relaxed),
        }
    }

    fn stop_thread(&self) {
        let Some(thread) = lock(&self.thread).take() else { return };
        self.inner.state().closed = true;
        self.inner.work.notify_all();
        let _it_reports_through_the_state = thread.join();
    }
}

impl Engine for Log {
    fn put_with(&self, key: &[u8], value: &[u8], options: WriteOptions) -> Result<()> {
        self.inner.not_forked()?;
        self.inner.append(draft(OpKind::Put, key, value)?, options)
    }

    fn delete_with(&self, key: &[u8], options: WriteOptions) -> Result<()> {
        self.inner.not_forked()?;
        self.inner.append(draft(OpKind::Delete, key, &[])?, options)
    }

    fn write(&self, batch: &WriteBatch, options: WriteOptions) -> Result<()> {
        self.inner.not_forked()?;
        self.inner.write(batch, options)
    }

    fn get_with(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Value>> {
        self.inner.get(key, options)
    }

    fn scan_with(&self, start: Bound<&[u8]>, end: Bound<&[u8]>, options: &ReadOptions) -> Result<Scan> {
        self.inner.scan(start, end, options)
    }

    fn snapshot(&self) -> Snapshot {
        self.inner.snapshot()
    }

    fn flush(&self) -> Result<()> {
        self.inner.not_forked()?;
        self.inner.flush()
    }

    fn compact(&self) -> Result<()> {
        self.inner.not_forked()?;
        self.inner.compact()
    }

    fn checkpoint(&self, dir: &Path) -> Result<()> {
        self.inner.not_forked()?;
        self.inner.checkpoint(dir)
    }

    fn ingest(&self, run: SortedRun<'_>) -> Result<u64> {
        self.inner.not_forked()?;
        self.inner.ingest(run)
    }

    fn close(&self) -> Result<()> {
        self.inner.not_forked()?;
        let was_closed = std::mem::replace(&mut self.inner.state().closed, true);
        self.stop_thread();
        if was_closed || self.inner.read_only {
            return Ok(());
        }
        let end = self.inner.state().position();
        let synced = self.inner.usable().and_then(|()| self.inner.sync_through(end));
        // Who rewrites the file on another thread finds it closed and removes what it has written, by a name that the next
        // opening uses too.
        let _nobody_rewrites = lock(&self.inner.rewriting);
        *lock(&self.inner.lock) = None;
        synced
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if self.inner.not_forked().is_err() {
            // The thread is not in this process, and the lock's file was closed by the fork: all of it stays as it is.
            let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
            std::mem::forget((Arc::clone(&self.inner), thread));
            return;
        }
        let mut state = self.inner.state();
        let due = state.sync_due.is_some() && !std::mem::replace(&mut state.closed, true);
        let end = state.position();
        drop(state);
        self.stop_thread();
        if due && self.inner.usable().is_ok() {
            // Promised within an interval, and nobody will see to it any more.
            let _nobody_to_tell = self.inner.sync_through(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::Sim;
    use crate::wal::Background;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn closing_waits_for_who_rewrites_the_file() -> Result<()> {
        let sim = Sim::new(1);
        let open = || {
            let options =
                LogOptions { env: sim.env(), background: Background::Manual, ..LogOptions::default() };
            Log::open("/db", options)
        };
        let opened = open()?;
        let log = &opened;
        log.put(b"key", b"value")?;
        std::thread::scope(|scope| {
            // As in a compaction.
            let rewriting = lock(&log.inner.rewriting);
            let (closed, is_closed) = channel();
            scope.spawn(move || closed.send(log.close()));
            // A test that passes waits it out.
            let too_early = is_closed.recv_timeout(Duration::from_millis(200));
            let is_locked = matches!(open(), Err(Error::Locked { .. }));
            drop(rewriting);
            assert!(too_early.is_err() && is_locked, "closed, while somebody rewrites the file");
            assert!(matches!(is_closed.recv(), Ok(Ok(()))));
        });
        assert!(log.compact().is_err());
        let next = open()?;
        next.compact()?;
        assert_eq!(next.get(b"key")?.as_deref(), Some(&b"value"[..]));
        Ok(())
    }
}
