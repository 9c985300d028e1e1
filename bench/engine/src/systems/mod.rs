//! The systems that are compared, and how each is set.

mod device;
mod duramen;
mod fjall;
mod lmdb;
mod naive;
mod naive_log;
mod redb;
#[cfg(feature = "rocksdb")]
mod rocks;
mod sqlite;

use crate::Result;
use crate::case::Study;
use crate::store::Store;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Side {
    /// Duramen's engine.
    Ours,
    /// Another engine.
    Peer,
    /// What the comparison starts from: a design of the studies, the device, the harness itself.
    Baseline,
}

/// A system with its settings: one row of a table.
pub(crate) struct System {
    pub(crate) name: &'static str,
    pub(crate) side: Side,
    /// What an acknowledged write survives.
    pub(crate) durability: &'static str,
    /// How it is set, where that is not the default.
    pub(crate) settings: &'static str,
    /// What it takes part in.
    pub(crate) studies: &'static [Study],
    /// Those of them in which a goal is measured against it: there it runs in every round, and in a quick run.
    pub(crate) goals: &'static [Study],
    open: fn(&Path) -> Result<Box<dyn Store>>,
}

impl System {
    /// Opens the store in a directory, or a new one.
    pub(crate) fn open(&self, dir: &Path) -> Result<Box<dyn Store>> {
        std::fs::create_dir_all(dir)?;
        (self.open)(dir).map_err(|e| format!("{} does not open {}: {e}", self.name, dir.display()).into())
    }
}

/// What the results keep of a system, so that a report needs nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Description {
    pub(crate) name: String,
    pub(crate) side: Side,
    pub(crate) durability: String,
    pub(crate) settings: String,
}

impl From<&System> for Description {
    fn from(system: &System) -> Self {
        Self {
            name: system.name.to_owned(),
            side: system.side,
            durability: system.durability.to_owned(),
            settings: system.settings.to_owned(),
        }
    }
}

/// All of them, in the order of the tables.
pub(crate) fn all() -> Vec<System> {
    let mut all = duramen::systems();
    all.extend(naive::systems());
    all.extend(naive_log::systems());
    all.extend(device::systems());
    #[cfg(feature = "rocksdb")]
    all.extend(rocks::systems());
    all.extend(fjall::systems());
    all.extend(lmdb::systems());
    all.extend(redb::systems());
    all.extend(sqlite::systems());
    all
}

/// The system of that name.
pub(crate) fn named(name: &str) -> Result<System> {
    all().into_iter().find(|s| s.name == name).ok_or_else(|| format!("there is no system {name}").into())
}

/// Write buffers of all LSM trees: `write_buffer_size`.
const WRITE_BUFFER_BYTES: usize = 64 << 20;
/// `max_write_buffer_number`.
const WRITE_BUFFERS: usize = 2;
/// Block and page caches of everybody in the studies that read.
const CACHE_BYTES: usize = 512 << 20;
/// Writes in a batch, where batches are used.
const BATCH: usize = 1_000;
/// Writes in a transaction of a B-tree.
const TRANSACTION: usize = 10_000;

const IN_MEMORY: &str = "nothing: lost with the process";
const PROCESS: &str = "the process's death";
const POWER: &str = "loss of power";
const TRANSACTIONS: &str = "the process's death, by transaction";

/// The crates they are of, and what is in those, with versions.
pub(crate) fn versions() -> Vec<String> {
    const CRATES: [&str; 7] =
        ["librocksdb-sys", "fjall", "redb", "heed", "lmdb-master-sys", "rusqlite", "crossbeam-skiplist"];
    let mut all = shared::machine::versions(&CRATES);
    all.push(format!("SQLite {}", rusqlite::version()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;
    use crate::data::Order;

    /// The studies check what they read: this is a test of every system's adapter, and of every study.
    #[test]
    fn every_system_gets_through_its_studies() {
        for system in all() {
            for study in system.studies {
                let dir = tempfile::tempdir().unwrap();
                let case = |study, order| Case {
                    study,
                    system: system.name.to_owned(),
                    order,
                    entries: if matches!(study, Study::Mixed | Study::Queue | Study::Disk) {
                        300
                    } else {
                        2_500
                    },
                    threads: if study == Study::Durable { 2 } else { 1 },
                    seconds: 0.01,
                    round: 0,
                };
                let run = |study, order| {
                    if let Err(error) = crate::studies::run(&case(study, order), dir.path()) {
                        panic!("{} {study:?} {order:?}: {error}", system.name);
                    }
                };
                match study {
                    Study::Read => {
                        run(Study::Prepare, Order::Random);
                        run(Study::Read, Order::Random);
                    }
                    Study::Load => {
                        run(Study::Load, Order::Random);
                        std::fs::remove_dir_all(dir.path()).unwrap();
                        run(Study::Load, Order::Sequential);
                    }
                    Study::Queue => run(Study::Queue, Order::Sequential),
                    other => run(*other, Order::Random),
                }
            }
        }
    }
}
