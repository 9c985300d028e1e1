//! Every record of every WAL segment that is in no table yet.

use super::Check;
use crate::Result;
use crate::kv::{Damage, Ops, is_live};
use crate::lsm::opening::Opening;
use crate::lsm::paths;
use crate::lsm::write::{KIND_BATCH, KIND_INGEST};
use crate::manifest::{ManifestReader, State};
use crate::wal::{self, Record, SegmentReader, WalRecoveryMode, WriterDir};
use std::path::Path;

/// The name of the lock in a writer's directory.
const WRITER_LOCK: &str = "LOCK";

/// What a recovery has found, as a verification and a repair tell it.
pub(in crate::lsm) fn of_log(damage: wal::Damage) -> Damage {
    Damage {
        path: damage.path,
        offset: (damage.number != 0).then_some(damage.offset),
        bytes: None,
        keys: None,
        entries: None,
        detail: damage.detail,
    }
}

/// Whether a record is what an LSM tree writes.
pub(in crate::lsm) fn is_batch(record: &Record<'_>) -> bool {
    match record.kind {
        KIND_BATCH => {
            let sound = Ops::new(record.payload).take_while(|(_, op)| op.is_within_limits());
            sound.count() as u64 == u64::from(record.count)
        }
        KIND_INGEST => record.payload.is_empty() && record.count == 1,
        _ => false,
    }
}

impl Check<'_> {
    /// Checks what of the log is in no table yet.
    pub(super) fn log(
        &mut self,
        state: Option<&State>,
        opening: Option<Opening>,
        writers: &[WriterDir],
    ) -> Result<()> {
        let mut missing = match opening {
            Some(opening) => opening.without_dir(self.env, self.dir)?,
            None => None,
        };
        for writer in writers {
            let flushed = state.and_then(|state| state.writers.get(&writer.writer_id).copied());
            let lost = self.writer(writer, flushed.unwrap_or(0), opening)?;
            missing = missing.or(lost);
        }
        let Some(damage) = missing else { return Ok(()) };
        // Who has opened or closed the store meanwhile has removed it. A file goes only after an edit.
        let is_used = is_live(self.env, &self.dir.join(paths::LOCK))?;
        let now = ManifestReader::open(self.env, self.dir)?;
        if !is_used && opening == Opening::known(&now) {
            self.report.damage.push(of_log(damage));
        }
        Ok(())
    }

    /// Checks the segments of a writer that are not in tables: those above `flushed`. Gives what tells that the last is not
    /// there.
    fn writer(
        &mut self,
        writer: &WriterDir,
        flushed: u64,
        opening: Option<Opening>,
    ) -> Result<Option<wal::Damage>> {
        if is_live(self.env, &writer.path.join(WRITER_LOCK))? {
            self.living_writer(writer, flushed)?;
            return Ok(None);
        }
        let mode = WalRecoveryMode::SkipAnyCorrupted;
        let found = wal::recover_unflushed(self.env, &writer.path, mode, &|number| number <= flushed)?;
        let lost = opening.and_then(|opening| opening.without_segment(self.env, self.dir, &found));
        self.report.damage.extend(found.damage.into_iter().map(of_log));
        for aside in found.set_aside {
            let detail = "none of its records can be told to follow the others".to_owned();
            self.report.damage.push(Damage { detail, ..super::whole_file(&aside.path) });
        }
        if found.torn_bytes > 0 {
            let (bytes, dir) = (found.torn_bytes, writer.path.display());
            self.report.notes.push(format!("{dir} ends in {bytes} bytes of a write that a crash cut off"));
        }
        for segment in &found.segments {
            let path = segment.reader.path().unwrap_or(&writer.path);
            for record in segment.records() {
                self.record(path, &record);
            }
        }
        for segment in wal::segments(self.env, &writer.path)? {
            self.report.files += 1;
            self.report.bytes += segment.len;
            self.advance(segment.len);
        }
        Ok(lost)
    }

    /// Reads what a writer that lives has written so far.
    fn living_writer(&mut self, writer: &WriterDir, flushed: u64) -> Result<()> {
        for segment in wal::segments(self.env, &writer.path)?.into_iter().filter(|s| s.number > flushed) {
            self.report.files += 1;
            let reader = match SegmentReader::open(self.env, &segment.path) {
                Ok(Some(reader)) => reader,
                Ok(None) => continue,
                // Flushed meanwhile.
                Err(e) if e.is_not_found() => continue,
                Err(e) if e.is_corruption() => {
                    self.report.damage.push(Damage::of_error(&segment.path, &e));
                    continue;
                }
                Err(e) => return Err(e),
            };
            let mut at = reader.start();
            loop {
                match reader.next_record(at) {
                    Ok(Some((record, next))) => {
                        self.record(&segment.path, &record);
                        at = next;
                    }
                    Ok(None) => break,
                    Err(e) => {
                        self.report.damage.push(Damage::of_error(&segment.path, &e));
                        break;
                    }
                }
            }
            self.report.bytes += reader.committed();
            self.advance(segment.len);
        }
        Ok(())
    }

    fn record(&mut self, path: &Path, record: &Record<'_>) {
        if is_batch(record) {
            self.report.wal_writes += u64::from(record.count);
        } else {
            self.report.damage.push(Damage {
                path: path.to_path_buf(),
                offset: Some(record.offset),
                bytes: Some(record.payload.len() as u64),
                keys: None,
                entries: Some(u64::from(record.count)),
                detail: format!("the record {} is not a batch of writes", record.seq),
            });
        }
    }
}
