//! Which cases a study consists of, how often each runs, and in which order.
//!
//! Rounds are interleaved: a machine's speed drifts, and what drifts must touch every system. A system that no goal
//! is measured against runs once where a run takes long.

use crate::Result;
use crate::case::{Case, Outcome, Study, in_child};
use crate::data::Order;
use crate::results::Results;
use crate::studies::STRUCTURES;
use crate::systems::{self, Side, System};
use clap::Args;
use shared::disk;
use shared::machine::Machine;
use std::path::{Path, PathBuf};

/// What one command measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Load,
    Structures,
    Read,
    Mixed,
    Queue,
    Durable,
}

impl Group {
    pub(crate) const ALL: [Self; 6] =
        [Self::Load, Self::Structures, Self::Read, Self::Mixed, Self::Queue, Self::Durable];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Structures => "structures",
            Self::Read => "read",
            Self::Mixed => "mixed",
            Self::Queue => "queue",
            Self::Durable => "durable",
        }
    }
}

/// How much to measure.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Only these systems and those whose names begin like this, of the peers: rocksdb,lmdb
    #[arg(long, global = true, value_delimiter = ',')]
    peers: Option<Vec<String>>,
    /// Only systems whose names begin like this, whosoever they are
    #[arg(long, global = true, value_delimiter = ',')]
    only: Option<Vec<String>>,
    /// Numbers of entries, of load, structures and read: 100k,3M
    #[arg(long, global = true, value_delimiter = ',', value_parser = parse_size)]
    sizes: Option<Vec<u64>>,
    /// How often to measure each case; the median counts
    #[arg(long, global = true, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Only what the goals are measured against, once
    #[arg(long, global = true)]
    pub(crate) quick: bool,
}

fn parse_size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => text.strip_suffix('M').map_or((text, 1), |digits| (digits, 1_000_000)),
    };
    match digits.parse::<u64>() {
        Ok(n) if (1..=4_000_000_000 / unit).contains(&n) => Ok(n * unit),
        _ => Err(format!("{text} is not a number of entries such as 100, 600k or 3M")),
    }
}

/// From this size on, systems without a goal run once.
const LONG: u64 = 1_000_000;
/// The size from which a log that is read from its start is left out.
const TOO_LONG_FOR_LOGS: u64 = 100_000;

impl Options {
    fn systems(&self, study: Study) -> Vec<System> {
        let begins = |name: &str, with: &[String]| with.iter().any(|w| name.starts_with(w.as_str()));
        systems::all()
            .into_iter()
            .filter(|s| s.studies.contains(&study))
            .filter(|s| !self.quick || s.goals.contains(&study))
            .filter(|s| s.side != Side::Peer || self.peers.as_ref().is_none_or(|p| begins(s.name, p)))
            .filter(|s| self.only.as_ref().is_none_or(|o| begins(s.name, o)))
            .collect()
    }

    fn sizes(&self, full: &[u64], quick: &[u64]) -> Vec<u64> {
        self.sizes.clone().unwrap_or_else(|| if self.quick { quick } else { full }.to_vec())
    }

    fn rounds(&self) -> u32 {
        if self.quick { 1 } else { self.rounds }
    }

    fn seconds(&self, seconds: f64) -> f64 {
        if self.quick { seconds / 2.0 } else { seconds }
    }

