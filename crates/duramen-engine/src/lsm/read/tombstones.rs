//! Which deleted range covers a key.
//!
//! The starts and ends of all tombstones, sorted, cut the keys into stretches; within one, every key has the same
//! tombstones. To write these down for each stretch would take n² entries where many tombstones overlap, so the
//! stretches are the leaves of a segment tree: a tombstone is noted at the few nodes that together make up its
//! range, and those of a key are found on the way from its leaf to the root. Each node has its own from the newest
//! to the oldest. Tombstones that overlap no other lie at one leaf each.
//!
//! ```text
//!         1               tombstones  [a, d) at 9,  [b, c) at 5
//!     2       3           bounds      a   b   c   d
//!   4   5   6   7         stretches     0   1   2
//! ```

use crate::kv::prefix8;
use crate::lsm::cursor::RangeTombstone;
use std::cmp::Reverse;

/// The deleted ranges of one or several sources, to be asked about keys. Asking costs nothing where there are none.
#[derive(Debug, Default)]
pub(crate) struct RangeTombstones {
    /// All starts and ends, ascending.
    bounds: Vec<Vec<u8>>,
    /// Each tombstone: the bounds that it begins and ends at, and its seq. From the newest to the oldest.
    all: Vec<(u32, u32, u64)>,
    /// Where in `seqs` the tombstones of each node of the tree begin, and at the end how many there are. Node 1 is
    /// the root, the children of n are 2n and 2n + 1, and the leaf of stretch s is at `leaves` + s.
    nodes: Vec<u32>,
    /// The seqs of the tombstones of node after node, each from the newest to the oldest.
    seqs: Vec<u64>,
}

/// Where the last key was, so that the next, which is mostly near, is found faster. For one [`RangeTombstones`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hint {
    /// The number of bounds that are not above the key.
    bounds_before: usize,
    /// Keys whose first bytes are above this number and below the next are in the same stretch.
    above: u64,
    below: u64,
    at_seq: u64,
    covering_seq: u64,
}

impl Hint {
    /// The answer to the last question.
    pub(super) fn covering_seq(&self) -> u64 {
        self.covering_seq
    }
}

impl RangeTombstones {
    /// Of these tombstones, in any order. Those that cover nothing are left out.
    pub(crate) fn new<'a>(tombstones: impl IntoIterator<Item = &'a RangeTombstone>) -> Self {
        let mut given: Vec<_> = tombstones.into_iter().filter(|t| t.start < t.end).collect();
        given.sort_by_key(|t| Reverse(t.seq));
        let mut bounds: Vec<&[u8]> = given.iter().flat_map(|t| [t.start.as_slice(), &t.end]).collect();
        bounds.sort_unstable();
        bounds.dedup();
        // Both are there, so the position is that of the bound itself.
        let bound = |key: &[u8]| bounds.partition_point(|b| *b < key) as u32;
        let mut all: Vec<_> = given.iter().map(|t| (bound(&t.start), bound(&t.end), t.seq)).collect();
        all.dedup();
        let leaves = bounds.len().saturating_sub(1);
        let mut nodes = vec![0; 2 * leaves + 1];
        for &(from, to, _) in &all {
            for_each_node(leaves, from, to, |node| nodes[node] += 1);
        }
        // Counts become where each begins; filling then moves that to where it ends, which is where the next begins.
        let mut begin = 0;
        for node in &mut nodes {
            begin += std::mem::replace(node, begin);
        }
        let mut seqs = vec![0; begin as usize];
        for &(from, to, seq) in &all {
            for_each_node(leaves, from, to, |node| {
                seqs[nodes[node] as usize] = seq;
                nodes[node] += 1;
            });
        }
        nodes.rotate_right(1);
        if let Some(first) = nodes.first_mut() {
            *first = 0;
        }
        Self { bounds: bounds.into_iter().map(<[u8]>::to_vec).collect(), all, nodes, seqs }
    }

    /// Whether there are none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All of them, from the newest to the oldest.
    pub(crate) fn iter(&self) -> impl Iterator<Item = RangeTombstone> + '_ {
        self.all.iter().map(|&(from, to, seq)| RangeTombstone {
            start: self.bounds[from as usize].clone(),
            end: self.bounds[to as usize].clone(),
            seq,
        })
    }

    /// The sequence number of the newest tombstone that covers the key and is not newer than `at_seq`; 0 if there is
    /// none.
    #[cfg(test)]
    pub(crate) fn covering_seq(&self, key: &[u8], at_seq: u64) -> u64 {
        if self.is_empty() {
            return 0;
        }
        self.newest(self.bounds.partition_point(|bound| bound.as_slice() <= key), at_seq)
    }

    /// The same, remembering where it was for the next time.
    #[inline]
    pub(crate) fn covering_seq_near(&self, key: &[u8], at_seq: u64, hint: &mut Hint) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let prefix = prefix8(key);
        if hint.above < prefix && prefix < hint.below && hint.at_seq == at_seq {
            return hint.covering_seq;
        }
        self.move_hint(key, at_seq, hint);
        hint.covering_seq
    }

    fn move_hint(&self, key: &[u8], at_seq: u64, hint: &mut Hint) {
        let after = |bound: Option<&Vec<u8>>| bound.is_none_or(|bound| key < bound.as_slice());
        let is_in = |before: usize| {
            (before == 0 || !after(self.bounds.get(before - 1))) && after(self.bounds.get(before))
        };
        let before = hint.bounds_before;
        hint.bounds_before = if is_in(before) {
            before
        } else if before < self.bounds.len() && is_in(before + 1) {
            before + 1
        } else {
            self.bounds.partition_point(|bound| bound.as_slice() <= key)
        };
        let (start, end) = self.stretch(hint);
        hint.above = start.map_or(0, prefix8);
        hint.below = end.map_or(u64::MAX, prefix8);
        hint.at_seq = at_seq;
        hint.covering_seq = self.newest(hint.bounds_before, at_seq);
    }

    /// The stretch of keys that the hint is in: its first key, and the one it ends before.
    pub(super) fn stretch(&self, hint: &Hint) -> (Option<&[u8]>, Option<&[u8]>) {
        let before = hint.bounds_before;
        let start = before.checked_sub(1).and_then(|nth| self.bounds.get(nth));
        (start.map(Vec::as_slice), self.bounds.get(before).map(Vec::as_slice))
    }

    /// Of the stretch that has so many bounds at or before it.
    fn newest(&self, bounds_before: usize, at_seq: u64) -> u64 {
        if bounds_before == 0 || bounds_before == self.bounds.len() {
            return 0;
        }
        let mut node = self.bounds.len() - 1 + bounds_before - 1;
        let mut newest = 0;
        while node > 0 {
            let seqs = &self.seqs[self.nodes[node] as usize..self.nodes[node + 1] as usize];
            // The newest one first, as it is mostly the answer.
            let seq = match seqs.first() {
                Some(first) if *first > at_seq => seqs.get(seqs.partition_point(|seq| *seq > at_seq)),
                first => first,
            };
            newest = newest.max(seq.copied().unwrap_or(0));
            node /= 2;
        }
        newest
    }
}

