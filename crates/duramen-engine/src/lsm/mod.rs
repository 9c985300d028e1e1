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
//! | `cursor` | versions of keys, in order, wherever they come from |
//! | `memtable` | finding what lies in a WAL segment |
//! | `table` | a sorted table of versions: writing it, finding in it, caching its blocks |
//! | `version` | which tables there are, level by level |
//! | `read` | what a reader sees: merging, visibility, deleted ranges |
//! | `listener` | [`EventListener`]: being told what happens in the background |
//! | `compaction` | which tables to rewrite, and rewriting them |

#![allow(dead_code)] // while it is being built

mod compaction;
mod cursor;
mod listener;
mod memtable;
mod options;
mod read;
mod table;
mod version;

pub use listener::{
    BackgroundWork, CompactionInfo, CompactionKind, CompactionReason, EventListener, FlushInfo, StallCause,
    StallCondition, StallInfo,
};
pub use options::{CompactionStyle, Compression, LsmOptions, MemtableKind};
