//! What the tables of a test hold, and what a merge makes of it.

use std::collections::{BTreeMap, BTreeSet};

/// SplitMix64.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }
}

/// What a table holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    /// By key, then the newest first (the complement of the sequence number); whether it is a put.
    pub(super) entries: BTreeMap<(u32, u64), bool>,
    /// Deleted ranges: first and last key, sequence number.
    pub(super) ranges: BTreeSet<(u32, u32, u64)>,
}

impl Rows {
    pub(super) fn add(&mut self, key: u32, seq: u64, put: bool) {
        self.entries.insert((key, u64::MAX - seq), put);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.ranges.is_empty()
    }

    pub(super) fn old_versions(&self) -> u64 {
        let keys: BTreeSet<u32> = self.entries.keys().map(|&(key, _)| key).collect();
        (self.entries.len() - keys.len()) as u64
    }

    /// The newest sequence number up to `seq` that says something of the key, and whether it is there.
    pub(super) fn get(&self, key: u32, seq: u64) -> Option<(u64, bool)> {
        let from = (key, u64::MAX - seq);
        let entry =
            self.entries.range(from..=(key, u64::MAX)).next().map(|(&(_, s), &put)| (u64::MAX - s, put));
        let range = self
            .ranges
            .iter()
            .filter(|&&(a, b, s)| a <= key && key <= b && s <= seq)
            .map(|r| (r.2, false))
            .max();
        entry.max(range)
    }

    pub(super) fn seqs(&self) -> impl Iterator<Item = u64> {
        self.entries.keys().map(|&(_, s)| u64::MAX - s).chain(self.ranges.iter().map(|r| r.2))
    }
}

/// What a merge keeps: of each key the newest version for each snapshot; at the bottom no deletions that all see.
pub(super) fn visible(all: &Rows, snapshots: &[u64], is_bottommost: bool) -> Rows {
    let stripe = |seq: u64| snapshots.partition_point(|&snapshot| snapshot < seq);
    let mut kept = Rows::default();
    let mut newer = None;
    for (&(key, s), &put) in &all.entries {
        let seq = u64::MAX - s;
        let hidden = newer == Some((key, stripe(seq)))
            || all.ranges.iter().any(|r| r.0 <= key && key <= r.1 && r.2 > seq && stripe(r.2) == stripe(seq));
        newer = Some((key, stripe(seq)));
        if !hidden && (put || !is_bottommost || stripe(seq) > 0) {
            kept.entries.insert((key, s), put);
        }
    }
    kept.ranges = all.ranges.iter().filter(|r| !is_bottommost || stripe(r.2) > 0).copied().collect();
    kept
}

pub(super) fn clipped(
    ranges: &BTreeSet<(u32, u32, u64)>,
    first: u32,
    last: u32,
) -> BTreeSet<(u32, u32, u64)> {
    ranges.iter().map(|&(a, b, s)| (a.max(first), b.min(last), s)).filter(|&(a, b, _)| a <= b).collect()
}
