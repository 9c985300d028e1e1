//! Removing a directory with everything in it.

use super::Fs;
use crate::{Error, Result};
use std::path::Path;

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
