//! Where lines go: the direct logger, and what it is compared with.

mod file;
pub(crate) mod logger;
mod postgres;
mod sqlite;

use crate::Result;
use crate::sample::Line;
use shared::case::Figures;
use std::path::Path;

/// An open target. Sessions of any number of threads log into it.
pub(crate) trait Target: Sync {
    /// A thread's way in: a connection, where there are such.
    fn session(&self) -> Result<Box<dyn Session + '_>>;

    /// What it counted by itself.
    fn figures(&self) -> Figures {
        Figures::new()
    }

    /// Ends it, and makes sure that everything is there: how many lines, and the sum of their `seq`.
    fn close(self: Box<Self>) -> Result<Found>;
}

/// A thread's way into a target.
pub(crate) trait Session {
    /// Logs a line as the `seq`-th.
    fn log(&mut self, line: &Line, seq: i64) -> Result<()>;

    /// Hands over what is still held back to make up a batch.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// What a target holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) lines: u64,
    pub(crate) seq_sum: i64,
}

/// A target that can be measured.
pub(crate) struct System {
    pub(crate) name: &'static str,
    /// What a line survives when its call has returned.
    pub(crate) survives: &'static str,
    pub(crate) settings: &'static str,
    /// Whether it is measured only where a server is given.
    pub(crate) needs_server: bool,
    pub(crate) open: fn(&Path) -> Result<Box<dyn Target>>,
}

/// Lines of a batch, as in study 001.
pub(crate) const BATCH: u32 = 100;

const POWER: &str = "a loss of power";
const PROCESS: &str = "the process's death";
const NOTHING: &str = "nothing: up to 100 lines are held back";
const ERRORS: &str =
    "error: a loss of power, with all before it; info: nothing, up to 100 lines are held back";

impl System {
    /// The one of this name.
    pub(crate) fn of(name: &str) -> Option<&'static Self> {
        SYSTEMS.iter().find(|s| s.name == name)
    }

    /// Opens the one of this name.
    pub(crate) fn open(name: &str, dir: &Path) -> Result<Box<dyn Target>> {
        let system = Self::of(name).ok_or_else(|| format!("there is no system {name}"))?;
        (system.open)(dir)
    }
}

pub(crate) static SYSTEMS: &[System] = &[
    System {
        name: "duramen",
        survives: PROCESS,
        settings: "durability process, sync_levels none",
        needs_server: false,
        open: |dir| logger::open(dir, &logger::Settings::default()),
    },
    System {
        name: "duramen-none",
        survives: "nothing is promised",
        settings: "durability none, sync_levels none",
        needs_server: false,
        open: |dir| logger::open(dir, &logger::Settings { none: true, ..Default::default() }),
    },
    System {
        name: "duramen-eager",
        survives: "info: the process's death; error: a loss of power, with all before it",
        settings: "as it comes: durability process, sync_levels error and fatal",
        needs_server: false,
        open: |dir| logger::open(dir, &logger::Settings { eager: true, ..Default::default() }),
    },
    System {
        name: "duramen-small",
        survives: PROCESS,
        settings: "durability process, write buffers of 8 MiB instead of 64: flush and compaction never rest",
        needs_server: false,
        open: |dir| logger::open(dir, &logger::Settings { small: true, ..Default::default() }),
    },
    System {
        name: "sqlite-wal",
        survives: PROCESS,
        settings: "journal WAL, synchronous NORMAL, an insert for each line",
        needs_server: false,
        open: |dir| sqlite::open(dir, "WAL", "NORMAL", sqlite::Commit::Each),
    },
    System {
        name: "sqlite-wal-100",
        survives: NOTHING,
        settings: "journal WAL, synchronous NORMAL, transactions of 100",
        needs_server: false,
        open: |dir| sqlite::open(dir, "WAL", "NORMAL", sqlite::Commit::Batches),
    },
    System {
        name: "sqlite-delete",
        survives: POWER,
        settings: "journal DELETE, synchronous FULL (SQLite as it comes), an insert for each line",
        needs_server: false,
        open: |dir| sqlite::open(dir, "DELETE", "FULL", sqlite::Commit::Each),
    },
    System {
        name: "sqlite-delete-100",
        survives: NOTHING,
        settings: "journal DELETE, synchronous FULL, transactions of 100",
        needs_server: false,
        open: |dir| sqlite::open(dir, "DELETE", "FULL", sqlite::Commit::Batches),
    },
    System {
        name: "sqlite-full",
        survives: POWER,
        settings: "journal WAL, synchronous FULL, an insert for each line",
        needs_server: false,
        open: |dir| sqlite::open(dir, "WAL", "FULL", sqlite::Commit::Each),
    },
    System {
        name: "sqlite-full-eager",
        survives: ERRORS,
        settings: "journal WAL, synchronous FULL, transactions of 100, or up to the next error: study 001's way",
        needs_server: false,
        open: |dir| sqlite::open(dir, "WAL", "FULL", sqlite::Commit::Errors),
    },
    System {
        name: "postgres",
        survives: POWER,
        settings: "the server as it is set, an insert for each line",
        needs_server: true,
        open: |_| postgres::open(postgres::Commit::Each),
    },
    System {
        name: "postgres-100",
        survives: NOTHING,
        settings: "the server as it is set, COPY of 100 lines each",
        needs_server: true,
        open: |_| postgres::open(postgres::Commit::Batches),
    },
    System {
        name: "postgres-eager",
        survives: ERRORS,
        settings: "the server as it is set, COPY of 100 lines each, or up to the next error",
        needs_server: true,
        open: |_| postgres::open(postgres::Commit::Errors),
    },
    System {
        name: "file-100",
        survives: NOTHING,
        settings: "JSON lines through one buffer, written to the file every 100 lines; cannot be searched",
        needs_server: false,
        open: file::open,
    },
];
