//! What the parts of an opened store share.

use crate::store::layout::Layout;
use crate::store::options::StoreOptions;
use crate::store::renew::Stopped;
use crate::store::writers::Writers;
use duramen_engine::Error as EngineError;
use duramen_engine::io::Env;
use duramen_engine::io::os::fork_generation;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// What the parts of an opened store share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) env: Env,
    pub(crate) layout: Layout,
    pub(crate) options: StoreOptions,
    /// This process's writer, made by the first append, and those that it replaces.
    pub(crate) wal: Writers,
    /// Those of them whose lines may not be in tables yet.
    pub(crate) stopped: Stopped,
    wal_closed: AtomicBool,
    /// Whether this process has claimed the keeper's role from everybody else.
    pub(crate) has_claim: AtomicBool,
    /// The number of the last request to seal that was followed.
    pub(crate) sealed_for: AtomicU64,
    incidents: Mutex<Incidents>,
    /// The segments, by writer and number, of which an incident was told.
    told: Mutex<BTreeSet<(u64, u64)>>,
    /// The identity of the store whose keeper this process has been.
    kept: OnceLock<u64>,
    /// The process that opened it, in its line of forks.
    generation: u64,
}

/// The most incidents that are kept; the oldest give way, and are counted.
pub const MAX_INCIDENTS: usize = 100;

/// Of so many segments it is remembered that something was told.
const MOST_TOLD: usize = 10_000;

/// What went wrong in the background, where no caller was there to be told.
#[derive(Clone, Debug, Default)]
pub struct Incidents {
    /// What went wrong, oldest first.
    pub messages: Vec<String>,
    /// How many are no longer kept.
    pub dropped: u64,
}

impl Shared {
    pub(crate) fn new(env: Env, layout: Layout, options: StoreOptions) -> Self {
        Self {
            env,
            layout,
            options,
            wal: Writers::default(),
            stopped: Stopped::default(),
            wal_closed: AtomicBool::new(false),
            has_claim: AtomicBool::new(false),
            sealed_for: AtomicU64::new(0),
            incidents: Mutex::default(),
            told: Mutex::default(),
            kept: OnceLock::new(),
            generation: fork_generation(),
        }
    }

    /// Fails in a child forked from the process that opened the store: neither its threads are there, nor is it
    /// known that its locks will ever be free.
    #[inline]
    pub(crate) fn not_forked(&self) -> crate::Result<()> {
        if self.generation == fork_generation() { Ok(()) } else { Err(EngineError::Forked.into()) }
    }

    /// This process's writer, if it lives.
    pub(crate) fn living_writer(&self) -> Option<u64> {
        let wal = self.wal.newest()?;
        (!self.wal_closed.load(Ordering::SeqCst)).then(|| wal.writer_id())
    }

    /// Whether a store of this identity may be kept: the first one, and no other that lies in its place later.
    pub(crate) fn may_keep(&self, store_id: u64) -> bool {
        *self.kept.get_or_init(|| store_id) == store_id
    }

    /// Whether this process has been the keeper of the store. Then none is made in its place, should it be gone.
    pub(crate) fn has_kept(&self) -> bool {
        self.kept.get().is_some()
    }

    /// Stops this process's writer if its directory was removed: what it appended would go into files that nobody
    /// finds. Only its owner's death lets others remove it, so it was not one of us.
    pub(crate) fn look_for_own_directory(&self) {
        let Some(wal) = self.wal.newest().filter(|_| !self.wal_closed.load(Ordering::SeqCst)) else { return };
        let Some(dir) = wal.writer_dir().filter(|_| wal.poisoned().is_none()) else { return };
        if matches!(self.env.fs.exists(dir), Ok(false)) {
            wal.abandon(format!("{} was removed while it was written to", dir.display()));
        }
    }

    /// Closes this process's writer: from now on the keeper treats what it left like any other dead writer's.
    pub(crate) fn close_wal(&self) -> crate::Result<()> {
        let closed = self.wal.newest().map_or(Ok(()), |wal| wal.close());
        self.wal_closed.store(true, Ordering::SeqCst);
        Ok(closed?)
    }

    /// Whether a table's file has other names, as a snapshot's are, so that removing it frees nothing. What keeps that from being
    /// told is told when it is to go.
    pub(crate) fn has_other_names(&self, path: &str) -> bool {
        self.env.fs.links(&self.layout.resolve(path)).is_ok_and(|links| links > 1)
    }

    /// Remembers something that went wrong; said again at once, it is remembered once.
    pub(crate) fn incident(&self, what: impl ToString) {
        let what = what.to_string();
        let mut incidents = lock(&self.incidents);
        if incidents.messages.last() == Some(&what) {
            return;
        }
        if incidents.messages.len() == MAX_INCIDENTS {
            incidents.messages.remove(0);
            incidents.dropped += 1;
        }
        incidents.messages.push(what);
    }

    /// Whether something was told of this writer's segment of this number.
    pub(crate) fn has_told_of(&self, segment: (u64, u64)) -> bool {
        lock(&self.told).contains(&segment)
    }

    /// Remembers what is wrong with this writer's segment of this number: once, however often somebody looks, or what is wrong
    /// with several would push all else out of the list.
    pub(crate) fn incident_of(&self, segment: (u64, u64), what: impl ToString) {
        let mut told = lock(&self.told);
        if told.len() >= MOST_TOLD {
            told.clear();
        }
        let is_news = told.insert(segment);
        drop(told);
        if is_news {
            self.incident(what);
        }
    }

    /// The flush could not do its work: those who wait for a free write buffer must not wait for ever.
    pub(crate) fn flush_fails(&self, error: &crate::Error) {
        self.incident(format!("cannot flush: {error}"));
        if let Some(wal) = self.wal.newest() {
            wal.set_flush_error(Some(error.to_string()));
        }
    }

    /// The flush works, again or still.
    pub(crate) fn flush_works(&self) {
        if let Some(wal) = self.wal.newest() {
            wal.set_flush_error(None);
        }
    }

    pub(crate) fn incidents(&self) -> Incidents {
        lock(&self.incidents).clone()
    }
}

/// Locks a mutex whose data stays valid even if a thread panicked while it held it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
