//! A range of keys as one reader sees it.

use super::coverage::Coverage;
use super::forward::ForwardScan;
use super::head::Head;
use super::merge::MergeCursor;
use super::reverse::ReverseScan;

use crate::Result;
use crate::kv::{OpKind, ScanSource};
use crate::lsm::cursor::Cursor;
use crate::lsm::emptied::Walk;
use std::cmp::Ordering;
use std::ops::Bound;

/// How many versions are stepped over one by one before seeking past all of a key's: a seek costs about as much as
/// this many steps.
pub(super) const STEPS_BEFORE_SEEK: u32 = 8;

/// What a reader may see, and which way it goes.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(super) seq: u64,
    pub(super) tombstones: Coverage,
    pub(super) reverse: bool,
    /// Notes where a forward scan meets nothing alive from its start on.
    pub(in crate::lsm) walk: Option<Walk>,
    covered_entries: u32,
}

impl View {
    /// Of a reader that sees everything up to `seq`. `tombstones` are those of all sources, at `seq`.
    pub(crate) fn new(seq: u64, tombstones: Coverage, reverse: bool) -> Self {
        Self { seq, tombstones, reverse, walk: None, covered_entries: 0 }
    }

    /// After an entry was passed that a tombstone covers: where there are many of them, leaves the covered keys.
    pub(super) fn leave_covered<C: Cursor>(&mut self, cursor: &mut MergeCursor<C>) -> Result<()> {
        self.covered_entries += 1;
        if self.covered_entries == STEPS_BEFORE_SEEK {
            self.covered_entries = 0;
            if let Some(covered) = self.tombstones.covered() {
                cursor.leave(&covered, self.reverse)?;
            }
        }
        Ok(())
    }
}

/// The entries from `start` to `end` that a reader sees, one per key. Nothing is read before the first `advance`.
pub(crate) fn scan<C: Cursor + 'static>(
    cursor: MergeCursor<C>,
    start: Bound<&[u8]>,
    end: Bound<&[u8]>,
    view: View,
) -> Box<dyn ScanSource> {
    if view.reverse {
        Box::new(ReverseScan::new(cursor, start, end, view))
    } else {
        Box::new(ForwardScan::new(cursor, start, end, view))
    }
}

/// Where a scan ends.
#[derive(Debug)]
pub(super) struct Limit {
    key: Bound<Vec<u8>>,
    /// The key in short: it mostly decides.
    head: Head,
}

impl Limit {
    pub(super) fn new(key: Bound<&[u8]>) -> Self {
        let mut head = Head::NONE;
        if let Bound::Included(key) | Bound::Excluded(key) = key {
            head.set(key, 0, OpKind::Delete);
        }
        Self { key: key.map(<[u8]>::to_vec), head }
    }

    /// A key at or before the first that lies beyond this upper limit; `None` if there is no limit.
    pub(super) fn lowest_beyond(&self) -> Option<&[u8]> {
        match &self.key {
            Bound::Unbounded => None,
            Bound::Included(limit) | Bound::Excluded(limit) => Some(limit),
        }
    }

