//! What a dead writer left behind.
//!
//! Signatures first; the bodies follow in the next commit.

use super::reader::{Record, SegmentReader};
use crate::io::Env;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What to do about records that are not as they were written. The names are RocksDB's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WalRecoveryMode {
    /// Offer the longest prefix without a gap.
    #[default]
    PointInTime,
    /// Offer every record whose checksum holds.
    SkipAnyCorrupted,
    /// Fail if anything is amiss, a torn tail included.
    AbsoluteConsistency,
}

/// A place where records are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The segment.
    pub number: u64,
    /// Its file.
    pub path: PathBuf,
    /// Where the last good record ends.
    pub offset: u64,
    /// Whether the bytes are known to have been on the device: then something damaged them. Otherwise a
    /// loss of power before they were synced explains it.
    pub proven: bool,
    /// What was found.
    pub detail: String,
}

/// A segment whose records are not offered, because records before it are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// The segment.
    pub number: u64,
    /// Its file, for the caller to move to quarantine.
    pub path: PathBuf,
}

/// A segment that offers records.
#[derive(Clone, Debug)]
pub struct RecoveredSegment {
    /// The segment. Its payloads live as long as this.
    pub reader: Arc<SegmentReader>,
    /// Whether the file also holds something that is not offered: keep it, in quarantine, when its records
    /// are in a table.
    pub damaged: bool,
}

impl RecoveredSegment {
    /// The caller's records, in order.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        std::iter::empty()
    }
}

/// What a dead writer left behind.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// Whose it was.
    pub writer_id: u64,
    /// The segments that offer records, in order.
    pub segments: Vec<RecoveredSegment>,
    /// Files that hold no record: prepared and never used, or already flushed. Remove them.
    pub empty: Vec<PathBuf>,
    /// Segments after a gap, whose records are not offered.
    pub set_aside: Vec<SetAside>,
    /// Where records are missing.
    pub damage: Vec<Damage>,
    /// How many bytes of an unfinished record were cut from the newest segment's end.
    pub torn_bytes: u64,
    /// The sequence number after the last record offered; `None` if there is none.
    pub next_seq: Option<u64>,
}

/// [`recover_unflushed`] for a caller that has flushed no segment whose file is still there.
///
/// # Errors
/// As there.
pub fn recover(env: &Env, writer_dir: &Path, mode: WalRecoveryMode) -> Result<Recovered> {
    recover_unflushed(env, writer_dir, mode, &|_| false)
}

/// Finds the records of a dead writer, whose lock the caller holds ([`super::lock_writer_dir`]). Only reads, so
/// it may be interrupted and repeated at will. `is_flushed` says of a segment's number whether its records are
/// in tables; such segments are not read, and are listed as `empty`.
///
/// # Errors
/// [`Error::TooNew`]; [`Error::Io`]; [`Error::Corruption`] in mode
/// [`AbsoluteConsistency`](WalRecoveryMode::AbsoluteConsistency) if anything is amiss, and in any mode if
/// `writer_dir` is not named like a writer's directory.
pub fn recover_unflushed(
    env: &Env,
    writer_dir: &Path,
    mode: WalRecoveryMode,
    is_flushed: &dyn Fn(u64) -> bool,
) -> Result<Recovered> {
    let _ = (env, mode, is_flushed);
    Err(Error::corruption(writer_dir, 0, "not a writer's directory"))
}
