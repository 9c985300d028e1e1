//! An embedded key-value store: one trait, two engines.
//!
//! | engine | what it is | for |
//! |---|---|---|
//! | [`Lsm`](crate::lsm::Lsm) | memtable, WAL, SSTables, compaction | everything |
//! | [`Log`](crate::log::Log) | one append-only file, scanned to read | tiny stores, and as the baseline to measure against |
//!
//! Keys and values are bytes; keys are ordered by them. Both engines keep to what [`Engine`] says, and pass one
//! test suite. A directory records which engine made it, and the other refuses to open it.
//!
//! | module | one idea |
//! |---|---|
//! | `engine` | [`Engine`]: what a store can do |
//! | `batch` | [`WriteBatch`]: several writes that happen together, and their bytes |
//! | `value` | [`Value`]: what was found, without a copy where possible |
//! | `scan` | [`Scan`]: a range of entries, in order |
//! | `run` | entries of a block, decoded together |
//! | `prefix` | comparing keys by their first bytes |
//! | `snapshot` | [`Snapshot`]: the store as it was |
//! | `health` | [`verify`] and [`repair`]: is a store whole, and what if not |
//! | `quarantine` | putting damaged files aside |
//! | `limits` | how large things may be |
//! | `marker` | which engine a directory belongs to |
//! | `open` | opening a store with whichever engine made it |
//! | `boxed` | a store in a box is a store |
//! | `checkpoint` | a copy of a store gets its name when everything in it is durable |

mod batch;
mod boxed;
mod checkpoint;
mod engine;
mod health;
mod limits;
pub(crate) mod marker;
mod open;
mod prefix;
mod quarantine;
mod run;
mod scan;
mod snapshot;
mod value;

pub use batch::WriteBatch;
pub(crate) use batch::{Op, OpKind, Ops, put_op};
pub(crate) use checkpoint::checkpoint;
pub use engine::{Engine, EngineKind, ReadOptions, SortedRun};
pub use health::{Damage, KeySpan, Progress, RepairOptions, RepairReport, VerifyReport, repair, verify};
pub(crate) use health::{is_live, lock_to_repair};
pub use limits::{MAX_BATCH_BYTES, MAX_KEY_BYTES, MAX_VALUE_BYTES};
pub(crate) use limits::{check_key, check_value};
pub use marker::FILE_NAME as MARKER_FILE_NAME;
pub use open::{OpenOptions, engine_of, open, open_read_only};
pub use prefix::shared_len;
pub(crate) use prefix::{cmp_keys, prefix8, prefix16, same_keys};
pub(crate) use quarantine::Quarantine;
pub(crate) use run::{Run, SHORT_KEY_BYTES};
pub use scan::Scan;
pub(crate) use scan::ScanSource;
pub use snapshot::Snapshot;
pub use value::Value;

pub use crate::wal::{Durability, WriteOptions};
