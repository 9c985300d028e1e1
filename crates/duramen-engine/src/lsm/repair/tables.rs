//! The manifest is whole: each table that it names is read, and what is damaged is replaced in one edit.

use super::elsewhere::Found;
use super::salvage::meta_of;
use super::{Repair, missing};
use crate::lsm::paths;
use crate::lsm::verify::TableFindings;
use crate::lsm::version::TableFacts;
use crate::manifest::{Edit, State};
use crate::wal;
use crate::{Error, Result};
use std::collections::BTreeSet;
use std::path::PathBuf;

impl Repair<'_> {
    /// Replaces the damaged tables of a state.
    pub(super) fn tables(&mut self, state: &State) -> Result<()> {
        let mut edit = Edit::default();
        let mut next = self.free_table_number(state.next_table)?;
        // Names that files lose which have one of their own again, and those that are no table's any more.
        let mut wrong = BTreeSet::new();
        let mut displaced = BTreeSet::new();
        for meta in state.tables.values() {
            let named = self.dir.join(&meta.path);
            let findings = if self.is_there(meta)? { Some(self.check(&named, Some(meta))?) } else { None };
            if findings.as_ref().is_some_and(|findings| findings.damage.is_empty()) {
                continue;
            }
            let (found, stays) = self.usable(state, meta)?;
            if findings.is_some() {
                displaced.insert(named.clone());
            }
            if let Some(file) = found.whole.first() {
                let path = file.display();
                self.did(format!("{path} is table {}: it is put back, as table {next}", meta.number));
                edit.remove_tables.push(meta.number);
                edit.add_tables.push(self.put_back(file, meta, next)?);
                next += 1;
                wrong.extend(found.whole);
                continue;
            }
            match &stays {
                Some((file, why)) if findings.is_none() => self.stays(file, meta, why),
                Some((file, why)) => {
                    let (file, number) = (file.display(), meta.number);
                    let what = "stays there: it may have been replaced since";
                    self.did(format!("{file}, table {number}, {what}, {why}"));
                }
                None => {}
            }
            let Some((path, findings)) = best_of(named.clone(), findings, found) else {
                if stays.is_none() {
                    self.lost([missing(&named, meta)]);
                }
                self.did(format!("{} is taken out of the manifest", named.display()));
                edit.remove_tables.push(meta.number);
                continue;
            };
            if !self.quarantine.is_in(&path) {
                displaced.insert(path.clone());
            }
            let salvaged = self.salvage_found(&path, findings, Some(meta), next)?;
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
        for path in displaced.iter().filter(|path| !wrong.contains(*path)) {
            self.quarantine.keep(path)?;
        }
        let now = self.manifest()?.apply(edit)?;
        let is_live = |path: &PathBuf| now.tables.values().any(|meta| self.dir.join(&meta.path) == *path);
        for path in wrong.iter().filter(|path| !is_live(path)) {
            self.env.fs.remove_file(path).map_err(Error::io("remove", path))?;
        }
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

/// Of the damaged files of a table that of which most can be read, as it was found: where the manifest says it is, if that is as good
/// as others. Deleted ranges count before entries: without them, what they hid is seen again.
fn best_of(
    named: PathBuf,
    findings: Option<TableFindings>,
    found: Found,
) -> Option<(PathBuf, TableFindings)> {
    let worth = |findings: &TableFindings| match findings.is_another {
        true => None,
        false => Some((findings.range_deletes.len(), findings.entries)),
    };
    let in_place = findings.map(|findings| (named, findings));
    in_place
        .into_iter()
        .chain(found.damaged)
        .reduce(|best, other| if worth(&other.1) > worth(&best.1) { other } else { best })
}
