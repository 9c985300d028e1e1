//! What the benchmark ran on.

use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;

/// The machine, the versions, and what else ran.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) memory_gib: f64,
    pub(crate) kernel: String,
    pub(crate) file_system: String,
    /// The load average before it began.
    pub(crate) load: String,
    pub(crate) commit: String,
    pub(crate) compiler: String,
    pub(crate) peers: String,
}

impl Machine {
    pub(crate) fn look(work: &Path) -> Self {
        let cpu_info = read("/proc/cpuinfo");
        let memory = read("/proc/meminfo");
        Self {
            cpu: after(&cpu_info, "model name").unwrap_or("unknown CPU").to_owned(),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_gib: after(&memory, "MemTotal")
                .and_then(|m| m.trim_end_matches(" kB").parse::<f64>().ok())
                .map_or(0.0, |kib| kib / 1_048_576.0),
            kernel: output(Command::new("uname").args(["-s", "-r", "-m"])),
            file_system: file_system(work),
            load: read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" "),
            commit: output(Command::new("git").args(["describe", "--always", "--dirty"])),
            compiler: output(Command::new("rustc").arg("--version")),
            peers: peers(),
        }
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

/// Type and options of the mount that the directory lies on.
fn file_system(dir: &Path) -> String {
    let Ok(dir) = dir.canonicalize() else { return "unknown".to_owned() };
    let mounts = read("/proc/mounts");
    let of_mount = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let (at, kind, options) = (words.next()?, words.next()?, words.next()?);
        dir.starts_with(at).then(|| (at.len(), format!("{kind} ({options})")))
    };
    mounts.lines().filter_map(of_mount).max().map_or("unknown".to_owned(), |(_, name)| name)
}

/// Versions of the peers' crates, from the lock file.
fn peers() -> String {
    const PEERS: [&str; 2] = ["rusqlite", "postgres"];
    let lock = include_str!("../../Cargo.lock");
    let version = |name: &str| {
        let (_, rest) = lock.split_once(&format!("\nname = \"{name}\"\nversion = \""))?;
        Some(format!("{name} {}", rest.split_once('"')?.0))
    };
    let mut all: Vec<String> = PEERS.iter().filter_map(|name| version(name)).collect();
    all.push(format!("SQLite {}", rusqlite::version()));
    all.join(", ")
}
