//! What the kernel says of a process.

use crate::Result;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// A process: this one, or another.
#[derive(Clone, Copy, Debug)]
pub enum Process {
    /// This one.
    This,
    /// The one of this number.
    Id(u32),
}

/// A process's resident memory, mapped files included.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// The most there was.
    pub peak_bytes: u64,
    /// What there is.
    pub resident_bytes: u64,
    /// What there is of no file.
    pub anonymous_bytes: u64,
}

/// User and system time of this process so far, all threads included, to the nanosecond.
#[must_use]
pub fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or_default(), time.tv_nsec.try_into().unwrap_or_default())
}

impl Process {
    fn file(self, name: &str) -> PathBuf {
        match self {
            Self::This => PathBuf::from("/proc/self").join(name),
            Self::Id(id) => PathBuf::from(format!("/proc/{id}")).join(name),
        }
    }

    /// CPU seconds of the process so far, and of the kernel for it, in hundredths.
    ///
    /// # Errors
    /// If there is no such process.
    pub fn cpu_s(self) -> Result<f64> {
        let stat = fs::read_to_string(self.file("stat"))?;
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        // After the name: state is the third field of all, user and system time the 14th and 15th.
        let ticks: f64 = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
        Ok(ticks / rustix::param::clock_ticks_per_second() as f64)
    }

    /// Its memory.
    ///
    /// # Errors
    /// If there is no such process.
    pub fn memory(self) -> Result<Memory> {
        let status = fs::read_to_string(self.file("status"))?;
        let of = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name));
            let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
            kib.map_or(0, |kib| kib << 10)
        };
        Ok(Memory { peak_bytes: of("VmHWM:"), resident_bytes: of("VmRSS:"), anonymous_bytes: of("RssAnon:") })
    }

    /// Lets the peak count from now on.
    ///
    /// # Errors
    /// If it may not.
    pub fn forget_peak(self) -> Result<()> {
        Ok(fs::write(self.file("clear_refs"), "5")?)
    }
}
