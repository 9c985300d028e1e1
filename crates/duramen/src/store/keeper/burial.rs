//! What a dead writer left: recovered, flushed, and what is damaged or not ours kept apart.

use super::{Job, Keeper, list};
use crate::error::Result;
use duramen_engine::Error as EngineError;
use duramen_engine::io::{Fs, Lock, OpenMode};
use duramen_engine::wal::{self, RecoveredSegment, WalRecoveryMode, WriterDir};
use std::io::ErrorKind;
use std::path::Path;

impl Keeper {
    /// Recovers what a dead writer left, and removes its directory.
    pub(super) fn bury(&mut self, writer: &WriterDir, lock: Box<dyn Lock>) -> Result<()> {
        let flushed = self.flushed_through(writer.writer_id);
        self.watched.retain(|(id, _), _| *id != writer.writer_id);
        let recover =
            |mode| wal::recover_unflushed(&self.shared.env, &writer.path, mode, &|number| number <= flushed);
        // What a loss of power took ends what is offered, so that it is the store as it once was. Where bytes
        // that were on the device are damaged, every line that is whole is worth more than that.
        let mut recovered = recover(WalRecoveryMode::PointInTime)?;
        if recovered.damage.iter().any(|damage| damage.proven) {
            recovered = recover(WalRecoveryMode::SkipAnyCorrupted)?;
        }
        for damage in &recovered.damage {
            self.shared.incident(format!(
                "{} is damaged at byte {}: {}; it was moved to quarantine, and what could be read is in the store",
                damage.path.display(),
                damage.offset,
                damage.detail
            ));
        }
        for damage in &recovered.damage {
            self.preserve(writer.writer_id, &damage.path)?;
        }
        for set_aside in &recovered.set_aside {
            self.shared.incident(format!(
                "{} follows a gap that a loss of power left; it was moved to quarantine",
                set_aside.path.display()
            ));
            self.preserve(writer.writer_id, &set_aside.path)?;
        }
        let taken = self.taken_before(writer.writer_id, &recovered.segments)?;
        for path in &taken {
            self.shared.incident(format!(
                "{} came back after its lines were put into tables; it was moved to quarantine",
                path.display()
            ));
            self.preserve(writer.writer_id, path)?;
        }
        let is_new = |s: &&RecoveredSegment| s.reader.path().is_none_or(|path| !taken.contains(path));
        let job = |s: &RecoveredSegment| Job { reader: s.reader.clone(), damaged: s.damaged };
        let jobs = recovered.segments.iter().filter(is_new).map(job).collect();
        // What follows the gap counts as flushed from the moment on at which what precedes it does: were it found alone
        // later, nothing would show any more that there was a gap.
        let set_aside = recovered.set_aside.iter().map(|segment| segment.number).max();
        self.flush(writer.writer_id, jobs, set_aside)?;
        self.remove_writer_dir(writer, lock)
    }

    /// Removes a dead writer's directory with what is left in it: the lock, and segments that hold nothing.
    fn remove_writer_dir(&self, writer: &WriterDir, lock: Box<dyn Lock>) -> Result<()> {
        let env = &self.shared.env;
        for entry in list(env, &writer.path)? {
            let path = writer.path.join(&entry.name);
            if entry.name == "LOCK" || entry.name.ends_with(".wal") {
                self.remove(&path)?;
            } else {
                self.shared.incident(format!("{} is not ours; it was moved to quarantine", path.display()));
                self.set_apart(writer.writer_id, &path)?;
            }
        }
        let removed = match env.fs.remove_dir(&writer.path) {
            // Somebody who does not know it is being removed made something in it: the next step looks again.
            Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
            other => Ok(other.map_err(EngineError::io("remove", &writer.path))?),
        };
        drop(lock);
        removed
    }

    /// Moves what is not ours out of a directory that has to go.
    fn set_apart(&self, writer: u64, path: &Path) -> Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let to = self.free_in_quarantine(&format!("{writer:016x}-{name}"))?;
        let moved = self.shared.env.fs.rename(path, &to);
        moved.map_err(EngineError::io("move to quarantine", path))?;
        self.sync_quarantine()
    }

    /// Gives a damaged file a second name in quarantine, for a person to look at, before its first is removed.
    pub(super) fn preserve(&self, writer: u64, path: &Path) -> Result<()> {
        let fs = &*self.shared.env.fs;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{writer:016x}-{name}");
        let dir = self.shared.layout.quarantine();
        fs.create_dir_all(&dir).map_err(EngineError::io("create", &dir))?;
        let mut to = dir.join(&name);
        let mut nth = 2;
        loop {
            match is_same(fs, path, &to) {
                // Kept before, as by a keeper that did not come further.
                Ok(true) => return self.sync_quarantine(),
                // Or it is gone since it was listed.
                Err(e) if e.is_not_found() => break,
                // What has its name there is something else, and is kept, too.
                Ok(false) => to = dir.join(format!("{name}.{nth}")),
                Err(_) => {
                    to = self.free_in_quarantine(&name)?;
                    break;
                }
            }
            nth += 1;
        }
        match fs.hard_link(path, &to) {
            Err(e) if matches!(e.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => {}
            // A file system without links: then the name moves, and what could be read of it with it.
            Err(e) if matches!(e.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) => {
                fs.rename(path, &to).map_err(EngineError::io("move to quarantine", path))?;
            }
            other => other.map_err(EngineError::io("link into quarantine", path))?,
        }
        self.sync_quarantine()
    }
}

/// Whether two files have the same bytes.
///
/// # Errors
/// What the file system said; not found, if one of them is not there.
fn is_same(fs: &dyn Fs, one: &Path, other: &Path) -> Result<bool> {
    let open = |path: &Path| fs.open(path, OpenMode::Read).map_err(EngineError::io("open", path));
    let (one_file, other_file) = (open(one)?, open(other)?);
    let len = one_file.len().map_err(EngineError::io("measure", one))?;
    if len != other_file.len().map_err(EngineError::io("measure", other))? {
        return Ok(false);
    }
    let (mut of_one, mut of_other) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut at = 0;
    while at < len {
        let piece = usize::try_from(len - at).map_or(of_one.len(), |left| left.min(of_one.len()));
        one_file.read_exact_at(&mut of_one[..piece], at).map_err(EngineError::io("read", one))?;
        other_file.read_exact_at(&mut of_other[..piece], at).map_err(EngineError::io("read", other))?;
        if of_one[..piece] != of_other[..piece] {
            return Ok(false);
        }
        at += piece as u64;
    }
    Ok(true)
}
