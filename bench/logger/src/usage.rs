//! What a directory takes.

use crate::Result;
use shared::disk;
use std::path::Path;

/// How many files a directory has, in it and below, and what the file system has given to them.
pub(crate) fn files_and_bytes(dir: &Path) -> Result<(f64, f64)> {
    Ok((disk::files(dir)?.len() as f64, disk::disk_bytes(dir) as f64))
}

/// How many files of a directory, in it and below, this process has open whose names end so.
pub(crate) fn open_files(dir: &Path, extension: &str) -> Result<f64> {
    let dir = dir.canonicalize()?;
    let mut open = 0.0;
    for entry in std::fs::read_dir("/proc/self/fd")? {
        // The descriptor that lists the directory is gone when it is looked at.
        let Ok(target) = std::fs::read_link(entry?.path()) else { continue };
        if target.starts_with(&dir) && target.extension().is_some_and(|e| e == extension) {
            open += 1.0;
        }
    }
    Ok(open)
}
