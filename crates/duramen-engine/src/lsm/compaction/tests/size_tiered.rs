//! Which sorted runs size-tiered compaction takes.

use super::leveled::{deep, inputs, puts};
use super::*;

fn tree() -> Tree {
    Tree::new(options(CompactionStyle::SizeTiered))
}

/// Level 0 tables of these numbers of keys, the newest first; all overlap.
fn runs(tree: &mut Tree, sizes: &[u32]) -> Vec<u64> {
    let mut numbers: Vec<u64> = sizes
        .iter()
        .rev()
        .map(|&size| tree.flush(&puts((0..size).map(|i| i * 400 / size)), &[]).meta.number)
        .collect();
    numbers.reverse();
    numbers
}

#[test]
fn runs_of_similar_size_merge() {
    let mut tree = tree();
    let tables = runs(&mut tree, &[10, 10, 20, 41, 100, 300]);
    let job = tree.pick().unwrap();
    assert_eq!(job.reason, CompactionReason::SizeRatio);
    assert_eq!(inputs(&job), [(0, tables[..3].to_vec())], "41 is more than 40 and 1 %");
    assert_eq!((job.output_level, job.is_bottommost), (0, false), "older runs are in level 0");
}

#[test]
fn newer_runs_twice_as_large_as_the_oldest_merge_into_it() {
    let mut tree = tree();
    let oldest = deep(&mut tree, 6, 0..50).meta.number;
    let tables = runs(&mut tree, &[1, 9, 90]);
    let job = tree.pick().unwrap();
    assert_eq!((job.reason, job.output_level), (CompactionReason::SpaceAmplification, 6));
    assert_eq!(inputs(&job), [(0, tables), (6, vec![oldest])]);
    assert!(job.is_bottommost);
    assert_eq!(job.kind, CompactionKind::Merge);
}

#[test]
fn too_many_runs_of_any_size_merge_the_newest() {
    let mut tree = tree();
    deep(&mut tree, 6, 0..300);
    deep(&mut tree, 5, 0..80);
    let tables = runs(&mut tree, &[2, 5, 11]);
    let job = tree.pick().unwrap();
    assert_eq!(job.reason, CompactionReason::SortedRunCount);
    assert_eq!((inputs(&job), job.output_level), (vec![(0, tables[..2].to_vec())], 0));
    tree.settle();
    tree.assert_settled();
}

/// Found by the model (seed 2489): as many runs as hold writes back, and none that another rule would merge.
#[test]
fn runs_that_hold_writes_back_merge_though_they_are_not_too_many() {
    for (slowdown, stop) in [(4, 4), (4, 9), (9, 9)] {
        let mut tree = Tree::new(LsmOptions {
            level0_file_num_compaction_trigger: 4,
            level0_slowdown_writes_trigger: slowdown,
            level0_stop_writes_trigger: stop,
            ..options(CompactionStyle::SizeTiered)
        });
        let tables = runs(&mut tree, &[4, 12, 40, 200]);
        let job = tree.pick();
        if slowdown == 4 {
            assert_eq!(inputs(&job.unwrap()), [(0, tables[..2].to_vec())]);
        } else {
            assert!(job.is_none());
        }
    }
}

#[test]
fn what_merges_goes_right_above_the_next_older_run() {
    let mut tree = tree();
    deep(&mut tree, 6, 0..300);
    let tables = runs(&mut tree, &[10, 10, 10]);
    let job = tree.pick().unwrap();
    assert_eq!((inputs(&job), job.output_level), (vec![(0, tables)], 5));
    assert!(!job.is_bottommost);
}

#[test]
fn a_run_that_is_busy_parts_the_others() {
    let mut tree = tree();
    let tables = runs(&mut tree, &[10, 10, 10, 10, 10, 300]);
    tree.version.levels[0][2].compacting.store(true, std::sync::atomic::Ordering::Relaxed);
    let job = tree.pick().unwrap();
    assert_eq!(inputs(&job), [(0, tables[..2].to_vec())]);
    assert_eq!(job.output_level, 0);
}

#[test]
fn runs_that_do_not_overlap_are_only_moved() {
    let mut tree = tree();
    for i in 0..40 {
        tree.flush(&puts(i * 10..i * 10 + 10), &[]);
        while tree.start().is_some() {
            tree.finish(0);
        }
        tree.check();
    }
    assert_eq!(tree.rewritten_bytes, 0);
    tree.assert_settled();
}

#[test]
fn a_random_load_is_rewritten_about_once_for_each_doubling() {
    let (mut tree, mut random) = (tree(), Random(11));
    for _ in 0..400 {
        let keys: Vec<u32> = (0..100).map(|_| random.below(1 << 30) as u32).collect();
        tree.flush(&puts(keys), &[]);
        while tree.start().is_some() {
            tree.finish(0);
        }
    }
    let amplification = tree.rewritten_bytes as f64 / tree.flushed_bytes as f64;
    println!("size-tiered: each byte rewritten {amplification:.2} times by compaction");
    assert!((1.0..12.0).contains(&amplification), "{amplification}");
    tree.assert_settled();
}
