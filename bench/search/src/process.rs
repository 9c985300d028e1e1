//! What the kernel says of a process.

use crate::Result;
use std::fs;
use std::path::PathBuf;

/// A process: this one, or another.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Process {
    This,
    Id(u32),
}

impl Process {
    fn file(self, name: &str) -> PathBuf {
        match self {
            Self::This => PathBuf::from("/proc/self").join(name),
            Self::Id(id) => PathBuf::from(format!("/proc/{id}")).join(name),
        }
    }

    /// CPU seconds of the process so far, and of the kernel for it.
    pub(crate) fn cpu_s(self) -> Result<f64> {
        let stat = fs::read_to_string(self.file("stat"))?;
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        // After the name: state is the third field of all, user and system time the 14th and 15th.
        let ticks: f64 = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
        Ok(ticks / rustix::param::clock_ticks_per_second() as f64)
    }

    /// Peak and present resident bytes, and present bytes that belong to no file.
    pub(crate) fn memory(self) -> Result<(u64, u64, u64)> {
        let status = fs::read_to_string(self.file("status"))?;
        let of = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name));
            let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
            kib.map_or(0, |kib| kib << 10)
        };
        Ok((of("VmHWM:"), of("VmRSS:"), of("RssAnon:")))
    }

    /// Lets the peak count from now on.
    pub(crate) fn forget_peak(self) -> Result<()> {
        Ok(fs::write(self.file("clear_refs"), "5")?)
    }
}
