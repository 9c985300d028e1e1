//! A store on a simulated machine, together with what is known of it.

use super::history::{History, Write};
use super::{Map, Setup, Store, contents, now};
use duramen_engine::io::sim::{Fault, Sim};
use duramen_engine::kv::{Durability, ReadOptions, Snapshot, WriteBatch, WriteOptions};
use duramen_engine::{Error, Result};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub const DIR: &str = "stores/main";

/// A checkpoint that was asked for.
#[derive(Debug)]
pub struct Checkpoint {
    pub dir: PathBuf,
    pub map: Arc<Map>,
    /// Whether it was made.
    pub done: bool,
}

#[derive(Debug)]
pub struct Driver {
    pub sim: Sim,
    pub setup: Setup,
    /// The store's own durability.
    pub durability: Durability,
    pub store: Option<Store>,
    pub history: History,
    pub snapshots: Vec<(Snapshot, Arc<Map>)>,
    pub checkpoints: Vec<Checkpoint>,
    /// Whether a write has failed such that no other may succeed until the store is opened again.
    pub poisoned: bool,
    /// A fault that is to strike, also in a later life of the process.
    pub armed: Option<(u64, Fault)>,
    /// What it was doing, for messages.
    pub context: String,
}

impl Driver {
    pub fn new(seed: u64, setup: &Setup, durability: Durability) -> Self {
        Self {
            sim: Sim::new(seed),
            setup: setup.with_durability(setup.possible(durability)),
            durability: setup.possible(durability),
            store: None,
            history: History::default(),
            snapshots: vec![],
            checkpoints: vec![],
            poisoned: false,
            armed: None,
            context: format!("{}, {durability:?}", setup.name()),
        }
    }

    pub fn arm(&mut self, index: u64, fault: Fault) {
        self.armed = Some((index, fault));
        self.sim.fail_at(index, fault);
    }

    pub fn store(&self) -> &Store {
        self.store.as_ref().expect("it is open")
    }

    /// Opens the store, and checks that what it holds may have survived.
    pub fn open(&mut self, after_power_loss: bool) -> Result<()> {
        let store = self.setup.open(self.sim.env(), DIR)?;
        let seen = now(&*store)?;
        self.store = Some(store);
        self.poisoned = false;
        if let Err(error) = self.history.reopened(&seen, after_power_loss) {
            // When one is repeated, somebody wants to know how it came to that.
            if std::env::var_os("DURAMEN_KV_SEED").is_some() {
                (0..).zip(self.sim.trace()).for_each(|(index, line)| eprintln!("{index} {line}"));
            }
            panic!("{}: {error}", self.context);
        }
        Ok(())
    }

    /// Closes it, whether or not that fails.
    pub fn close(&mut self) -> Result<()> {
        self.snapshots.clear();
        let Some(store) = self.store.take() else { return Ok(()) };
        let closed = store.close();
        if closed.is_ok() {
            self.history.survives_power();
        }
        closed
    }

    /// The process ends, as by `kill -9`.
    pub fn kill(&mut self) {
        self.sim.crash_process();
        self.after_crash();
    }

    pub fn lose_power(&mut self, keep_percent: Option<u8>) {
        match keep_percent {
            Some(percent) => self.sim.crash_power_keeping(percent),
            None => self.sim.crash_power(),
        }
        self.after_crash();
    }

    fn after_crash(&mut self) {
        self.snapshots.clear();
        drop(self.store.take());
        // A crash disarms what has not struck.
        if let Some((index, fault)) = self.armed.filter(|(index, _)| *index >= self.sim.operations()) {
            self.sim.fail_at(index, fault);
        }
    }

    /// Does one write alone or several as a batch.
    pub fn write(&mut self, writes: &[Write], durability: Option<Durability>) -> Result<()> {
        let durability = durability.map(|durability| self.setup.possible(durability));
        let options = WriteOptions { durability, ..WriteOptions::default() };
        let map = self.history.after(writes);
        let store = self.store();
        let outcome = match writes {
            [Write::Put(key, value)] => store.put_with(key, value, options),
            [Write::Delete(key)] => store.delete_with(key, options),
            [Write::DeleteRange(start, end)] if durability.is_none() => store.delete_range(start, end),
            _ => {
                let mut batch = WriteBatch::new();
                for write in writes {
                    match write {
                        Write::Put(key, value) => batch.put(key, value)?,
                        Write::Delete(key) => batch.delete(key)?,
                        Write::DeleteRange(start, end) => batch.delete_range(start, end)?,
                    }
                }
                store.write(&batch, options)
            }
        };
        if writes.iter().all(|write| matches!(write, Write::DeleteRange(start, end) if start >= end)) {
            return outcome; // nothing was done, so nothing was synced
        }
        self.settle(outcome, map, durability.unwrap_or(self.durability))
    }

    /// Ingests entries, as if they were written.
    pub fn ingest(&mut self, entries: &Map) -> Result<()> {
        let writes: Vec<Write> =
            entries.iter().map(|(key, value)| Write::Put(key.clone(), value.clone())).collect();
        let map = self.history.after(&writes);
        let mut run = entries.iter().map(|(key, value)| Ok((key.clone(), value.clone())));
        let outcome = self.store().ingest(&mut run);
        if let Ok(count) = outcome {
            assert_eq!(count, entries.len() as u64, "{}", self.context);
        }
        if entries.is_empty() {
            return outcome.map(|_| ()); // nothing was done, so nothing was synced
        }
        self.settle(outcome.map(|_| ()), map, Durability::Sync)
    }

