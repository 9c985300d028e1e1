//! Which tables expire.

use super::leveled::{inputs, puts};
use super::*;
use crate::lsm::version::{TableFacts, TableFile};
use crate::manifest::TableMeta;
use std::path::Path;
use std::sync::Arc;

fn tree(compaction: CompactionStyle) -> Tree {
    Tree::new(LsmOptions { ttl_s: 100, ..options(compaction) })
}

#[test]
fn tables_are_dropped_when_everything_in_them_is_too_old() {
    for style in [CompactionStyle::Leveled, CompactionStyle::SizeTiered, CompactionStyle::None] {
        let mut tree = tree(style);
        let old = tree.flush(&puts([1, 5]), &[]).meta.number;
        tree.now_unix_s += 60;
        tree.flush(&puts([2, 3]), &[]);
        tree.now_unix_s += 40;
        assert!(tree.pick().is_none(), "not yet more than 100 seconds old");
        tree.now_unix_s += 1;
        let job = tree.pick().unwrap();
        assert_eq!((job.kind, job.reason), (CompactionKind::DropExpired, CompactionReason::Ttl));
        assert_eq!(inputs(&job), [(0, vec![old])]);
        tree.settle();
        tree.check();
    }
}

#[test]
fn a_deletion_stays_for_as_long_as_what_it_deletes() {
    let mut tree = tree(CompactionStyle::Leveled);
    let put = tree.flush(&puts([1]), &[]).meta.number;
    let deletion = tree.flush(&[(1, false)], &[(3, 9)]).meta.number;
    // The clock was set back, or the older entries came by way of a merge with younger ones.
    let table = &mut tree.version.levels[0][1];
    let facts = TableFacts { newest_unix_s: 1_000_050, ..table.facts };
    let meta = TableMeta { user: facts.encode(), ..table.meta.clone() };
    *table = TableFile::new(Path::new(""), meta, &Arc::default()).unwrap();
    tree.now_unix_s = 1_000_120;
    assert!(tree.pick().is_none(), "the deletion has expired, what it deletes has not");
    tree.now_unix_s = 1_000_151;
    assert_eq!(inputs(&tree.pick().unwrap()), [(0, vec![deletion, put])], "both at once");
}

#[test]
fn what_is_compacted_or_seen_by_a_snapshot_does_not_expire() {
    let mut tree = tree(CompactionStyle::Leveled);
    let older = tree.flush(&puts([1]), &[]);
    let newer = tree.flush(&puts([1, 2]), &[]).meta.number;
    tree.flush(&puts([7]), &[]);
    tree.now_unix_s += 101;
    older.compacting.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(inputs(&tree.pick().unwrap()), [(0, vec![newer + 1])]);
    older.compacting.store(false, std::sync::atomic::Ordering::Relaxed);
    tree.snapshots.insert(13, Default::default());
    assert_eq!(inputs(&tree.pick().unwrap()), [(0, vec![newer + 1])], "written as 14, after the snapshot");
    tree.snapshots.insert(14, Default::default());
    assert!(tree.pick().is_none());
}

#[test]
fn without_a_ttl_nothing_expires() {
    let mut tree = tree(CompactionStyle::Leveled);
    tree.options.ttl_s = 0;
    tree.flush(&puts([1]), &[]);
    tree.now_unix_s = i64::MAX;
    assert!(tree.pick().is_none());
    tree.options.ttl_s = u64::MAX;
    assert!(tree.pick().is_none());
}
