//! What a manual compaction does and leaves.

use super::leveled::{deep, inputs, puts};
use super::*;
use crate::lsm::compaction::plan_manual;

fn plan(tree: &Tree) -> Vec<Job> {
    plan_manual(&tree.version, &tree.options).unwrap()
}

#[test]
fn what_overlaps_is_merged_and_the_rest_moved_or_left() {
    let mut tree = Tree::new(options(CompactionStyle::Leveled));
    deep(&mut tree, 2, 0..40);
    let below = deep(&mut tree, 2, 40..80).meta.number;
    let middle = deep(&mut tree, 1, 70..110).meta.number;
    let alone = deep(&mut tree, 1, 200..240).meta.number;
    let above = tree.flush(&puts([75]), &[]).meta.number;
    let jobs = plan(&tree);
    let found: Vec<_> = jobs.iter().map(|job| (job.kind, inputs(job))).collect();
    let expected = [
        (CompactionKind::Merge, vec![(0, vec![above]), (1, vec![middle]), (2, vec![below])]),
        (CompactionKind::TrivialMove, vec![(1, vec![alone])]),
    ];
    assert_eq!(found, expected);
    assert!(
        jobs.iter()
            .all(|job| job.output_level == 2 && job.is_bottommost && job.reason == CompactionReason::Manual)
    );
}

#[test]
fn nothing_is_done_where_nothing_is_to_be_done() {
    let mut tree = Tree::new(options(CompactionStyle::SizeTiered));
    assert!(plan(&tree).is_empty());
    deep(&mut tree, 6, 0..40);
    deep(&mut tree, 6, 40..60);
    assert!(plan(&tree).is_empty());
}

#[test]
fn a_table_in_place_is_rewritten_for_its_garbage() {
    let mut tree = Tree::new(options(CompactionStyle::SizeTiered));
    let mut rows = Rows::default();
    (0..40).for_each(|key| rows.add(key, 1, true));
    rows.add(7, 2, true);
    tree.add_old(6, rows);
    deep(&mut tree, 6, 100..140);
    let jobs = plan(&tree);
    assert_eq!((jobs.len(), inputs(&jobs[0])), (1, vec![(6, vec![1])]));
}

#[test]
fn small_neighbours_are_joined() {
    let mut tree = Tree::new(options(CompactionStyle::Leveled));
    let keys = [0..40, 50..55, 60..65, 70..110, 120..125];
    let tables = keys.map(|keys| deep(&mut tree, 1, keys).meta.number);
    let jobs = plan(&tree);
    assert_eq!(jobs.iter().map(inputs).collect::<Vec<_>>(), [[(1, vec![tables[1], tables[2]])]]);
    tree.compact(&mut Random(1), false);
    assert_eq!(tree.version.tables().count(), 4);
    assert!(plan(&tree).is_empty(), "the last is small, but has nobody to join");
}

#[test]
fn the_bottom_holds_what_there_is() {
    let mut tree = Tree::new(options(CompactionStyle::Leveled));
    (0..8).for_each(|_| drop(tree.flush(&puts((0..100).map(|i| i * 4)), &[])));
    // 800 entries: level 1 is held to 160, level 2 to 640, level 3 to 2560.
    assert!(plan(&tree).iter().all(|job| job.output_level == 3));
    tree.compact(&mut Random(1), false);
    assert_eq!(tree.version.levels[3].len(), 3);
    assert!(tree.pick().is_none());
}

#[test]
fn nothing_is_moved_to_where_a_job_may_write() {
    let mut tree = Tree::new(options(CompactionStyle::Leveled));
    [50..55, 60..65].into_iter().for_each(|keys| drop(deep(&mut tree, 1, keys)));
    for job in plan(&tree) {
        tree.claim(&std::sync::Arc::new(job));
    }
    // The two become one table, with these keys between its own.
    (0..4).for_each(|key| drop(tree.flush(&puts([56 + key]), &[])));
    assert!(tree.pick().is_none());
    tree.finish(0);
    assert_eq!(inputs(&tree.pick().unwrap()), [(0, vec![6, 5, 4, 3]), (1, vec![7])]);
}
