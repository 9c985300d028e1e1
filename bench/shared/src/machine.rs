//! What the benchmark ran on.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::process::Command;

/// The machine, the versions, and what else ran.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// How many of them.
    pub cores: usize,
    /// Memory, in GiB.
    pub memory_gib: f64,
    /// Name, release and machine, as `uname` tells them.
    pub kernel: String,
    /// Type and options of the mount that was measured.
    pub file_system: String,
    /// The load average before it began.
    pub load: String,
    /// What was measured.
    pub commit: String,
    /// What compiled it.
    pub compiler: String,
    /// What the compilers were allowed to use.
    #[serde(default)]
    pub target_features: String,
    /// What it is compared with, and of which versions.
    #[serde(default)]
    pub peers: String,
}

impl Machine {
    /// Looks, before the benchmark begins; `work` lies on the disk to be measured, and `peers` are what it is compared with.
    #[must_use]
    pub fn look(work: &Path, peers: &[String]) -> Self {
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
            target_features: target_features(),
            peers: peers.join(", "),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpu, cores, memory_gib, kernel, file_system, load, .. } = self;
        write!(f, "{cpu}, {cores} cores, {memory_gib:.1} GiB, {kernel}; {file_system}; load before: {load}")
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

/// What a command prints.
#[must_use]
pub fn output(command: &mut Command) -> String {
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

fn target_features() -> String {
    let all = [
        ("sse4.2", cfg!(target_feature = "sse4.2")),
        ("pclmulqdq", cfg!(target_feature = "pclmulqdq")),
        ("avx2", cfg!(target_feature = "avx2")),
        ("bmi2", cfg!(target_feature = "bmi2")),
    ];
    let on: Vec<_> = all.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
    if on.is_empty() { "the target's baseline".to_owned() } else { format!("baseline, {}", on.join(", ")) }
}

/// Names and versions of some crates, from the lock file.
#[must_use]
pub fn versions(crates: &[&str]) -> Vec<String> {
    let lock = include_str!("../../Cargo.lock");
    let version = |name: &&str| {
        let (_, rest) = lock.split_once(&format!("\nname = \"{name}\"\nversion = \""))?;
        Some(format!("{name} {}", rest.split_once('"')?.0))
    };
    crates.iter().filter_map(version).collect()
}
