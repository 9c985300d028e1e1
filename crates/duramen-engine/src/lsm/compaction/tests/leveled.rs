//! Which tables leveled compaction takes.

use super::*;
use crate::lsm::version::TableFile;
use std::sync::Arc;

fn tree() -> Tree {
    Tree::new(options(CompactionStyle::Leveled))
}

/// Puts of these keys.
pub(super) fn puts(keys: impl IntoIterator<Item = u32>) -> Vec<(u32, bool)> {
    keys.into_iter().map(|key| (key, true)).collect()
}

/// A table below level 0, older than every flush: all keys of a range.
pub(super) fn deep(tree: &mut Tree, level: usize, keys: std::ops::Range<u32>) -> Arc<TableFile> {
    let mut rows = Rows::default();
    keys.for_each(|key| rows.add(key, (LEVELS - level) as u64, true));
    tree.add_old(level, rows)
}

/// The numbers of the tables that a job takes, by level.
pub(super) fn inputs(job: &Job) -> Vec<(usize, Vec<u64>)> {
    job.inputs
        .iter()
        .map(|(level, tables)| (*level, tables.iter().map(|t| t.meta.number).collect()))
        .collect()
}

#[test]
fn level0_is_left_alone_up_to_its_trigger() {
    let mut tree = tree();
    let below = [deep(&mut tree, 1, 0..10), deep(&mut tree, 1, 10..20), deep(&mut tree, 1, 50..60)]
        .map(|t| t.meta.number);
    let mut tables: Vec<u64> = (0..3).map(|i| tree.flush(&puts([i, i + 8]), &[]).meta.number).collect();
    assert!(tree.pick().is_none());
    tables.insert(0, tree.flush(&puts([1, 15]), &[]).meta.number);
    tables[1..].reverse();
    let job = tree.pick().unwrap();
    assert_eq!(inputs(&job), [(0, tables), (1, below[..2].to_vec())]);
    assert_eq!((job.kind, job.reason), (CompactionKind::Merge, CompactionReason::Level0FileCount));
    assert_eq!((job.output_level, job.is_bottommost), (1, true));
    deep(&mut tree, 3, 8..9);
    assert!(!tree.pick().unwrap().is_bottommost);
}

#[test]
fn a_table_of_level0_goes_with_all_that_it_overlaps() {
    let mut tree = tree();
    deep(&mut tree, 1, 0..100);
    let chain = [(0, 9), (18, 25), (9, 18), (40, 41), (43, 60)]
        .map(|(first, last)| tree.flush(&puts([first, last]), &[]).meta.number);
    let job = tree.pick().unwrap();
    // All lie within reach of the one table below.
    assert_eq!(inputs(&job)[0].1, chain.into_iter().rev().collect::<Vec<_>>());

    let mut tree = self::tree();
    deep(&mut tree, 1, 0..26);
    deep(&mut tree, 1, 26..100);
    let mut chain = [(0, 9), (18, 25), (9, 18), (40, 41), (43, 60)]
        .map(|(first, last)| tree.flush(&puts([first, last]), &[]).meta.number)
        .to_vec();
    chain.truncate(3);
    chain.reverse();
    assert_eq!(inputs(&tree.pick().unwrap())[0].1, chain, "the others have nothing to do with it");
}

#[test]
fn newer_tables_wait_for_a_busy_one_and_older_ones_do_not() {
    let mut tree = tree();
    deep(&mut tree, 1, 0..100);
    let tables: Vec<_> = (0..7).map(|i| tree.flush(&puts([i, 50 + i]), &[])).collect();
    let separate = tree.flush(&puts([80, 85]), &[]).meta.number;
    tables[4].compacting.store(true, std::sync::atomic::Ordering::Relaxed);
    let mut expected: Vec<u64> = tables[..4].iter().rev().map(|t| t.meta.number).collect();
    expected.insert(0, separate);
    assert_eq!(inputs(&tree.pick().unwrap())[0], (0, expected));
}

#[test]
fn deleted_ranges_count_as_keys() {
    let mut tree = tree();
    let below = deep(&mut tree, 1, 30..40).meta.number;
    let mut tables = vec![tree.flush(&[], &[(20, 30)]).meta.number];
    tables.extend((0..3).map(|i| tree.flush(&puts([i * 4, 25]), &[]).meta.number));
    tables.reverse();
    assert_eq!(inputs(&tree.pick().unwrap()), [(0, tables), (1, vec![below])]);
}

#[test]
fn tables_that_overlap_nothing_are_moved_together() {
    let mut tree = tree();
    deep(&mut tree, 1, 35..38);
    let tables: Vec<u64> = (0..4).map(|i| tree.flush(&puts([i * 10, i * 10 + 4]), &[]).meta.number).collect();
    let job = tree.pick().unwrap();
    assert_eq!((job.kind, job.output_level), (CompactionKind::TrivialMove, 1));
    assert_eq!(inputs(&job), [(0, tables.into_iter().rev().collect())]);
}

