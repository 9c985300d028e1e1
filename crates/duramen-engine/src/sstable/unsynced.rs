//! A table that has been written, until it has its final name.

use super::TableInfo;
use crate::io::{Env, File};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A table that is complete and not yet durable: any thread can sync it and give it its final name.
///
/// Dropping it removes the temporary file, as far as that works.
#[derive(Debug)]
pub struct UnsyncedTable {
    env: Env,
    file: Arc<dyn File>,
    path: PathBuf,
    info: TableInfo,
    unfinished: Unfinished,
}

impl UnsyncedTable {
    pub(super) fn new(
        env: Env,
        file: Arc<dyn File>,
        path: PathBuf,
        info: TableInfo,
        unfinished: Unfinished,
    ) -> Self {
        Self { env, file, path, info, unfinished }
    }

    /// What was written.
    pub fn info(&self) -> &TableInfo {
        &self.info
    }

    /// Gives the file its final name before it is durable, so that it can be read: for stores whose manifest says
    /// which tables count. From now on the file stays when this is dropped.
    ///
    /// # Errors
    /// [`Error::Io`] for what the file system said.
    pub fn name(&mut self) -> Result<()> {
        if !self.unfinished.done {
            let tmp_path = &self.unfinished.tmp_path;
            self.env.fs.rename(tmp_path, &self.path).map_err(Error::io("rename", tmp_path))?;
            self.unfinished.done = true;
        }
        Ok(())
    }

    /// Syncs the file, gives it its final name if it has not got it, and syncs the directory. When this returns the table survives a
    /// loss of power.
    ///
    /// # Errors
    /// [`Error::Io`] for what the file system said. Then the table does not count: it may be there under its
    /// final name only if syncing the directory failed.
    pub fn sync(mut self) -> Result<TableInfo> {
        let at = if self.unfinished.done { &self.path } else { &self.unfinished.tmp_path };
        self.file.sync_data().map_err(Error::io("sync", at))?;
        self.name()?;
        let dir = parent(&self.path);
        self.env.fs.sync_dir(dir).map_err(Error::io("sync", dir))?;
        Ok(self.info)
    }
}

/// A temporary file, removed with this.
#[derive(Debug)]
pub(super) struct Unfinished {
    env: Env,
    tmp_path: PathBuf,
    done: bool,
}

impl Unfinished {
    pub(super) fn new(env: &Env, tmp_path: PathBuf) -> Self {
        Self { env: env.clone(), tmp_path, done: false }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.done {
            // Best effort: a file that stays is an orphan, which the next owner of the store removes.
            let _ = self.env.fs.remove_file(&self.tmp_path);
        }
    }
}

/// The directory of a file; `.` where the path is a bare name.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}
