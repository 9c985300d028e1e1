//! A new writer in place of one that a failed write or sync has stopped.
//!
//! What the old one had on the device is not known, and asking again proves nothing: after a failed sync, a second one
//! may succeed though the bytes are gone. So nothing of it is used any more. Its lock falls, and the keeper does with
//! it what it does with every dead writer: reads what is there, and puts it into tables, which are synced themselves.

use super::{Store, lock};
use crate::error::{Error, Result};
use duramen_engine::Error as EngineError;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

/// Stopped writers whose lines may not be in tables yet.
#[derive(Debug, Default)]
pub(crate) struct Stopped(Mutex<Vec<StoppedWriter>>);

#[derive(Debug)]
struct StoppedWriter {
    dir: PathBuf,
    /// Lines that no sync had covered.
    lines: u64,
    reason: String,
}

impl Store {
    /// Whether a failed write or sync has stopped this process's writer.
    pub(crate) fn has_stopped(&self) -> bool {
        self.shared.wal.newest().is_some_and(|wal| wal.poisoned().is_some())
    }

    /// Begins anew as another writer, if this process's has stopped. Says how many lines the old one had acknowledged
    /// that no sync had covered; `None` if it has not stopped, or another thread was quicker.
    ///
    /// # Errors
    /// Why there is no new writer: what the file system said, that the store was closed, or is there no more. Then all
    /// is as it was before.
    pub(crate) fn renew_writer(&self) -> Result<Option<u64>> {
        self.shared.not_forked()?;
        let _one_at_a_time = lock(&self.making_wal);
        let Some(old) = self.shared.wal.newest() else { return Ok(None) };
        let Some(reason) = old.poisoned() else { return Ok(None) };
        if self.closed.load(Ordering::SeqCst) {
            return Err(EngineError::Poisoned { reason }.into());
        }
        // Were the directory gone, a new one would be made, under nobody's manifest.
        let manifest = self.shared.layout.manifest();
        if !self.shared.env.fs.exists(&manifest).map_err(EngineError::io("look for", &manifest))? {
            return Err(EngineError::Poisoned { reason }.into());
        }
        let new = self.create_wal()?;
        let lines = old.unsynced_entries();
        if let Some(dir) = old.writer_dir() {
            lock(&self.shared.stopped.0).push(StoppedWriter { dir: dir.to_path_buf(), lines, reason });
        }
        old.let_go();
        self.shared.wal.push(new);
        self.signal.wake();
        Ok(Some(lines))
    }

    /// Sees to it that the lines of stopped writers are in tables.
    ///
    /// # Errors
    /// [`Error::NotYetSafe`] if they are not, and this process cannot do it or is not the keeper; what the file system
    /// said.
    pub(super) fn sync_stopped(&self) -> Result<()> {
        if self.are_stopped_in_tables() {
            return Ok(());
        }
        self.keep()?;
        if self.are_stopped_in_tables() {
            return Ok(());
        }
        let stopped = lock(&self.shared.stopped.0);
        let reason = stopped.last().map(|writer| writer.reason.clone()).unwrap_or_default();
        Err(Error::NotYetSafe { lines: stopped.iter().map(|writer| writer.lines).sum(), reason })
    }

    /// Whether the keeper, whoever that is, has removed the directories of all stopped writers: it does that once
    /// everything in them is in tables.
    fn are_stopped_in_tables(&self) -> bool {
        let mut stopped = lock(&self.shared.stopped.0);
        // What cannot be told may be there.
        stopped.retain(|writer| !matches!(self.shared.env.fs.exists(&writer.dir), Ok(false)));
        stopped.is_empty()
    }
}
