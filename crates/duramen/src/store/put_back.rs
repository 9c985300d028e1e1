//! Putting tables back into use that lie in quarantine, whole.

use super::keeper::handover::Claim;
use super::keeper::put_back::LiveRows;
use super::{Store, background, lock};
use crate::error::{Error, Result};

/// What became of the files in `quarantine/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutBackReport {
    /// Each file, and what became of it.
    pub files: Vec<(String, Aside)>,
}

/// What became of a file in `quarantine/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aside {
    /// It is a table of the store again, with so many lines.
    PutBack {
        /// Its lines.
        lines: u64,
    },
    /// It stays where it is.
    Stays {
        /// Why.
        why: String,
    },
}

impl Store {
    /// Puts tables back into use that lie in `quarantine/`, as the keeper, which the present one becomes no more for as long: each
    /// that is whole, and of which nothing can have been deleted, merged elsewhere or taken in again since. All others
    /// stay, and the report says why. With `dry_run`, it says the same, and all stay.
    ///
    /// Nobody should be taking lines in once more meanwhile: those that come while it looks are not looked at.
    ///
    /// # Errors
    /// [`Error::NoHandover`]; [`Error::ReadOnly`]; what the file system said: then some may have been put back.
    pub fn put_back(&self, dry_run: bool) -> Result<PutBackReport> {
        self.shared.not_forked()?;
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        let _claim = Claim::take(&self.shared, &self.keeper)?;
        // What the dead left may be what a table was made of.
        background::step(&self.shared, &self.keeper)?;
        let view = self.snapshots.view()?;
        let blocks = self.snapshots.live_blocks(&view);
        let damaged = view.live.damaged.iter().map(|(path, e)| format!("{}: {e}", path.display())).next();
        let live = LiveRows { blocks: &blocks, damaged: damaged.as_deref() };
        let mut slot = lock(&self.keeper);
        let keeper =
            slot.as_mut().ok_or_else(|| Error::NoHandover { path: self.shared.layout.keeper_lock() })?;
        let files = keeper.put_back(&live, dry_run).inspect_err(|_| *slot = None)?;
        Ok(PutBackReport { files })
    }
}
