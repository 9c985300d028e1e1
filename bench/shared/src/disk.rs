//! The files of a directory: how much disk they take, and reading them as if for the first time.

use std::fs::{self, File};
use std::io::Result;
use std::path::{Path, PathBuf};

/// All regular files below a directory, or the file itself if it is one.
///
/// # Errors
/// If a directory cannot be read.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut directories = Vec::new();
    if fs::metadata(path)?.is_dir() {
        directories.push(path.to_path_buf());
    } else {
        found.push(path.to_path_buf());
    }
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                directories.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    Ok(found)
}

/// The sum of the lengths of all files below a directory, in bytes.
///
/// # Errors
/// If a directory or a file's length cannot be read.
pub fn file_bytes(path: &Path) -> Result<u64> {
    files(path)?.iter().try_fold(0, |sum, path| Ok(sum + fs::metadata(path)?.len()))
}

/// What the file system gave to the files below a directory, in bytes. Files that end meanwhile do not count.
#[must_use]
#[cfg(unix)]
pub fn disk_bytes(dir: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => disk_bytes(&entry.path()),
            Ok(meta) => meta.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}

/// Makes the next reader of a file, or of the files below a directory, read them from the disk. Only clean pages can
/// be dropped, so they are synced first; what a process has mapped stays. What the kernel knows of names stays, too.
///
/// # Errors
/// If a file cannot be opened or synced.
pub fn drop_from_cache(path: &Path) -> Result<()> {
    for path in files(path)? {
        let file = File::open(path)?;
        file.sync_all()?;
        #[cfg(target_os = "linux")]
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    }
    Ok(())
}

/// Waits until the file system of a directory has written everything out: the next case is to begin on a quiet disk.
///
/// # Errors
/// If the directory cannot be opened, or what was to be written could not be.
#[cfg(target_os = "linux")]
pub fn quiesce(dir: &Path) -> Result<()> {
    Ok(rustix::fs::syncfs(File::open(dir)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_summed_over_directories() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        fs::write(dir.path().join("a/x"), [0; 10]).unwrap();
        fs::write(dir.path().join("y"), [0; 5]).unwrap();
        assert_eq!(file_bytes(dir.path()).unwrap(), 15);
        assert_eq!(file_bytes(&dir.path().join("y")).unwrap(), 5);
        drop_from_cache(dir.path()).unwrap();
    }

    #[test]
    fn what_the_file_system_gave_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        fs::write(dir.path().join("a/x"), vec![1; 100_000]).unwrap();
        assert!(disk_bytes(dir.path()) > 0);
        assert_eq!(disk_bytes(&dir.path().join("none")), 0);
    }
}
