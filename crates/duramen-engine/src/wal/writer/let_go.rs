//! Giving up a log that has stopped, while it is still there: another one is to go on in its place, and what it wrote is
//! to be recovered.
//!
//! Threads may be at its files at that moment. None of them is waited for, so each of them makes sure when it is done:
//! that nothing is acknowledged that a recovery may not have seen, and that the lock falls when nobody is at a file any
//! more.

use super::{Inner, Wal};
use crate::Result;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError, TryLockError};

impl Wal {
    /// Gives lock and memory of a stopped log back, so that its records can be recovered while it is still there.
    /// Does not wait for its threads, which end by themselves; one that is at a file gives the lock back when it is
    /// done with that. A log that has not stopped stays as it is.
    pub fn let_go(&self) {
        let inner = &*self.inner;
        if inner.poison.get().is_none() || inner.not_forked().is_err() {
            return;
        }
        // Every append that got past the failure has its record in memory after this, and none comes later.
        inner.refuse_appends();
        // Before there is nothing left to sync: that must not look as if all of it were.
        inner.let_go.store(true, Ordering::SeqCst);
        let mut state = inner.state();
        let memory = (
            state.active.take(),
            state.prepared.take(),
            state.prefault.take(),
            std::mem::take(&mut state.immutable),
        );
        drop(state);
        drop(memory);
        inner.unlock_if_idle();
    }

    /// How many sequence numbers were given to records that no sync has covered: what a loss of power might take.
    /// Reads them, so it takes as long as there are.
    pub fn unsynced_entries(&self) -> u64 {
        self.inner.unsynced_entries()
    }
}

impl Inner {
    /// Gives the lock back by which others know that the writer lives.
    pub(super) fn unlock(&self) {
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// A thread that was at a file is done with that.
    pub(super) fn unlock_if_let_go(&self) {
        if self.let_go.load(Ordering::SeqCst) {
            self.unlock_if_idle();
        }
    }

    /// Gives it back if no thread is at a file: whoever recovers maps the files, and may not have them cut meanwhile,
    /// nor find new ones.
    fn unlock_if_idle(&self) {
        let is_idle = |lock: &Mutex<()>| !matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
        if is_idle(&self.preparing) && is_idle(&self.settling) {
            self.unlock();
        }
    }

    /// Whether what the caller has just written or synced may be acknowledged: if the log was let go meanwhile, a
    /// recovery may have looked before it, and the caller may not have found all there was.
    pub(super) fn not_let_go(&self) -> Result<()> {
        if self.let_go.load(Ordering::SeqCst) { self.usable() } else { Ok(()) }
    }
}
