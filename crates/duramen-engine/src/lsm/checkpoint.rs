//! A store of its own that holds what this one holds: its tables are the same files, by another name.

use super::db::Inner;
use super::paths;
use crate::io::OpenMode;
use crate::kv::{self, EngineKind};
use crate::manifest::{Edit, Manifest};
use crate::{Error, Result};
use std::io::ErrorKind;
use std::path::Path;

/// How much is copied at a time where files cannot be linked.
const COPY_BYTES: usize = 1 << 20;

impl Inner {
    pub(super) fn checkpoint(&self, dir: &Path) -> Result<()> {
        if self.wal.is_some() {
            self.flush_all()?;
        } else if !self.current.load().immutables.is_empty() {
            let why = "the store was opened read-only and has writes that are not in tables yet: open it for writing once";
            return Err(Error::InvalidArgument(why.into()));
        }
        kv::checkpoint(&self.options.env, dir, EngineKind::Lsm, |tmp| self.fill_checkpoint(tmp))
    }

    fn fill_checkpoint(&self, dir: &Path) -> Result<()> {
        let env = &self.options.env;
        let fs = &env.fs;
        // As long as this is held, no file of it is removed. What is not committed is newer than the flush.
        let version = std::sync::Arc::clone(&self.current.load().version);
        let tables = dir.join(paths::TABLES);
        fs.create_dir_all(&tables).map_err(Error::io("create directory", &tables))?;
        let mut edit = Edit::default();
        for table in version.tables().filter(|t| !t.uncommitted.load(std::sync::atomic::Ordering::Acquire)) {
            self.link_or_copy(table.path(), &dir.join(&table.meta.path))?;
            edit.add_tables.push(table.meta.clone());
        }
        fs.sync_dir(&tables).map_err(Error::io("sync directory", &tables))?;
        Manifest::create(env, dir, env.random.next_u64())?.apply(edit)?;
        Ok(())
    }

    fn link_or_copy(&self, from: &Path, to: &Path) -> Result<()> {
        let fs = &self.options.env.fs;
        match fs.hard_link(from, to) {
            Ok(()) => return Ok(()),
            Err(e)
                if matches!(
                    e.kind(),
                    ErrorKind::Unsupported | ErrorKind::CrossesDevices | ErrorKind::PermissionDenied
                ) => {}
            Err(e) => return Err(Error::io("link", from)(e)),
        }
        let source = fs.open(from, OpenMode::Read).map_err(Error::io("open", from))?;
        let target = fs.open(to, OpenMode::CreateNew).map_err(Error::io("create", to))?;
        let mut buffer = vec![0; COPY_BYTES];
        let mut at = 0;
        loop {
            let read = source.read_at(&mut buffer, at).map_err(Error::io("read", from))?;
            if read == 0 {
                break;
            }
            target.write_all_at(&buffer[..read], at).map_err(Error::io("write", to))?;
            at += read as u64;
        }
        target.sync_data().map_err(Error::io("sync", to))
    }
}
