//! The store: what its threads share, and opening and closing it.

use super::background::Signals;
use super::emptied::{Emptied, Writers};
use super::events::{Event, Events};
use super::flush::Uncommitted;
use super::in_use::InUse;
use super::listener::BackgroundWork;
use super::metrics::Counters;
use super::opening::{self, Beginning};
use super::options::LsmOptions;
use super::read_only;
use super::recover;
use super::schedule::Schedule;
use super::snapshots::Snapshots;
use super::stall::Stall;
use super::superversion::SuperVersion;
use super::table::TableCache;
use super::version::{Obsolete, Version};
use crate::io::Lock;
use crate::io::os::fork_generation;
use crate::manifest::Manifest;
use crate::wal::{self, Background, Damage, Wal, WalOptions};
use crate::{Error, Result};
use arc_swap::ArcSwap;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::JoinHandle;

/// A key-value store on an LSM tree. One process has it open for writing; others may open it read-only. All
/// methods may be called from any number of threads.
///
/// Dropping it without [`close`](crate::kv::Engine::close) leaves what the death of the process would leave:
/// every write that was promised to survive that is recovered at the next opening.
///
/// ```
/// use duramen_engine::kv::Engine;
/// use duramen_engine::lsm::{Lsm, LsmOptions};
/// # let dir = tempfile::tempdir().unwrap();
/// let store = Lsm::open(dir.path().join("store"), LsmOptions::default())?;
/// store.put(b"user/17", b"Ada")?;
/// assert_eq!(store.get(b"user/17")?.as_deref(), Some(b"Ada".as_slice()));
///
/// let before = store.snapshot();
/// store.delete(b"user/17")?;
/// assert!(store.get(b"user/17")?.is_none());
/// let then = duramen_engine::kv::ReadOptions { snapshot: Some(before), ..Default::default() };
/// assert!(store.get_with(b"user/17", &then)?.is_some());
/// store.close()?;
/// # Ok::<(), duramen_engine::Error>(())
/// ```
pub struct Lsm {
    pub(super) inner: Arc<Inner>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// The thread that tells the listener.
    pub(super) teller: Mutex<Option<JoinHandle<()>>>,
}

/// Where it is, not all that it holds: that is the whole store, in a program's logs and panics.
impl std::fmt::Debug for Lsm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lsm").field("dir", &self.inner.dir).finish_non_exhaustive()
    }
}

/// What was not as it should be when the store was opened, and what was done about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// How many writes were found in WAL segments and not in tables.
    pub writes: u64,
    /// How many bytes of unfinished records were cut from the ends of segments: writes that had not returned.
    pub torn_bytes: u64,
    /// Places where records are missing.
    pub damage: Vec<Damage>,
    /// Files that were put aside, since nothing in them is used.
    pub quarantined: Vec<PathBuf>,
    /// Files that were removed: tables that were never finished or no longer needed.
    pub removed: Vec<PathBuf>,
}

/// What the caller's threads and those in the background share.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) options: LsmOptions,
    pub(super) dir: PathBuf,
    /// A random number that tells this opening from others.
    pub(super) id: u64,
    /// `None` in a store opened read-only.
    pub(super) wal: Option<Wal>,
    /// What readers see.
    pub(super) current: ArcSwap<SuperVersion>,
    /// Held to replace `current`.
    pub(super) changing: Mutex<()>,
    /// The newest write that readers see.
    pub(super) visible: AtomicU64,
    pub(super) snapshots: Arc<Snapshots>,
    pub(super) manifest: Mutex<ManifestSlot>,
    /// What the manifest is to know of this opening, until it does.
    beginning: Mutex<Option<Beginning>>,
    pub(super) next_table: AtomicU64,
    pub(super) tables: Arc<TableCache>,
    pub(super) obsolete: Arc<Obsolete>,
    /// Held to flush a memtable.
    pub(super) flushing: Mutex<()>,
    pub(super) flush_failed: AtomicBool,
    /// How many wait until all is flushed.
    pub(super) flush_waiters: AtomicUsize,
    /// Held to put ingested tables into their place.
    pub(super) ingesting: Mutex<()>,
    /// Tables that are to be synced and recorded, oldest first.
    pub(super) uncommitted: Mutex<VecDeque<Uncommitted>>,
    pub(super) stall: Stall,
    pub(super) background: Signals,
    pub(super) compactions: Schedule,
    pub(super) emptied: Arc<Emptied>,
    pub(super) metrics: Counters,
    pub(super) events: Events,
    pub(super) recovery: Recovery,
    pub(super) in_use: InUse,
    /// The locks of writers that are gone and whose records are not in tables yet.
    dead_writers: Mutex<BTreeMap<u64, Box<dyn Lock>>>,
    lock: Mutex<Option<Box<dyn Lock>>>,
    /// The process that opened it.
    generation: u64,
    closed: AtomicBool,
    poison: OnceLock<String>,
}

