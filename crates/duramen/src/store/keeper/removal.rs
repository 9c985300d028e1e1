//! Removing the files of tables that no manifest names any more: the keeper's side of the protocol in
//! [`readers`](crate::store::readers).

use super::Keeper;
use super::aside::Aside;
use crate::error::Result;
use crate::store::readers::Generation;
use crate::store::shared::Shared;
use crate::store::unnamed::{Verdict, table_number, unnamed};
use duramen_engine::Error as EngineError;
use duramen_engine::manifest::Edit;
use std::collections::BTreeMap;
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
    /// Those of all these that are not removed but set aside, and why.
    kept: BTreeMap<PathBuf, String>,
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
    ///
    /// Those that never were in a manifest go at once: no snapshot has them, and the next flush needs their names. Those that
    /// must have been in one, because what they were made of is gone, go to quarantine, and so does what cannot be judged.
    pub(super) fn find_unnamed(&mut self) -> Result<()> {
        self.find_unnamed_that(&|_| true)
    }

    /// The same of what a flush has left that failed. Tables that are written anew meanwhile are not among them: the manifest
    /// knows their numbers, though not yet them.
    pub(super) fn find_unflushed(&mut self) -> Result<()> {
        self.find_unnamed_from(self.manifest.state().next_table)
    }

    /// The same of numbers from `first` on.
    pub(super) fn find_unnamed_from(&mut self, first: u64) -> Result<()> {
        self.find_unnamed_that(&|number| number.is_some_and(|number| number >= first))
    }

    fn find_unnamed_that(&mut self, is_meant: &dyn Fn(Option<u64>) -> bool) -> Result<()> {
        let Shared { env, layout, .. } = &*self.shared;
        let state = self.manifest.state().clone();
        let mut aside = Vec::new();
        for (path, verdict) in unnamed(env, layout, &state)? {
            let number = table_number(&path);
            if !is_meant(number) {
                continue;
            }
            let was_named = number.is_some_and(|number| number < state.next_table);
            match verdict {
                Verdict::Superfluous if was_named => self.leaving.replaced.push(path),
                Verdict::Superfluous => self.remove(&path)?,
                Verdict::NoFile => {
                    self.set_table_apart(&path, "it has the name of a table, but is no file")?
                }
                // Somebody may read it.
                Verdict::Kept { why, .. } if was_named => {
                    self.leaving.kept.insert(path.clone(), why);
                    self.leaving.replaced.push(path);
                }
                Verdict::Kept { why, may_return, .. } => aside.push(Aside { path, why, may_return, number }),
            }
        }
        self.set_tables_aside(aside)
    }

    /// Moves a table to quarantine, to stay there.
    fn set_table_apart(&self, path: &Path, why: &str) -> Result<()> {
        self.move_to_quarantine(path, &self.name_in_quarantine(path)?, why)
    }

    /// Whether there are some that go to quarantine as soon as nobody reads them.
    pub(super) fn sets_aside(&self) -> bool {
        !self.leaving.kept.is_empty()
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
                self.apply(Edit { set_values: vec![turn.other().value()], ..Edit::default() })?;
            }
        }
        for path in std::mem::take(&mut self.leaving.unread) {
            let removed = match self.leaving.kept.get(&path) {
                Some(why) => self.set_table_apart(&path, why),
                None => self.remove(&path),
            };
            match removed {
                Ok(()) => drop(self.leaving.kept.remove(&path)),
                Err(e) => {
                    self.shared.incident(e);
                    self.leaving.unread.push(path);
                }
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
