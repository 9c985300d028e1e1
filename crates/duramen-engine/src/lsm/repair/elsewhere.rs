//! Tables that lie under another's name, as after two were swapped, or in quarantine: each has a number of its own, which the
//! manifest knows.

use super::Repair;
use super::salvage::is_foreign;
use crate::lsm::paths;
use crate::lsm::table::{Origin, origin_of};
use crate::lsm::verify::{TableFindings, check_table, table_files};
use crate::lsm::version::TableFacts;
use crate::manifest::{State, TableMeta};
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What lies elsewhere than the manifest says.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    /// The files of each table, by its own number, and those of none that the manifest knows.
    files: Option<Files>,
    /// What was found of each table that was asked for, by the manifest's.
    found: BTreeMap<u64, Found>,
}

impl Elsewhere {
    /// The files of which the manifest knows no number, of those that were listed.
    pub(super) fn strangers(&self) -> &[(PathBuf, Option<Origin>)] {
        self.files.as_ref().map_or(&[], |files| &files.strangers)
    }
}

/// All files of tables, of those in quarantine as well.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// By the table's own number; those in place first.
    by_number: BTreeMap<u64, Vec<PathBuf>>,
    /// Those of which the manifest knows no number, and what they say; `None` if that cannot be read.
    strangers: Vec<(PathBuf, Option<Origin>)>,
}

/// The files that are a table, though they have not its name.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) whole: Vec<PathBuf>,
    /// Those that are damaged, and what was found in each.
    pub(super) damaged: Vec<(PathBuf, TableFindings)>,
}

/// The number that the table itself has; `None` if it is older than those.
pub(super) fn own_number(meta: &TableMeta) -> Option<u64> {
    TableFacts::decode(&meta.user).map(|facts| facts.id).filter(|id| *id != 0)
}

impl Repair<'_> {
    /// Looks for a table elsewhere than where the manifest says it is. Each file is read whole: the first may be a damaged copy. It
    /// is an error if one cannot be read at all: what the manifest forgets, nobody finds any more.
    pub(super) fn elsewhere(&mut self, state: &State, meta: &TableMeta) -> Result<&mut Found> {
        let Some(id) = own_number(meta) else {
            return Ok(self.elsewhere.found.entry(meta.number).or_default());
        };
        if !self.elsewhere.found.contains_key(&meta.number) {
            let named = self.dir.join(&meta.path);
            let files = self.files(state)?.by_number.get(&id).cloned().unwrap_or_default();
            let mut found = Found::default();
            for path in files.into_iter().filter(|path| *path != named) {
                let Some(findings) = self.look_at(&path, meta)? else { continue };
                if findings.damage.is_empty() {
                    found.whole.push(path);
                } else if !findings.is_another {
                    found.damaged.push((path, findings));
                }
            }
            self.elsewhere.found.insert(meta.number, found);
        }
        Ok(self.elsewhere.found.entry(meta.number).or_default())
    }

    /// Reads a file that may be a table's; once more if it seems to be damaged, since much depends on that it is not.
    fn look_at(&mut self, path: &Path, meta: &TableMeta) -> Result<Option<TableFindings>> {
        let mut looked = or_no_table(check_table(self.env, path, Some(meta)))?;
        if looked.as_ref().is_some_and(|findings| !findings.damage.is_empty() && !findings.is_another) {
            let again = or_no_table(check_table(self.env, path, Some(meta)))?;
            looked = again.filter(|findings| findings.damage.is_empty()).or(looked);
        }
        self.advance(looked.as_ref().map_or(0, |findings| findings.file_bytes));
        Ok(looked)
    }

    pub(super) fn files(&mut self, state: &State) -> Result<&Files> {
        let files = match self.elsewhere.files.take() {
            Some(files) => files,
            None => self.list(state)?,
        };
        Ok(self.elsewhere.files.insert(files))
    }

    fn list(&self, state: &State) -> Result<Files> {
        let live: BTreeSet<_> = state.tables.values().map(|meta| self.dir.join(&meta.path)).collect();
        let known: BTreeSet<_> = state.tables.values().filter_map(own_number).collect();
        let is_table = |path: &PathBuf| path.to_string_lossy().contains(".sst");
        let aside = self.quarantine.files()?.into_iter().filter(is_table);
        let mut files = Files::default();
        for path in table_files(self.env, self.dir)?.into_iter().chain(aside) {
            let look = || origin_of(self.env, &path);
            let origin = match look() {
                Ok(Some(origin)) => Some(origin),
                Err(error) if is_foreign(&error) => continue,
                // Once more: of a table that is passed over, all is lost.
                _ => match look() {
                    // What cannot be read where a table has to be is told there.
                    Err(Error::Io { .. }) if live.contains(&path) => continue,
                    again => again?,
                },
            };
            match origin {
                Some(origin) if known.contains(&origin.id) => {
                    files.by_number.entry(origin.id).or_default().push(path);
                }
                _ if live.contains(&path) => {}
                origin => files.strangers.push((path, origin)),
            }
        }
        Ok(files)
    }

    /// The tables without a file where the manifest says, of which one lies elsewhere, be it damaged: by number.
    pub(super) fn only_elsewhere(&mut self, state: &State) -> Result<BTreeMap<u64, Vec<PathBuf>>> {
        let mut there = BTreeMap::new();
        for meta in state.tables.values() {
            if !self.is_there(meta)? {
                let found = self.elsewhere(state, meta)?;
                let damaged = found.damaged.iter().map(|(path, _)| path);
                let files: Vec<_> = found.whole.iter().chain(damaged).cloned().collect();
                if !files.is_empty() {
                    there.insert(meta.number, files);
                }
            }
        }
        Ok(there)
    }

    /// Gives a whole table a name of its own again, durably, and says what the manifest is to say of it.
    pub(super) fn put_back(&self, found: &Path, meta: &TableMeta, number: u64) -> Result<TableMeta> {
        let path = match TableFacts::decode(&meta.user) {
            Some(facts) if facts.ingested => paths::ingested_table(number, facts.min_seq),
            _ => paths::table(number),
        };
        if !self.dry_run {
            let to = self.dir.join(&path);
            // A copy that is cut off must not look like a table.
            let mut tmp = to.clone().into_os_string();
            tmp.push(".tmp");
            match self.env.fs.remove_file(Path::new(&tmp)) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(Error::io("remove", &tmp)(e)),
                _ => crate::io::link_or_copy(&*self.env.fs, found, Path::new(&tmp))?,
            }
            self.env.fs.rename(Path::new(&tmp), &to).map_err(Error::io("rename", &tmp))?;
            let dir = self.dir.join(paths::TABLES);
            self.env.fs.sync_dir(&dir).map_err(Error::io("sync directory", &dir))?;
        }
        Ok(TableMeta { number, path, ..meta.clone() })
    }
}

/// What is no table that can be read is passed over. All else is an error: it may be the one that is looked for.
fn or_no_table<T>(looked: Result<T>) -> Result<Option<T>> {
    match looked {
        Err(error) if is_foreign(&error) || error.is_corruption() || error.is_not_found() => Ok(None),
        other => other.map(Some),
    }
}
