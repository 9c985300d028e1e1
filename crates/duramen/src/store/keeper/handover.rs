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
use duramen_engine::wal::Wal;
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
        claim.ask_nothing();
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
    /// Takes back what an earlier claimant asked for: who has not followed it yet is not to do it for us.
    fn ask_nothing(&self) {
        let path = self.shared.layout.claim_lock();
        if asked(&self.shared).is_some()
            && let Ok(file) = self.shared.env.fs.open(&path, OpenMode::ReadWrite)
        {
            // Otherwise somebody seals once for nothing.
            let _no_matter = file.write_all_at(&[0; 8], 0);
        }
    }

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

/// The number in the claim's file; `None` if nobody asks.
fn asked(shared: &Shared) -> Option<u64> {
    let path = shared.layout.claim_lock();
    let mut number = [0; 8];
    shared.env.fs.open(&path, OpenMode::Read).and_then(|file| file.read_exact_at(&mut number, 0)).ok()?;
    Some(u64::from_le_bytes(number)).filter(|number| *number != 0)
}

/// Seals what this process's writer has, if who claims the role asks for it and that was not done yet. A number that
/// was read while it was written is one more time for nothing.
pub(crate) fn seal_if_asked(shared: &Shared) {
    let Some(number) = asked(shared).filter(|number| shared.sealed_for.load(Ordering::SeqCst) != *number)
    else {
        return;
    };
    if let Some(wal) = shared.wal.newest().filter(|_| shared.living_writer().is_some()) {
        match try_to_seal(wal) {
            Ok(true) => {}
            // The next look tries again.
            Ok(false) => return,
            Err(e) => shared.incident(format!("what was logged here cannot be sealed for a deletion: {e}")),
        }
    }
    shared.sealed_for.store(number, Ordering::SeqCst);
}

/// Seals what a writer has; whether there was a write buffer to go on with. Waits for none: the caller may be the only
/// thread of all processes that could flush.
///
/// # Errors
/// What the file system said; that the writer has stopped.
pub(crate) fn try_to_seal(wal: &Wal) -> Result<bool> {
    // A second time if no more was missing than the next segment, which the step makes.
    for _ in 0..2 {
        let rotated = wal.rotate_at_once();
        wal.background_step()?;
        match rotated {
            Ok(_) => return Ok(true),
            Err(EngineError::Stalled { .. } | EngineError::FlushFails { .. }) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(false)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::EntryBuf;
    use crate::store::{Retention, Store, StoreOptions, background};
    use duramen_engine::io::Env;
    use duramen_engine::io::sim::Sim;
    use duramen_engine::wal::WriteOptions;
    use std::path::Path;
    use std::sync::mpsc;

    const CLAIM: &str = "/logs/KEEPER.next";

    /// With the threads of its log, but not the keeper's: what that does is done by the test.
    fn open(env: Env) -> Store {
        let options = StoreOptions::new().env(env).keeper(false);
        options.write_buffer_size(64 << 10).max_write_buffer_number(2).open("/logs").unwrap()
    }

    fn append_at_once(store: &Store) -> Result<()> {
        let mut entry = EntryBuf::new(["app"]);
        entry.start(1).message(&"x".repeat(10_000)).field("app", "sim");
        let at_once = WriteOptions { no_slowdown: true, ..WriteOptions::default() };
        store.append_with(entry.finish()?, at_once).map(drop)
    }

    /// Appends until no write buffer is free.
    fn fill(store: &Store) {
        while append_at_once(store).is_ok() || {
            store.shared.wal.newest().unwrap().background_step().unwrap();
            append_at_once(store).is_ok()
        } {}
    }

    /// What `work` says, which is not to wait for anybody.
    fn at_once<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        let (told, hears) = mpsc::channel();
        let working = std::thread::spawn(move || told.send(work()));
        let done = hears.recv_timeout(Duration::from_secs(60)).unwrap();
        working.join().unwrap().unwrap();
        done
    }

    fn ask(env: &Env, number: u64) {
        let file = env.fs.open(Path::new(CLAIM), OpenMode::ReadWrite).unwrap();
        file.write_all_at(&number.to_le_bytes(), 0).unwrap();
    }

    #[test]
    fn who_is_asked_to_seal_with_all_write_buffers_full_does_not_wait_for_one() {
        let sim = Sim::new(1);
        let store = open(sim.env());
        fill(&store);
        let claimant = sim.spawn_process().env();
        let _claim = claimant.fs.try_lock(Path::new(CLAIM)).unwrap().unwrap();
        ask(&claimant, 7);
        let step = || {
            let (shared, slot) = (store.shared.clone(), store.keeper.clone());
            at_once(move || background::step(&shared, &slot)).unwrap();
        };
        step();
        let wal = store.shared.wal.newest().unwrap();
        let active = wal.live_segments().last().unwrap().number();
        // As soon as there is one, what was asked is done, once.
        wal.release(wal.live_segments()[0].number());
        step();
        assert_eq!(wal.live_segments().last().unwrap().number(), active + 1);
        append_at_once(&store).unwrap();
        step();
        assert_eq!(wal.live_segments().last().unwrap().number(), active + 1);
        assert_eq!(store.incidents().messages, [""; 0]);
    }

    #[test]
    fn nor_does_who_deletes_wait_for_one_that_only_he_could_free() {
        let sim = Sim::new(2);
        let store = open(sim.env());
        fill(&store);
        let shared = store.shared.clone();
        assert!(!at_once(move || try_to_seal(shared.wal.newest().unwrap())).unwrap());
        // Lines that come while it is looked for those to delete fill them, too.
        let mut looks = 0;
        let found = store.delete(
            i64::MIN..=i64::MAX,
            &mut |block| {
                looks += 1;
                if looks < 5 {
                    fill(&store);
                }
                Ok(vec![true; block.rows()])
            },
            &|| false,
        );
        let report = found.unwrap().unwrap();
        assert_eq!(report.unsealed_lines, 0, "{report:?}");
        assert!(report.lines > 0, "{report:?}");
    }

    #[test]
    fn nobody_seals_for_what_an_earlier_claimant_asked() {
        let sim = Sim::new(3);
        let store = open(sim.env());
        append_at_once(&store).unwrap();
        let claimant = sim.spawn_process().env();
        drop(claimant.fs.try_lock(Path::new(CLAIM)).unwrap().unwrap());
        ask(&claimant, 7);
        let other = open(claimant.clone());
        other.set_retention(&Retention { max_bytes: Some(1 << 30), ..Retention::default() }).unwrap();
        let _claim = claimant.fs.try_lock(Path::new(CLAIM)).unwrap().unwrap();
        background::step(&store.shared, &store.keeper).unwrap();
        assert_eq!(store.shared.wal.newest().unwrap().live_segments().len(), 1);
    }
}
