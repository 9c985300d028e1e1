//! Tables that lie under another's name, as after two were swapped, or in quarantine: each has a number of its own, which the
//! manifest knows.

use super::Repair;
use crate::Result;
use crate::lsm::paths;
use crate::lsm::table::{TableWalk, id_of};
use crate::lsm::verify::{check_table, table_files};
use crate::lsm::version::TableFacts;
use crate::manifest::{State, TableMeta};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What lies elsewhere than the manifest says.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    /// The files of each table, by its own number; those in place first.
    files: Option<BTreeMap<u64, Vec<PathBuf>>>,
    /// What was found of each table that was asked for, by the manifest's.
    found: BTreeMap<u64, Found>,
}

/// The files that are a table, though they have not its name.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) whole: Vec<PathBuf>,
    /// What can be read of each that is damaged: how many entries.
    pub(super) damaged: Vec<(u64, PathBuf)>,
}

/// The number that the table itself has; `None` if it is older than those.
pub(super) fn own_number(meta: &TableMeta) -> Option<u64> {
    TableFacts::decode(&meta.user).map(|facts| facts.id).filter(|id| *id != 0)
}

impl Repair<'_> {
    /// Looks for a table elsewhere than where the manifest says it is. Each file is read whole: the first may be a damaged copy.
    pub(super) fn elsewhere(&mut self, meta: &TableMeta) -> Result<Found> {
        let Some(id) = own_number(meta) else { return Ok(Found::default()) };
        if let Some(found) = self.elsewhere.found.get(&meta.number) {
            return Ok(found.clone());
        }
        let files = match self.elsewhere.files.take() {
            Some(files) => files,
            None => self.by_number()?,
        };
        let named = self.dir.join(&meta.path);
        let mut found = Found::default();
        for path in files.get(&id).into_iter().flatten().filter(|path| **path != named) {
            // It was read when it was looked for. What cannot be read now is no help, and nothing was promised of it.
            let Ok(findings) = check_table(self.env, path, Some(meta)) else { continue };
            self.advance(findings.file_bytes);
            if findings.damage.is_empty() {
                found.whole.push(path.clone());
            } else if !findings.is_another {
                found.damaged.push((findings.entries, path.clone()));
            }
        }
        self.elsewhere.files = Some(files);
        self.elsewhere.found.insert(meta.number, found.clone());
        Ok(found)
    }

    fn by_number(&self) -> Result<BTreeMap<u64, Vec<PathBuf>>> {
        let is_table = |path: &PathBuf| path.to_string_lossy().contains(".sst");
        let aside = self.quarantine.files()?.into_iter().filter(is_table);
        let mut files: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
        for path in table_files(self.env, self.dir)?.into_iter().chain(aside) {
            // Of what cannot be read it is told where it should be.
            let id = TableWalk::open(self.env, &path)
                .ok()
                .and_then(|walk| walk.parts().ok().map(|parts| id_of(&parts.properties)));
            if let Some(id) = id.filter(|id| *id != 0) {
                files.entry(id).or_default().push(path);
            }
        }
        Ok(files)
    }

    /// The tables without a file where the manifest says, of which one lies elsewhere, whole: by number.
    pub(super) fn only_elsewhere(&mut self, state: &State) -> Result<BTreeMap<u64, Vec<PathBuf>>> {
        let mut there = BTreeMap::new();
        for meta in state.tables.values() {
            if !self.is_there(meta)? {
                let found = self.elsewhere(meta)?.whole;
                if !found.is_empty() {
                    there.insert(meta.number, found);
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
            crate::io::link_or_copy(&*self.env.fs, found, &to)?;
            let dir = self.dir.join(paths::TABLES);
            self.env.fs.sync_dir(&dir).map_err(crate::Error::io("sync directory", &dir))?;
        }
        Ok(TableMeta { number, path, ..meta.clone() })
    }
}
