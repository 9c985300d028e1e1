//! The deleted ranges among the ops of a segment.

use super::arena::Arena;
use crate::lsm::cursor::RangeTombstone;
use crate::wal::SegmentReader;
use crossbeam_skiplist::SkipMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What one takes in the map, about.
const NODE_BYTES: usize = 64;

/// Where they are. Any number of threads may add and read. There are few, mostly none.
#[derive(Debug)]
pub(super) struct Ranges {
    /// By their sequence numbers.
    offsets: SkipMap<u64, u32>,
    /// Raised after one was added.
    count: AtomicUsize,
    /// What readers made of them last. Those who add do not touch it.
    listed: Mutex<Arc<[RangeTombstone]>>,
    bytes: AtomicUsize,
}

impl Ranges {
    pub(super) fn new() -> Self {
        Self {
            offsets: SkipMap::new(),
            count: AtomicUsize::new(0),
            listed: Mutex::new(Arc::from([])),
            bytes: AtomicUsize::new(0),
        }
    }

    pub(super) fn add(&self, seq: u64, offset: u32) {
        self.offsets.insert(seq, offset);
        self.bytes.fetch_add(NODE_BYTES, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Release);
    }

    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// All of them, in the order of their sequence numbers. Copied when there are new ones.
    pub(super) fn list(&self, segment: &SegmentReader) -> Arc<[RangeTombstone]> {
        let count = self.count();
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if listed.len() < count {
            let before = listed.iter().map(bytes_of).sum();
            let found: Vec<_> = self.offsets.iter().map(|entry| (*entry.key(), *entry.value())).collect();
            let arena = Arena::of(segment);
            *listed = found.into_iter().map(|(seq, offset)| tombstone(arena, seq, offset)).collect();
            self.bytes.fetch_add(listed.iter().map(bytes_of).sum(), Ordering::Relaxed);
            self.bytes.fetch_sub(before, Ordering::Relaxed);
        }
        Arc::clone(&listed)
    }
}

fn tombstone(arena: Arena<'_>, seq: u64, offset: u32) -> RangeTombstone {
    let op = arena.op(offset).op;
    RangeTombstone { start: op.key.to_vec(), end: op.value.to_vec(), seq }
}

fn bytes_of(tombstone: &RangeTombstone) -> usize {
    size_of::<RangeTombstone>() + tombstone.start.len() + tombstone.end.len()
}
