//! What is done off the write path: flushing, committing, compacting, removing.

use super::db::Inner;
use super::events::Event;
use super::listener::BackgroundWork;
use crate::wal::Background as Mode;
use crate::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long to wait before trying again what failed: a full disk may have room then.
const RETRY: Duration = Duration::from_secs(1);

/// Wakes the threads, and remembers why they cannot work.
#[derive(Debug, Default)]
pub(super) struct Signals {
    state: Mutex<SignalState>,
    work: Condvar,
    stop: AtomicBool,
}

#[derive(Debug, Default)]
struct SignalState {
    /// Counts the reasons to look again.
    turn: u64,
    compaction_error: Option<String>,
}

impl Signals {
    fn lock(&self) -> MutexGuard<'_, SignalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There may be something to do.
    pub(super) fn wake(&self) {
        self.lock().turn += 1;
        self.work.notify_all();
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.wake();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Why compaction does not get on, if so.
    pub(super) fn compaction_error(&self) -> Option<String> {
        self.lock().compaction_error.clone()
    }

    pub(super) fn set_compaction_error(&self, error: Option<String>) {
        self.lock().compaction_error = error;
    }

    fn turn(&self) -> u64 {
        self.lock().turn
    }

    /// Waits until there is news, but not for long.
    pub(super) fn wait_for_turn(&self) {
        self.wait(self.turn(), Some(RETRY));
    }

    /// Waits for a turn after `seen`, at most `for_at_most`.
    fn wait(&self, seen: u64, for_at_most: Option<Duration>) {
        let state = self.lock();
        if state.turn != seen || self.is_stopped() {
            return;
        }
        match for_at_most {
            None => drop(self.work.wait(state)),
            Some(time) => drop(self.work.wait_timeout(state, time)),
        }
    }
}

/// One of the things that a thread does.
type Task = fn(&Inner) -> Result<bool>;

impl Inner {
    /// Starts the threads.
    pub(super) fn start_threads(self: &Arc<Self>) -> Result<Vec<JoinHandle<()>>> {
        if self.options.background == Mode::Manual {
            return Ok(Vec::new());
        }
        let tasks: [(&str, Task); 3] = [
            ("duramen-flush", Inner::flush_task),
            ("duramen-commit", Inner::commit_task),
            ("duramen-compact", Inner::compact_task),
        ];
        let mut threads = Vec::new();
        for (name, task) in tasks {
            let inner = Arc::clone(self);
            let spawned = std::thread::Builder::new().name(name.into()).spawn(move || inner.run(task));
            match spawned {
                Ok(thread) => threads.push(thread),
                Err(e) => {
                    self.background.stop();
                    threads.into_iter().for_each(|t| drop(t.join()));
                    return Err(Error::io("start a thread for", &self.dir)(e));
                }
            }
        }
        Ok(threads)
    }

    fn run(&self, task: Task) {
        loop {
            let turn = self.background.turn();
            if self.background.is_stopped() || self.poisoned().is_some() {
                return;
            }
            match task(self) {
                Ok(true) => {}
                Ok(false) => self.background.wait(turn, None),
                // Everybody who has to know does by now. It may be better later.
                Err(_) => self.background.wait(self.background.turn(), Some(RETRY)),
            }
        }
    }

    fn flush_task(&self) -> Result<bool> {
        let flushed = self.flush_one();
        if let Some(wal) = &self.wal {
            match &flushed {
                Ok(_) if self.flush_failed.swap(false, Ordering::Relaxed) => wal.set_flush_error(None),
                Ok(_) => {}
                Err(e) => {
                    if !self.flush_failed.swap(true, Ordering::Relaxed) {
                        // Compaction may have given way to it.
                        self.background.wake();
                    }
                    wal.set_flush_error(Some(e.to_string()));
                    self.tell_later(|| Event::Failed(BackgroundWork::Flush, e.copied()));
                }
            }
        }
        flushed
    }

    fn commit_task(&self) -> Result<bool> {
        let committed = self.commit_one();
        let removed = self.remove_obsolete();
        committed.map(|did| did || removed)
    }

    /// Who waits for the flush comes first, writers and callers of `flush` alike: compaction can be caught up with later,
    /// while level 0 is far from holding writes back. A flush that fails is not waited for: it may want the space that
    /// compaction gives back.
    fn flush_comes_first(&self) -> bool {
        let current = self.current.load();
        let files = current.version.levels[0].len();
        (!current.immutables.is_empty() || self.flush_waiters.load(Ordering::Relaxed) > 0)
            && files < self.options.level0_slowdown_writes_trigger / 2
            && !self.flush_failed.load(Ordering::Relaxed)
    }

