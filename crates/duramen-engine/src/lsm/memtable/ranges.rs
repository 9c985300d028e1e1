//! The deleted ranges among the ops of a segment.

use super::append_list::AppendList;
use super::arena::Arena;
use crate::lsm::cursor::RangeTombstone;
use crate::wal::SegmentReader;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The shortest op that deletes a range: a kind, two lengths, and an end that is not empty.
const LEAST_OP_BYTES: usize = 4;

/// Where they are. Any number of threads may add and read. There are few, mostly none.
#[derive(Debug)]
pub(super) struct Ranges {
    /// Of each its sequence number and its offset, as they came. Made when there is the first one.
    places: OnceLock<AppendList>,
    /// Held by who adds.
    adding: Mutex<()>,
    /// What readers made of them last. Those who add do not touch it.
    listed: Mutex<Arc<[RangeTombstone]>>,
    listed_bytes: AtomicUsize,
}

impl Ranges {
    pub(super) fn new() -> Self {
        Self {
            places: OnceLock::new(),
            adding: Mutex::new(()),
            listed: Mutex::new(Arc::from([])),
            listed_bytes: AtomicUsize::new(0),
        }
    }

    /// Adds the op at `offset` of the segment.
    pub(super) fn add(&self, seq: u64, offset: u32, segment: &SegmentReader) {
        let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        let places = self.places.get_or_init(|| AppendList::new(segment.capacity() / LEAST_OP_BYTES * 2));
        places.push(seq);
        places.push(u64::from(offset));
    }

    #[inline]
    pub(super) fn count(&self) -> usize {
        self.places.get().map_or(0, |places| places.len() / 2)
    }

    pub(super) fn bytes(&self) -> usize {
        self.places.get().map_or(0, AppendList::bytes) + self.listed_bytes.load(Ordering::Relaxed)
    }

    /// All of them, in the order of their sequence numbers. Copied when there are new ones.
    pub(super) fn list(&self, segment: &SegmentReader) -> Arc<[RangeTombstone]> {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        let count = self.count();
        if listed.len() < count
            && let Some(places) = self.places.get()
        {
            let arena = Arena::of(segment);
            let tombstone = |nth: usize| {
                let op = arena.op(places.get(nth * 2 + 1) as u32).op;
                RangeTombstone { start: op.key.to_vec(), end: op.value.to_vec(), seq: places.get(nth * 2) }
            };
            let mut all: Vec<RangeTombstone> = listed.to_vec();
            all.extend((listed.len()..count).map(tombstone));
            all.sort_by_key(|tombstone| tombstone.seq);
            self.listed_bytes.store(all.iter().map(bytes_of).sum(), Ordering::Relaxed);
            *listed = Arc::from(all);
        }
        Arc::clone(&listed)
    }
}

fn bytes_of(tombstone: &RangeTombstone) -> usize {
    size_of::<RangeTombstone>() + tombstone.start.len() + tombstone.end.len()
}
