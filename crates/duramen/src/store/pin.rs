//! Holding back the removal of files: a reader's side of the protocol in [`readers`](crate::store::readers).

use crate::error::Result;
use crate::store::readers::Generation;
use crate::store::shared::{Shared, lock};
use duramen_engine::Error as EngineError;
use duramen_engine::io::Lock;
use duramen_engine::io::os::is_out_of_descriptors;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

/// How often the lock is tried for, a millisecond apart, while the keeper tries it.
const MAX_ATTEMPTS: usize = 1_000;

/// Holds back the removal of files while it lives. `None` where the lock cannot be had.
pub(crate) type Pin = Option<Arc<dyn Lock>>;

/// Never made: the type of a pin that was never taken.
#[derive(Debug)]
enum NoLock {}
impl Lock for NoLock {}

/// Gives out pins; one lock serves all of a store's that live at the same time and are of one generation.
#[derive(Debug)]
pub(crate) struct Pins {
    held: [Mutex<Weak<dyn Lock>>; Generation::ALL.len()],
}

impl Default for Pins {
    fn default() -> Self {
        Self { held: Generation::ALL.map(|_| Mutex::new(Weak::<NoLock>::new() as Weak<dyn Lock>)) }
    }
}

impl Pins {
    /// Keeps the files from being removed that a manifest names which is read from now on, and says that it is this
    /// generation's turn. A file system that refuses the lock (a read-only one has no keeper) is no hindrance.
    ///
    /// # Errors
    /// If there are no descriptors left for the lock: without it, a file that is to be read may go.
    pub(crate) fn take(&self, shared: &Shared, generation: Generation) -> Result<Pin> {
        let mut held = lock(&self.held[generation as usize]);
        if let Some(pin) = held.upgrade() {
            return Ok(Some(pin));
        }
        let path = shared.layout.readers_lock(generation);
        for _ in 0..MAX_ATTEMPTS {
            match shared.env.fs.try_lock_shared(&path) {
                Ok(Some(pin)) => {
                    let pin: Arc<dyn Lock> = Arc::from(pin);
                    *held = Arc::downgrade(&pin);
                    return Ok(Some(pin));
                }
                // The keeper looks whether anybody reads, which takes it a moment.
                Ok(None) => std::thread::park_timeout(Duration::from_millis(1)),
                Err(e) if is_out_of_descriptors(&e) => {
                    return Err(EngineError::io("lock", &path)(e).into());
                }
                Err(_) => return Ok(None),
            }
        }
        Ok(None)
    }
}