    /// Whether the cursor's key is beyond this limit, which lies in this direction from the keys within.
    #[inline]
    pub(super) fn is_passed<C: Cursor>(&self, cursor: &MergeCursor<C>, direction: Ordering) -> bool {
        let (limit, included) = match &self.key {
            Bound::Unbounded => return false,
            Bound::Included(limit) => (limit, true),
            Bound::Excluded(limit) => (limit, false),
        };
        match cursor.present().cmp_keys(&self.head).unwrap_or_else(|| cursor.key().cmp(limit)) {
            Ordering::Equal => !included,
            order => order == direction,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::Scan;
    use crate::lsm::cursor::RangeTombstone;
    use crate::lsm::read::RangeTombstones;
    use crate::lsm::read::VecCursor;
    use crate::lsm::read::model::{Entries, Source, Write, any_history, any_key, cut, read_at, scan_at};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn any_bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
        prop_oneof![
            Just(Bound::Unbounded),
            any_key().prop_map(Bound::Included),
            any_key().prop_map(Bound::Excluded),
        ]
    }

    fn expected(
        history: &[Write],
        start: &Bound<Vec<u8>>,
        end: &Bound<Vec<u8>>,
        seq: u64,
        reverse: bool,
    ) -> Entries {
        let after_start = |key: &Vec<u8>| match start {
            Bound::Unbounded => true,
            Bound::Included(start) => key >= start,
            Bound::Excluded(start) => key > start,
        };
        let before_end = |key: &Vec<u8>| match end {
            Bound::Unbounded => true,
            Bound::Included(end) => key <= end,
            Bound::Excluded(end) => key < end,
        };
        let mut entries: Vec<_> = read_at(history, seq).into_iter().collect();
        entries.retain(|(key, _)| after_start(key) && before_end(key));
        if reverse {
            entries.reverse();
        }
        entries
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn a_range_is_as_a_reader_sees_it(
            history in any_history(1, 120),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
            start in any_bound(),
            end in any_bound(),
            seqs in prop::collection::vec(0..125u64, 1..4),
        ) {
            let sources = cut(&history, cuts);
            let bounds = (start.as_ref().map(Vec::as_slice), end.as_ref().map(Vec::as_slice));
            for seq in seqs {
                for reverse in [false, true] {
                    let found = scan_at(&sources, bounds, seq, reverse).unwrap();
                    prop_assert_eq!(found, expected(&history, &start, &end, seq, reverse));
                }
            }
        }

        #[test]
        fn many_versions_of_few_keys_are_passed_over(
            keys in prop::collection::vec(0..2u8, 0..120),
            seqs in prop::collection::vec(0..125u64, 1..4),
        ) {
            let write = |key| Write { kind: if key == 1 { OpKind::Put } else { OpKind::Delete }, key: vec![key], end: vec![] };
            let mut history: Vec<_> = keys.into_iter().map(write).collect();
            history.iter_mut().skip(60).for_each(|write| write.kind = OpKind::Put);
            let source = [Source::new(&history, 0)];
            for seq in seqs {
                for reverse in [false, true] {
                    let found = scan_at(&source, (Bound::Unbounded, Bound::Unbounded), seq, reverse).unwrap();
                    prop_assert_eq!(found, expected(&history, &Bound::Unbounded, &Bound::Unbounded, seq, reverse));
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn covered_keys_are_left_without_losing_others(
            writes in prop::collection::vec((0..10u8, 0..100u8, 1..60u8), 0..250),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
            seq in 0..260u64,
        ) {
            let write = |(kind, key, more)| Write {
                kind: if kind == 0 { OpKind::DeleteRange } else { OpKind::Put },
                key: vec![key],
                end: vec![key + more],
            };
            let history: Vec<_> = writes.into_iter().map(write).collect();
            let sources = cut(&history, cuts);
            for reverse in [false, true] {
                let found = scan_at(&sources, (Bound::Unbounded, Bound::Unbounded), seq, reverse).unwrap();
                prop_assert_eq!(found, expected(&history, &Bound::Unbounded, &Bound::Unbounded, seq, reverse));
            }
        }
    }

    #[test]
    fn a_large_deleted_range_is_not_gone_through_key_by_key() {
        let key = |n: u32| n.to_be_bytes().to_vec();
        let old = VecCursor::new((0..10_000).map(|n| (key(n), u64::from(n) + 1, OpKind::Put, Vec::new())));
        let new = VecCursor::new([5_000, 20_000].map(|n| (key(n), 20_001, OpKind::Put, Vec::new())));
        let deleted = RangeTombstone { start: key(10), end: key(9_990), seq: 20_000 };
        let tombstones = Arc::new(RangeTombstones::new([&deleted]));
        for reverse in [false, true] {
            let cursor = MergeCursor::new(vec![new.clone(), old.clone().failing(60)]);
            let view = View::new(u64::MAX, Coverage::new([Arc::clone(&tombstones)], u64::MAX), reverse);
            let found = Scan::new(scan(cursor, Bound::Unbounded, Bound::Unbounded, view)).collect().unwrap();
            let mut expected: Vec<_> =
                (0..10).chain([5_000]).chain(9_990..10_000).chain([20_000]).map(key).collect();
            if reverse {
                expected.reverse();
            }
            assert_eq!(found.into_iter().map(|entry| entry.0).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn after_an_error_a_scan_is_over() {
        let versions = (0..9u8).map(|key| (vec![key], 1, OpKind::Put, Vec::new()));
        let cursor = VecCursor::new(versions);
        for reverse in [false, true] {
            let view = View::new(9, Coverage::default(), reverse);
            let cursor = MergeCursor::new(vec![cursor.clone().failing(4)]);
            let mut source = scan(cursor, Bound::Unbounded, Bound::Unbounded, view);
            let mut seen = 0;
            while let Ok(true) = source.advance() {
                seen += 1;
            }
            assert_eq!(seen, if reverse { 3 } else { 4 });
            assert!(matches!(source.advance(), Ok(false)));
        }
        let view = View::new(9, Coverage::default(), false);
        let mut scan =
            Scan::new(scan(MergeCursor::new(vec![cursor]), Bound::Unbounded, Bound::Excluded(&[0]), view));
        assert!(matches!(scan.next(), Ok(None)));
        assert!(matches!(scan.next(), Ok(None)));
    }
}
