//! A place in an arena for a cursor, which goes on living by itself.
#![allow(unsafe_code)] // to the compiler, what is held lives for ever

use super::arena::Arena;
use crate::kv::{Op, OpKind};
use crate::wal::SegmentReader;
use std::sync::Arc;

/// The arena as it was, and one op in it, or none. Looking at it costs no look at the counter that the writer raises.
///
/// What makes it sound: a segment's bytes below its counter never change or move while its reader lives. They are only
/// given out for as long as this is borrowed, and so for less than it keeps the reader.
pub(super) struct Held {
    arena: Arena<'static>,
    op: Option<Op<'static>>,
    _segment: Arc<SegmentReader>,
}

impl Held {
    /// The arena as it is now, and no op.
    pub(super) fn new(segment: Arc<SegmentReader>) -> Self {
        let records = segment.settled_records();
        // SAFETY: pointer and length are a slice's, whose bytes stay as long as the reader, which is kept beside.
        let records: &'static [u8] = unsafe { std::slice::from_raw_parts(records.as_ptr(), records.len()) };
        Self { arena: Arena::of_records(records), op: None, _segment: segment }
    }

    #[inline]
    pub(super) fn arena(&self) -> Arena<'_> {
        self.arena
    }

    /// To the op with this offset, or to none.
    #[inline]
    pub(super) fn go_to(&mut self, offset: Option<u32>) {
        self.op = offset.map(|offset| self.arena.op(offset).op);
    }

    #[inline]
    pub(super) fn valid(&self) -> bool {
        self.op.is_some()
    }

    /// The op's; empty if there is none.
    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        self.op.as_ref().map_or(&[], |op| op.key)
    }

    /// The op's; that of a deletion if there is none.
    #[inline]
    pub(super) fn kind(&self) -> OpKind {
        self.op.as_ref().map_or(OpKind::Delete, |op| op.kind)
    }

    /// The op's; empty if there is none.
    #[inline]
    pub(super) fn value(&self) -> &[u8] {
        self.op.as_ref().map_or(&[], |op| op.value)
    }
}
