//! The picker against trees that exist in memory only: random histories, and after each step the order that every
//! reader relies on.

mod executor;
mod leveled;
mod manual;
mod rows;
mod size_tiered;
mod store;
mod tree;
mod ttl;

use super::{Job, LiveWork, pick};
use crate::lsm::listener::{CompactionKind, CompactionReason};
use crate::lsm::options::{CompactionStyle, LsmOptions};
use crate::lsm::version::LEVELS;
use proptest::prelude::*;
use rows::{Random, Rows};
use tree::Tree;

/// Small levels: a table of the target size has 40 entries, level 1 holds 4 of them.
fn options(compaction: CompactionStyle) -> LsmOptions {
    LsmOptions {
        compaction,
        target_file_size_base: 40 * tree::ENTRY_BYTES,
        max_bytes_for_level_base: 160 * tree::ENTRY_BYTES,
        max_bytes_for_level_multiplier: 4,
        ..LsmOptions::default()
    }
}

fn style() -> impl Strategy<Value = CompactionStyle> {
    prop_oneof![Just(CompactionStyle::Leveled), Just(CompactionStyle::SizeTiered)]
}

/// Flushes of random shape, up to three jobs at a time, which end in any order, some of them without success.
fn history(seed: u64, options: &LsmOptions, steps: usize) -> Tree {
    let mut random = Random(seed);
    let mut tree = Tree::new(options.clone());
    for _ in 0..steps {
        match random.below(10) {
            0..4 => tree.flush_random(&mut random),
            4..7 => drop(tree.start()),
            7 if !tree.running.is_empty() => tree.give_up(random.below(tree.running.len())),
            8 if random.below(3) == 0 => tree.toggle_snapshot(&mut random),
            8 if tree.commit() => {}
            _ if !tree.running.is_empty() => tree.finish(random.below(tree.running.len())),
            _ => tree.flush_random(&mut random),
        }
        tree.check();
    }
    tree
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_happens_versions_stay_in_order(seed: u64, style in style(), other_style in style()) {
        let mut tree = history(seed, &options(style), 60);
        // Every option may change from one opening to the next.
        tree.reopen(options(other_style));
        let flushes = tree.flushes;
        tree.settle();
        prop_assert!(tree.jobs_done <= 40 * (flushes + 1), "{} jobs for {flushes} flushes", tree.jobs_done);
        tree.assert_settled();
    }

    #[test]
    fn after_a_manual_compaction_everything_is_at_the_bottom_and_needed(seed: u64, style in style(), manual_style in style()) {
        let mut tree = history(seed, &options(style), 40);
        tree.reopen(options(manual_style));
        tree.snapshots.clear();
        tree.compact(&mut Random(seed), false);
        tree.assert_compact();
        prop_assert!(tree.rewritten_bytes <= tree.bytes_before_compact, "every entry is rewritten at most once");
    }

    #[test]
    fn writes_and_other_jobs_go_on_beside_a_manual_compaction(seed: u64, style in style(), manual_style in style()) {
        let mut tree = history(seed, &options(style), 30);
        tree.reopen(options(manual_style));
        tree.compact(&mut Random(seed), true);
        tree.settle();
        tree.assert_settled();
    }

    #[test]
    fn what_is_deleted_does_not_come_back_when_tables_expire(seed: u64, style in style()) {
        let options = LsmOptions { ttl_s: 30, ..options(style) };
        let mut random = Random(seed);
        let mut tree = history(seed, &options, 40);
        for _ in 0..20 {
            tree.now_unix_s += random.below(8) as i64;
            match random.below(3) {
                0 => tree.flush_random(&mut random),
                1 => drop(tree.start()),
                _ if !tree.running.is_empty() => tree.finish(random.below(tree.running.len())),
                _ => {}
            }
            tree.check();
        }
        tree.snapshots.clear();
        tree.settle();
        tree.now_unix_s += 100;
        tree.settle();
        prop_assert_eq!(tree.version.tables().count(), 0, "all has expired");
    }
}

#[test]
fn without_a_style_nothing_is_merged() {
    let mut tree = Tree::new(options(CompactionStyle::None));
    let mut random = Random(7);
    (0..50).for_each(|_| tree.flush_random(&mut random));
    assert!(pick(&tree.version, &tree.options, &LiveWork::default()).is_none());
}
