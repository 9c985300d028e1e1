//! The write-ahead log: what a writer was told is in a file before the call returns.
//!
//! Every writer, one per process and store, owns a directory of *segments*, files of fixed size that are
//! mapped into memory. A record is copied once, into the mapping; from then on it survives the death of the
//! process without a system call, and the bytes are also the arena that a [`memtable`](crate::memtable)
//! indexes. Surviving a loss of power costs a sync, shared by all who wait for one.
//!
//! ```text
//! <store>/wal/0f3a…c1/LOCK            held while the writer lives
//!                     00000001.wal    sealed: synced, cut to its length, waiting for the flush
//!                     00000002.wal    active: records are appended
//!                     00000003.wal    prepared: a header and zeros, so that rotating creates no file
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`format`](mod@format) | every byte of a segment |
//! | `options` | how a WAL is to behave |
//! | `names` | directories, file names, the lock that tells a living writer from a dead one |
//! | `arena` | the only place that touches segment memory |
//! | `writer` | appending, rotating, syncing; `group`: many wait, and one works for all; `index`: what is kept beside a segment |
//! | `reader` | following a segment, one's own or another process's, alive or sealed |
//! | `loaded`, `anonymous` | a segment where the file system cannot map it, and one without a file |
//! | `recovery` | what a dead writer left behind |
//! | `dump` | a segment, line by line |

pub mod format;

mod anonymous;
mod arena;
mod dump;
mod group;
mod index;
mod loaded;
mod names;
mod options;
mod reader;
mod recovery;
mod writer;

pub(crate) use dump::dump;
pub(crate) use group::{Group, Position};
pub(crate) use index::{Kept, SegmentIndex};
pub use names::{SegmentFile, WriterDir, lock_writer_dir, segment_path, segments, writer_dir, writers};
pub use options::{Background, Durability, OnSealed, WalKind, WalOptions, WriteOptions};
pub use reader::{Record, SegmentReader};
pub(crate) use recovery::Ends;
pub use recovery::{
    Damage, Recovered, RecoveredSegment, SetAside, WalRecoveryMode, recover, recover_unflushed,
};
pub use writer::{Appended, Wal, WalMetrics};
