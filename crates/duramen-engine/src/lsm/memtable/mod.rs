//! Finding what lies in a WAL segment: the segment is the arena, a memtable only its index.

use super::cursor::{Cursor, Found, RangeTombstone};
use crate::kv::Op;
use crate::wal::SegmentReader;
use std::fmt::Debug;
use std::sync::Arc;

/// An index over the ops of one segment. Readers may come at any time, from any thread, and take no lock that a
/// writer holds.
pub(super) trait Memtable: Send + Sync + Debug {
    /// The arena.
    fn segment(&self) -> &Arc<SegmentReader>;
    /// Adds the op that begins at `offset` of the segment and was just appended there, with its sequence number.
    /// Whoever calls sees to it that sequence numbers come in order, without a gap, one caller at a time.
    fn insert(&self, seq: u64, offset: u32, op: &Op<'_>);
    /// The newest version of a key that is not newer than `seq`. `hash` is the key's XXH3-64. Deleted ranges are
    /// not looked at.
    fn get(&self, key: &[u8], hash: u64, seq: u64) -> Option<Found>;
    /// Goes through the versions that are there now and not newer than `seq`.
    fn cursor(self: Arc<Self>, seq: u64) -> Box<dyn Cursor>;
    /// The deleted ranges, in the order of their sequence numbers.
    fn range_tombstones(&self) -> Arc<[RangeTombstone]>;
    /// How many ops were inserted, deleted ranges included.
    fn len(&self) -> usize;
    /// How many bytes the index takes, the segment not counted.
    fn index_bytes(&self) -> usize;
}
