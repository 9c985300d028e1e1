//! Removing the files of tables that no manifest names any more: the keeper's side of the protocol in
//! [`readers`](crate::store::readers).

use super::{Keeper, list};
use crate::error::Result;
use crate::store::readers::Generation;
use duramen_engine::Error as EngineError;
use duramen_engine::manifest::{Edit, orphans};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Files of tables that no manifest names, on their way out.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    /// Those that have left the manifest since the last turn: readers of both generations may be at them.
    replaced: Vec<PathBuf>,
    /// Those that had left it before the turn: readers of the generation before it may be at them.
    turned: Vec<PathBuf>,
    /// Those that nobody reads.
    unread: Vec<PathBuf>,
    /// Whether it was seen since the last turn that nobody reads in the generation before it.
    others_have_gone: bool,
}

impl Leaving {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.replaced.len() + self.turned.len() + self.unread.len()
    }

    /// Adds files that the manifest does not name, any more or at all.
    pub(super) fn add(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        self.replaced.extend(paths);
    }
}

impl Keeper {
    /// Finds tables that a crash left without a manifest entry, or that were replaced while somebody read.
    pub(super) fn find_unnamed(&mut self) -> Result<()> {
        let (env, layout) = (&self.shared.env, &self.shared.layout);
        for day in list(env, &layout.tables())?.iter().filter(|entry| entry.is_dir) {
            let dir = format!("tables/{}", day.name);
            self.leaving.add(orphans(env, layout.root(), dir, self.manifest.state())?);
        }
        Ok(())
    }

    /// Removes tables that never were in a manifest: no snapshot has them, and the next flush needs their names.
    pub(super) fn remove_unfinished(&mut self) -> Result<()> {
        let next_table = self.manifest.state().next_table;
        let (unfinished, replaced) = std::mem::take(&mut self.leaving.replaced)
            .into_iter()
            .partition::<Vec<_>, _>(|path| table_number(path).is_none_or(|number| number >= next_table));
        self.leaving.replaced = replaced;
        unfinished.iter().try_for_each(|path| self.remove(path))
    }

    /// Removes tables that no manifest names any more and nobody reads, and takes a turn if others are read. Each step
    /// tries again; what cannot be removed keeps nobody from anything, and is told.
    ///
    /// # Errors
    /// What kept the turn from being written into the manifest.
    pub(super) fn remove_replaced(&mut self) -> Result<()> {
        if self.leaving.len() == 0 {
            return Ok(());
        }
        let turn = Generation::of(self.manifest.state())?;
        if !self.leaving.others_have_gone && self.nobody_reads_in(turn.other()) {
            self.leaving.others_have_gone = true;
            let turned = std::mem::take(&mut self.leaving.turned);
            self.leaving.unread.extend(turned);
        }
        if self.leaving.others_have_gone && !self.leaving.replaced.is_empty() {
            let replaced = std::mem::take(&mut self.leaving.replaced);
            if self.nobody_reads_in(turn) {
                self.leaving.unread.extend(replaced);
            } else {
                self.leaving.turned = replaced;
                self.leaving.others_have_gone = false;
                self.manifest.apply(Edit { set_values: vec![turn.other().value()], ..Edit::default() })?;
            }
        }
        for path in std::mem::take(&mut self.leaving.unread) {
            if let Err(e) = self.remove(&path) {
                self.shared.incident(e);
                self.leaving.unread.push(path);
            }
        }
        Ok(())
    }

    /// Whether there is a moment at which nobody holds a generation's lock.
    fn nobody_reads_in(&self, generation: Generation) -> bool {
        let path = self.shared.layout.readers_lock(generation);
        match self.shared.env.fs.try_lock(&path) {
            Ok(free) => free.is_some(),
            Err(e) => {
                self.shared.incident(EngineError::io("lock", &path)(e));
                false
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
