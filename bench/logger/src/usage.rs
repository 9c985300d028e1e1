//! What this process, or a directory, takes.

use crate::Result;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The most memory this process had resident, mapped files included.
pub(crate) fn peak_bytes() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find_map(|l| l.strip_prefix("VmHWM:")).ok_or("no VmHWM in /proc/self/status")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? * 1024.0)
}

/// How many files a directory has, in it and below, and what the file system has given to them.
pub(crate) fn files_and_bytes(dir: &Path) -> Result<(f64, f64)> {
    let (mut files, mut bytes) = (0.0, 0.0);
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            let below = files_and_bytes(&entry.path())?;
            files += below.0;
            bytes += below.1;
        } else {
            files += 1.0;
            bytes += metadata.blocks() as f64 * 512.0;
        }
    }
    Ok((files, bytes))
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

/// Waits until the file system of a directory has written everything out: the next case is to begin on a quiet
/// disk.
pub(crate) fn quiesce(dir: &Path) -> Result<()> {
    Ok(rustix::fs::syncfs(std::fs::File::open(dir)?)?)
}
