//! The store as it was.

use std::fmt;
use std::sync::Arc;

/// The store as it was when the snapshot was taken: give it to [`ReadOptions`](super::ReadOptions). What it sees
/// is kept on disk until it and its clones are dropped, so do not keep one for ever. May be shared by threads.
#[derive(Clone)]
pub struct Snapshot {
    seq: u64,
    engine: u64,
    _released_when_dropped: Arc<dyn Send + Sync>,
}

impl Snapshot {
    /// Of the engine instance `engine`, at sequence number `seq`; dropping `guard` releases it.
    pub(crate) fn new(engine: u64, seq: u64, guard: Arc<dyn Send + Sync>) -> Self {
        Self { seq, engine, _released_when_dropped: guard }
    }

    /// The sequence number of the last write that it sees.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Which open engine it belongs to: a random number.
    pub(crate) fn engine(&self) -> u64 {
        self.engine
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("seq", &self.seq).finish_non_exhaustive()
    }
}
