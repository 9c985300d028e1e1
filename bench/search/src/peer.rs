//! A server: its process, its directory, its address.

use crate::Result;
use std::fs;
use std::path::{Path, PathBuf};

/// A server under test.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) url: String,
    pid: u32,
    dir: PathBuf,
}

impl Peer {
    pub(crate) fn of(name: &'static str, args: &[String]) -> Result<Self> {
        let [url, pid, dir] = args else {
            return Err("an address, a process and a directory are needed".into());
        };
        let (url, dir) = (url.trim_end_matches('/').to_owned(), PathBuf::from(dir));
        Ok(Self { name, url, pid: pid.parse()?, dir })
    }

    /// CPU seconds of the process so far, and of the kernel for it.
    pub(crate) fn cpu_s(&self) -> Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid))?;
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        // After the name: state is the third field of all, user and system time the 14th and 15th.
        let ticks: f64 = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
        Ok(ticks / 100.0)
    }

    /// Peak and present resident bytes, and present bytes that belong to no file.
    pub(crate) fn memory(&self) -> Result<(u64, u64, u64)> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid))?;
        let of = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name));
            let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
            kib.map_or(0, |kib| kib << 10)
        };
        Ok((of("VmHWM:"), of("VmRSS:"), of("RssAnon:")))
    }

    /// Bytes of its files.
    pub(crate) fn disk_bytes(&self) -> u64 {
        fn of(dir: &Path) -> u64 {
            use std::os::unix::fs::MetadataExt;
            let Ok(entries) = fs::read_dir(dir) else { return 0 };
            entries
                .flatten()
                .map(|entry| match entry.metadata() {
                    Ok(meta) if meta.is_dir() => of(&entry.path()),
                    Ok(meta) => meta.blocks() * 512,
                    Err(_) => 0,
                })
                .sum()
        }
        of(&self.dir)
    }
}
