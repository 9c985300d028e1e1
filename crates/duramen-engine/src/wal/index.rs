//! What is kept beside a segment while records go to it: an index of what they hold.
//!
//! It is looked at with every record, under the lock: so it is called by what it does, and nothing is asked for its type.

use crate::kv::Op;
use std::fmt::Debug;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// An index over the ops of one segment.
pub(crate) trait SegmentIndex: Send + Sync + Debug {
    /// Adds the op that begins at `offset` of the segment and was just appended there, with its sequence number,
    /// which is at least 1. `hash` is the XXH3-64 of its key. Readers see it at once, if they read at its sequence
    /// number: let no reader have that before.
    fn insert_hashed(&self, seq: u64, offset: u32, op: &Op<'_>, hash: u64);
    /// [`SegmentIndex::insert_hashed`] for who has no hash yet.
    fn insert(&self, seq: u64, offset: u32, op: &Op<'_>) {
        self.insert_hashed(seq, offset, op, xxh3_64(op.key));
    }
    /// How many bytes the index takes, the segment not counted. Scans add to it.
    fn index_bytes(&self) -> usize;
}

/// What the owner of a log keeps beside the segment that is written to.
pub(crate) type Kept = Option<Arc<dyn SegmentIndex>>;
