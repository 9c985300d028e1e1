//! What a dead writer left behind.
//!
//! Records are believed by their checksums and their sequence numbers, which leave no gap; counters in headers only
//! when they accuse. Three things can be where records are missing:
//!
//! - A **torn tail**: the newest segment ends in something that is not a record. That is what a crash leaves; it is
//!   cut, and counted.
//! - A **hole**: records are missing although later ones are there. A loss of power leaves that where nothing was
//!   synced, since devices write in any order.
//! - **Damage**: the missing bytes are known to have been there. The header's `synced` or a SYNC, which may lie behind
//!   the damage or in a later segment, says that they were on the device; or the header's `committed` (`published` in a
//!   written segment) says that they were finished, in the same run of the machine: what ends a process takes nothing
//!   from its files. After a loss of power that counter proves nothing, for its page may have reached the device
//!   before theirs.
//!
//! Holes and damage are both reported, as [`Damage`], told apart by `proven`; what was there before them is offered, and what
//! comes after only in mode [`SkipAnyCorrupted`](WalRecoveryMode::SkipAnyCorrupted): the store as it was at some
//! moment, or every record there is. Where the sequence numbers show that nothing was lost (the damage hit one of
//! the WAL's own records), it is reported and recovery goes on.

mod ends;
mod load;
mod scan;
mod walk;

use super::names::{parse_writer_dir, segments};
use super::reader::{Record, SegmentReader};
use crate::io::Env;
use crate::{Error, Result};
pub(crate) use ends::Ends;
use load::Loaded;
pub(super) use scan::scan;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use walk::Walk;

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

/// A place where records are missing, or where something is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The segment.
    pub number: u64,
    /// Its file.
    pub path: PathBuf,
    /// Where the last good record before it ends.
    pub offset: u64,
    /// Whether the bytes are known to have been there, on the device or since the machine was started: then something
    /// damaged them. Otherwise a loss of power before they were synced explains it.
    pub proven: bool,
    /// What was found.
    pub detail: String,
}

impl Damage {
    /// As an error.
    pub fn to_error(&self) -> Error {
        Error::corruption(&self.path, self.offset, &self.detail)
    }
}

/// A segment whose records are not offered, because records before it are missing or its header is wrong.
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
    /// The segment. Its payloads live as long as this. [`SegmentReader::next_record`] steps over what is not
    /// offered.
    pub reader: Arc<SegmentReader>,
    /// Whether the file also holds something that is not offered: keep it, in quarantine, when its records
    /// are in a table.
    pub damaged: bool,
}

impl RecoveredSegment {
    /// The caller's records that are offered, in order.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let mut at = self.reader.start();
        std::iter::from_fn(move || {
            // The scan has verified everything that is offered, so nothing here fails.
            let (record, next) = self.reader.next_record(at).ok().flatten()?;
            at = next;
            Some(record)
        })
    }
}

/// What a dead writer left behind.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// Whose it was.
    pub writer_id: u64,
    /// The segments that offer records, in order.
    pub segments: Vec<RecoveredSegment>,
    /// Files that hold no record: prepared and never used, torn in their first record, or already flushed.
    /// Remove them.
    pub empty: Vec<PathBuf>,
    /// Segments after a gap, whose records are not offered, and what is no segment but named like one.
    pub set_aside: Vec<SetAside>,
    /// Where records are missing.
    pub damage: Vec<Damage>,
    /// How many bytes of an unfinished record were cut from the newest segment's end.
    pub torn_bytes: u64,
    /// The sequence number after the last record offered; `None` if there is none.
    pub next_seq: Option<u64>,
    /// Which segments there are, and what tells that one is not.
    pub(crate) ends: Ends,
}

/// [`recover_unflushed`] for a caller that has flushed no segment of this writer.
///
/// # Errors
/// As there.
pub fn recover(env: &Env, writer_dir: &Path, mode: WalRecoveryMode) -> Result<Recovered> {
    recover_unflushed(env, writer_dir, mode, &|_| false)
}

/// Finds the records of a dead writer, whose lock the caller holds ([`super::lock_writer_dir`]). Only reads, so
/// it may be interrupted and repeated at will. `is_flushed` says of a segment's number whether its records are
/// in tables: such a segment is not read, is listed as `empty` if its file is still there, and does not count
/// as missing if not.
///
/// # Errors
/// [`Error::TooNew`]; [`Error::Io`]; [`Error::Corruption`] in mode
/// [`AbsoluteConsistency`](WalRecoveryMode::AbsoluteConsistency) if anything is amiss;
/// [`Error::InvalidArgument`] if `writer_dir` is not named like a writer's directory.
pub fn recover_unflushed(
    env: &Env,
    writer_dir: &Path,
    mode: WalRecoveryMode,
    is_flushed: &dyn Fn(u64) -> bool,
) -> Result<Recovered> {
    let Some(writer_id) = parse_writer_dir(writer_dir) else {
        let name = writer_dir.display();
        return Err(Error::InvalidArgument(format!("{name} is not named like a WAL writer's directory")));
    };
    let mut files = Vec::new();
    let mut empty = Vec::new();
    for file in segments(env, writer_dir)? {
        if is_flushed(file.number) {
            empty.push(file.path);
        } else if let Some(loaded) = Loaded::load(env, writer_id, file)? {
            files.push(loaded);
        }
    }
    let mut recovered = Recovered {
        writer_id,
        segments: Vec::new(),
        empty,
        set_aside: Vec::new(),
        damage: Vec::new(),
        torn_bytes: 0,
        next_seq: None,
        ends: Ends::of(&files),
    };
    Walk::new(mode, is_flushed, &files, &mut recovered).all(&files)?;
    Ok(recovered)
}
