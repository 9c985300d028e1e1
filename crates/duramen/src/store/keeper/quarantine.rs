//! What is put into quarantine, for a person to look at: under a name that nothing else has there, and durable before the file's own
//! name goes.

use super::Keeper;
use super::aside::key_of;
use crate::error::Result;
use crate::store::shared::Shared;
use duramen_engine::Error as EngineError;
use duramen_engine::io::{Fs, OpenMode};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

impl Keeper {
    /// Moves what is not ours out of a directory that has to go.
    pub(super) fn set_apart(&self, writer: u64, path: &Path) -> Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let to = self.free_in_quarantine(&format!("{writer:016x}-{name}"))?;
        let moved = self.shared.env.fs.rename(path, &to);
        moved.map_err(EngineError::io("move to quarantine", path))?;
        self.sync_quarantine()
    }

    /// Gives a damaged file a second name in quarantine, for a person to look at, before its first is removed.
    pub(super) fn preserve(&self, writer: u64, path: &Path) -> Result<()> {
        let fs = &*self.shared.env.fs;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{writer:016x}-{name}");
        // Kept before, as by a keeper that did not come further. What cannot be read there is something else.
        let is_kept = |there: &Path| is_same(fs, path, there).unwrap_or(false);
        let Some(to) = self.free_unless(&name, is_kept)? else { return self.sync_quarantine() };
        match fs.hard_link(path, &to) {
            Err(e) if matches!(e.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => {}
            // A file system without links: then the name moves, and what could be read of it with it.
            Err(e) if matches!(e.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) => {
                fs.rename(path, &to).map_err(EngineError::io("move to quarantine", path))?;
            }
            other => other.map_err(EngineError::io("link into quarantine", path))?,
        }
        self.sync_quarantine()
    }

    /// A name in quarantine that nothing has yet.
    ///
    /// # Errors
    /// What the file system said.
    pub(super) fn free_in_quarantine(&self, name: &str) -> Result<PathBuf> {
        let free = self.free_unless(name, |_| false)?;
        Ok(free.unwrap_or_else(|| self.shared.layout.quarantine().join(name)))
    }

    /// The same; `None` if one that is taken will do.
    fn free_unless(&self, name: &str, will_do: impl Fn(&Path) -> bool) -> Result<Option<PathBuf>> {
        let Shared { env, layout, .. } = &*self.shared;
        let dir = layout.quarantine();
        if !env.fs.exists(&dir).map_err(EngineError::io("look for", &dir))? {
            env.fs.create_dir_all(&dir).map_err(EngineError::io("create", &dir))?;
            // Before anything is moved into it, or that would go with it.
            env.fs.sync_dir(layout.root()).map_err(EngineError::io("sync", layout.root()))?;
        }
        let mut to = dir.join(name);
        let mut nth = 2;
        // What the manifest says of a name is of the file that was there before, and of no other.
        let known = &self.manifest.state().values;
        let is_known = |to: &Path| {
            let name = to.file_name().unwrap_or_default().to_string_lossy();
            known.contains_key(&key_of(&name))
        };
        // A link that leads nowhere has its name, too.
        let is_link = |to: &Path| env.fs.links(to).is_ok();
        while env.fs.exists(&to).map_err(EngineError::io("look for", &to))? || is_link(&to) || is_known(&to) {
            if will_do(&to) {
                return Ok(None);
            }
            to = dir.join(format!("{name}.{nth}"));
            nth += 1;
        }
        Ok(Some(to))
    }

    /// Makes what was put into quarantine durable.
    ///
    /// # Errors
    /// What the file system said.
    pub(super) fn sync_quarantine(&self) -> Result<()> {
        let dir = self.shared.layout.quarantine();
        let sync = |dir: &Path| self.shared.env.fs.sync_dir(dir).map_err(EngineError::io("sync", dir));
        sync(&dir)?;
        Ok(sync(self.shared.layout.root())?)
    }
}

/// Whether two files have the same bytes.
///
/// # Errors
/// What the file system said; not found, if one of them is not there.
fn is_same(fs: &dyn Fs, one: &Path, other: &Path) -> Result<bool> {
    let open = |path: &Path| fs.open(path, OpenMode::Read).map_err(EngineError::io("open", path));
    let (one_file, other_file) = (open(one)?, open(other)?);
    let len = one_file.len().map_err(EngineError::io("measure", one))?;
    if len != other_file.len().map_err(EngineError::io("measure", other))? {
        return Ok(false);
    }
    let (mut of_one, mut of_other) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut at = 0;
    while at < len {
        let piece = usize::try_from(len - at).map_or(of_one.len(), |left| left.min(of_one.len()));
        one_file.read_exact_at(&mut of_one[..piece], at).map_err(EngineError::io("read", one))?;
        other_file.read_exact_at(&mut of_other[..piece], at).map_err(EngineError::io("read", other))?;
        if of_one[..piece] != of_other[..piece] {
            return Ok(false);
        }
        at += piece as u64;
    }
    Ok(true)
}
