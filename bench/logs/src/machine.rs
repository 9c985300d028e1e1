//! What the benchmark ran on.

use crate::Result;
use std::path::Path;
use std::process::Command;

/// The machine, and the versions.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) memory_gib: f64,
    pub(crate) kernel: String,
    /// The load average before it began: what else ran beside.
    pub(crate) load: String,
    pub(crate) duramen: String,
    pub(crate) commit: String,
}

impl Machine {
    pub(crate) fn look(duramen: &Path) -> Result<Self> {
        let cpu_info = read("/proc/cpuinfo");
        let memory = read("/proc/meminfo");
        Ok(Self {
            cpu: after(&cpu_info, "model name").unwrap_or("unknown CPU").to_owned(),
            cores: std::thread::available_parallelism()?.get(),
            memory_gib: after(&memory, "MemTotal")
                .and_then(|m| m.trim_end_matches(" kB").parse::<f64>().ok())
                .map_or(0.0, |kib| kib / 1_048_576.0),
            kernel: output(Command::new("uname").args(["-s", "-r", "-m"])),
            load: read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" "),
            duramen: output(Command::new(duramen).arg("--version")),
            commit: output(Command::new("git").args(["describe", "--always", "--dirty"])),
        })
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The value of the first line `name : value`.
fn after<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let line = text.lines().find(|l| l.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim())
}

fn output(command: &mut Command) -> String {
    match command.output() {
        Ok(o) if o.status.success() => String::from_utf8_lossy(&o.stdout).trim().to_owned(),
        _ => "unknown".to_owned(),
    }
}
