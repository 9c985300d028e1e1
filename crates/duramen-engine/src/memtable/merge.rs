//! Giving entries sorted, lazily.

use super::Entry;
use super::vec::Run;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Bound;
use std::sync::Arc;

/// Entries of a memtable in order, as they were when it was made. Owns what it needs, so it may outlive the
/// memtable and move between threads.
#[derive(Debug)]
pub struct SortedIter<K: Ord + Copy> {
    heads: BinaryHeap<Reverse<Head<K>>>,
    end: Bound<K>,
}

/// The next entry of one run, and what follows.
#[derive(Debug)]
struct Head<K> {
    entry: Entry<K>,
    /// Which run, counted in the order in which they were added.
    age: usize,
    chunks: std::vec::IntoIter<Arc<[Entry<K>]>>,
    chunk: Arc<[Entry<K>]>,
    at: usize,
}

impl<K: Copy> Head<K> {
    /// The head of a run that begins at `at` of `chunk`.
    fn new(
        age: usize,
        chunk: Arc<[Entry<K>]>,
        at: usize,
        chunks: std::vec::IntoIter<Arc<[Entry<K>]>>,
    ) -> Option<Self> {
        let entry = *chunk.get(at)?;
        Some(Self { entry, age, chunks, chunk, at })
    }

    /// Moves on; false at the run's end.
    fn advance(&mut self) -> bool {
        self.at += 1;
        if self.at == self.chunk.len() {
            let Some(next) = self.chunks.next() else { return false };
            self.chunk = next;
            self.at = 0;
        }
        match self.chunk.get(self.at) {
            Some(entry) => {
                self.entry = *entry;
                true
            }
            None => false,
        }
    }
}

impl<K: Ord> Ord for Head<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.entry.0.cmp(&other.entry.0).then(self.age.cmp(&other.age))
    }
}

impl<K: Ord> PartialOrd for Head<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord> PartialEq for Head<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<K: Ord> Eq for Head<K> {}

impl<K: Ord + Copy> SortedIter<K> {
    /// Merges the runs, oldest first, and the sorted tail, from the start of `range` to its end.
    pub(super) fn merge<'a>(
        runs: impl Iterator<Item = &'a [Arc<[Entry<K>]>]>,
        tail: Vec<Entry<K>>,
        (start, end): (Bound<K>, Bound<K>),
    ) -> Self
    where
        K: 'a,
    {
        let is_before = |key: &K| match &start {
            Bound::Unbounded => false,
            Bound::Included(first) => key < first,
            Bound::Excluded(first) => key <= first,
        };
        let mut heads = Vec::new();
        let mut age = 0;
        for run in runs {
            let skipped = run.partition_point(|chunk| chunk.last().is_some_and(|last| is_before(&last.0)));
            let rest: Run<K> = run[skipped..].to_vec();
            let mut chunks = rest.into_iter();
            if let Some(chunk) = chunks.next() {
                let at = chunk.partition_point(|e| is_before(&e.0));
                heads.extend(Head::new(age, chunk, at, chunks).map(Reverse));
            }
            age += 1;
        }
        heads.extend(Head::new(age, Arc::from(tail), 0, Vec::new().into_iter()).map(Reverse));
        Self { heads: BinaryHeap::from(heads), end }
    }
}

impl<K: Ord + Copy> Iterator for SortedIter<K> {
    type Item = Entry<K>;

    fn next(&mut self) -> Option<Entry<K>> {
        let mut head = self.heads.peek_mut()?;
        let entry = head.0.entry;
        let is_past = match &self.end {
            Bound::Unbounded => false,
            Bound::Included(last) => entry.0 > *last,
            Bound::Excluded(last) => entry.0 >= *last,
        };
        if is_past {
            drop(head);
            self.heads.clear();
            return None;
        }
        if !head.0.advance() {
            std::collections::binary_heap::PeekMut::pop(head);
        }
        Some(entry)
    }
}

impl<K: Ord + Copy> std::iter::FusedIterator for SortedIter<K> {}
