//! Compactions: picked, run, installed.

use super::compaction::{self, Cancel, Context, Job, LiveWork, RateLimiter};
use super::db::Inner;
use super::events::Event;
use super::listener::CompactionKind;
use super::options::LsmOptions;
use super::superversion::SuperVersion;
use super::version::Version;
use crate::wal::Background;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is being compacted.
#[derive(Debug)]
pub(super) struct Schedule {
    running: Mutex<Vec<Arc<Job>>>,
    /// How many wait for, or do, a compaction of everything: no other job starts.
    held: AtomicUsize,
    limiter: RateLimiter,
    cancel: Cancel,
    /// What was found damaged last.
    damage: Mutex<Option<(PathBuf, u64, String)>>,
}

/// Lets jobs start again when dropped.
pub(super) struct Hold<'a>(&'a Schedule);

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Schedule {
    pub(super) fn new(options: &LsmOptions) -> Self {
        let may_wait = options.background == Background::Thread;
        let clock = Arc::clone(&options.env.clock);
        Self {
            running: Mutex::default(),
            held: AtomicUsize::new(0),
            limiter: RateLimiter::new(options.rate_limit_bytes_per_s, clock, may_wait),
            cancel: Cancel::default(),
            damage: Mutex::default(),
        }
    }

    fn remember_damage(&self, path: &Path, offset: u64, detail: &str) {
        let damage = (path.to_path_buf(), offset, detail.to_owned());
        *self.damage.lock().unwrap_or_else(PoisonError::into_inner) = Some(damage);
    }

    /// Why some tables are left as they are.
    fn damage(&self) -> Error {
        match &*self.damage.lock().unwrap_or_else(PoisonError::into_inner) {
            Some((path, offset, detail)) => Error::corruption(path, *offset, detail),
            None => Error::InvalidArgument("tables are being compacted that nobody compacts".into()),
        }
    }

    /// Running jobs give up, and none starts any more.
    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// No job starts any more, those excepted that are claimed already, and those of who asks for everything.
    pub(super) fn hold(&self) -> Hold<'_> {
        // Whoever has just found that none is held has claimed his job, or sees it.
        let _nobody_is_about_to_claim = self.lock();
        self.held.fetch_add(1, Ordering::AcqRel);
        Hold(self)
    }

    fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire) > 0
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Job>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A claimed job; its tables are given back when this is dropped.
struct Claimed<'a> {
    inner: &'a Inner,
    job: Arc<Job>,
    /// Its tables stay as they are: one of them is damaged.
    keep: bool,
}

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        let mut running = self.inner.compactions.lock();
        running.retain(|job| !Arc::ptr_eq(job, &self.job));
        if !self.keep {
            self.job.release();
        }
    }
}

impl Inner {
    /// Does the most urgent compaction. Whether there was one.
    pub(super) fn compact_one(&self) -> Result<bool> {
        let picked =
            self.claim(|inner, live| compaction::pick(&inner.current.load().version, &inner.options, live));
        match picked {
            Some(claimed) => self.run_job(claimed).map(|()| true),
            None => Ok(false),
        }
    }

    /// Compacts everything, level by level, until nothing is left to gain.
    pub(super) fn compact_all(&self) -> Result<()> {
        let _nothing_else_starts = self.compactions.hold();
        let claimed = loop {
            // Of what was written since an ingestion took its number nothing may go below level 0 before its tables are there.
            let ingesting = self.ingesting.lock().unwrap_or_else(PoisonError::into_inner);
            let mut running = self.compactions.lock();
            // Nothing more is begun for a store that is being closed.
            self.writable()?;
            if running.is_empty() {
                // What is not committed yet was written after the call.
                let mut version = Version::clone(&self.current.load().version);
                version.levels[0].retain(|table| !table.uncommitted.load(Ordering::Acquire));
                let Some(jobs) = compaction::plan_manual(&version, &self.options) else {
                    return Err(self.compactions.damage());
                };
                let mut claimed = Vec::new();
                for job in jobs.into_iter().map(Arc::new) {
                    job.claim();
                    running.push(Arc::clone(&job));
                    claimed.push(Claimed { inner: self, job, keep: false });
                }
                break claimed;
            }
            drop(running);
            drop(ingesting);
            self.background.wait_for_turn();
        };
        claimed.into_iter().try_for_each(|claimed| self.run_job(claimed))
    }