    /// The cases of a study, in the order in which they run.
    fn cases(&self, study: Study) -> Vec<Case> {
        let case = |system: &str, order, entries, threads, seconds| Case {
            study,
            system: system.to_owned(),
            order,
            entries,
            threads,
            seconds: self.seconds(seconds),
            round: 0,
        };
        let mut cases = Vec::new();
        match study {
            Study::Load => {
                for entries in self.sizes(&[100_000, 600_000, 3_000_000], &[3_000_000]) {
                    for order in [Order::Random, Order::Sequential] {
                        for system in self.systems(study) {
                            let once = entries >= LONG && !system.goals.contains(&study);
                            cases.push((case(system.name, order, entries, 1, 0.0), once));
                        }
                    }
                }
            }
            Study::Structures => {
                for entries in self.sizes(&[100_000, 600_000, 3_000_000], &[600_000]) {
                    for order in [Order::Random, Order::Sequential] {
                        for name in STRUCTURES {
                            cases.push((case(name, order, entries, 1, 0.0), entries >= LONG));
                        }
                    }
                }
            }
            Study::Prepare | Study::Read => {
                for entries in self.sizes(&[100, 1_000, 10_000, 1_000_000, 3_000_000], &[100, 3_000_000]) {
                    for system in self.systems(Study::Read) {
                        if entries < TOO_LONG_FOR_LOGS || !system.name.contains("log") {
                            cases.push((
                                case(system.name, Order::Random, entries, 1, 0.3),
                                study == Study::Prepare,
                            ));
                        }
                    }
                }
            }
            Study::Mixed => {
                for system in self.systems(study) {
                    cases.push((case(system.name, Order::Random, 1_000, 1, 1.0), false));
                }
            }
            Study::Queue => {
                for entries in self.sizes(&[1_000, 20_000], &[20_000]) {
                    for system in self.systems(study) {
                        cases.push((case(system.name, Order::Sequential, entries, 1, 1.0), false));
                    }
                }
            }
            Study::Disk => {
                for system in self.systems(study) {
                    cases.push((case(system.name, Order::Random, 10_000, 1, 0.0), true));
                }
            }
            Study::Durable => {
                for threads in [1, 8] {
                    for system in self.systems(study) {
                        cases.push((case(system.name, Order::Random, 0, threads, 1.5), false));
                    }
                }
            }
        }
        (0..self.rounds())
            .flat_map(|round| {
                let again = cases.iter().filter(move |(_, once)| round == 0 || !once);
                again.map(move |(case, _)| Case { round, ..case.clone() })
            })
            .collect()
    }
}

/// Measures everything of a group.
pub(crate) fn run(group: Group, options: &Options, work: &Path) -> Result<Results> {
    std::fs::create_dir_all(work)?;
    let mut results = Results::new(Machine::look(work, &systems::versions()), options.rounds());
    let studies: &[Study] = match group {
        Group::Load => &[Study::Load],
        Group::Structures => &[Study::Structures],
        Group::Read => &[Study::Prepare, Study::Read],
        Group::Mixed => &[Study::Mixed, Study::Disk],
        Group::Queue => &[Study::Queue],
        Group::Durable => &[Study::Durable],
    };
    // Stores that are read are kept from one case to the next.
    let kept = tempfile::tempdir_in(work)?;
    for study in studies {
        for case in options.cases(*study) {
            let dir = match study {
                Study::Prepare | Study::Read => kept.path().join(format!("{}-{}", case.system, case.entries)),
                _ => kept.path().join("store"),
            };
            if *study == Study::Read && !dir.exists() {
                continue; // it could not be prepared
            }
            let outcome = one(&case, &dir, work)?;
            let broken = *study == Study::Prepare && outcome.error.is_some();
            results.push(outcome);
            if dir.exists() && (broken || !matches!(study, Study::Prepare | Study::Read)) {
                std::fs::remove_dir_all(&dir)?;
            }
        }
    }
    Ok(results)
}

fn one(case: &Case, dir: &Path, work: &Path) -> Result<Outcome> {
    disk::quiesce(work)?;
    let outcome = in_child(case, &PathBuf::from(dir));
    let named = |(name, value): (&String, &f64)| match *value {
        v if v < 100.0 => format!("{name} {v:.2}"),
        v => format!("{name} {v:.0}"),
    };
    let what = match &outcome.error {
        Some(error) => format!("FAILED: {error}"),
        None => outcome.figures.iter().map(named).collect::<Vec<_>>().join(", "),
    };
    let Case { study, system, order, entries, threads, round, .. } = case;
    let threads = if *threads > 1 { format!(", {threads} threads") } else { String::new() };
    eprintln!("{study:?} {system}, {entries} {}{threads}, round {}: {what}", order.name(), round + 1);
    Ok(outcome)
}
