//! Removing the files of tables that no manifest names any more.

use super::{Keeper, list};
use crate::error::Result;
use duramen_engine::Error as EngineError;
use duramen_engine::manifest::orphans;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

impl Keeper {
    /// Tables that a crash left without a manifest entry, or that were replaced while somebody read.
    pub(super) fn unnamed_tables(&self) -> Result<Vec<PathBuf>> {
        let (env, layout) = (&self.shared.env, &self.shared.layout);
        let mut found = Vec::new();
        for day in list(env, &layout.tables())?.iter().filter(|entry| entry.is_dir) {
            let dir = format!("tables/{}", day.name);
            found.extend(orphans(env, layout.root(), dir, self.manifest.state())?);
        }
        Ok(found)
    }

    /// Removes tables that never were in a manifest: no snapshot has them, and the next flush needs their names.
    pub(super) fn remove_unfinished(&mut self) -> Result<()> {
        let next_table = self.manifest.state().next_table;
        let (unfinished, replaced) = std::mem::take(&mut self.replaced)
            .into_iter()
            .partition::<Vec<_>, _>(|path| table_number(path).is_none_or(|number| number >= next_table));
        self.replaced = replaced;
        unfinished.iter().try_for_each(|path| self.remove(path))
    }

    /// Removes tables that no manifest names any more, unless somebody holds a snapshot, which may be older
    /// than that. Each step tries again; what cannot be removed keeps nobody from anything, and is told.
    pub(super) fn remove_replaced(&mut self) {
        if self.replaced.is_empty() {
            return;
        }
        let path = self.shared.layout.readers_lock();
        let _nobody_reads = match self.shared.env.fs.try_lock(&path) {
            Ok(Some(lock)) => lock,
            Ok(None) => return,
            Err(e) => return self.shared.incident(EngineError::io("lock", &path)(e)),
        };
        for path in std::mem::take(&mut self.replaced) {
            if let Err(e) = self.remove(&path) {
                self.shared.incident(e);
                self.replaced.push(path);
            }
        }
    }

    pub(super) fn remove(&self, path: &Path) -> Result<()> {
        match self.shared.env.fs.remove_file(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            other => Ok(other.map_err(EngineError::io("remove", path))?),
        }
    }
}

/// The number in a table's name, if it has its final one.
fn table_number(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_suffix(".sst")?.parse().ok()
}
