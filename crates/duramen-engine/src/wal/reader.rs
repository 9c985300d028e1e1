//! Following a segment.
//!
//! Signatures first; the bodies follow in the next commit.

use super::format::SegmentId;
use crate::io::Env;
use crate::{Error, Result};
use std::path::Path;

/// A record in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Sequence number of the first entry.
    pub seq: u64,
    /// How many sequence numbers it takes.
    pub count: u32,
    /// What it is: the caller's 0..=239.
    pub kind: u8,
    /// What the caller appended.
    pub payload: &'a [u8],
    /// Where the record begins, in bytes from the start of the file.
    pub offset: u64,
    /// Where its payload begins, in bytes from the start of the file.
    pub payload_offset: u32,
}

/// Reads a segment: one's own, another process's, alive or sealed. Share it in an `Arc`: the payloads it
/// gives out live as long as it does, even when the file is removed. All methods may be called from any
/// number of threads.
#[derive(Debug)]
pub struct SegmentReader {
    id: SegmentId,
}

impl SegmentReader {
    /// Opens a segment by its file. `None` if nothing was ever in it: its writer has not come to the header
    /// yet, or lost power before the header was on the device.
    ///
    /// # Errors
    /// [`Error::Corruption`] if its header is not one, or its name is not what the header says;
    /// [`Error::TooNew`]; [`Error::Io`] (see [`Error::is_not_found`]: it may have been flushed meanwhile).
    pub fn open(env: &Env, path: &Path) -> Result<Option<Self>> {
        let _ = env;
        Err(Error::InvalidArgument(format!("{}", path.display())))
    }
    /// Whose segment it is.
    pub fn writer_id(&self) -> u64 {
        self.id.writer_id
    }
    /// Its number.
    pub fn number(&self) -> u64 {
        self.id.number
    }
    /// Its file; `None` if the WAL keeps none.
    pub fn path(&self) -> Option<&Path> {
        None
    }
    /// The sequence number of its first record; `None` while there is none.
    pub fn first_seq(&self) -> Option<u64> {
        None
    }
    /// How many bytes of it hold finished records: what may be read. Only grows.
    pub fn committed(&self) -> u64 {
        0
    }
    /// Whether it has its final length: nothing will be added.
    pub fn is_sealed(&self) -> bool {
        false
    }
    /// Where the first record lies: the offset to start [`SegmentReader::next_record`] with.
    pub fn start(&self) -> u64 {
        super::format::FIRST_RECORD as u64
    }
    /// The caller's record at or after `offset` (which is [`SegmentReader::start`] or what the call before
    /// returned) and the offset of what follows; `None` if there is none yet, or no more.
    ///
    /// # Errors
    /// [`Error::Corruption`] if the bytes there are not a record.
    pub fn next_record(&self, offset: u64) -> Result<Option<(Record<'_>, u64)>> {
        let _ = offset;
        Ok(None)
    }
    /// The `len` bytes at `offset`, unverified, for those who have seen the record before; `None` if they
    /// are not all committed.
    pub fn bytes(&self, offset: u32, len: u32) -> Option<&[u8]> {
        let _ = (offset, len);
        None
    }
}