/// The manifest, if this opening may write it.
#[derive(Debug)]
pub(super) struct ManifestSlot(pub(super) Option<Manifest>);

impl ManifestSlot {
    pub(super) fn get(&mut self) -> Result<&mut Manifest> {
        self.0.as_mut().ok_or_else(read_only)
    }
}

pub(super) fn read_only() -> Error {
    Error::InvalidArgument("the store was opened read-only".into())
}

impl Lsm {
    /// Opens the store in `dir`, or makes one there if the directory is empty or missing. What a crash left in
    /// the WAL can be read at once; the background makes tables of it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if an option is out of range or the directory belongs to something else;
    /// [`Error::Locked`] while it is open for writing elsewhere; [`Error::Corruption`] if the manifest is damaged,
    /// or a WAL segment is and
    /// [`wal_recovery_mode`](LsmOptions::wal_recovery_mode) does not bear it; [`Error::TooNew`]; [`Error::Io`].
    pub fn open(dir: impl AsRef<Path>, options: LsmOptions) -> Result<Self> {
        let options = options.checked()?;
        // A program that goes elsewhere is to go on finding it.
        Self::start(recover::open(&options.env.fs.absolute(dir.as_ref()), options, None)?)
    }

    /// The same for a caller that has the store's lock, which goes on to hold.
    pub(super) fn open_locked(dir: &Path, options: LsmOptions, lock: Option<Box<dyn Lock>>) -> Result<Self> {
        let options = options.checked()?;
        Self::start(recover::open(&options.env.fs.absolute(dir), options, lock)?)
    }

    /// Opens a store for reading, as it is at this moment; it may be open for writing elsewhere, and nothing that
    /// is written there later is seen. Nothing on disk is changed.
    ///
    /// Its tables are opened at once, [`max_open_files`](LsmOptions::max_open_files) of them at most: what is open goes on to
    /// be read though a compaction elsewhere removes it. Of more tables, one that was removed is [`Error::Io`] (not found)
    /// to who reads of it; then open the store again.
    ///
    /// # Errors
    /// As [`Lsm::open`], [`Error::Locked`] excepted; [`Error::Io`] (not found) if there is no store.
    pub fn open_read_only(dir: impl AsRef<Path>, options: LsmOptions) -> Result<Self> {
        let options = options.checked()?;
        let dir = options.env.fs.absolute(dir.as_ref());
        // A table that is not there was removed by a compaction since the manifest was read, or is lost.
        const ATTEMPTS: usize = 4;
        let mut attempt = 1;
        loop {
            let store = Self::start(read_only::open_read_only(&dir, options.clone())?)?;
            if store.inner.open_tables() || attempt == ATTEMPTS {
                return Ok(store);
            }
            attempt += 1;
        }
    }

    fn start(mut parts: recover::Parts) -> Result<Self> {
        let (flush_first, left) = (parts.flush_first, std::mem::take(&mut parts.left));
        let inner = Arc::new(Inner::new(parts)?);
        let store = Arc::downgrade(&inner);
        inner.emptied.set_writers(Some(Weak::clone(&store) as Weak<dyn Writers>));
        inner.tables.when_too_many(move || {
            if let Some(inner) = store.upgrade() {
                inner.close_idle_tables();
            }
        });
        let taken = inner.take_over(flush_first);
        if taken.is_err() {
            inner.undo_opening();
        }
        inner.set_pace();
        inner.tell_what_happened();
        taken?;
        inner.clear_away(left);
        let mut store = Self { inner, threads: Mutex::default(), teller: Mutex::default() };
        if store.inner.wal.is_some() {
            // What fails here ends those that run already.
            store.teller = Mutex::new(store.inner.start_telling()?);
            store.threads = Mutex::new(store.inner.start_threads()?);
        }
        Ok(store)
    }

    /// What was not as it should be when the store was opened.
    pub fn recovery(&self) -> &Recovery {
        &self.inner.recovery
    }

