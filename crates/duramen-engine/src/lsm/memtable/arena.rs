//! The ops in a segment.

use super::InSegment;
use crate::kv::{Op, OpKind};
use crate::memory::prefetch;
use crate::wal::SegmentReader;
use crate::wal::format::FIRST_RECORD;

/// The processor's unit of memory.
const CACHE_LINE_BYTES: usize = 64;
/// Of an op that is longer than so many lines, the rest comes by itself when one reads on.
const MOST_LINES: usize = 4;

/// The records that a segment had when this was made. Making one costs a look at a counter that the writer
/// raises all the time: for many ops make one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arena<'a> {
    records: &'a [u8],
}

/// An op, and where it ends, in bytes from the start of the segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpAt<'a> {
    pub(super) op: Op<'a>,
    end: u32,
}

impl OpAt<'_> {
    /// As a version with this sequence number.
    #[inline]
    pub(super) fn version(&self, seq: u64) -> InSegment {
        let value_len = self.op.value.len() as u32;
        InSegment::new(seq, self.op.kind, self.end - value_len, value_len)
    }
}

impl<'a> Arena<'a> {
    #[inline]
    pub(super) fn of(segment: &'a SegmentReader) -> Self {
        Self::of_records(segment.settled_records())
    }

    /// Of what lies in a segment from its first record on.
    #[inline]
    pub(super) fn of_records(records: &'a [u8]) -> Self {
        Self { records }
    }

    /// The op that was inserted with this offset. Were there none, it would be the deletion of an empty key.
    #[inline]
    pub(super) fn op(&self, offset: u32) -> OpAt<'a> {
        let at = (offset as usize).wrapping_sub(FIRST_RECORD);
        match self.records.get(at..).and_then(Op::decode) {
            Some((op, len)) => OpAt { op, end: offset + len as u32 },
            None => OpAt { op: Op { kind: OpKind::Delete, key: &[], value: &[] }, end: offset },
        }
    }

    #[inline]
    pub(super) fn key(&self, offset: u32) -> &'a [u8] {
        self.op(offset).op.key
    }

    /// Where the records end, in bytes from the start of the segment.
    pub(super) fn end(&self) -> usize {
        FIRST_RECORD + self.records.len()
    }

    /// How many cache lines an op takes if there are so many ops, on average.
    pub(super) fn lines_per_op(&self, ops: usize) -> usize {
        let lines = (self.records.len() / ops.max(1)).div_ceil(CACHE_LINE_BYTES) + 1;
        lines.min(MOST_LINES)
    }

    /// Asks for the memory of an op ahead of time: so many lines of it.
    #[inline]
    pub(super) fn ask_for(&self, offset: u32, lines: usize) {
        let at = (offset as usize).wrapping_sub(FIRST_RECORD);
        let address = self.records.as_ptr().wrapping_add(at);
        (0..lines).for_each(|line| prefetch(address.wrapping_add(line * CACHE_LINE_BYTES)));
    }
}
