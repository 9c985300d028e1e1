//! Appending, rotating, syncing.
//!
//! Signatures first; the bodies follow in the next commit.

use super::options::{WalOptions, WriteOptions};
use super::reader::SegmentReader;
use crate::io::Env;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a record went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The sequence number of its first entry.
    pub first_seq: u64,
    /// The segment it is in.
    pub segment: u64,
    /// Where its payload begins, in bytes from the start of the segment.
    pub payload_offset: u32,
}

/// What a WAL has done since it was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct WalMetrics {
    /// Records appended, the WAL's own not counted.
    pub records: u64,
    /// Bytes appended, headers and the WAL's own records included.
    pub bytes: u64,
    /// Segments sealed.
    pub segments_sealed: u64,
    /// Syncs of segments.
    pub syncs: u64,
    /// How often an append had to wait for a write buffer, or would have had to.
    pub stalls: u64,
    /// How long appends waited for one, in ns, all together.
    pub stall_ns: u64,
    /// How often a segment could not be prepared.
    pub prepare_failures: u64,
}

/// A writer's log. All methods may be called from any number of threads.
#[derive(Debug)]
pub struct Wal {
    dir: PathBuf,
}

impl Wal {
    /// Starts a log of its own, under a random writer id, in its own directory under `wal_dir`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if an option is out of range; [`Error::Io`].
    pub fn create(env: &Env, wal_dir: &Path, options: WalOptions) -> Result<Self> {
        let _ = (env, wal_dir, options);
        Err(Error::InvalidArgument(String::new()))
    }
    /// Appends a record of `kind` (0..=239) that takes `count` (1..2^24) sequence numbers, and returns the first.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `kind`, `count` or the payload's length is out of range, or the log is
    /// closed; [`Error::Stalled`]; [`Error::Poisoned`]; [`Error::Io`] if there was no room for a segment:
    /// nothing was appended, and a later append may succeed.
    pub fn append(&self, kind: u8, count: u32, payload: &[u8], options: WriteOptions) -> Result<u64> {
        Ok(self.append_located(kind, count, payload, options)?.first_seq)
    }
    /// As [`Wal::append`], and says where the payload is.
    ///
    /// # Errors
    /// As there.
    pub fn append_located(
        &self,
        kind: u8,
        count: u32,
        payload: &[u8],
        options: WriteOptions,
    ) -> Result<Appended> {
        let _ = (kind, count, payload, options);
        Err(Error::InvalidArgument(String::new()))
    }
    /// Makes everything appended so far survive a loss of power.
    ///
    /// # Errors
    /// [`Error::Poisoned`]; [`Error::Io`].
    pub fn sync(&self) -> Result<()> {
        Ok(())
    }
    /// Seals the active segment if it holds records, so that they can be flushed, and says its number. Waits like
    /// an append for a free write buffer.
    ///
    /// # Errors
    /// As [`Wal::append`].
    pub fn rotate(&self) -> Result<Option<u64>> {
        Ok(None)
    }
    /// Seals and syncs what is there, gives space and lock back. Later appends fail.
    ///
    /// # Errors
    /// [`Error::Poisoned`]; [`Error::Io`].
    pub fn close(&self) -> Result<()> {
        Ok(())
    }
    /// The records of every segment up to this number are in tables. Removing the files is the caller's.
    pub fn release(&self, through_segment_number: u64) {
        let _ = through_segment_number;
    }
    /// Releases the segments whose file is gone: another process flushed them.
    pub fn poll_released(&self) {}
    /// Does what is due in the background: prepares the next segment, seals full ones, syncs at intervals,
    /// notices what others flushed.
    ///
    /// # Errors
    /// [`Error::Poisoned`]; [`Error::Io`].
    pub fn background_step(&self) -> Result<()> {
        Ok(())
    }
    /// The segments that are not released, oldest first, the active one last. They read this process's memory:
    /// what [`Wal::append`] returned from is in there.
    pub fn live_segments(&self) -> Vec<Arc<SegmentReader>> {
        Vec::new()
    }
    /// This writer's identity.
    pub fn writer_id(&self) -> u64 {
        0
    }
    /// This writer's directory; `None` with [`WalKind::None`](super::WalKind::None).
    pub fn writer_dir(&self) -> Option<&Path> {
        Some(&self.dir)
    }
    /// Why the log refuses every call, if it does.
    pub fn poisoned(&self) -> Option<String> {
        None
    }
    /// What was done so far.
    pub fn metrics(&self) -> WalMetrics {
        WalMetrics::default()
    }
}
