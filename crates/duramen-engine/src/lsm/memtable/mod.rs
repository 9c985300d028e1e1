//! Finding what lies in a WAL segment: the segment is the arena, a memtable only its index.
//!
//! | module | one idea |
//! |---|---|
//! | `vec` | [`VecMemtable`]: appends; a hash for single keys, runs sorted when first scanned |
//! | `skiplist` | [`SkiplistMemtable`]: always sorted, threads insert at the same time |
//! | `sorted` | [`Sorted`]: all of it in order, for the flush |
//! | `order` | comparing keys by an integer, mostly |
//! | `arena` | the ops in a segment; `held`: a cursor's place among them |
//! | `ranges` | the deleted ranges among them |
//! | `append_list` | a list that grows under its readers |

mod append_list;
mod arena;
mod held;
#[cfg(test)]
mod measure;
mod order;
mod ranges;
mod skiplist;
mod sorted;
#[cfg(test)]
mod tests;
mod vec;

pub(super) use skiplist::SkiplistMemtable;
pub(super) use sorted::{Sorted, SortedEntry, SortedIter};
pub(super) use vec::VecMemtable;

use super::MemtableKind;
use super::cursor::{Cursor, RangeTombstone};
use crate::kv::{OpKind, Value};
use crate::wal::{SegmentIndex, SegmentReader};
use std::sync::Arc;

/// A version of a key, and where in the segment its value is: a few words, that are soon moved. A value would be copied
/// from one place on the stack to the next, a part of a get's time that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InSegment {
    pub(super) seq: u64,
    /// Where it begins, in bytes from the start of the segment, and above that, its length: one word, for two halves that
    /// were just stored are waited for when they are read as one.
    value: u64,
    /// Put or Delete.
    pub(super) kind: OpKind,
}

impl InSegment {
    #[inline]
    fn new(seq: u64, kind: OpKind, value_at: u32, value_len: u32) -> Self {
        Self { seq, value: u64::from(value_at) | u64::from(value_len) << 32, kind }
    }

    /// Its value, for as long as somebody wants it.
    #[inline]
    pub(super) fn value(self, segment: &Arc<SegmentReader>) -> Value {
        Value::in_segment(Arc::clone(segment), self.value as u32, (self.value >> 32) as u32)
    }
}

/// An index over the ops of one segment. Readers may come at any time, from any thread, and take no lock that a
/// writer holds.
pub(super) trait Memtable: SegmentIndex {
    /// The arena.
    fn segment(&self) -> &Arc<SegmentReader>;
    /// Whether threads may insert at the same time. If not, whoever calls sees to it that they come one at a time,
    /// and in the order of their sequence numbers. Gaps between these may be, but cost.
    #[cfg(test)]
    fn allows_concurrent_insert(&self) -> bool;
    /// The newest version of a key that is not newer than `seq`. `hash` is the key's XXH3-64. Deleted ranges are
    /// not looked at.
    fn get(&self, key: &[u8], hash: u64, seq: u64) -> Option<InSegment>;
    /// Goes through the versions that are there now and not newer than `seq`.
    fn cursor(self: Arc<Self>, seq: u64) -> Box<dyn Cursor>;
    /// All versions in order, for the flush: nobody inserts any more.
    fn sorted(self: Arc<Self>) -> Sorted;
    /// How many ranges were deleted: whether it is worth asking for them.
    fn range_tombstone_count(&self) -> usize;
    /// The deleted ranges, in the order of their sequence numbers.
    fn range_tombstones(&self) -> Arc<[RangeTombstone]>;
    /// How many ops were inserted, deleted ranges included.
    fn len(&self) -> usize;
}

/// An empty memtable over `segment`. How many keys there will be need not be known: 0 if there is nothing to
/// guess from.
pub(super) fn new_memtable(
    kind: MemtableKind,
    segment: Arc<SegmentReader>,
    expected_keys: usize,
) -> Arc<dyn Memtable> {
    match kind {
        MemtableKind::Vec => Arc::new(VecMemtable::new(segment, expected_keys)),
        MemtableKind::Skiplist => Arc::new(SkiplistMemtable::new(segment)),
    }
}
