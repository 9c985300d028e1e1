//! What the skip list compares.

use crate::lsm::memtable::order::{WINDOW_BYTES, goes_on, window};
use std::cmp::Ordering;

/// A version of a key. The order is that of versions: by key, then the newest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version<'a> {
    /// The key's first bytes: decides most comparisons without a look at the key.
    window: u64,
    pub(super) seq: u64,
    pub(super) key: &'a [u8],
    /// Where its op begins, in bytes from the start of the segment.
    pub(super) offset: u32,
}

impl<'a> Version<'a> {
    #[inline]
    pub(super) fn new(key: &'a [u8], seq: u64, offset: u32) -> Self {
        Self { window: window(key, 0), seq, key, offset }
    }

    /// To look for: what is not newer than `seq` of `key`.
    #[inline]
    pub(super) fn sought(key: &'a [u8], seq: u64) -> Self {
        Self::new(key, seq, 0)
    }
}

impl Ord for Version<'_> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let keys = self.window.cmp(&other.window).then_with(|| {
            if !goes_on(self.window) {
                return Ordering::Equal;
            }
            self.key[WINDOW_BYTES..].cmp(&other.key[WINDOW_BYTES..])
        });
        keys.then_with(|| other.seq.cmp(&self.seq))
    }
}

impl PartialOrd for Version<'_> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Version<'_> {}