    /// Does one step of what is due in the background: flushes a memtable, commits a table, compacts. Whether
    /// there was anything to do. For [`Background::Manual`]; calling it besides the threads does no harm.
    ///
    /// # Errors
    /// What the step met with: [`Error::Io`], [`Error::Corruption`], [`Error::Poisoned`].
    pub fn background_step(&self) -> Result<bool> {
        self.inner.not_forked()?;
        self.inner.usable()?;
        self.inner.background_step()
    }

    /// Why the store refuses writes, if it does.
    pub fn poisoned(&self) -> Option<String> {
        self.inner.poisoned()
    }

    /// Whether the caller is one of the threads.
    pub(super) fn stop_threads(&self) -> bool {
        let mut is_own = false;
        self.inner.background.stop();
        self.inner.compactions.cancel();
        self.inner.stall.wake();
        for thread in std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner)) {
            // A listener may hold the last reference; a thread cannot wait for itself.
            if thread.thread().id() == std::thread::current().id() {
                is_own = true;
            } else {
                let _it_reports_through_the_state = thread.join();
            }
        }
        is_own || self.inner.events.is_thread()
    }
}

impl Drop for Lsm {
    fn drop(&mut self) {
        if self.inner.not_forked().is_err() {
            // The threads are not in this process, and locks' files were closed by the fork: all of it stays as it is.
            let threads = self.threads.get_mut().unwrap_or_else(PoisonError::into_inner);
            let teller = self.teller.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget((Arc::clone(&self.inner), std::mem::take(threads), teller.take()));
            return;
        }
        self.inner.closed.store(true, Ordering::Release);
        self.inner.emptied.set_writers(None);
        self.stop_threads();
        self.stop_telling();
    }
}

impl Inner {
    fn new(parts: recover::Parts) -> Result<Self> {
        let recover::Parts {
            dir, options, lock, manifest, state, obsolete, immutables, last_seq, gone, ..
        } = parts;
        let version = Version::of(&dir, &state, &Version::default(), &obsolete)?;
        let mut wal = None;
        let mut beginning = None;
        if manifest.is_some() {
            let (env, log) = (&options.env, dir.join(super::paths::WAL));
            let made = Wal::create(env, &log, wal_options(&options, last_seq + 1))?;
            match Beginning::new(env, &log, &made, options.durability, gone, &state) {
                Ok(begins) => beginning = Some(begins),
                Err(e) => {
                    opening::remove_log(env, &made);
                    return Err(e);
                }
            }
            wal = Some(made);
        }
        let active = wal.as_ref().and_then(|wal| {
            let live = wal.live_segments();
            live.last().map(|reader| super::memtable::new_memtable(options.memtable, Arc::clone(reader), 0))
        });
        Ok(Self {
            id: options.env.random.next_u64(),
            current: ArcSwap::from_pointee(SuperVersion::new(active, immutables, Arc::new(version))),
            changing: Mutex::new(()),
            visible: AtomicU64::new(last_seq),
            snapshots: Arc::default(),
            manifest: Mutex::new(ManifestSlot(manifest)),
            beginning: Mutex::new(beginning),
            next_table: AtomicU64::new(state.next_table.max(1)),
            tables: Arc::new(TableCache::new(&options)),
            obsolete,
            flushing: Mutex::new(()),
            flush_failed: AtomicBool::new(false),
            flush_waiters: AtomicUsize::new(0),
            ingesting: Mutex::new(()),
            uncommitted: Mutex::default(),
            stall: Stall::default(),
            background: Signals::default(),
            compactions: Schedule::new(&options),
            emptied: Arc::default(),
            metrics: Counters::default(),
            events: Events::default(),
            recovery: parts.recovery,
            in_use: InUse::default(),
            dead_writers: Mutex::new(parts.dead_writers),
            lock: Mutex::new(lock),
            generation: fork_generation(),
            closed: AtomicBool::new(false),
            poison: OnceLock::new(),
            wal,
            dir,
            options,
        })
    }

    /// The log, if the store takes writes.
    #[inline]
    pub(super) fn writable(&self) -> Result<&Wal> {
        match &self.wal {
            Some(wal)
                if self.poison.get().is_none()
                    && !self.closed.load(Ordering::Acquire)
                    && self.generation == fork_generation() =>
            {
                Ok(wal)
            }
            _ => Err(self.why_not_writable()),
        }
    }

