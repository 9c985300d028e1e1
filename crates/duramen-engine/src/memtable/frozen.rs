//! All entries, sorted, for the flush.

use super::Entry;
use std::ops::{Bound, RangeBounds};

/// A memtable that takes no more: one sorted piece.
#[derive(Clone, Debug)]
pub struct Frozen<K: Ord + Copy> {
    entries: Vec<Entry<K>>,
}

impl<K: Ord + Copy> Frozen<K> {
    pub(super) fn new(entries: Vec<Entry<K>>) -> Self {
        Self { entries }
    }

    /// All entries, sorted; those of equal keys in the order in which they were added.
    pub fn entries(&self) -> &[Entry<K>] {
        &self.entries
    }

    /// All entries, as [`Frozen::entries`].
    pub fn into_entries(self) -> Vec<Entry<K>> {
        self.entries
    }

    /// The entries in `range`, sorted. A range that ends before it starts holds none.
    pub fn range(&self, range: impl RangeBounds<K>) -> &[Entry<K>] {
        let start = match range.start_bound() {
            Bound::Unbounded => 0,
            Bound::Included(first) => self.entries.partition_point(|e| e.0 < *first),
            Bound::Excluded(first) => self.entries.partition_point(|e| e.0 <= *first),
        };
        let end = match range.end_bound() {
            Bound::Unbounded => self.entries.len(),
            Bound::Included(last) => self.entries.partition_point(|e| e.0 <= *last),
            Bound::Excluded(last) => self.entries.partition_point(|e| e.0 < *last),
        };
        self.entries.get(start..end).unwrap_or_default()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
