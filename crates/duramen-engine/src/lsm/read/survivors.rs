//! Which deleted ranges are still needed after a compaction, and the part of them for one table.
//!
//! By the rules of [`CompactionIter`](super::CompactionIter), stretch by stretch: the newest tombstone of each stripe
//! hides all that the older ones of the stripe hide, and one of the oldest stripe hides nothing once nothing older
//! exists outside the inputs. A tombstone that is needed anywhere is kept whole.

use super::tombstones::RangeTombstones;
use crate::lsm::cursor::RangeTombstone;

/// The tombstones of the inputs that are still needed, sorted by where they start. `snapshots` (ascending) and
/// `is_bottommost` as [`CompactionIter`](super::CompactionIter) has them.
pub(crate) fn surviving_tombstones(
    tombstones: &RangeTombstones,
    snapshots: &[u64],
    is_bottommost: bool,
) -> Vec<RangeTombstone> {
    let stripe = |seq: u64| snapshots.partition_point(|snapshot| *snapshot < seq);
    let newest_first: Vec<_> = tombstones.iter().collect();
    let mut survivors = Vec::new();
    for of_stripe in newest_first.chunk_by(|a, b| stripe(a.seq) == stripe(b.seq)) {
        let is_oldest = of_stripe.first().is_some_and(|t| stripe(t.seq) == 0);
        if !(is_oldest && is_bottommost) {
            survivors.extend(not_hidden(of_stripe));
        }
    }
    survivors.sort();
    survivors
}

/// Those tombstones, of a list from the newest to the oldest, that are the newest one somewhere.
fn not_hidden(newest_first: &[RangeTombstone]) -> impl Iterator<Item = RangeTombstone> + '_ {
    let mut bounds: Vec<&[u8]> = newest_first.iter().flat_map(|t| [t.start.as_slice(), &t.end]).collect();
    bounds.sort_unstable();
    bounds.dedup();
    // For each stretch between two bounds the next one, itself included, that no tombstone covers yet. What was
    // looked up is shortened on the way, so that all of it takes about as long as sorting.
    let mut next_free: Vec<usize> = (0..=bounds.len()).collect();
    newest_first.iter().filter_map(move |tombstone| {
        let from = bounds.partition_point(|bound| *bound < tombstone.start.as_slice());
        let to = bounds.partition_point(|bound| *bound < tombstone.end.as_slice());
        let mut free = find_free(&mut next_free, from);
        let is_newest_somewhere = free < to;
        while free < to {
            next_free[free] = free + 1;
            free = find_free(&mut next_free, free + 1);
        }
        is_newest_somewhere.then(|| tombstone.clone())
    })
}

fn find_free(next_free: &mut [usize], mut from: usize) -> usize {
    while next_free[from] != from {
        next_free[from] = next_free[next_free[from]];
        from = next_free[from];
    }
    from
}

/// The part of a tombstone from the key `from` on, below `to`; `None` stands for no limit. `None` if nothing of it
/// lies there.
pub(crate) fn clip(
    tombstone: &RangeTombstone,
    from: Option<&[u8]>,
    to: Option<&[u8]>,
) -> Option<RangeTombstone> {
    let start = from.map_or(tombstone.start.as_slice(), |from| from.max(&tombstone.start));
    let end = to.map_or(tombstone.end.as_slice(), |to| to.min(&tombstone.end));
    (start < end).then(|| RangeTombstone { start: start.to_vec(), end: end.to_vec(), seq: tombstone.seq })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsm::read::covering_seq_among;
    use crate::lsm::read::model::any_key;
    use proptest::prelude::*;

    fn any_tombstone() -> impl Strategy<Value = RangeTombstone> {
        (any_key(), any_key(), 1..40u64).prop_map(|(start, end, seq)| RangeTombstone { start, end, seq })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn survivors_hide_the_same_from_every_reader_and_none_is_idle(
            tombstones in prop::collection::vec(any_tombstone(), 0..20),
            keys in prop::collection::vec(any_key(), 1..30),
            snapshots in prop::collection::btree_set(0..40u64, 0..4),
        ) {
            let snapshots: Vec<u64> = snapshots.into_iter().collect();
            let survivors = surviving_tombstones(&RangeTombstones::new(&tombstones), &snapshots, false);
            prop_assert!(survivors.is_sorted());
            for reader in snapshots.iter().copied().chain([u64::MAX]) {
                for key in keys.iter().chain(tombstones.iter().map(|t| &t.start)) {
                    let expected = covering_seq_among(&tombstones, key, reader);
                    prop_assert_eq!(covering_seq_among(&survivors, key, reader), expected);
                }
            }
            for survivor in &survivors {
                // It is the newest somewhere, and that somewhere begins where it or another begins or ends.
                let reader = snapshots.iter().copied().find(|s| *s >= survivor.seq).unwrap_or(u64::MAX);
                let places = survivors.iter().flat_map(|t| [&t.start, &t.end]);
                let answers = places.map(|key| (key, covering_seq_among(&survivors, key, reader)));
                let is_newest = |(key, seq): (&Vec<u8>, u64)| seq == survivor.seq && survivor.start <= *key && *key < survivor.end;
                prop_assert!(answers.into_iter().any(is_newest));
            }
        }

        #[test]
        fn the_parts_of_a_tombstone_make_up_the_whole(tombstone in any_tombstone(), mut cuts in prop::collection::vec(any_key(), 0..4), key in any_key()) {
            cuts.sort();
            let limits: Vec<_> = [None].into_iter().chain(cuts.iter().map(|cut| Some(cut.as_slice()))).chain([None]).collect();
            let parts: Vec<_> = limits.windows(2).filter_map(|w| clip(&tombstone, w[0], w[1])).collect();
            prop_assert!(parts.iter().all(|part| part.start < part.end));
            prop_assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
            prop_assert_eq!(covering_seq_among(&parts, &key, 99), covering_seq_among(&[tombstone], &key, 99));
        }
    }

    #[test]
    fn what_hides_nothing_any_more_goes() {
        let tombstone =
            |start: &[u8], end: &[u8], seq| RangeTombstone { start: start.to_vec(), end: end.to_vec(), seq };
        let all = [
            tombstone(b"a", b"m", 3),
            tombstone(b"b", b"c", 2),
            tombstone(b"k", b"z", 7),
            tombstone(b"k", b"p", 9),
        ];
        let survive = |snapshots: &[u64], bottom| {
            let left = surviving_tombstones(&RangeTombstones::new(&all), snapshots, bottom);
            left.into_iter().map(|t| t.seq).collect::<Vec<_>>()
        };
        assert_eq!(survive(&[], true), []);
        assert_eq!(survive(&[], false), [3, 9, 7]);
        assert_eq!(survive(&[2], false), [3, 2, 9, 7]);
        assert_eq!(survive(&[3], true), [9, 7]);
        assert_eq!(survive(&[1], true), [3, 9, 7]);
    }
}
