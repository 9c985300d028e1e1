//! Study 001: a program logs, from threads and processes.
//!
//! | module | one idea |
//! |---|---|
//! | `ingest` | lines from 1 and more threads, until the last call has returned |
//! | `processes` | several processes at the same time |
//! | `latency` | how long each single call takes |
//! | `report` | the page |

mod ingest;
mod latency;
mod processes;
mod report;

pub(crate) use ingest::ingest;
pub(crate) use latency::{OVER_NS, latency};
pub(crate) use processes::{processes, writer};
pub(crate) use report::page;

use crate::case::{Case, Study};

/// Lines that are logged before the clock starts, by every system.
const WARM_UP_LINES: u64 = 100;

/// What many lines are: for rates that 10,000 lines are too few for.
pub(crate) const MANY: u64 = 1_000_000;
/// Lines of all processes together: what one process's write buffer has room for, so that it is the calls that are
/// measured, and not the flush.
pub(crate) const OF_PROCESSES: u64 = 200_000;
/// Lines of the latency study.
pub(crate) const FULL_LOAD: u64 = 2_000_000;
/// The rate of its second load, in lines a second.
pub(crate) const PACE: u64 = 100_000;

/// Who takes many lines: not those to which a line costs a sync.
pub(crate) const QUICK_ONES: [&str; 4] = ["duramen", "duramen-none", "sqlite-wal-100", "file-100"];
/// Whose 10,000 lines the goals are measured by.
pub(crate) const SHORT_ONES: [&str; 5] =
    ["duramen", "duramen-none", "sqlite-wal", "sqlite-wal-100", "file-100"];
pub(crate) const SINGLE: [&str; 9] = [
    "duramen",
    "duramen-none",
    "sqlite-wal",
    "sqlite-wal-100",
    "sqlite-delete",
    "sqlite-delete-100",
    "postgres",
    "postgres-100",
    "file-100",
];
pub(crate) const EAGER: [&str; 7] = [
    "duramen-eager",
    "duramen",
    "sqlite-full",
    "sqlite-full-eager",
    "sqlite-wal-100",
    "postgres-eager",
    "postgres-100",
];
pub(crate) const THREADED: [&str; 6] =
    ["duramen", "duramen-none", "sqlite-wal", "sqlite-wal-100", "postgres-100", "file-100"];

/// 500 of level info and 500 of level error, of each thread.
pub(crate) const EAGER_LINES: u64 = 1_000;

pub(crate) fn cases(quick: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for lines in [1_000, 10_000] {
        cases.extend(SINGLE.map(|system| Case::new(Study::Ingest, system, lines)));
    }
    cases.extend(QUICK_ONES.map(|system| Case::new(Study::Ingest, system, MANY)));
    for threads in [2, 8] {
        cases.extend(THREADED.map(|system| Case::new(Study::Ingest, system, 80_000).threads(threads)));
    }
    cases.extend(THREADED.map(|system| Case::new(Study::Ingest, system, 80_000)));
    for threads in [1, 8] {
        let lines = EAGER_LINES * u64::from(threads);
        cases.extend(EAGER.map(|system| Case::new(Study::Eager, system, lines).threads(threads)));
    }
    for processes in [1, 8] {
        cases.push(Case::new(Study::Processes, "duramen", OF_PROCESSES).processes(processes));
        if !quick {
            cases.push(Case::new(Study::Processes, "duramen", FULL_LOAD).processes(processes));
        }
        cases.push(Case::new(Study::Processes, "sqlite-wal", 16_000).processes(processes));
    }
    cases.extend(latencies());
    cases
}

/// The latency study's cases.
pub(crate) fn latencies() -> Vec<Case> {
    vec![
        Case::new(Study::Latency, "duramen", FULL_LOAD),
        Case::new(Study::Latency, "duramen", FULL_LOAD).threads(2),
        Case::new(Study::Latency, "duramen-small", FULL_LOAD),
        Case::new(Study::Latency, "duramen", FULL_LOAD / 4).rate(PACE),
        Case::new(Study::Latency, "duramen-small", FULL_LOAD / 4).rate(PACE),
        Case::new(Study::Latency, "sqlite-wal", FULL_LOAD / 20),
    ]
}
