//! A store of its own that holds what this one holds: its tables are the same files, by another name.

use super::db::Inner;
use super::flush::flushed_seq;
use super::paths;
use crate::io::link_or_copy;
use crate::kv::{self, EngineKind};
use crate::manifest::{Edit, Manifest};
use crate::{Error, Result};
use std::path::Path;

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
        let mut last_seq = 0;
        for table in version.tables().filter(|t| !t.uncommitted.load(std::sync::atomic::Ordering::Acquire)) {
            link_or_copy(&**fs, table.path(), &dir.join(&table.meta.path))?;
            edit.add_tables.push(table.meta.clone());
            last_seq = last_seq.max(table.facts.max_seq);
        }
        // Its own writes go on from here.
        edit.set_values.push(flushed_seq(last_seq));
        fs.sync_dir(&tables).map_err(Error::io("sync directory", &tables))?;
        Manifest::create(env, dir, env.random.next_u64())?.apply(edit)?;
        Ok(())
    }
}
