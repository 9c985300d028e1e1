//! Tables that lie under another's name, as after two were swapped, or in quarantine: each has a number of its own, which the
//! manifest knows.

use super::Repair;
use crate::Result;
use crate::lsm::paths;
use crate::lsm::table::{TableWalk, id_of};
use crate::lsm::verify::table_files;
use crate::lsm::version::TableFacts;
use crate::manifest::TableMeta;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where each table is that has a number.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    found: Option<BTreeMap<u64, PathBuf>>,
}

impl Elsewhere {
    /// The file that is this table, though it has not its name. What is in place is looked for first: a table in quarantine may
    /// be another's copy.
    pub(super) fn of(&mut self, repair: &Repair<'_>, meta: &TableMeta) -> Result<Option<PathBuf>> {
        let Some(id) = TableFacts::decode(&meta.user).map(|facts| facts.id).filter(|id| *id != 0) else {
            return Ok(None);
        };
        let found = match &mut self.found {
            Some(found) => found,
            none => none.insert(repair.by_number()?),
        };
        Ok(found.get(&id).cloned())
    }
}

impl Repair<'_> {
    fn by_number(&self) -> Result<BTreeMap<u64, PathBuf>> {
        let is_table = |path: &PathBuf| path.to_string_lossy().contains(".sst");
        let aside = self.quarantine.files()?.into_iter().filter(is_table);
        let mut found = BTreeMap::new();
        for path in table_files(self.env, self.dir)?.into_iter().chain(aside) {
            // Of what cannot be read it is told where it should be.
            let id = TableWalk::open(self.env, &path)
                .ok()
                .and_then(|walk| walk.parts().ok().map(|parts| id_of(&parts.properties)));
            if let Some(id) = id.filter(|id| *id != 0) {
                found.entry(id).or_insert(path);
            }
        }
        Ok(found)
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