    /// Takes the outcome of what, if it is done, leads to `map`.
    fn settle(&mut self, outcome: Result<()>, map: Arc<Map>, durability: Durability) -> Result<()> {
        match &outcome {
            Ok(()) => {
                assert!(!self.poisoned, "{}: a write succeeds after one failed", self.context);
                self.history.done(map);
                if self.setup.survives_process(durability) {
                    self.history.survives_process();
                }
                match durability {
                    Durability::Sync => self.history.survives_power(),
                    Durability::IntervalMs(_) => self.history.survives_power_soon(),
                    Durability::None | Durability::Process => {}
                }
            }
            Err(Error::Io { operation, .. }) => {
                // A failed write or sync of its bytes leaves nobody knowing what is there.
                // But tables that were never adopted, and segments that were never used, harm nothing.
                let unused = matches!(self.store(), Store::Lsm(lsm) if lsm.poisoned().is_none());
                self.poisoned |= matches!(*operation, "write" | "sync") && !unused;
                let seen = if self.sim.is_halted() { None } else { now(&**self.store()).ok() };
                match seen {
                    Some(seen) if seen == **self.history.now() => self.history.may_have_done(map),
                    Some(seen) => {
                        assert!(
                            seen == *map,
                            "{}: a write that failed has done something else",
                            self.context
                        );
                        self.history.done(map);
                    }
                    None => self.history.may_have_done(map),
                }
            }
            // Nothing was done. What an earlier failure may have done, it may still have.
            Err(_) => {}
        }
        outcome
    }

    pub fn flush(&mut self) -> Result<()> {
        let flushed = self.store().flush();
        if flushed.is_ok() {
            self.history.survives_power();
        }
        flushed
    }

    pub fn checkpoint(&mut self, dir: &str) -> Result<()> {
        let map = Arc::clone(self.history.now());
        self.checkpoints.push(Checkpoint { dir: dir.into(), map, done: false });
        self.store().checkpoint(dir.as_ref())?;
        self.checkpoints.last_mut().unwrap().done = true;
        Ok(())
    }

    pub fn snapshot(&mut self) {
        let snapshot = self.store().snapshot();
        self.snapshots.push((snapshot, Arc::clone(self.history.now())));
    }

    /// Lets time pass and the background work until it has nothing to do.
    pub fn background(&mut self) -> Result<()> {
        self.sim.clock().advance(Duration::from_millis(100));
        let mut steps = 0;
        while self.store().background_step()? {
            steps += 1;
            assert!(steps < 1000, "{}: the background never ends", self.context);
        }
        self.history.time_has_passed();
        Ok(())
    }

    /// Reads everything as it is now and as all snapshots have it. Reading may fail, but never give a wrong answer.
    pub fn read(&self) -> Result<()> {
        let expected = self.history.now();
        assert!(now(&**self.store())? == **expected, "{}: wrong contents", self.context);
        for (key, value) in expected.iter().step_by(7) {
            let found = self.store().get(key)?;
            assert_eq!(found.as_deref(), Some(value.as_slice()), "{}: {}", self.context, key.escape_ascii());
        }
        for (snapshot, then) in &self.snapshots {
            let options = ReadOptions { snapshot: Some(snapshot.clone()), reverse: true, fill_cache: false };
            assert!(contents(&**self.store(), &options)? == **then, "{}: wrong snapshot", self.context);
        }
        Ok(())
    }

    /// After a crash: opens what there is, checks it, and that it goes on.
    pub fn verify(&mut self, after_power_loss: bool) {
        let context = self.context.clone();
        self.armed = None;
        self.open(after_power_loss).unwrap_or_else(|e| panic!("{context}: does not open: {e}"));
        for checkpoint in std::mem::take(&mut self.checkpoints) {
            let env = self.sim.env();
            let exists = env.fs.exists(&checkpoint.dir).unwrap();
            assert!(exists || !checkpoint.done, "{context}: the checkpoint is gone");
            if exists {
                let copy = self.setup.open(env, &checkpoint.dir);
                let copy = copy.unwrap_or_else(|e| panic!("{context}: the checkpoint does not open: {e}"));
                assert!(now(&*copy).unwrap() == *checkpoint.map, "{context}: the checkpoint is wrong");
            }
        }
        self.go_on().unwrap_or_else(|e| panic!("{context}: does not go on: {e}"));
        self.close().unwrap_or_else(|e| panic!("{context}: does not close: {e}"));
        self.open(false).unwrap_or_else(|e| panic!("{context}: does not open again: {e}"));
        self.read().unwrap();
    }

    fn go_on(&mut self) -> Result<()> {
        self.read()?;
        self.write(&[Write::Put(b"zz1".into(), vec![1; 500]), Write::Delete(b"k1".into())], None)?;
        self.background()?;
        self.read()?;
        self.flush()?;
        let keeps_files = self.setup.survives_process(Durability::Process);
        let durability = keeps_files.then_some(Durability::Sync);
        self.write(&[Write::Put(b"zz2".into(), vec![2])], durability)?;
        self.store().compact()?;
        self.read()
    }
}
