//! What this process, or a directory, takes.

use crate::Result;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// User and system time of this process so far, all threads included.
pub(crate) fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or_default(), time.tv_nsec.try_into().unwrap_or_default())
}

/// The most memory this process had resident, mapped files included.
pub(crate) fn peak_bytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find_map(|l| l.strip_prefix("VmHWM:")).ok_or("no VmHWM in /proc/self/status")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}

/// What the file system has given to the files of a directory: holes do not count, preallocated space does.
pub(crate) fn disk_bytes(dir: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { disk_bytes(&entry.path())? } else { metadata.blocks() * 512 };
    }
    Ok(bytes)
}

/// Waits until the file system of a directory has written everything out: the next case is to begin on a quiet
/// disk.
pub(crate) fn quiesce(dir: &Path) -> Result<()> {
    Ok(rustix::fs::syncfs(std::fs::File::open(dir)?)?)
}
