//! One case: what a child process of the benchmark does, and what it found.

use crate::Result;
use crate::data::Order;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Study {
    /// Loading many entries.
    Load,
    /// The structures of the memtables alone.
    Structures,
    /// Loads and settles what `Read` reads.
    Prepare,
    /// Gets and scans.
    Read,
    /// Half reads, half writes.
    Mixed,
    /// Space taken by many small entries.
    Disk,
    /// Writes that survive a loss of power.
    Durable,
}

/// One row of one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Case {
    pub(crate) study: Study,
    pub(crate) system: String,
    pub(crate) order: Order,
    pub(crate) entries: u64,
    pub(crate) threads: u32,
    /// How long to measure, where it is not a number of entries that ends it.
    pub(crate) seconds: f64,
    pub(crate) round: u32,
}

/// What was found, by name; the unit ends the name.
pub(crate) type Figures = BTreeMap<String, f64>;

/// A case and what came of it: a line of the results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) case: Case,
    #[serde(default)]
    pub(crate) figures: Figures,
    /// Why there are no figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// No case may take longer: a peer that hangs must not end the benchmark.
const TIME_LIMIT: Duration = Duration::from_secs(900);

/// Runs a case in a process of its own, so that its memory and its threads are nobody else's.
pub(crate) fn in_child(case: &Case, dir: &Path) -> Outcome {
    match spawn(case, dir) {
        Ok(figures) => Outcome { case: case.clone(), figures, error: None },
        Err(error) => Outcome { case: case.clone(), figures: Figures::new(), error: Some(error.to_string()) },
    }
}

fn spawn(case: &Case, dir: &Path) -> Result<Figures> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("case")
        .arg(dir)
        .arg(serde_json::to_string(case)?)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begin.elapsed() > TIME_LIMIT {
            child.kill()?;
            child.wait()?;
            return Err(format!("took longer than {} s", TIME_LIMIT.as_secs()).into());
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let (mut out, mut err) = (String::new(), String::new());
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_string(&mut out)?;
    }
    if let Some(mut pipe) = child.stderr.take() {
        pipe.read_to_string(&mut err)?;
    }
    if !status.success() {
        return Err(format!("{status}: {}", err.trim()).into());
    }
    Ok(serde_json::from_str(&out)?)
}
