//! Whether the keys came in order: then they need not be sorted for the flush. Noticed as they come, because a key is
//! in the cache then, and the first one out of order ends it.

use crate::kv::prefix16;
use crate::lsm::memtable::arena::Arena;
use crate::wal::SegmentReader;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// What there is to know of the last key. The writer's, but for `so_far`.
#[derive(Debug)]
pub(super) struct Rising {
    so_far: AtomicBool,
    /// Its first 16 bytes.
    prefix: [AtomicU64; 2],
    /// Where its op is; 0 before the first.
    offset: AtomicU32,
}

impl Rising {
    pub(super) fn new() -> Self {
        Self {
            so_far: AtomicBool::new(true),
            prefix: [AtomicU64::new(0), AtomicU64::new(0)],
            offset: AtomicU32::new(0),
        }
    }

    /// Whether every key was greater than the one before.
    pub(super) fn so_far(&self) -> bool {
        self.so_far.load(Ordering::Relaxed)
    }

    /// The next key, of the op at `offset`.
    #[inline]
    pub(super) fn add(&self, key: &[u8], offset: u32, segment: &SegmentReader) {
        if !self.so_far() {
            return;
        }
        let [high, low] = &self.prefix;
        let prefix = prefix16(key);
        let last = u128::from(high.load(Ordering::Relaxed)) << 64 | u128::from(low.load(Ordering::Relaxed));
        let last_offset = self.offset.load(Ordering::Relaxed);
        let rises = prefix > last
            || prefix == last && (last_offset == 0 || key > Arena::of(segment).key(last_offset));
        high.store((prefix >> 64) as u64, Ordering::Relaxed);
        low.store(prefix as u64, Ordering::Relaxed);
        self.offset.store(offset, Ordering::Relaxed);
        if !rises {
            self.so_far.store(false, Ordering::Relaxed);
        }
    }
}
