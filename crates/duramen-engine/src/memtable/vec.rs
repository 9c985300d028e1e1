//! Taking entries.

use super::{Entry, Frozen, Location, SortedIter};
use std::ops::RangeBounds;
use std::sync::Arc;

/// How many entries make a chunk: few enough that sorting one stays in the cache and a reader's copy of the
/// unsorted tail is small, many enough that there are few runs to merge.
pub const CHUNK_ENTRIES: usize = 4096;

/// Entries in order, in pieces that are shared with readers.
pub(super) type Run<K> = Vec<Arc<[Entry<K>]>>;

/// An index that takes keys in any order and gives them sorted. Entries of equal keys keep the order in which
/// they were added. One thread adds; readers hold a [`SortedIter`], which is independent of it.
#[derive(Clone, Debug)]
pub struct VecMemtable<K: Ord + Copy> {
    runs: Vec<Run<K>>,
    tail: Vec<Entry<K>>,
    tail_is_sorted: bool,
    chunked: usize,
}

impl<K: Ord + Copy> Default for VecMemtable<K> {
    fn default() -> Self {
        Self { runs: Vec::new(), tail: Vec::new(), tail_is_sorted: true, chunked: 0 }
    }
}

impl<K: Ord + Copy> VecMemtable<K> {
    /// An empty one. It allocates with the first entry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an entry. Entries of equal keys keep the order in which they were added.
    #[inline]
    pub fn push(&mut self, key: K, location: Location) {
        if self.tail.last().is_some_and(|(last, _)| *last > key) {
            self.tail_is_sorted = false;
        }
        self.tail.push((key, location));
        if self.tail.len() >= CHUNK_ENTRIES {
            self.shut_tail();
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.chunked + self.tail.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries in `range` as they are now, sorted; what is added later does not appear.
    pub fn iter_sorted(&self, range: impl RangeBounds<K>) -> SortedIter<K> {
        let mut tail: Vec<Entry<K>> = self.tail.iter().filter(|e| range.contains(&e.0)).copied().collect();
        if !self.tail_is_sorted {
            tail.sort_by_key(|e| e.0);
        }
        let runs = self.runs.iter().map(Vec::as_slice);
        SortedIter::merge(runs, tail, (range.start_bound().cloned(), range.end_bound().cloned()))
    }

    /// All entries, sorted, in one piece.
    pub fn freeze(self) -> Frozen<K> {
        let mut entries = Vec::with_capacity(self.len());
        let in_one_run = self.runs.len() <= 1;
        for chunk in self.runs.iter().flatten() {
            entries.extend_from_slice(chunk);
        }
        let follows = self.tail_is_sorted
            && match (entries.last(), self.tail.first()) {
                (Some((last, _)), Some((first, _))) => last <= first,
                _ => true,
            };
        entries.extend_from_slice(&self.tail);
        if !in_one_run || !follows {
            // The runs lie in the order in which they were added, and a stable sort finds and merges them.
            entries.sort_by_key(|e| e.0);
        }
        Frozen::new(entries)
    }

    #[cold]
    fn shut_tail(&mut self) {
        if !self.tail_is_sorted {
            self.tail.sort_by_key(|e| e.0);
        }
        let chunk: Arc<[Entry<K>]> = Arc::from(self.tail.as_slice());
        self.chunked += chunk.len();
        self.tail.clear();
        self.tail_is_sorted = true;
        // Only the last run may be continued: merging takes equal keys from earlier runs first.
        let last_key =
            self.runs.last().and_then(|run| run.last()).and_then(|chunk| chunk.last()).map(|e| e.0);
        match (self.runs.last_mut(), last_key, chunk.first()) {
            (Some(run), Some(last), Some(first)) if last <= first.0 => run.push(chunk),
            _ => self.runs.push(vec![chunk]),
        }
    }
}