    /// Holds a compaction up while the flush needs the processor more.
    pub(super) fn give_way(&self) {
        let wanted = || !self.background.is_stopped() && self.poisoned().is_none();
        while self.options.background == Mode::Thread && wanted() {
            let turn = self.background.turn();
            if !self.flush_comes_first() {
                return;
            }
            self.background.wait(turn, Some(RETRY));
        }
    }

    fn compact_task(&self) -> Result<bool> {
        if self.flush_comes_first() {
            return Ok(false);
        }
        let compacted = self.compact_one();
        match &compacted {
            Ok(_) => self.background.set_compaction_error(None),
            Err(e) => {
                self.background.set_compaction_error(Some(e.to_string()));
                self.stall.wake();
                if e.is_corruption() {
                    self.tell_later(|| Event::Damage(e.copied()));
                }
                self.tell_later(|| Event::Failed(BackgroundWork::Compaction, e.copied()));
            }
        }
        compacted
    }

    /// One step of each kind. Whether anything was done.
    pub(super) fn background_step(&self) -> Result<bool> {
        let _inside = self.enter()?;
        let done = self.work_once();
        self.tell_what_happened();
        done
    }

    /// The same for who holds something: the listener is told later.
    pub(super) fn work_once(&self) -> Result<bool> {
        let mut done = false;
        if let Some(wal) = &self.wal {
            wal.background_step()?;
        }
        done |= self.flush_task()?;
        done |= self.commit_task()?;
        done |= self.compact_one()?;
        done |= self.remove_obsolete();
        Ok(done)
    }

    /// Removes the files that nobody reads any more.
    pub(super) fn remove_obsolete(&self) -> bool {
        let obsolete = self.obsolete.take();
        for path in &obsolete {
            // One that stays is an orphan, which the next opening removes.
            let _best_effort = self.options.env.fs.remove_file(path);
        }
        !obsolete.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::flush::FlushWaiter;
    use super::*;
    use crate::io::sim::Sim;
    use crate::kv::Engine;
    use crate::lsm::{Lsm, LsmOptions};

    #[test]
    fn compaction_gives_way_to_who_waits_for_a_flush_unless_that_fails() -> Result<()> {
        let options =
            LsmOptions { env: Sim::new(1).env(), background: Mode::Manual, ..LsmOptions::default() };
        let store = Lsm::open("/db", options)?;
        let inner = &store.inner;
        assert!(!inner.flush_comes_first());
        inner.flush_waiters.fetch_add(1, Ordering::Relaxed);
        assert!(inner.flush_comes_first());
        inner.flush_failed.store(true, Ordering::Relaxed);
        assert!(!inner.flush_comes_first());
        inner.flush_failed.store(false, Ordering::Relaxed);
        inner.flush_waiters.fetch_sub(1, Ordering::Relaxed);
        store.put(b"key", b"value")?;
        store.flush()?;
        assert!(!inner.flush_comes_first(), "nobody waits any more");
        Ok(())
    }

    /// A store on whose full device a memtable waits for its flush.
    fn store_that_cannot_flush(sim: &Sim) -> Result<Lsm> {
        let options = LsmOptions { env: sim.env(), background: Mode::Manual, ..LsmOptions::default() };
        let store = Lsm::open("/db", options)?;
        store.put(b"key", b"value")?;
        let inner = &store.inner;
        let wal = inner.writable()?;
        wal.rotate()?;
        if let Some((reader, last_seq)) = wal.active_segment() {
            inner.switch_memtable(&reader, last_seq);
        }
        sim.set_capacity_bytes(Some(sim.used_bytes()));
        Ok(store)
    }

    #[test]
    fn compaction_that_has_given_way_looks_again_when_the_flush_fails() -> Result<()> {
        let sim = Sim::new(1);
        let store = store_that_cannot_flush(&sim)?;
        let inner = &store.inner;
        assert!(inner.flush_comes_first());
        let turn = inner.background.turn();
        assert!(inner.flush_task().is_err());
        assert!(!inner.flush_comes_first());
        assert_ne!(inner.background.turn(), turn, "nobody wakes it");
        // It has been told: to fail again is no news.
        let turn = inner.background.turn();
        assert!(inner.flush_task().is_err());
        assert_eq!(inner.background.turn(), turn);
        Ok(())
    }

    #[test]
    fn compaction_that_has_given_way_looks_again_when_nobody_waits_for_a_flush() -> Result<()> {
        let store = store_that_cannot_flush(&Sim::new(1))?;
        let inner = &store.inner;
        assert!(store.flush().is_err());
        assert_eq!(inner.flush_waiters.load(Ordering::Relaxed), 0, "who was told of a failure waits no more");
        let waiter = FlushWaiter::new(inner);
        let turn = inner.background.turn();
        drop(waiter);
        assert_ne!(inner.background.turn(), turn, "nobody wakes it");
        Ok(())
    }
}
