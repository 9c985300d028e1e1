//! What is in the WAL: every record that is whole is brought into tables.

use super::Repair;
use crate::Result;
use crate::io::Lock;
use crate::kv::{Damage, Engine};
use crate::lsm::opening::Opening;
use crate::lsm::options::{CompactionStyle, LsmOptions};
use crate::lsm::verify::{is_batch, of_log, whole_file};
use crate::lsm::{Lsm, paths};
use crate::manifest::ManifestReader;
use crate::wal::{self, Background, WalRecoveryMode};
use std::path::PathBuf;

const MODE: WalRecoveryMode = WalRecoveryMode::SkipAnyCorrupted;

impl Repair<'_> {
    /// Recovers all records that are whole, if some are not. `lock` is the store's, held until that is done: who opens it in
    /// between would find it half repaired, and its new segments would be judged with those that are left.
    pub(super) fn writers(&mut self, rebuilt: bool, lock: Option<Box<dyn Lock>>) -> Result<()> {
        // As a dry run there may be no manifest; then nothing is known to be in tables.
        let manifest = ManifestReader::open(self.env, self.dir).ok();
        let opening = manifest.as_ref().and_then(Opening::known);
        let flushed = manifest.map_or_else(Default::default, |manifest| manifest.state().writers.clone());
        let mut missing = match opening {
            Some(opening) => opening.without_dir(self.env, self.dir)?,
            None => None,
        };
        // After a manifest was made anew, all that is left in the WAL goes to tables: it alone says in which order.
        let mut damaged = rebuilt;
        for writer in wal::writers(self.env, &self.dir.join(paths::WAL))? {
            let through = flushed.get(&writer.writer_id).copied().unwrap_or(0);
            let found = wal::recover_unflushed(self.env, &writer.path, MODE, &|number| number <= through)?;
            damaged |= !found.damage.is_empty() || !found.set_aside.is_empty();
            let lost = opening.and_then(|opening| opening.without_segment(self.env, self.dir, &found));
            missing = missing.or(lost);
            self.report.lost.extend(found.damage.into_iter().map(of_log));
            for aside in found.set_aside {
                let detail = "none of its records can be told to follow the others".to_owned();
                self.report.lost.push(Damage { detail, ..whole_file(&aside.path) });
            }
            for segment in &found.segments {
                let mut writes = 0;
                let mut wrong = 0;
                for record in segment.records() {
                    writes += u64::from(record.count);
                    wrong += u64::from(!is_batch(&record));
                }
                if wrong > 0 {
                    let path = segment.reader.path().map(PathBuf::from).unwrap_or_default();
                    damaged = true;
                    self.did(format!(
                        "{} is put aside: {wrong} records are no batches of writes",
                        path.display()
                    ));
                    let detail = format!("{wrong} records are no batches of writes");
                    self.report.lost.push(Damage { entries: Some(writes), detail, ..whole_file(&path) });
                    if !self.dry_run {
                        let kept = self.quarantine.put_aside(&path)?;
                        self.report.quarantined.push(kept);
                    }
                }
            }
        }
        damaged |= missing.is_some();
        self.report.lost.extend(missing.map(of_log));
        if !damaged {
            return Ok(());
        }
        self.did("every record of the WAL that is whole is written to tables".to_owned());
        if self.dry_run {
            return Ok(());
        }
        let options = LsmOptions {
            env: self.env.clone(),
            wal_recovery_mode: MODE,
            background: Background::Manual,
            compaction: CompactionStyle::None,
            ..LsmOptions::default()
        };
        // What is damaged is put aside by whoever flushes it.
        let before = self.quarantine.files()?;
        let store = Lsm::open_locked(self.dir, options, lock)?;
        store.flush()?;
        store.close()?;
        let after = self.quarantine.files()?;
        self.report.quarantined.extend(after.into_iter().filter(|path| !before.contains(path)));
        Ok(())
    }
}
