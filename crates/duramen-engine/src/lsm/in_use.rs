//! Who works in the store's directory: closing gives it back when nobody does any more.
//!
//! Whoever is inside may create and remove files and write to the manifest. The next opening, which may be of another
//! process, gives the same numbers to its tables: nobody may be at work then for whom the store was opened before.

use super::db::Inner;
use crate::Result;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// The callers' threads that are inside. The store's own end otherwise.
#[derive(Debug, Default)]
pub(super) struct InUse {
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// By whom; who calls from a listener is in here twice.
    by: Vec<ThreadId>,
    /// Nobody enters any more.
    closed: bool,
    /// Whoever is the last to leave gives the directory back.
    last_gives_back: bool,
}

/// Somebody is inside, while this lives.
pub(super) struct Inside<'a>(Option<&'a Inner>);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        if let Some(inner) = self.0
            && inner.in_use.leave()
        {
            let _nobody_waits_for_it = inner.give_back();
            if !std::thread::panicking() {
                inner.tell_what_happened();
            }
        }
    }
}

impl InUse {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self) -> bool {
        let mut state = self.lock();
        if !state.closed {
            state.by.push(std::thread::current().id());
        }
        !state.closed
    }

    /// Whether the directory is to be given back now.
    fn leave(&self) -> bool {
        let mut state = self.lock();
        let me = std::thread::current().id();
        if let Some(at) = state.by.iter().position(|by| *by == me) {
            state.by.swap_remove(at);
        }
        self.left.notify_all();
        state.by.is_empty() && std::mem::take(&mut state.last_gives_back)
    }

    /// Nobody enters from now on. Whether somebody could until now.
    pub(super) fn close(&self) -> bool {
        !std::mem::replace(&mut self.lock().closed, true)
    }

    /// Whether the caller is.
    pub(super) fn is_inside(&self) -> bool {
        self.lock().by.contains(&std::thread::current().id())
    }

    /// Waits until nobody is inside; `false` if that must not be waited for, and is seen to by whoever leaves last.
    /// `is_own`: it is a thread of the store that asks.
    pub(super) fn wait_until_free(&self, is_own: bool) -> bool {
        let me = std::thread::current().id();
        let mut state = self.lock();
        while !state.by.is_empty() {
            // It is in a listener, or gives entries to ingest: somebody inside, itself maybe, waits for it.
            if is_own || state.by.contains(&me) {
                state.last_gives_back = true;
                return false;
            }
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        true
    }
}

impl Inner {
    /// For whatever works in the directory, other than the store's own threads.
    ///
    /// # Errors
    /// Once the store is closed, and in a forked child.
    pub(super) fn enter(&self) -> Result<Inside<'_>> {
        if self.wal.is_none() {
            // Opened read-only, it has nothing to give back.
            return Ok(Inside(None));
        }
        // A lock may be held for ever there.
        self.not_forked()?;
        if self.in_use.enter() { Ok(Inside(Some(self))) } else { Err(self.why_not_writable()) }
    }
}
