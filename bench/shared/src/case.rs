//! One case: what a child process of a benchmark does, and what it found.
//!
//! In a process of its own its memory and its threads are nobody else's. The process is the benchmark itself, called as
//! `… case DIR CASE`; it prints its figures as an object of JSON.

use crate::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What was found, by name; the unit ends the name.
pub type Figures = BTreeMap<String, f64>;

/// A case and what came of it: a line of the results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome<Case> {
    /// What was measured.
    pub case: Case,
    /// What was found; nothing if it failed.
    #[serde(default)]
    pub figures: Figures,
    /// Why there are no figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How often it is looked whether a case has ended.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Runs a case of this program on a directory, with these variables of the environment. One that takes longer than `most` is
/// killed: a peer that hangs must not end the benchmark.
pub fn in_child<Case: Clone + Serialize>(
    case: &Case,
    dir: &Path,
    env: &[(&str, &str)],
    most: Duration,
) -> Outcome<Case> {
    let found = serde_json::to_string(case).map_err(Into::into).and_then(|case| spawn(&case, dir, env, most));
    let case = case.clone();
    match found {
        Ok(figures) => Outcome { case, figures, error: None },
        Err(error) => Outcome { case, figures: Figures::new(), error: Some(error.to_string()) },
    }
}

fn spawn(case: &str, dir: &Path, env: &[(&str, &str)], most: Duration) -> Result<Figures> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("case")
        .arg(dir)
        .arg(case)
        .envs(env.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begin.elapsed() > most {
            child.kill()?;
            child.wait()?;
            return Err(format!("took longer than {} s", most.as_secs()).into());
        }
        std::thread::sleep(LOOK_EVERY);
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
