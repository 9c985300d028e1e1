//! One case: what a child process of the benchmark does.

use crate::data::Order;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

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
    /// One put at the end, the first read and deleted.
    Queue,
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

/// A case and what came of it: a line of the results.
pub(crate) type Outcome = shared::case::Outcome<Case>;

/// No case may take longer: a peer that hangs must not end the benchmark.
const TIME_LIMIT: Duration = Duration::from_secs(900);

/// Runs a case in a process of its own.
pub(crate) fn in_child(case: &Case, dir: &Path) -> Outcome {
    shared::case::in_child(case, dir, &[], TIME_LIMIT)
}
