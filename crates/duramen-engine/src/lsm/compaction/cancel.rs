//! Giving up, at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Tells jobs that they are not wanted any more. For good: it is never taken back.
#[derive(Debug, Default)]
pub(in crate::lsm) struct Cancel {
    cancelled: AtomicBool,
    /// Held to change `cancelled`, so that nobody goes to sleep in between.
    changing: Mutex<()>,
    changed: Condvar,
}

impl Cancel {
    /// Every job that asks gives up, and those that wait wake up.
    pub(in crate::lsm) fn cancel(&self) {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.cancelled.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    #[inline]
    pub(in crate::lsm) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Waits this long, or until cancelled.
    pub(super) fn wait(&self, time: Duration) {
        let changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_timeout_while(changing, time, |()| !self.is_cancelled()));
    }
}
