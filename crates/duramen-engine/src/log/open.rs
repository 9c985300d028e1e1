//! From a directory to a store.

use super::append::State;
use super::format::{HEADER_BYTES, Identity};
use super::new_file::{NewFile, remove_if_there};
use super::recover::{find, settle};
use super::{Inner, Log, LogOptions, View};
use crate::io::os::fork_generation;
use crate::io::{Env, File, Lock, OpenMode};
use crate::kv::{EngineKind, marker};
use crate::wal::Background;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The log's file name.
pub(crate) const LOG: &str = "LOG";
/// The name under which a new one is written.
pub(super) const LOG_TMP: &str = "LOG.tmp";
pub(super) const LOCK: &str = "LOCK";

/// The file in which an ingest is prepared.
pub(super) fn ingest_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("INGEST.{number}.tmp"))
}

pub(super) fn open(dir: &Path, options: LogOptions, read_only: bool) -> Result<Log> {
    let options = options.checked()?;
    let env = options.env.clone();
    marker::claim(&env, dir, EngineKind::Log, read_only)?;
    let path = dir.join(LOG);
    let (lock, opened) = if read_only {
        let file = env.fs.open(&path, OpenMode::Read).map_err(Error::io("open", &path))?;
        (None, Opened::find(&env, &path, file)?)
    } else {
        let lock = take_lock(&env, dir)?;
        // Another may have begun a store here before we had the lock.
        marker::claim(&env, dir, EngineKind::Log, true)?;
        remove_leftovers(&env, dir)?;
        (Some(lock), Opened::to_write(&env, dir, &path)?)
    };
    let Opened { file, identity, end, next_seq, synced, base_end } = opened;
    let view = View { file: Arc::clone(&file), identity, end, seq: next_seq - 1 };
    let compaction_due_at = options.compaction_due_at(base_end);
    let state =
        State { file, identity, end, next_seq, synced, sync_due: None, compaction_due_at, closed: false };
    let inner = Arc::new(Inner {
        engine_id: env.random.next_u64(),
        generation: fork_generation(),
        env,
        dir: dir.to_path_buf(),
        path,
        read_only,
        lock: Mutex::new(lock),
        state: Mutex::new(state),
        view: Mutex::new(view),
        snapshots: Arc::default(),
        work: Default::default(),
        rewriting: Mutex::default(),
        syncing: Default::default(),
        poison: Default::default(),
        ingests: Default::default(),
        syncs: Default::default(),
        compactions: Default::default(),
        compaction_failures: Default::default(),
        options,
    });
    let thread = if read_only || inner.options.background == Background::Manual {
        None
    } else {
        let inner = Arc::clone(&inner);
        let spawned = std::thread::Builder::new().name("duramen-log".into()).spawn(move || inner.run());
        Some(spawned.map_err(Error::io("start a thread for", dir))?)
    };
    Ok(Log { inner, thread: Mutex::new(thread) })
}

pub(super) fn take_lock(env: &Env, dir: &Path) -> Result<Box<dyn Lock>> {
    let path = dir.join(LOCK);
    let lock = env.fs.try_lock(&path).map_err(Error::io("lock", &path))?;
    lock.ok_or(Error::Locked { path })
}

/// Removes what a compaction or an ingest that was cut off has left.
fn remove_leftovers(env: &Env, dir: &Path) -> Result<()> {
    for entry in env.fs.read_dir(dir).map_err(Error::io("list", dir))? {
        let is_ingest = entry.name.starts_with("INGEST.") && entry.name.ends_with(".tmp");
        if entry.name == LOG_TMP || is_ingest {
            remove_if_there(env, &dir.join(entry.name))?;
        }
    }
    Ok(())
}

struct Opened {
    file: Arc<dyn File>,
    identity: Identity,
    end: u64,
    next_seq: u64,
    synced: u64,
    base_end: u64,
}

impl Opened {
    fn find(env: &Env, path: &Path, file: Arc<dyn File>) -> Result<Self> {
        let found = find(&*file, path, env.clock.boot_id())?;
        Ok(Self {
            file,
            identity: found.header.identity,
            end: found.end,
            next_seq: found.next_seq,
            synced: found.proven.min(found.end),
            base_end: found.header.base_end,
        })
    }

    fn to_write(env: &Env, dir: &Path, path: &Path) -> Result<Self> {
        let file = match env.fs.open(path, OpenMode::ReadWrite) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Self::create(env, dir, path),
            other => other.map_err(Error::io("open", path))?,
        };
        let boot = env.clock.boot_id();
        let found = find(&*file, path, boot)?;
        // The name may not be durable yet: the process before may have died right after the rename.
        env.fs.sync_dir(dir).map_err(Error::io("sync", dir))?;
        settle(&*file, path, &found, boot)?;
        let opened = Self {
            file,
            identity: found.header.identity,
            end: found.end,
            next_seq: found.next_seq,
            synced: found.end,
            base_end: found.header.base_end,
        };
        Ok(opened)
    }

    fn create(env: &Env, dir: &Path, path: &Path) -> Result<Self> {
        let identity = Identity { store_id: env.random.next_u64(), generation: 1 };
        let tmp = dir.join(LOG_TMP);
        let mut new = NewFile::create(env, tmp.clone(), identity)?;
        let base_end = HEADER_BYTES as u64;
        let end = new.finish((base_end, 0), 1, env.clock.boot_id())?;
        let file = Arc::clone(new.file());
        env.fs.rename(&tmp, path).map_err(Error::io("rename", &tmp))?;
        new.keep();
        env.fs.sync_dir(dir).map_err(Error::io("sync", dir))?;
        Ok(Self { file, identity, end, next_seq: 1, synced: end, base_end })
    }
}