#[test]
fn a_table_is_not_moved_onto_too_much_nor_with_what_can_be_left_out() {
    let mut tree = tree();
    (0..3).for_each(|i| drop(tree.flush(&puts([i * 10]), &[])));
    tree.flush(&[(150, false)], &[]);
    let job = tree.pick().unwrap();
    assert_eq!(inputs(&job), [(0, vec![3, 2, 1])], "a deletion with nothing below it is not moved");
    let mut tree = self::tree();
    // 440 keys in level 2 are more than ten tables of 40.
    (0..11).for_each(|i| drop(deep(&mut tree, 2, i * 40..(i + 1) * 40)));
    (0..4).for_each(|_| drop(tree.flush(&puts([0, 439]), &[])));
    tree.start().unwrap();
    tree.finish(0);
    let table = Arc::clone(&tree.version.levels[1][0]);
    tree.options.max_bytes_for_level_base = tree::ENTRY_BYTES;
    tree.options.max_bytes_for_level_multiplier = 1000;
    let job = tree.pick().unwrap();
    assert_eq!((job.kind, inputs(&job)[0].clone()), (CompactionKind::Merge, (1, vec![table.meta.number])));
}

#[test]
fn of_a_level_the_table_is_taken_that_costs_least() {
    let mut tree = tree();
    let tables: Vec<u64> = (0..5).map(|i| deep(&mut tree, 1, i * 40..(i + 1) * 40).meta.number).collect();
    for i in [0, 1, 2, 4] {
        deep(&mut tree, 2, i * 40..i * 40 + if i == 2 { 20 } else { 30 });
    }
    let job = tree.pick().unwrap();
    assert_eq!((job.kind, job.reason), (CompactionKind::TrivialMove, CompactionReason::LevelSize));
    assert_eq!(inputs(&job), [(1, vec![tables[3]])], "nothing is below it");
    deep(&mut tree, 2, 130..160);
    assert_eq!(inputs(&tree.pick().unwrap())[0], (1, vec![tables[2]]), "least is below it");
}

#[test]
fn what_costs_nothing_more_goes_along() {
    let mut tree = tree();
    let tables: Vec<u64> = (0..5).map(|i| deep(&mut tree, 1, i * 40..(i + 1) * 40).meta.number).collect();
    let below = [deep(&mut tree, 2, 0..121).meta.number, deep(&mut tree, 2, 121..250).meta.number];
    let job = tree.pick().unwrap();
    assert_eq!(inputs(&job), [(1, tables[..3].to_vec()), (2, vec![below[0]])]);
}

#[test]
fn jobs_at_the_same_time_take_and_write_different_things() {
    let mut tree = tree();
    (0..9).for_each(|i| drop(deep(&mut tree, 1, i * 40..(i + 1) * 40)));
    (0..9).for_each(|i| drop(deep(&mut tree, 2, i * 40 + 1..i * 40 + 39)));
    // What may be picked is left when what runs does not count: 5 of 9 tables.
    let jobs: Vec<_> = std::iter::from_fn(|| tree.start()).collect();
    assert_eq!(jobs.len(), 3);
    for (at, job) in jobs.iter().enumerate() {
        for other in &jobs[..at] {
            assert!(!other.writes_into(job.output_level, &job.range()));
        }
    }
    (0..4).for_each(|_| drop(tree.flush(&puts([0, 399]), &[])));
    assert!(tree.pick().is_none_or(|job| job.inputs[0].0 != 0), "level 1 is busy");
    tree.running.truncate(0);
}

#[test]
fn garbage_at_the_bottom_is_left_out_once_no_snapshot_sees_it() {
    let mut tree = tree();
    tree.flush(&puts(0..20), &[]);
    tree.toggle_snapshot(&mut Random(2));
    assert_eq!(tree.snapshots.len(), 1, "it depends on the seed whether one is taken");
    (0..3).for_each(|_| drop(tree.flush(&puts(0..10), &[])));
    tree.settle();
    assert_eq!(tree.version.levels[1][0].facts.old_versions, 10);
    assert!(tree.pick().is_none());
    tree.snapshots.clear();
    let job = tree.pick().unwrap();
    assert_eq!((job.reason, job.output_level), (CompactionReason::BottommostGarbage, 1));
    tree.settle();
    assert_eq!(tree.version.levels[1][0].facts.old_versions, 0);
    tree.check();
}

#[test]
fn a_random_load_is_rewritten_a_few_times_a_level() {
    let (mut tree, mut random) = (tree(), Random(11));
    tree.options.target_file_size_base = 100 * tree::ENTRY_BYTES;
    tree.options.max_bytes_for_level_base = 400 * tree::ENTRY_BYTES;
    tree.options.max_bytes_for_level_multiplier = 8;
    for _ in 0..400 {
        let keys: Vec<u32> = (0..100).map(|_| random.below(1 << 30) as u32).collect();
        tree.flush(&puts(keys), &[]);
        while tree.start().is_some() {
            tree.finish(0);
        }
    }
    let amplification = tree.rewritten_bytes as f64 / tree.flushed_bytes as f64;
    let levels: Vec<usize> = tree.version.levels.iter().map(Vec::len).collect();
    println!(
        "leveled: tables by level {levels:?}, each byte rewritten {amplification:.2} times by compaction"
    );
    assert!((2.0..12.0).contains(&amplification), "{amplification}");
    tree.assert_settled();
}
