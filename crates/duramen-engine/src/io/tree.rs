//! Directories, all the way: making one so that it stays, and removing one with everything in it.

use super::{Env, Fs};
use crate::{Error, Result};
use std::io::ErrorKind;
use std::path::Path;

/// The directory that a path lies in.
pub(crate) fn parent(path: &Path) -> Option<&Path> {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Some(Path::new(".")),
        other => other,
    }
}

/// Creates a directory and its missing parents; all these names are durable then. Who made some of them may have died
/// before that, so all names on the way are synced, except where we may not look.
///
/// # Errors
/// [Error::Io].
pub(crate) fn create_dir_durably(env: &Env, dir: &Path) -> Result<()> {
    let fs = &env.fs;
    let mut above: Vec<(&Path, bool)> = Vec::new();
    let mut at = dir;
    let mut ours = true;
    while let Some(next) = parent(at).filter(|next| *next != at) {
        above.push((next, ours));
        ours = ours && !fs.exists(next).map_err(Error::io("look for", next))?;
        at = next;
    }
    fs.create_dir_all(dir).map_err(Error::io("create directory", dir))?;
    for (dir, ours) in above.into_iter().rev() {
        match fs.sync_dir(dir) {
            Err(e) if !ours && e.kind() == ErrorKind::PermissionDenied => {}
            synced => synced.map_err(Error::io("sync", dir))?,
        }
    }
    Ok(())
}

/// Removes a directory and what is in it, however deep. A crash meanwhile leaves a part of it.
///
/// # Errors
/// What the file system said; then a part of it is gone.
pub fn remove_tree(fs: &dyn Fs, dir: &Path) -> Result<()> {
    for entry in fs.read_dir(dir).map_err(Error::io("list", dir))? {
        let path = dir.join(&entry.name);
        if entry.is_dir {
            remove_tree(fs, &path)?;
        } else {
            fs.remove_file(&path).map_err(Error::io("remove", &path))?;
        }
    }
    fs.remove_dir(dir).map_err(Error::io("remove", dir))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::OpenMode;
    use crate::io::sim::Sim;

    #[test]
    fn a_directory_goes_with_all_that_is_in_it_and_nothing_else() {
        let sim = Sim::new(1);
        let fs = &*sim.env().fs;
        for dir in ["/a/b/c", "/a/d", "/e"] {
            fs.create_dir_all(Path::new(dir)).unwrap();
            fs.open(&Path::new(dir).join("file"), OpenMode::CreateNew).unwrap();
        }
        remove_tree(fs, Path::new("/a")).unwrap();
        assert!(!fs.exists(Path::new("/a")).unwrap());
        assert!(fs.exists(Path::new("/e/file")).unwrap());
        assert!(remove_tree(fs, Path::new("/a")).unwrap_err().is_not_found());
    }
}
