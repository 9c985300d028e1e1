//! An ordered index over the records that already lie in a WAL segment: the segment is the arena, so nothing is
//! copied.
//!
//! Signatures first; the bodies follow in the next commit.

use std::ops::RangeBounds;

/// Where an entry's bytes lie in its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// In bytes from the start of the segment.
    pub offset: u32,
    /// In bytes.
    pub len: u32,
}

/// An index that takes keys in any order and gives them sorted.
#[derive(Clone, Debug, Default)]
pub struct VecMemtable<K: Ord + Copy> {
    entries: Vec<(K, Location)>,
}

impl<K: Ord + Copy> VecMemtable<K> {
    /// An empty one.
    pub fn new() -> Self {
        Self { entries: Vec::new() }
    }
    /// Adds an entry. Entries of equal keys keep the order in which they were added.
    pub fn push(&mut self, key: K, location: Location) {
        self.entries.push((key, location));
    }
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    /// The entries in `range` as they are now, sorted; what is added later does not appear.
    pub fn iter_sorted<R: RangeBounds<K>>(
        &self,
        range: R,
    ) -> impl Iterator<Item = (K, Location)> + use<K, R> {
        let mut found: Vec<_> = self.entries.iter().copied().filter(|e| range.contains(&e.0)).collect();
        found.sort_by_key(|e| e.0);
        found.into_iter()
    }
    /// All entries, sorted.
    pub fn freeze(self) -> Frozen<K> {
        let mut entries = self.entries;
        entries.sort_by_key(|e| e.0);
        Frozen { entries }
    }
}

/// A memtable that takes no more.
#[derive(Clone, Debug, Default)]
pub struct Frozen<K: Ord + Copy> {
    entries: Vec<(K, Location)>,
}

impl<K: Ord + Copy> Frozen<K> {
    /// All entries, sorted.
    pub fn entries(&self) -> &[(K, Location)] {
        &self.entries
    }
    /// The entries in `range`, sorted.
    pub fn range(&self, range: impl RangeBounds<K>) -> &[(K, Location)] {
        let _ = range;
        &self.entries
    }
}
