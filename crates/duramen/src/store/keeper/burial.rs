//! What a dead writer left: recovered, flushed, and what is damaged or not ours kept apart.

use super::{Job, Keeper, list};
use crate::error::Result;
use duramen_engine::Error as EngineError;
use duramen_engine::io::Lock;
use duramen_engine::wal::{self, RecoveredSegment, WalRecoveryMode, WriterDir};
use std::io::ErrorKind;

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
}
