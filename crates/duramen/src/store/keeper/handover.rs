//! Passing the keeper's role on to a process that has something to do only a keeper can: change the retention policy,
//! delete lines.
//!
//! Who wants the role locks `KEEPER.next`. The keeper, who looks there several times a second, gives the role up,
//! nobody else takes it, and the claimant does. When it has done its work, or died, both locks have fallen, and the
//! next process that looks is keeper. So nothing has to be cleaned up, and no request is ever carried out twice.

use super::Keeper;
use crate::error::{Error, Result};
use crate::store::background::KeeperSlot;
use crate::store::shared::{Shared, lock};
use duramen_engine::Error as EngineError;
use duramen_engine::io::{Lock, OpenMode};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often the role is tried for, and how long is waited in between: half a minute in all. Flushing what was being
/// flushed takes the keeper a second or two.
const MAX_ATTEMPTS: usize = 6_000;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(5);

/// Keeps the role from everybody else while it lives.
#[derive(Debug)]
pub(crate) struct Claim {
    shared: Arc<Shared>,
    slot: KeeperSlot,
    _lock: Box<dyn Lock>,
}

impl Claim {
    /// Becomes keeper, whoever is it now.
    ///
    /// # Errors
    /// [`Error::NoHandover`] if that one did not give the role up; what the file system said.
    pub(crate) fn take(shared: &Arc<Shared>, slot: &KeeperSlot) -> Result<Self> {
        let path = shared.layout.claim_lock();
        let try_claim = || shared.env.fs.try_lock(&path).map_err(EngineError::io("lock", &path));
        let lock = wait_for(shared, || Ok(try_claim()?))?;
        shared.has_claim.store(true, Ordering::SeqCst);
        let claim = Self { shared: shared.clone(), slot: slot.clone(), _lock: lock };
        wait_for(shared, || {
            let mut slot = self::lock(slot);
            if slot.is_none() {
                *slot = Keeper::try_become(shared)?;
            }
            Ok(slot.is_some().then_some(()))
        })?;
        Ok(claim)
    }
}

impl Claim {
    /// Asks all other processes to seal what their writers have, so that it can be flushed: the claim's file holds a
    /// random number for each time that this is asked.
    ///
    /// # Errors
    /// What the file system said.
    pub(crate) fn ask_to_seal(&self) -> Result<()> {
        let env = &self.shared.env;
        let path = self.shared.layout.claim_lock();
        let file = env.fs.open(&path, OpenMode::ReadWrite).map_err(EngineError::io("open", &path))?;
        let number = env.random.next_u64().max(1);
        Ok(file.write_all_at(&number.to_le_bytes(), 0).map_err(EngineError::io("write", &path))?)
    }
}

/// Seals what this process's writer has, if who claims the role asks for it and that was not done yet. A number that
/// was read while it was written is one more time for nothing.
pub(crate) fn seal_if_asked(shared: &Shared) {
    let path = shared.layout.claim_lock();
    let mut number = [0; 8];
    let read = shared.env.fs.open(&path, OpenMode::Read).and_then(|file| file.read_exact_at(&mut number, 0));
    let number = u64::from_le_bytes(number);
    if read.is_err() || shared.sealed_for.swap(number, Ordering::SeqCst) == number {
        return;
    }
    if let Some(wal) = shared.wal.newest().filter(|_| shared.living_writer().is_some())
        && let Err(e) = wal.rotate().and_then(|_| wal.background_step())
    {
        shared.incident(format!("what was logged here cannot be sealed for a deletion: {e}"));
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.shared.options.keeper {
            *lock(&self.slot) = None;
        }
        self.shared.has_claim.store(false, Ordering::SeqCst);
    }
}

fn wait_for<T>(shared: &Shared, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    for _ in 0..MAX_ATTEMPTS {
        if let Some(found) = look()? {
            return Ok(found);
        }
        std::thread::park_timeout(BETWEEN_ATTEMPTS);
    }
    Err(Error::NoHandover { path: shared.layout.keeper_lock() })
}

/// Whether another process wants to be keeper.
pub(crate) fn is_claimed(shared: &Shared) -> bool {
    if shared.has_claim.load(Ordering::SeqCst) {
        return false;
    }
    match shared.env.fs.try_lock_shared(&shared.layout.claim_lock()) {
        Ok(nobody_else) => nobody_else.is_none(),
        Err(e) if e.kind() == ErrorKind::NotFound => false,
        // Not knowing is no reason to stop keeping.
        Err(_) => false,
    }
}
