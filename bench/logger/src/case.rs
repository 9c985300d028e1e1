//! One case: what a child process of the benchmark does.

use crate::{Result, direct, store};
use serde::{Deserialize, Serialize};
use shared::case::Figures;
use std::path::Path;
use std::time::Duration;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Study {
    /// Log lines, all of level info.
    Ingest,
    /// Each thread logs as many errors, after its first half.
    Eager,
    /// Processes that log at the same time.
    Processes,
    /// How long single calls take.
    Latency,
    /// Entries into a store, and all of them back.
    Entries,
    /// A part of the time range, and all of it.
    Window,
    /// What a process left that was killed.
    Recover,
    /// What entries are encoded as.
    Encoding,
}

/// One row of one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Case {
    pub(crate) study: Study,
    pub(crate) system: String,
    pub(crate) lines: u64,
    pub(crate) threads: u32,
    pub(crate) processes: u32,
    /// Bytes of a message; 0 where the lines are study 001's.
    pub(crate) message_bytes: usize,
    /// Lines a second; 0 for as fast as it goes.
    pub(crate) rate: u64,
    pub(crate) round: u32,
}

/// A case and what came of it: a line of the results.
pub(crate) type Outcome = shared::case::Outcome<Case>;

/// No case may take longer: a peer that hangs must not end the benchmark.
const TIME_LIMIT: Duration = Duration::from_secs(600);

impl Case {
    /// A case of one thread in one process.
    pub(crate) fn new(study: Study, system: &str, lines: u64) -> Self {
        let system = system.to_owned();
        Self { study, system, lines, threads: 1, processes: 1, message_bytes: 0, rate: 0, round: 0 }
    }

    pub(crate) fn threads(self, threads: u32) -> Self {
        Self { threads, ..self }
    }

    pub(crate) fn processes(self, processes: u32) -> Self {
        Self { processes, ..self }
    }

    pub(crate) fn message_bytes(self, message_bytes: usize) -> Self {
        Self { message_bytes, ..self }
    }

    pub(crate) fn rate(self, rate: u64) -> Self {
        Self { rate, ..self }
    }

    /// Whether it is over so soon that it is worth running more often: those whose figures stand in the goals.
    pub(crate) fn is_short(&self) -> bool {
        self.study == Study::Ingest && self.lines == 10_000 && direct::SHORT_ONES.contains(&&*self.system)
    }

    /// Measures it in this process.
    pub(crate) fn run(&self, dir: &Path) -> Result<Figures> {
        match self.study {
            Study::Ingest | Study::Eager => direct::ingest(self, dir),
            Study::Processes => direct::processes(self, dir),
            Study::Latency => direct::latency(self, dir),
            Study::Entries => store::entries(self, dir),
            Study::Window => store::window(self, dir),
            Study::Recover => store::recover(self, dir),
            Study::Encoding => store::encoding(self),
        }
    }

    /// Runs it in a process of its own.
    pub(crate) fn in_child(&self, dir: &Path, postgres: Option<&str>) -> Outcome {
        let env: Vec<_> = postgres.map(|url| ("BENCH_POSTGRES", url)).into_iter().collect();
        shared::case::in_child(self, dir, &env, TIME_LIMIT)
    }
}
