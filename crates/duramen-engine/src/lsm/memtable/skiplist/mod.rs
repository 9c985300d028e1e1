//! The memtable that is always sorted: a skip list of where versions lie in the arena. Threads insert at the same time.
//!
//! | module | one idea |
//! |---|---|
//! | `version` | what the list compares |
//! | `list` | the list, and the segment that its keys lie in |
//! | `cursor` | going through it |

mod cursor;
mod list;
mod version;

use super::arena::Arena;
use super::ranges::Ranges;
use super::{InSegment, Memtable, Sorted};
use crate::kv::{Op, OpKind};
use crate::lsm::cursor::{Cursor, RangeTombstone};
use crate::wal::{SegmentIndex, SegmentReader};
use cursor::SkiplistCursor;
use list::{List, NODE_BYTES};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A sorted index that any number of threads insert into.
pub(in crate::lsm) struct SkiplistMemtable {
    list: List,
    ranges: Ranges,
    len: AtomicUsize,
}

impl SkiplistMemtable {
    /// Over a segment.
    pub(in crate::lsm) fn new(segment: Arc<SegmentReader>) -> Self {
        Self { list: List::new(segment), ranges: Ranges::new(), len: AtomicUsize::new(0) }
    }
}

impl SegmentIndex for SkiplistMemtable {
    fn insert_hashed(&self, seq: u64, offset: u32, op: &Op<'_>, _hash: u64) {
        if op.kind == OpKind::DeleteRange {
            self.ranges.add(seq, offset, self.segment());
        } else {
            self.list.insert(seq, offset);
        }
        self.len.fetch_add(1, Ordering::Release);
    }

    fn insert(&self, seq: u64, offset: u32, op: &Op<'_>) {
        self.insert_hashed(seq, offset, op, 0);
    }

    fn index_bytes(&self) -> usize {
        let versions = self.len().saturating_sub(self.ranges.count());
        size_of::<Self>() + versions * NODE_BYTES + self.ranges.bytes()
    }
}

impl Memtable for SkiplistMemtable {
    fn segment(&self) -> &Arc<SegmentReader> {
        self.list.segment()
    }

    #[cfg(test)]
    fn allows_concurrent_insert(&self) -> bool {
        true
    }

    fn get(&self, key: &[u8], _hash: u64, seq: u64) -> Option<InSegment> {
        let (seq, offset) = self.list.find(key, seq)?;
        Some(Arena::of(self.segment()).op(offset).version(seq))
    }

    fn cursor(self: Arc<Self>, seq: u64) -> Box<dyn Cursor> {
        Box::new(SkiplistCursor::new(self, seq))
    }

    fn sorted(self: Arc<Self>) -> Sorted {
        let entries = self.list.all();
        Sorted::listed(self, entries)
    }

    fn range_tombstone_count(&self) -> usize {
        self.ranges.count()
    }

    fn range_tombstones(&self) -> Arc<[RangeTombstone]> {
        self.ranges.list(self.segment())
    }

    fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }
}

impl fmt::Debug for SkiplistMemtable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkiplistMemtable").field("len", &self.len()).finish_non_exhaustive()
    }
}