    fn claim(&self, pick: impl FnOnce(&Self, &LiveWork<'_>) -> Option<Job>) -> Option<Claimed<'_>> {
        let mut running = self.compactions.lock();
        if self.compactions.is_held() || self.compactions.cancel.is_cancelled() {
            return None;
        }
        let snapshots = self.snapshots.alive();
        let now_unix_s = self.options.env.clock.now_unix_ns() / 1_000_000_000;
        let live = LiveWork { running: &running, snapshots: &snapshots, now_unix_s };
        let job = Arc::new(pick(self, &live)?);
        job.claim();
        running.push(Arc::clone(&job));
        Some(Claimed { inner: self, job, keep: false })
    }

    fn run_job(&self, mut claimed: Claimed<'_>) -> Result<()> {
        let job = Arc::clone(&claimed.job);
        let context = Context {
            options: &self.options,
            dir: &self.dir,
            tables: &self.tables,
            snapshots: self.snapshots.alive(),
            next_table: &self.next_table,
            table_path: super::paths::table,
            limiter: &self.compactions.limiter,
            cancel: &self.compactions.cancel,
            give_way: &|| self.give_way(),
        };
        let outcome = match compaction::run(&job, &context) {
            Ok(outcome) => outcome,
            Err(e) => {
                // What cannot be read now cannot be read later: it is for repair, and must not be tried for ever.
                if let Error::Corruption { path, offset, detail } = &e {
                    claimed.keep = true;
                    self.compactions.remember_damage(path, *offset, detail);
                }
                return Err(e);
            }
        };
        let mut manifest = self.manifest();
        let drops = job.kind == CompactionKind::DropExpired;
        if drops && !self.hide(&job) {
            // Dropped when that snapshot is gone.
            return Ok(());
        }
        let made: Vec<_> =
            outcome.edit.add_tables.iter().map(|meta| (meta.number, self.dir.join(&meta.path))).collect();
        if let Err(e) = self.apply(&mut manifest, outcome.edit) {
            if drops {
                self.show(|version| version.and(job.tables()));
            }
            if self.poisoned().is_none() {
                // There was no room for the edit: the tables it would have named are nobody's. It is all done again later.
                let state = Arc::clone(manifest.get()?.state());
                for (_, path) in made.iter().filter(|(number, _)| !state.tables.contains_key(number)) {
                    let _an_orphan_at_worst = self.options.env.fs.remove_file(path);
                }
            }
            return Err(e);
        }
        if drops {
            job.tables().for_each(|table| table.mark_dropped());
        }
        let counters = &self.metrics;
        match job.kind {
            CompactionKind::TrivialMove => &counters.trivial_moves,
            _ => &counters.compactions,
        }
        .fetch_add(1, Ordering::Relaxed);
        counters.compaction_bytes_read.fetch_add(outcome.info.bytes_read, Ordering::Relaxed);
        counters.compaction_bytes_written.fetch_add(outcome.info.bytes_written, Ordering::Relaxed);
        self.tell_later(|| Event::Compaction(outcome.info));
        drop(manifest);
        drop(claimed);
        self.background.wake();
        self.stall.wake();
        Ok(())
    }

    /// Takes what has expired out of readers' sight before the manifest forgets it, which takes a sync: whoever has read
    /// something of it under a snapshot, taken since the job was picked, is to find it again. Whether nobody can have.
    fn hide(&self, job: &Job) -> bool {
        let min_seq = job.tables().map(|table| table.facts.min_seq).min().unwrap_or(0);
        self.snapshots.unless_seen(min_seq, || self.show(|version| version.without(job.tables())))
    }

    fn show(&self, tables: impl FnOnce(&Version) -> Version) {
        self.change(|now| {
            let version = Arc::new(tables(&now.version));
            Some(SuperVersion::new(now.active.clone(), now.immutables.clone(), version))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::{Fault, Sim};
    use crate::kv::{Engine, ReadOptions};
    use crate::lsm::Lsm;
    use std::time::Duration;

    /// A store with a table that has expired.
    fn store(sim: &Sim) -> Result<Lsm> {
        let options = LsmOptions {
            env: sim.env(),
            background: Background::Manual,
            ttl_s: 100,
            ..LsmOptions::default()
        };
        let store = Lsm::open("/db", options)?;
        store.put(b"key", b"value")?;
        store.flush()?;
        sim.clock().advance(Duration::from_secs(102));
        Ok(store)
    }

    fn tables(sim: &Sim) -> usize {
        sim.files().iter().filter(|file| file.ends_with(".sst")).count()
    }

    #[test]
    fn what_a_snapshot_sees_that_was_taken_since_the_pick_is_not_dropped() -> Result<()> {
        let sim = Sim::new(1);
        let store = store(&sim)?;
        let inner = &store.inner;
        let pick = |inner: &Inner, live: &LiveWork<'_>| {
            compaction::pick(&inner.current.load().version, &inner.options, live)
        };
        let Some(claimed) = inner.claim(pick) else { panic!("it has not expired") };
        let then = ReadOptions { snapshot: Some(store.snapshot()), ..ReadOptions::default() };
        assert!(store.get_with(b"key", &then)?.is_some());
        inner.run_job(claimed)?;
        assert!(store.get_with(b"key", &then)?.is_some());
        assert!(!inner.compact_one()?, "nor is it picked again");
        drop(then);
        assert!(inner.compact_one()?);
        assert!(store.get(b"key")?.is_none());
        inner.remove_obsolete();
        assert_eq!(tables(&sim), 0);
        Ok(())
    }

    #[test]
    fn what_has_expired_is_there_as_long_as_the_manifest_says_so() -> Result<()> {
        let sim = Sim::new(1);
        let store = store(&sim)?;
        sim.fail_at(sim.operations(), Fault::NoSpace);
        assert!(store.inner.compact_one().is_err());
        assert!(store.poisoned().is_none());
        assert!(store.get(b"key")?.is_some());
        assert!(store.inner.compact_one()?);
        assert!(store.get(b"key")?.is_none());
        store.inner.remove_obsolete();
        assert_eq!(tables(&sim), 0);
        Ok(())
    }
}
