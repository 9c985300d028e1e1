//! What a flush or a compaction keeps: every version that some reader may still see.
//!
//! Readers stand at the live snapshots and at the newest sequence number. The snapshots s1 < s2 < … cut the
//! sequence numbers into stripes:
//!
//! ```text
//!  1 ..= s1 | s1+1 ..= s2 | s2+1 ..= ∞        a reader stands at the end of each
//! ```
//!
//! A version is kept unless one of these holds:
//!
//! 1. **Overwritten**: a newer version of its key lies in the same stripe. Every reader that sees the older one sees
//!    the newer one too.
//! 2. **In a deleted range**: a newer tombstone that covers its key lies in the same stripe. Likewise. (If it covers
//!    the newest version in the stripe then also all older ones, so rule 1 need not ask whether the newer version is
//!    itself dropped.)
//! 3. **A deletion of nothing**: it deletes its key, lies in the oldest stripe, and there is nothing older of the
//!    key outside the inputs. What it hides lies in its stripe, and is dropped by rule 1.
//!
//! A tombstone is kept by the same rules, see [`surviving_tombstones`](super::surviving_tombstones).
//!
//! Whoever compacts must see to it that the inputs hold whatever is older than an input's version of a key within
//! the levels that are merged, and that the snapshots are those that were live when, or after, the inputs were
//! chosen: a reader that comes later stands at or above everything in the inputs.

use super::key::LastKey;
use super::source::ForwardSource;
use super::tombstones::{Hint, RangeTombstones};
use crate::Result;
use crate::kv::OpKind;
use std::sync::Arc;

/// Gives, in order, the versions of `source` that some reader may still see. A [`ForwardSource`] itself.
#[derive(Debug)]
pub(crate) struct CompactionIter<S, F> {
    source: S,
    /// Ascending.
    snapshots: Vec<u64>,
    tombstones: Arc<RangeTombstones>,
    hint: Hint,
    is_bottommost: bool,
    key_is_base_level: F,
    last: LastKey,
    /// The stripe of the last version of the present key.
    stripe: usize,
    key_is_new: bool,
    dropped: u64,
}

impl<S: ForwardSource, F: FnMut(&[u8]) -> bool> CompactionIter<S, F> {
    /// Of the inputs' versions and tombstones. `snapshots` are the live ones, ascending. `is_bottommost`: nothing
    /// older than the inputs exists anywhere, for the whole range of their keys and tombstones.
    /// `key_is_base_level`: the same for one key; it is asked in the order of keys, and only about deletions.
    pub(crate) fn new(
        source: S,
        mut snapshots: Vec<u64>,
        tombstones: Arc<RangeTombstones>,
        is_bottommost: bool,
        key_is_base_level: F,
    ) -> Self {
        snapshots.sort_unstable();
        snapshots.dedup();
        Self {
            source,
            snapshots,
            tombstones,
            hint: Hint::default(),
            is_bottommost,
            key_is_base_level,
            last: LastKey::default(),
            stripe: 0,
            key_is_new: false,
            dropped: 0,
        }
    }

    /// Whether the present version is the first one given of its key: only there may a new table begin.
    #[inline]
    pub(crate) fn key_is_new(&self) -> bool {
        self.key_is_new
    }

    /// How many versions were dropped so far.
    #[cfg(test)]
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Which stripe a sequence number lies in: 0 is the oldest.
    #[inline]
    fn stripe_of(&self, seq: u64) -> usize {
        if self.snapshots.is_empty() { 0 } else { self.snapshots.partition_point(|snapshot| *snapshot < seq) }
    }

    /// Rules 2 and 3, for the newest version in its stripe.
    #[inline]
    fn is_needed(&mut self) -> bool {
        if !self.tombstones.is_empty() {
            let reader = self.snapshots.get(self.stripe).copied().unwrap_or(u64::MAX);
            let key = self.source.key();
            if self.tombstones.covering_seq_near(key, reader, &mut self.hint) > self.source.seq() {
                return false;
            }
        }
        let deletes_nothing = self.source.kind() == OpKind::Delete
            && self.stripe == 0
            && (self.is_bottommost || (self.key_is_base_level)(self.source.key()));
        !deletes_nothing
    }
}

impl<S: ForwardSource, F: FnMut(&[u8]) -> bool> ForwardSource for CompactionIter<S, F> {
    #[inline]
    fn advance(&mut self) -> Result<bool> {
        self.key_is_new = false;
        while self.source.advance()? {
            let same_key = self.last.replace(self.source.key());
            // Without snapshots all is one stripe, and it need not be asked for.
            let stripe =
                if same_key && self.snapshots.is_empty() { 0 } else { self.stripe_of(self.source.seq()) };
            let overwritten = same_key && stripe == self.stripe;
            self.stripe = stripe;
            self.key_is_new |= !same_key;
            if !overwritten && self.is_needed() {
                return Ok(true);
            }
            self.dropped += 1;
        }
        Ok(false)
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.source.key()
    }

    #[inline]
    fn seq(&self) -> u64 {
        self.source.seq()
    }

