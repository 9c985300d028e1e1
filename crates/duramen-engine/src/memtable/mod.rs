//! An ordered index over records that already lie in a WAL segment: the segment is the arena, so nothing is copied.
//!
//! Adding is an append. Every [`CHUNK_ENTRIES`] entries the newest are sorted (if they did not come sorted), shut
//! into an immutable chunk, and joined to the last *run* if they follow it, or else begin a new one:
//!
//! ```text
//!  runs   [ 1 2 3 │ 3 5 8 │ 9 9 ]  [ 4 6 7 ]     each sorted; made of shared, immutable chunks
//!  tail   12 10 11                               not sorted yet
//! ```
//!
//! Keys that arrive in order, as times mostly do, make one run and are never sorted at all. A scan merges runs as
//! it goes, and since chunks are shared it takes no copy of them and does not hold up the writer.
//!
//! | module | one idea |
//! |---|---|
//! | `vec` | [`VecMemtable`]: taking entries |
//! | `merge` | [`SortedIter`]: giving them sorted, lazily |
//! | `frozen` | [`Frozen`]: all of them, sorted, for the flush |

mod frozen;
mod merge;
mod vec;

pub use frozen::Frozen;
pub use merge::SortedIter;
pub use vec::{CHUNK_ENTRIES, VecMemtable};

/// Where an entry's bytes lie in its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// In bytes from the start of the segment.
    pub offset: u32,
    /// In bytes.
    pub len: u32,
}

/// A key and where its bytes lie.
pub type Entry<K> = (K, Location);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::ops::Bound;

    fn location(nth: usize) -> Location {
        Location { offset: nth as u32, len: 1 }
    }

    /// What the index must be: entries by key, then by when they were added.
    fn model(keys: &[i64], range: (Bound<i64>, Bound<i64>)) -> Vec<Entry<i64>> {
        let map: BTreeMap<(i64, usize), Location> =
            keys.iter().enumerate().map(|(nth, key)| ((*key, nth), location(nth))).collect();
        use std::ops::RangeBounds;
        map.into_iter().filter(|((key, _), _)| range.contains(key)).map(|((key, _), l)| (key, l)).collect()
    }

    fn filled(keys: &[i64]) -> VecMemtable<i64> {
        let mut memtable = VecMemtable::new();
        for (nth, key) in keys.iter().enumerate() {
            memtable.push(*key, location(nth));
        }
        memtable
    }

    /// Keys in stretches: rising, falling, random, all the same, long enough for several chunks.
    fn keys() -> impl Strategy<Value = Vec<i64>> {
        let stretch = (0..4u8, 0..9000usize, 0..2000i64, any::<u64>());
        prop::collection::vec(stretch, 0..4).prop_map(|stretches| {
            let mut keys = vec![];
            for (shape, len, base, seed) in stretches {
                let mut state = seed;
                for nth in 0..len as i64 {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    keys.push(match shape {
                        0 => base + nth / 3,
                        1 => base - nth / 3,
                        2 => (state >> 40) as i64 % 3000,
                        _ => base,
                    });
                }
            }
            keys
        })
    }

    fn bound() -> impl Strategy<Value = Bound<i64>> {
        prop_oneof![
            Just(Bound::Unbounded),
            (-100..4000i64).prop_map(Bound::Included),
            (-100..4000i64).prop_map(Bound::Excluded),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn it_is_a_sorted_map_of_many(keys in keys(), range in (bound(), bound())) {
            let memtable = filled(&keys);
            prop_assert_eq!(memtable.len(), keys.len());
            let expected = model(&keys, range);
            let iterated: Vec<_> = memtable.iter_sorted(range).collect();
            prop_assert!(iterated == expected, "iter_sorted differs");
            let frozen = memtable.freeze();
            prop_assert!(frozen.range(range) == expected, "Frozen::range differs");
            prop_assert!(frozen.entries() == model(&keys, (Bound::Unbounded, Bound::Unbounded)), "freeze differs");
        }
    }

    #[test]
    fn an_iterator_does_not_see_what_comes_later() {
        let mut memtable = filled(&(0..5000).collect::<Vec<_>>());
        let before = memtable.iter_sorted(..);
        for nth in 0..5000 {
            memtable.push(nth, location(0));
        }
        assert_eq!(before.count(), 5000);
        assert_eq!(memtable.iter_sorted(..).count(), 10_000);
    }

    #[test]
    fn keys_in_order_are_never_sorted_or_merged() {
        use std::cell::Cell;
        thread_local!(static COMPARED: Cell<usize> = const { Cell::new(0) });
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        struct Counting(u32);
        impl PartialOrd for Counting {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }
        impl Ord for Counting {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                COMPARED.set(COMPARED.get() + 1);
                self.0.cmp(&other.0)
            }
        }
        let mut memtable = VecMemtable::new();
        for nth in 0..100_000 {
            memtable.push(Counting(nth), location(nth as usize));
        }
        assert_eq!(memtable.freeze().len(), 100_000);
        assert!(COMPARED.get() < 100_100, "{} comparisons", COMPARED.get());
    }
}
