//! A store of its own that holds the same.

use super::Inner;
use super::compact::write_live;
use super::format::Identity;
use super::new_file::NewFile;
use super::open::LOG;
use crate::kv::{EngineKind, marker};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

impl Inner {
    /// The directory gets its name when everything in it is durable: what a crash leaves is not taken for a store.
    pub(super) fn checkpoint(&self, dir: &Path) -> Result<()> {
        let fs = &self.env.fs;
        if fs.exists(dir).map_err(Error::io("look for", dir))? {
            return Err(Error::InvalidArgument(format!("checkpoint: {} exists", dir.display())));
        }
        let Some(name) = dir.file_name().and_then(|name| name.to_str()) else {
            return Err(Error::InvalidArgument(format!("checkpoint: {} has no name", dir.display())));
        };
        let tmp = dir.with_file_name(format!("{name}.tmp"));
        self.remove_unfinished(&tmp)?;
        let written = self.write_checkpoint(&tmp).and_then(|()| {
            fs.rename(&tmp, dir).map_err(Error::io("rename", &tmp))?;
            let parent = marker::parent(dir).unwrap_or(dir);
            fs.sync_dir(parent).map_err(Error::io("sync", parent))
        });
        if written.is_err() {
            let _the_next_attempt_does = self.remove_unfinished(&tmp);
        }
        written
    }

    fn write_checkpoint(&self, dir: &Path) -> Result<()> {
        let fs = &self.env.fs;
        marker::claim(&self.env, dir, EngineKind::Log, false)?;
        let view = self.view();
        let identity = Identity { store_id: self.env.random.next_u64(), generation: 1 };
        let mut new = NewFile::create(&self.env, dir.join(LOG), identity)?;
        let base_end = write_live(&view, &self.path, &[view.seq], &mut new)?;
        new.finish((base_end, view.seq), view.seq + 1, self.env.clock.boot_id())?;
        new.keep();
        fs.sync_dir(dir).map_err(Error::io("sync", dir))
    }

    /// Removes what an interrupted checkpoint has left, and nothing else.
    fn remove_unfinished(&self, tmp: &Path) -> Result<()> {
        let fs = &self.env.fs;
        let entries = match fs.read_dir(tmp) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            other => other.map_err(Error::io("list", tmp))?,
        };
        let is_ours = |name: &str| name == LOG || name.starts_with(marker::FILE_NAME);
        let paths: Vec<PathBuf> =
            entries.iter().filter(|entry| is_ours(&entry.name)).map(|entry| tmp.join(&entry.name)).collect();
        for path in paths {
            fs.remove_file(&path).map_err(Error::io("remove", &path))?;
        }
        fs.remove_dir(tmp).map_err(Error::io("remove", tmp))
    }
}
