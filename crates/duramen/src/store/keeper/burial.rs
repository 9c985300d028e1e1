//! What dead writers left: recovered, flushed, and what is damaged or not ours kept apart.
//!
//! Programs that do one thing and end leave a segment each, of a few lines, and there may be thousands. So what many have left
//! goes into tables together: it is synced together, and one manifest edit says of all that they are flushed. Where a process may
//! have few files open, as many as that allows.

use super::{FLUSH_GROUP_BYTES, Job, Keeper, list};
use crate::error::{Error, Result};
use duramen_engine::Error as EngineError;
use duramen_engine::io::Lock;
use duramen_engine::wal::{self, RecoveredSegment, WalRecoveryMode, WriterDir};
use std::io::ErrorKind;

/// So many writers are buried together: each takes a descriptor until it is.
pub(super) const MOST_TOGETHER: usize = 64;

/// What a dead writer left, to be flushed.
pub(super) struct Left {
    writer: WriterDir,
    lock: Box<dyn Lock>,
    jobs: Vec<Job>,
    /// Without these, the number of the last segment, which is not offered.
    passed_over: Option<u64>,
}

impl Left {
    fn passed_over(&self) -> Option<(u64, u64)> {
        Some((self.writer.writer_id, self.passed_over?))
    }
}

/// Dead writers, and what they left.
#[derive(Default)]
pub(super) struct Dead {
    left: Vec<Left>,
    bytes: u64,
}

impl Dead {
    pub(super) fn add(&mut self, left: Left) {
        self.bytes += left.jobs.iter().map(|job| job.reader.committed()).sum::<u64>();
        self.left.push(left);
    }

    fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Whether they are to be buried before another is looked at.
    fn are_enough(&self, most_together: usize) -> bool {
        self.left.len() >= most_together || self.bytes >= FLUSH_GROUP_BYTES
    }
}

impl Keeper {
    /// Flushes what writers have sealed that live, and buries those that are dead. What became of that.
    pub(super) fn serve_all(&mut self, writers: &[WriterDir]) -> Vec<Result<()>> {
        let (mut became, mut dead) = (Vec::new(), Dead::default());
        for writer in writers {
            let mut served = self.serve(writer, &mut dead);
            if served.as_ref().is_err_and(Error::is_out_of_descriptors)
                && (self.tables.close_all() | !dead.is_empty())
            {
                // Those that were found have them.
                became.extend(self.bury(std::mem::take(&mut dead)));
                served = self.serve(writer, &mut dead);
            }
            became.push(served);
            if dead.are_enough(self.most_together) {
                became.extend(self.bury(std::mem::take(&mut dead)));
            }
        }
        became.extend(self.bury(dead));
        became
    }

    /// Puts what dead writers left into tables, all together, and removes their directories. What became of that, of one or
    /// more: where it is not to be done together, each is tried alone, so that none keeps the others from it.
    fn bury(&mut self, dead: Dead) -> Vec<Result<()>> {
        let left = dead.left;
        let jobs = left.iter().flat_map(|left| left.jobs.iter().cloned()).collect();
        let together = self.flush(jobs, left.iter().filter_map(Left::passed_over).collect());
        let together = match together {
            // Where nobody knows what the manifest says, nothing may be done to tables.
            Err(e) if e.is_out_of_descriptors() && !self.manifest.is_poisoned() => {
                return self.bury_fewer(left, e);
            }
            Err(e) if left.len() == 1 => return vec![Err(e)],
            other => other,
        };
        let mut bury = |mut left: Left| {
            let passed_over = left.passed_over();
            if together.is_err() {
                self.leave_out_flushed(&mut left);
                self.flush(left.jobs, passed_over.into_iter().collect())?;
            }
            self.remove_writer_dir(&left.writer, left.lock)
        };
        left.into_iter().map(&mut bury).collect()
    }

    /// Of those that were to be flushed together, a group may be in tables.
    fn leave_out_flushed(&self, left: &mut Left) {
        let flushed = self.flushed_through(left.writer.writer_id);
        left.jobs.retain(|job| job.reader.number() > flushed);
    }

    /// Buries half of them with the descriptors of the others, and then these, which are looked for again. One alone has those
    /// of tables that are only kept open.
    fn bury_fewer(&mut self, mut left: Vec<Left>, error: Error) -> Vec<Result<()>> {
        let closed = self.tables.close_all();
        let fewer = if closed && left.len() == 1 { 1 } else { left.len() / 2 };
        let others: Vec<WriterDir> = left.drain(fewer..).map(|left| left.writer).collect();
        // A table may have been written, but for what makes it durable: its number is needed again.
        if let Err(e) = self.find_unflushed() {
            return vec![Err(e)];
        }
        if fewer == 0 {
            return vec![Err(error)];
        }
        self.most_together = fewer;
        let mut first = Dead::default();
        for mut left in left {
            self.leave_out_flushed(&mut left);
            first.add(left);
        }
        let mut became = self.bury(first);
        became.extend(self.serve_all(&others));
        became
    }

    /// Recovers what a dead writer left.
    pub(super) fn find_left(&mut self, writer: &WriterDir, lock: Box<dyn Lock>) -> Result<Left> {
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
        let job = |s: &RecoveredSegment| {
            let (writer, through) = (writer.writer_id, s.reader.number());
            Job { writer, reader: s.reader.clone(), damaged: s.damaged, through }
        };
        let mut jobs: Vec<Job> = recovered.segments.iter().filter(is_new).map(job).collect();
        // What follows the gap counts as flushed from the moment on at which what precedes it does: were it found alone
        // later, nothing would show any more that there was a gap.
        let mut passed_over = recovered.set_aside.iter().map(|segment| segment.number).max();
        if let Some(last) = jobs.last_mut() {
            last.through = last.through.max(passed_over.take().unwrap_or(0));
        }
        Ok(Left { writer: writer.clone(), lock, jobs, passed_over })
    }

    /// Removes a dead writer's directory with what is left in it: the lock, and segments that hold nothing. What only has a
    /// segment's name, and is no file, is not ours.
    fn remove_writer_dir(&self, writer: &WriterDir, lock: Box<dyn Lock>) -> Result<()> {
        let env = &self.shared.env;
        for entry in list(env, &writer.path)? {
            let path = writer.path.join(&entry.name);
            if entry.name == "LOCK" || entry.is_file && entry.name.ends_with(".wal") {
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