    #[inline]
    fn kind(&self) -> OpKind {
        self.source.kind()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.source.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsm::read::model::{Source, any_history, any_key, cut, read_at, scan_at};
    use crate::lsm::read::{FromStart, MergeCursor, clip, surviving_tombstones};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::ops::Bound;

    /// Compacts sources into tables that begin at these keys.
    fn compact(
        inputs: &[Source],
        snapshots: &[u64],
        is_bottommost: bool,
        is_base: impl FnMut(&[u8]) -> bool,
        mut cuts: Vec<Vec<u8>>,
    ) -> Vec<Source> {
        let merged = MergeCursor::new(inputs.iter().map(Source::cursor).collect());
        let tombstones = Arc::new(RangeTombstones::new(inputs.iter().flat_map(|source| &source.tombstones)));
        let survivors = surviving_tombstones(&tombstones, snapshots, is_bottommost);
        let mut versions = CompactionIter::new(
            FromStart::new(merged),
            snapshots.to_vec(),
            tombstones,
            is_bottommost,
            is_base,
        );
        let (mut kept, mut before) = (Vec::new(), None);
        while versions.advance().unwrap() {
            let key = versions.key().to_vec();
            assert_eq!(versions.key_is_new(), before.as_ref() != Some(&key));
            kept.push((key.clone(), versions.seq(), versions.kind(), versions.value().to_vec()));
            before = Some(key);
        }
        let given: usize = inputs.iter().map(|source| source.versions.len()).sum();
        assert_eq!(kept.len() as u64 + versions.dropped(), given as u64);
        cuts.sort();
        cuts.dedup();
        let mut tables = Vec::new();
        for nth in 0..=cuts.len() {
            let (from, to) =
                (nth.checked_sub(1).map(|n| cuts[n].as_slice()), cuts.get(nth).map(Vec::as_slice));
            let within = |key: &[u8]| from.is_none_or(|from| from <= key) && to.is_none_or(|to| key < to);
            tables.push(Source {
                versions: kept.iter().filter(|version| within(&version.0)).cloned().collect(),
                tombstones: survivors.iter().filter_map(|tombstone| clip(tombstone, from, to)).collect(),
            });
        }
        tables
    }

    const ALL: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Unbounded, Bound::Unbounded);

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn no_reader_sees_a_difference(
            history in any_history(2, 80),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
            snapshots in prop::collection::btree_set(0..80u64, 0..5),
            newer in 0..3usize,
            older in 0..3usize,
            keys_are_asked: bool,
            table_cuts in prop::collection::vec(any_key(), 0..3),
        ) {
            let sources = cut(&history, cuts);
            let newer = newer.min(sources.len());
            let older = older.min(sources.len() - newer);
            let (above, rest) = sources.split_at(newer);
            let (inputs, below) = rest.split_at(rest.len() - older);
            let snapshots: Vec<u64> = snapshots.into_iter().collect();
            let is_empty = below.iter().all(|source| source.versions.is_empty() && source.tombstones.is_empty());
            let is_base = |key: &[u8]| {
                keys_are_asked && !below.iter().flat_map(|source| &source.versions).any(|version| version.0 == key)
            };
            let outputs = compact(inputs, &snapshots, is_empty, is_base, table_cuts);
            let after: Vec<Source> = above.iter().chain(&outputs).chain(below).cloned().collect();
            let newest = inputs.iter().flat_map(|source| {
                source.versions.iter().map(|version| version.1).chain(source.tombstones.iter().map(|t| t.seq))
            }).max().unwrap_or(0);
            for seq in snapshots.iter().copied().chain(newest..=history.len() as u64) {
                let expected: Vec<_> = read_at(&history, seq).into_iter().collect();
                prop_assert_eq!(scan_at(&after, ALL, seq, false).unwrap(), expected, "at {}", seq);
            }
        }

        #[test]
        fn at_the_bottom_without_snapshots_only_what_is_seen_is_left(
            history in any_history(2, 80),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
            by_key: bool,
        ) {
            let sources = cut(&history, cuts);
            let has_ranges = sources.iter().any(|source| !source.tombstones.is_empty());
            let bottommost = !by_key || has_ranges;
            let output = compact(&sources, &[], bottommost, |_| by_key, Vec::new()).remove(0);
            let seen = read_at(&history, u64::MAX);
            let left: BTreeMap<_, _> = output.versions.iter().map(|(key, _, _, value)| (key.clone(), value.clone())).collect();
            prop_assert_eq!(output.versions.len(), seen.len());
            prop_assert_eq!(left, seen);
            prop_assert_eq!(output.tombstones, vec![]);
        }

        #[test]
        fn a_key_keeps_at_most_one_version_per_reader(
            history in any_history(0, 120),
            snapshots in prop::collection::btree_set(0..120u64, 0..5),
        ) {
            let snapshots: Vec<u64> = snapshots.into_iter().collect();
            let output = compact(&[Source::new(&history, 0)], &snapshots, false, |_| false, Vec::new()).remove(0);
            let mut per_key = BTreeMap::new();
            for (key, ..) in output.versions {
                *per_key.entry(key).or_insert(0) += 1;
            }
            prop_assert!(per_key.values().all(|versions| *versions <= snapshots.len() + 1));
        }
    }
}
