//! The manifest is whole: each table that it names is read, and what is damaged is replaced in one edit.

use super::salvage::meta_of;
use super::{Repair, missing};
use crate::lsm::paths;
use crate::lsm::version::TableFacts;
use crate::manifest::{Edit, State};
use crate::wal;
use crate::{Error, Result};

impl Repair<'_> {
    /// Replaces the damaged tables of a state.
    pub(super) fn tables(&mut self, state: &State) -> Result<()> {
        let mut edit = Edit::default();
        let mut next = self.free_table_number(state.next_table)?;
        for meta in state.tables.values() {
            let path = self.dir.join(&meta.path);
            if !self.env.fs.exists(&path).map_err(Error::io("look for", &path))? {
                self.lost([missing(&path, meta)]);
                self.did(format!("{} is taken out of the manifest", path.display()));
                edit.remove_tables.push(meta.number);
                continue;
            }
            let salvaged = self.salvage(&path, Some(meta), next)?;
            if salvaged.is_whole() {
                continue;
            }
            if !self.dry_run {
                self.quarantine.keep(&path)?;
            }
            let facts = TableFacts::decode(&meta.user).unwrap_or_default();
            edit.remove_tables.push(meta.number);
            match &salvaged.new {
                Some(new) => {
                    let (path, entries) = (path.display(), new.summary.entries);
                    let level = facts.level;
                    self.did(format!(
                        "{path}: {entries} of {} entries are written anew, as table {} of level {level}",
                        meta.entries, new.number
                    ));
                    edit.add_tables.push(meta_of(new, &facts));
                    next += 1;
                }
                None => {
                    let why = if salvaged.findings.is_another {
                        "it is another table"
                    } else {
                        "nothing of it can be read"
                    };
                    self.did(format!("{} is taken out of the manifest: {why}", path.display()));
                }
            }
            self.lost(salvaged.findings.damage);
        }
        if !self.report.lost.is_empty() {
            self.keep_flushed_segments(state)?;
        }
        if self.dry_run || edit == Edit::default() {
            return Ok(());
        }
        self.manifest()?.apply(edit)?;
        let kept = self.quarantine.let_go()?;
        self.report.quarantined.extend(kept);
        Ok(())
    }

    /// The next opening would remove the segments that are in tables. While some are still there, they may have what
    /// the tables have lost: no program puts it back, but somebody may want to look.
    fn keep_flushed_segments(&mut self, state: &State) -> Result<()> {
        for writer in wal::writers(self.env, &self.dir.join(paths::WAL))? {
            let through = state.writers.get(&writer.writer_id).copied().unwrap_or(0);
            let segments = wal::segments(self.env, &writer.path)?;
            for segment in segments.into_iter().filter(|segment| segment.number <= through) {
                let path = segment.path.display();
                self.did(format!("{path} is put aside: it may hold some of what is lost (dump it)"));
                if !self.dry_run {
                    let kept = self.quarantine.put_aside(&segment.path)?;
                    self.report.quarantined.push(kept);
                }
            }
        }
        Ok(())
    }
}