/// The nodes of a segment tree that together make up the leaves from `from` on, below `to`.
fn for_each_node(leaves: usize, from: u32, to: u32, mut visit: impl FnMut(usize)) {
    let (mut left, mut right) = (from as usize + leaves, to as usize + leaves);
    while left < right {
        if left % 2 == 1 {
            visit(left);
            left += 1;
        }
        if right % 2 == 1 {
            right -= 1;
            visit(right);
        }
        left /= 2;
        right /= 2;
    }
}

/// The newest of a few tombstones, in any order, that covers the key and is not newer than `at_seq`; 0 if there is
/// none. The obvious way, to compare with.
#[cfg(test)]
pub(crate) fn covering_seq_among(tombstones: &[RangeTombstone], key: &[u8], at_seq: u64) -> u64 {
    let covers = |t: &&RangeTombstone| t.seq <= at_seq && t.start.as_slice() <= key && key < t.end.as_slice();
    tombstones.iter().filter(covers).map(|t| t.seq).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsm::read::model::any_key;
    use proptest::prelude::*;

    fn any_tombstone() -> impl Strategy<Value = RangeTombstone> {
        (any_key(), any_key(), 1..40u64).prop_map(|(start, end, seq)| RangeTombstone { start, end, seq })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn the_newest_tombstone_that_covers_is_found(
            tombstones in prop::collection::vec(any_tombstone(), 0..20),
            questions in prop::collection::vec((any_key(), 0..41u64), 1..60),
        ) {
            let together = RangeTombstones::new(&tombstones);
            let mut hint = Hint::default();
            for (key, at_seq) in questions {
                let expected = covering_seq_among(&tombstones, &key, at_seq);
                prop_assert_eq!(together.covering_seq(&key, at_seq), expected);
                prop_assert_eq!(together.covering_seq_near(&key, at_seq, &mut hint), expected);
            }
        }

        #[test]
        fn all_that_cover_something_are_listed(tombstones in prop::collection::vec(any_tombstone(), 0..20)) {
            let mut expected: Vec<_> = tombstones.iter().filter(|t| t.start < t.end).cloned().collect();
            let given = RangeTombstones::new(&tombstones);
            let seqs: Vec<_> = given.iter().map(|t| t.seq).collect();
            prop_assert!(seqs.is_sorted_by(|a, b| a >= b));
            let mut listed: Vec<_> = given.iter().collect();
            listed.sort();
            listed.dedup();
            expected.sort();
            expected.dedup();
            prop_assert_eq!(given.is_empty(), listed.is_empty());
            prop_assert_eq!(listed, expected);
        }
    }

    #[test]
    fn many_that_overlap_take_little_more_than_few() {
        let key = |n: u32| n.to_be_bytes().to_vec();
        let n = 4096;
        let nested: Vec<_> = (0..n)
            .map(|i| RangeTombstone { start: key(i), end: key(3 * n - i), seq: u64::from(i) + 1 })
            .collect();
        let tombstones = RangeTombstones::new(&nested);
        assert!(tombstones.seqs.len() < 2 * 13 * n as usize, "{} notes", tombstones.seqs.len());
        assert_eq!(tombstones.covering_seq(&key(n + 5), u64::MAX), u64::from(n));
        assert_eq!(tombstones.covering_seq(&key(n + 5), 77), 77);
        assert_eq!(tombstones.covering_seq(&key(9), u64::MAX), 10);
        assert_eq!(tombstones.covering_seq(&key(3 * n), u64::MAX), 0);
        let apart: Vec<_> = (0..n)
            .map(|i| RangeTombstone { start: key(2 * i), end: key(2 * i + 1), seq: u64::from(i) + 1 })
            .collect();
        assert_eq!(RangeTombstones::new(&apart).seqs.len(), n as usize);
    }
}
