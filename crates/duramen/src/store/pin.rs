//! Holding back the removal of files: the lock `READERS`, shared by whoever may still open what it saw.

use crate::store::shared::{Shared, lock};
use duramen_engine::io::Lock;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

/// How often the lock is tried for, a millisecond apart, while the keeper removes files.
const MAX_ATTEMPTS: usize = 1_000;

/// Holds back the removal of files while it lives. `None` where the lock cannot be had.
pub(crate) type Pin = Option<Arc<dyn Lock>>;

/// Never made: the type of a pin that was never taken.
#[derive(Debug)]
enum NoLock {}
impl Lock for NoLock {}

/// Gives out pins; one lock serves all of a store's that live at the same time.
#[derive(Debug)]
pub(crate) struct Pins {
    held: Mutex<Weak<dyn Lock>>,
}

impl Default for Pins {
    fn default() -> Self {
        Self { held: Mutex::new(Weak::<NoLock>::new()) }
    }
}

impl Pins {
    /// Keeps the files that a view taken from now on may read from being removed. A file system that refuses
    /// the lock (a read-only one has no keeper) is no hindrance.
    pub(crate) fn take(&self, shared: &Shared) -> Pin {
        let mut held = lock(&self.held);
        if let Some(pin) = held.upgrade() {
            return Some(pin);
        }
        let path = shared.layout.readers_lock();
        for _ in 0..MAX_ATTEMPTS {
            match shared.env.fs.try_lock_shared(&path) {
                Ok(Some(pin)) => {
                    let pin: Arc<dyn Lock> = Arc::from(pin);
                    *held = Arc::downgrade(&pin);
                    return Some(pin);
                }
                // The keeper is removing files, which takes it a moment.
                Ok(None) => std::thread::park_timeout(Duration::from_millis(1)),
                Err(_) => return None,
            }
        }
        None
    }
}
