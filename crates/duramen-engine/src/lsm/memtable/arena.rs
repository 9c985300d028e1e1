//! The ops in a segment.

use crate::kv::{Op, OpKind};
use crate::wal::SegmentReader;
use crate::wal::format::FIRST_RECORD;
use std::ops::Range;

/// The records that a segment had when this was made. Making one costs a look at a counter that the writer
/// raises all the time: for many ops make one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arena<'a> {
    records: &'a [u8],
}

/// An op, and where its parts are: in bytes from the start of the segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpAt<'a> {
    pub(super) op: Op<'a>,
    end: u32,
}

impl OpAt<'_> {
    #[inline]
    pub(super) fn value(&self) -> Range<u32> {
        self.end - self.op.value.len() as u32..self.end
    }

    #[inline]
    pub(super) fn key(&self) -> Range<u32> {
        let end = self.value().start;
        end - self.op.key.len() as u32..end
    }
}

impl<'a> Arena<'a> {
    #[inline]
    pub(super) fn of(segment: &'a SegmentReader) -> Self {
        Self { records: segment.settled_records() }
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

    /// Where the op's memory is, for a prefetch; any address if there is none.
    #[inline]
    pub(super) fn address(&self, offset: u32) -> *const u8 {
        self.records.as_ptr().wrapping_add((offset as usize).wrapping_sub(FIRST_RECORD))
    }

    /// How many bytes of records there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }
}
