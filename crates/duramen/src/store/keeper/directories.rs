//! The directories of a store, made where it is new, and refused where its manifest is lost.

use crate::error::Result;
use crate::store::layout::Layout;
use crate::store::readers::Generation;
use crate::store::shared::Shared;
use duramen_engine::Error as EngineError;
use duramen_engine::io::Env;
use std::io::ErrorKind;
use std::path::Path;

/// Makes the store's directories, their names durable before anything in them can be.
pub(super) fn make_directories(shared: &Shared) -> Result<()> {
    let Shared { env, layout, .. } = shared;
    for dir in [layout.wal(), layout.tables()] {
        env.fs.create_dir_all(&dir).map_err(EngineError::io("create", &dir))?;
    }
    make_readers_locks(env, layout)?;
    if let Some(parent) = layout.root().parent().filter(|p| !p.as_os_str().is_empty()) {
        match env.fs.sync_dir(parent) {
            // Its own making is then not ours to make durable, either.
            Err(e) if e.kind() == ErrorKind::PermissionDenied => {}
            other => other.map_err(EngineError::io("sync", parent))?,
        }
    }
    for dir in [layout.root().to_path_buf(), layout.wal(), layout.tables()] {
        env.fs.sync_dir(&dir).map_err(EngineError::io("sync", &dir))?;
    }
    Ok(())
}

/// Makes the files of the readers' locks, which those who may only read cannot.
pub(crate) fn make_readers_locks(env: &Env, layout: &Layout) -> Result<()> {
    for generation in Generation::ALL {
        let path = layout.readers_lock(generation);
        if !env.fs.exists(&path).map_err(EngineError::io("look for", &path))? {
            // Taking the lock makes the file; whether it is free is no matter.
            env.fs.try_lock(&path).map_err(EngineError::io("lock", &path))?;
        }
    }
    Ok(())
}

/// Tables without a manifest are a store whose manifest was lost, not a new one: nothing may be removed.
///
/// # Errors
/// Corruption of the manifest; what the file system said.
pub(crate) fn refuse_tables_without_manifest(env: &Env, layout: &Layout) -> Result<()> {
    for day in list(env, &layout.tables())? {
        let dir = layout.tables().join(&day.name);
        if let Some(table) =
            list(env, &dir)?.iter().find(|entry| entry.is_file && entry.name.ends_with(".sst"))
        {
            let detail = format!("it is missing, but there are tables ({}/{})", dir.display(), table.name);
            return Err(EngineError::corruption(layout.manifest(), 0, detail).into());
        }
    }
    Ok(())
}

/// The entries of a directory; none if it is not there.
pub(super) fn list(env: &Env, dir: &Path) -> Result<Vec<duramen_engine::io::DirEntry>> {
    match env.fs.read_dir(dir) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        other => Ok(other.map_err(EngineError::io("list", dir))?),
    }
}
