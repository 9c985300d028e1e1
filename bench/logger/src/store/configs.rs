//! Study 003's versions as configurations, and what they are compared with.

use super::{ours, peers};
use crate::Result;
use crate::sample::Entry;
use duramen::Durability;
use std::path::Path;

/// A place for entries.
pub(super) trait Place {
    /// Stores an entry.
    fn put(&mut self, entry: &Entry<'_>) -> Result<()>;

    /// Has everything survive what the configuration says.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    /// Closes it, with everything in its final files.
    fn close(self: Box<Self>) -> Result<()>;
}

/// What was read: enough to see that it is all that was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) entries: u64,
    pub(super) message_bytes: u64,
    pub(super) requests: i64,
    pub(super) fields: u64,
}

impl std::ops::AddAssign for Read {
    fn add_assign(&mut self, other: Self) {
        self.entries += other.entries;
        self.message_bytes += other.message_bytes;
        self.requests += other.requests;
        self.fields += other.fields;
    }
}

/// A way to read all entries of a time range, in order of time, every field decoded.
pub(super) type Reader = fn(&Path, i64, i64) -> Result<Read>;

pub(super) struct Config {
    pub(super) name: &'static str,
    /// Which of study 003's versions it is.
    pub(super) version: &'static str,
    pub(super) survives: &'static str,
    pub(super) settings: &'static str,
    /// Measured with 100 k even if there is little time.
    pub(super) always: bool,
    pub(super) open: fn(&Path) -> Result<Box<dyn Place>>,
    pub(super) read: Option<Reader>,
}

impl Config {
    pub(super) fn of(name: &str) -> Result<&'static Self> {
        Ok(CONFIGS
            .iter()
            .find(|c| c.name == name)
            .ok_or_else(|| format!("there is no configuration {name}"))?)
    }
}

const POWER: &str = "a loss of power";
const PROCESS: &str = "the process's death";
const NOTHING: &str = "nothing";

pub(super) static CONFIGS: &[Config] = &[
    Config {
        name: "memory",
        version: "V1: memory only",
        survives: "nothing is promised",
        settings: "durability none, write buffers of 256 MiB: no flush",
        always: true,
        open: |dir| ours::open(dir, &ours::Setup::new(Durability::None)),
        read: Some(ours::read),
    },
    Config {
        name: "sync",
        version: "V2, and V3 with 1 KB: WAL, synced per entry",
        survives: POWER,
        settings: "durability sync, write buffers of 256 MiB: no flush",
        always: true,
        open: |dir| ours::open(dir, &ours::Setup::new(Durability::Sync)),
        read: Some(ours::read),
    },
    Config {
        name: "sync-flush",
        version: "V4 to V6: and a flush every 1,000",
        survives: POWER,
        settings: "durability sync; each 1,000 entries `flush`, in the foreground",
        always: false,
        open: |dir| ours::open(dir, &ours::Setup { flush: true, ..ours::Setup::new(Durability::Sync) }),
        read: Some(ours::read),
    },
    Config {
        name: "sync-compact",
        version: "V7: and compaction",
        survives: POWER,
        settings: "durability sync; each 1,000 entries `flush` and `compact`, in the foreground",
        always: false,
        open: |dir| {
            ours::open(dir, &ours::Setup { flush: true, compact: true, ..ours::Setup::new(Durability::Sync) })
        },
        read: Some(ours::read),
    },
    Config {
        name: "batch-10",
        version: "next: batched WAL",
        survives: "a loss of power, when its batch of 10 is full",
        settings: "durability sync, `append_batch` of 10",
        always: false,
        open: |dir| ours::open(dir, &ours::Setup { batch: 10, ..ours::Setup::new(Durability::Sync) }),
        read: Some(ours::read),
    },
    Config {
        name: "batch-100",
        version: "next: batched WAL",
        survives: "a loss of power, when its batch of 100 is full",
        settings: "durability sync, `append_batch` of 100",
        always: false,
        open: |dir| ours::open(dir, &ours::Setup { batch: 100, ..ours::Setup::new(Durability::Sync) }),
        read: Some(ours::read),
    },
    Config {
        name: "process",
        version: "as it comes",
        survives: PROCESS,
        settings: "the defaults: durability process, write buffers of 64 MiB, flush and compaction beside",
        always: true,
        open: |dir| ours::open(dir, &ours::Setup { defaults: true, ..ours::Setup::new(Durability::Process) }),
        read: Some(ours::read),
    },
    Config {
        name: "device-append",
        version: "reference",
        survives: POWER,
        settings: "the same bytes appended to a growing file, `fdatasync` after each",
        always: true,
        open: |dir| peers::device(dir, 0),
        read: None,
    },
    Config {
        name: "device-zeroed",
        version: "reference",
        survives: POWER,
        settings: "the same bytes written to a file that was filled with zeros before, `fdatasync` after each",
        always: true,
        open: |dir| peers::device(dir, 192 << 20),
        read: None,
    },
    Config {
        name: "sqlite-full",
        version: "peer",
        survives: POWER,
        settings: "journal WAL, synchronous FULL, an insert for each entry, an index on time",
        always: false,
        open: |dir| peers::sqlite(dir, "FULL"),
        read: Some(peers::sqlite_read),
    },
    Config {
        name: "sqlite-normal",
        version: "peer",
        survives: PROCESS,
        settings: "journal WAL, synchronous NORMAL, an insert for each entry, an index on time",
        always: true,
        open: |dir| peers::sqlite(dir, "NORMAL"),
        read: Some(peers::sqlite_read),
    },
    Config {
        name: "json-file",
        version: "peer",
        survives: NOTHING,
        settings: "JSON lines through a buffer of 64 KiB; reading parses every line",
        always: true,
        open: peers::json_file,
        read: Some(peers::json_read),
    },
];
