//! Removing the files of tables that no manifest names any more: the keeper's side of the protocol in
//! [`readers`](crate::store::readers).

use super::Keeper;
use crate::error::Result;
use crate::store::readers::Generation;
use crate::store::shared::Shared;
use crate::store::unnamed::{only_copy, table_number, unnamed};
use duramen_engine::Error as EngineError;
use duramen_engine::manifest::Edit;
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
        let found = unnamed(&self.shared.env, &self.shared.layout, self.manifest.state())?;
        self.leaving.add(found);
        Ok(())
    }

    /// Removes tables that never were in a manifest: no snapshot has them, and the next flush needs their names. Those that
    /// must have been in one, because what they were made of is gone, go to quarantine.
    pub(super) fn remove_unfinished(&mut self) -> Result<()> {
        let next_table = self.manifest.state().next_table;
        let (unfinished, replaced) = std::mem::take(&mut self.leaving.replaced)
            .into_iter()
            .partition::<Vec<_>, _>(|path| table_number(path).is_none_or(|number| number >= next_table));
        self.leaving.replaced = replaced;
        for path in unfinished {
            let Shared { env, layout, .. } = &*self.shared;
            match only_copy(env, layout, self.manifest.state(), &path)? {
                Some(lines) => self.set_table_apart(&path, lines)?,
                None => self.remove(&path)?,
            }
        }
        Ok(())
    }

    fn set_table_apart(&self, path: &Path, lines: u64) -> Result<()> {
        let Shared { env, layout, .. } = &*self.shared;
        let dir = layout.quarantine();
        env.fs.create_dir_all(&dir).map_err(EngineError::io("create", &dir))?;
        let name = path.strip_prefix(layout.root()).unwrap_or(path).components();
        let name: Vec<_> = name.map(|part| part.as_os_str().to_string_lossy()).collect();
        let to = dir.join(name.join("-"));
        env.fs.rename(path, &to).map_err(EngineError::io("move to quarantine", path))?;
        for dir in [&dir, layout.root()] {
            env.fs.sync_dir(dir).map_err(EngineError::io("sync", dir))?;
        }
        self.shared.incident(format!(
            "{} has lines that are nowhere else ({lines}), but MANIFEST is older and does not name it: it was moved to quarantine",
            path.display()
        ));
        Ok(())
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
