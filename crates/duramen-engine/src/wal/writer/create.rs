//! A directory and a lock of one's own.

use super::handle::Takes;
use super::state::{Active, State};
use super::threads::{Threads, Work};
use super::{Inner, Wal};
use crate::io::os::fork_generation;
use crate::io::{Env, Lock};
use crate::wal::group::Group;
use crate::wal::names::{LOCK, writer_dir};
use crate::wal::options::{Background, WalKind, WalOptions};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, OnceLock};

impl Wal {
    /// Starts a log of its own, under a random writer id, in its own directory under `wal_dir`, which is created
    /// if missing. That the directory in which `wal_dir` lies survives a loss of power is the caller's to see to.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if an option is out of range; [`Error::Io`].
    pub fn create(env: &Env, wal_dir: &Path, options: WalOptions) -> Result<Self> {
        let options = options.checked()?;
        // A directory may be taken from under us, between its creation and our lock on it, by somebody who
        // cleans up after dead writers; then we were never there and begin anew.
        const ATTEMPTS: usize = 8;
        let mut last = Error::InvalidArgument("no free writer id".into());
        for _ in 0..ATTEMPTS {
            let writer_id = env.random.next_u64();
            if options.wal_kind == WalKind::None {
                return Self::start(env, None, None, writer_id, options);
            }
            let dir = writer_dir(wal_dir, writer_id);
            if env.fs.exists(&dir).map_err(Error::io("look for", &dir))? {
                continue;
            }
            env.fs.create_dir_all(&dir).map_err(Error::io("create directory", &dir))?;
            let lock_path = dir.join(LOCK);
            last = match env.fs.try_lock(&lock_path) {
                Ok(Some(lock)) => {
                    match Self::start(env, Some(dir.clone()), Some(lock), writer_id, options.clone()) {
                        Ok(wal) => return Ok(wal),
                        Err(e) => e,
                    }
                }
                Ok(None) => Error::Locked { path: lock_path.clone() },
                Err(e) => Error::io("lock", &lock_path)(e),
            };
            if !last.is_not_found() && !matches!(last, Error::Locked { .. }) {
                // It never held a record: do not leave it for others to wonder about.
                let _best_effort = env.fs.remove_file(&lock_path);
                let _best_effort = env.fs.remove_dir(&dir);
                return Err(last);
            }
        }
        Err(last)
    }

    fn start(
        env: &Env,
        dir: Option<PathBuf>,
        lock: Option<Box<dyn Lock>>,
        writer_id: u64,
        options: WalOptions,
    ) -> Result<Self> {
        let inner = Inner {
            env: env.clone(),
            state: Mutex::new(State::new(&options)),
            options,
            writer_id,
            dir,
            lock: Mutex::new(lock),
            room: Condvar::new(),
            work: Work::default(),
            preparing: Mutex::new(()),
            settling: Mutex::new(()),
            publishing: Group::default(),
            syncing: Group::default(),
            parents_synced: AtomicBool::new(false),
            unmapped: AtomicBool::new(false),
            syncs_records: AtomicBool::new(false),
            syncs: AtomicU64::new(0),
            poison: OnceLock::new(),
            let_go: AtomicBool::new(false),
            generation: fork_generation(),
        };
        let (number, capacity) = inner.state().next_segment(0);
        let first = inner.make_segment(number, 0, capacity, Takes::Start)?;
        let now = inner.env.clock.monotonic();
        let mut state = inner.state();
        state.active = Some(Active::new(first, now));
        state.grow();
        drop(state);
        let inner = Arc::new(inner);
        let threads = match inner.options.background {
            Background::Manual => Threads::default(),
            Background::Thread => Threads::start(&inner)?,
        };
        Ok(Self { inner, threads })
    }
}