    #[cold]
    pub(super) fn why_not_writable(&self) -> Error {
        match self.not_forked().and_then(|()| self.usable()) {
            Err(e) => e,
            Ok(()) if self.wal.is_none() => read_only(),
            Ok(()) => Error::InvalidArgument("the store is closed".into()),
        }
    }

    /// Fails in a child forked from the process that opened it, whose threads it does not have, and where a lock may be held for
    /// ever.
    pub(super) fn not_forked(&self) -> Result<()> {
        if self.generation == fork_generation() { Ok(()) } else { Err(Error::Forked) }
    }

    /// Fails if an earlier sync or manifest edit did.
    pub(super) fn usable(&self) -> Result<()> {
        match self.poison.get() {
            None => Ok(()),
            Some(reason) => Err(Error::Poisoned { reason: reason.clone() }),
        }
    }

    /// Why the store refuses writes, if it does.
    pub(super) fn poisoned(&self) -> Option<String> {
        self.poison.get().cloned().or_else(|| self.wal.as_ref().and_then(Wal::poisoned))
    }

    /// Remembers a failure after which nobody knows what is on the device. Writes fail from now on.
    pub(super) fn poison(&self, error: Error) -> Error {
        if self.poison.set(error.to_string()).is_ok() {
            if let Some(wal) = &self.wal {
                wal.set_flush_error(Some(error.to_string()));
            }
            self.stall.wake();
            self.background.wake();
            self.tell_later(|| Event::Failed(BackgroundWork::Flush, error.copied()));
        }
        error
    }

    pub(super) fn is_manual(&self) -> bool {
        self.options.background == Background::Manual
    }

    pub(super) fn manifest(&self) -> MutexGuard<'_, ManifestSlot> {
        self.manifest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn beginning(&self) -> MutexGuard<'_, Option<Beginning>> {
        self.beginning.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings what earlier openings left into tables, if there is something, and goes on in a log of its own.
    fn take_over(&self, flush_first: bool) -> Result<()> {
        if flush_first {
            self.flush_recovered()?;
        }
        self.begin()
    }

    /// Removes what is left of earlier openings' logs, which nobody misses any more.
    fn clear_away(&self, left: recover::Left) {
        let env = &self.options.env;
        for (dir, lock) in left.writers {
            recover::remove_writer_dir(env, &dir, lock);
        }
        for (writer_id, file) in left.witnesses {
            // What stays is found again at the next opening.
            let _best_effort = env.fs.remove_file(&file);
            if let Some(dir) = file.parent() {
                self.forget_writer_if_empty(dir, writer_id);
            }
        }
    }

    /// Removes the directory of a writer that is gone, if all its records are in tables.
    pub(super) fn forget_writer_if_empty(&self, dir: &Path, writer_id: u64) {
        if !wal::segments(&self.options.env, dir).is_ok_and(|left| left.is_empty()) {
            return;
        }
        let mut dead = self.dead_writers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = dead.remove(&writer_id) {
            // What stays is found again at the next opening.
            recover::remove_writer_dir(&self.options.env, dir, lock);
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Flushes, stops everything and gives the directory back.
    pub(super) fn finish(&self) -> Result<()> {
        let flushed = match self.writable() {
            Ok(_) => self.flush_all(),
            Err(_) => self.usable(),
        };
        self.tell_what_happened();
        self.closed.store(true, Ordering::Release);
        flushed
    }

    /// After the threads have ended, and nobody else is inside.
    pub(super) fn give_back(&self) -> Result<()> {
        let _last_look = self.remove_obsolete();
        let mut closed = Ok(());
        if let Some(wal) = &self.wal {
            closed = self.end_opening(wal);
        }
        self.dead_writers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        // The next who opens the store writes to it. Held, it is by this very thread, whom a listener is told of a failed edit.
        if let Ok(mut manifest) = self.manifest.try_lock() {
            manifest.0 = None;
        }
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = None;
        closed
    }
}

fn wal_options(options: &LsmOptions, first_seq: u64) -> WalOptions {
    WalOptions {
        write_buffer_size: options.write_buffer_size,
        first_segment_bytes: options.write_buffer_size,
        idle_segment_bytes: options.write_buffer_size,
        max_write_buffer_number: options.max_write_buffer_number,
        wal_kind: options.wal_kind,
        durability: options.durability,
        max_record_bytes: crate::kv::MAX_BATCH_BYTES,
        // A record is synced when somebody asks for it, or with its table.
        sync_on_seal: false,
        unload_written: false,
        first_seq,
        background: options.background,
        on_sealed: None,
    }
}
