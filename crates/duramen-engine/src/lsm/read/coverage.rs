//! Deleted ranges as one reader sees them, going from key to key.

use super::tombstones::{Hint, RangeTombstones};
use std::sync::Arc;

/// The deleted ranges of all sources, for one reader. Without any it costs nothing; as long as the keys stay between
/// the same bounds, next to nothing.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    sources: Vec<(Arc<RangeTombstones>, Hint)>,
    /// Which source had the newest tombstone for the last key.
    newest: usize,
    at_seq: u64,
}

/// Keys that a tombstone covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Covered<'a> {
    pub(crate) start: &'a [u8],
    /// Not covered any more.
    pub(crate) end: &'a [u8],
    /// The newest tombstone, the same for all of these keys.
    pub(crate) seq: u64,
}

impl Covered<'_> {
    /// Whether the key is one of them.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.start <= key && key < self.end
    }
}

impl Coverage {
    /// As a reader at `at_seq` sees the tombstones of these sources.
    pub(crate) fn new(sources: impl IntoIterator<Item = Arc<RangeTombstones>>, at_seq: u64) -> Self {
        let some = sources.into_iter().filter(|source| !source.is_empty());
        Self { sources: some.map(|source| (source, Hint::default())).collect(), newest: 0, at_seq }
    }

    /// Whether there are no tombstones.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The sequence number of the newest tombstone that covers the key; 0 if there is none.
    #[inline]
    pub(crate) fn covering_seq(&mut self, key: &[u8]) -> u64 {
        let mut newest = 0;
        for (nth, (source, hint)) in self.sources.iter_mut().enumerate() {
            let seq = source.covering_seq_near(key, self.at_seq, hint);
            if seq > newest {
                newest = seq;
                self.newest = nth;
            }
        }
        newest
    }

    /// The keys around the last one that the same tombstone covers, or some of them. The last one was covered.
    pub(crate) fn covered(&self) -> Option<Covered<'_>> {
        let (source, hint) = self.sources.get(self.newest)?;
        let (Some(start), Some(end)) = source.stretch(hint) else { return None };
        Some(Covered { start, end, seq: hint.covering_seq() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsm::cursor::RangeTombstone;
    use crate::lsm::read::covering_seq_among;
    use crate::lsm::read::model::any_key;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_newest_tombstone_of_all_sources_is_found(
            tombstones in prop::collection::vec((any_key(), any_key(), 1..40u64), 0..20),
            keys in prop::collection::vec(any_key(), 1..60),
            cut: prop::sample::Index,
            at_seq in 0..41u64,
        ) {
            let tombstones: Vec<_> = tombstones.into_iter().map(|(start, end, seq)| RangeTombstone { start, end, seq }).collect();
            let (one, other) = tombstones.split_at(cut.index(tombstones.len() + 1));
            let mut coverage = Coverage::new([one, other].map(|part| Arc::new(RangeTombstones::new(part))), at_seq);
            for key in &keys {
                let seq = coverage.covering_seq(key);
                prop_assert_eq!(seq, covering_seq_among(&tombstones, key, at_seq));
                if seq > 0 {
                    let covered = coverage.covered().unwrap();
                    prop_assert_eq!(covered.seq, seq);
                    prop_assert!(covered.contains(key));
                    for other in keys.iter().filter(|key| covered.contains(key)) {
                        prop_assert!(covering_seq_among(&tombstones, other, at_seq) >= seq);
                    }
                }
            }
        }
    }
}
