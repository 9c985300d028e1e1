//! The LSM tree: writes go to a memtable that is also their WAL, sorted tables are made of it off the write path,
//! and compaction keeps the tables few.
//!
//! ```text
//!  put ─▶ WAL segment = arena of the active memtable ─full─▶ immutable memtables ─flush─▶ level 0 ─compaction─▶ levels
//!  get ─▶ active memtable, immutable memtables (newest first), level 0 (newest first), one table of each level
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | `options` | [`LsmOptions`]: how it is to behave |
//! | `paths` | what lies where in a store's directory |
//! | `cursor` | versions of keys, in order, wherever they come from |
//! | `memtable` | finding what lies in a WAL segment |
//! | `table` | a sorted table of versions: writing it, finding in it, caching its blocks |
//! | `version` | which tables there are, level by level |
//! | `file_cursor` | reading a live table |
//! | `read` | what a reader sees: merging, visibility, deleted ranges |
//! | `compaction` | which tables to rewrite, and rewriting them |
//! | `listener`, `events` | [`EventListener`]: being told what happens in the background, and by whom |
//! | `db` | [`Lsm`]: what its threads share |
//! | `recover`, `read_only` | opening a directory, and without changing anything in it |
//! | `opening` | whose log the writes go to, so that it is missed if it is gone |
//! | `unnamed` | tables that the manifest does not name: which of them go |
//! | `superversion` | where a reader looks: the memtables and tables of one moment |
//! | `snapshots` | which snapshots are alive |
//! | `write`, `stall` | the write path, and holding it back |
//! | `emptied` | where scans need not look, since all was deleted |
//! | `get` | the read path |
//! | `flush` | from memtable to table |
//! | `schedule` | running compactions |
//! | `background` | the threads |
//! | `in_use` | who works in the directory, for whom closing waits |
//! | `ingest`, `checkpoint` | tables that come in ready made, and that another store shares |
//! | `verify` | reading every byte, and holding what files say against each other |
//! | `repair` | making a store out of what is left of one |
//! | `metrics` | [`Metrics`]: what was done, in numbers |
//! | `engine` | [`Engine`](crate::kv::Engine), in terms of all these |

mod background;
mod checkpoint;
mod compaction;
mod cursor;
mod db;
mod emptied;
mod engine;
mod events;
mod file_cursor;
mod flush;
mod get;
mod in_use;
mod ingest;
mod listener;
mod memtable;
mod metrics;
mod opening;
mod options;
mod paths;
mod read;
mod read_only;
mod recover;
mod repair;
mod schedule;
mod snapshots;
mod stall;
mod superversion;
mod table;
mod unnamed;
mod verify;
mod version;
mod write;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use table::fuzzing as table_fuzzing;

pub use db::{Lsm, Recovery};
pub(crate) use flush::FLUSHED_SEQ;
pub use listener::{
    BackgroundWork, CompactionInfo, CompactionKind, CompactionReason, EventListener, FlushInfo, StallCause,
    StallCondition, StallInfo,
};
pub(crate) use opening::{OPENING, opening_line};
pub(crate) use paths::{TABLES as TABLES_DIR, WAL as WAL_DIR};
pub(crate) use repair::repair;
pub(crate) use table::dump as dump_table;
pub(crate) use verify::{table_files, verify};
pub(crate) use version::facts_line;
pub(crate) use write::{KIND_BATCH, KIND_INGEST};

pub use metrics::{LevelMetrics, Metrics};
pub use options::{CompactionStyle, Compression, LsmOptions, MemtableKind};
