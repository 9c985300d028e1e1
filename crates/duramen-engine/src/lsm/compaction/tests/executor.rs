//! Jobs on real tables.

use super::store::{Store, Write, table_path};
use super::*;
use crate::io::sim::Fault;
use crate::lsm::Compression;
use crate::lsm::compaction::keys::{KeyRange, has_garbage, overlapping};
use crate::lsm::compaction::{RateLimiter, plan_manual};
use std::path::Path;
use std::sync::Arc;

fn small(compaction: CompactionStyle) -> LsmOptions {
    LsmOptions {
        compaction,
        block_size: 256,
        // The sizes below are those of what is written here.
        compression: Compression::None,
        target_file_size_base: 2 << 10,
        max_bytes_for_level_base: 8 << 10,
        max_bytes_for_level_multiplier: 3,
        ..LsmOptions::default()
    }
}

/// So many tables of level 0 with these keys, each with 10 bytes as value.
fn store_of(tables: usize, keys: impl Iterator<Item = u32> + Clone) -> Store {
    let mut store = Store::new(small(CompactionStyle::Leveled));
    for nth in 0..tables {
        let put = |key: u32| Write::Put(format!("{key:06}").into_bytes(), vec![nth as u8; 10]);
        store.flush(&keys.clone().map(put).collect::<Vec<_>>());
    }
    store
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_reader_sees_that_tables_were_compacted(seed: u64, style in style(), ends_compact: bool) {
        let mut random = Random(seed);
        let mut store = Store::new(small(style));
        for _ in 0..40 {
            match random.below(8) {
                0..4 => store.flush_random(&mut random),
                4 => store.snapshot(),
                5 => drop(store.snapshots.pop_first()),
                _ => {
                    if let Some(job) = store.pick() {
                        store.compact(&job);
                    }
                }
            }
        }
        if ends_compact {
            store.snapshots.clear();
            for job in plan_manual(&store.version, &store.options).unwrap() {
                store.compact(&job);
            }
            let levels = store.version.levels.iter().filter(|tables| !tables.is_empty()).count();
            prop_assert!(levels <= 1);
            for table in store.version.tables() {
                prop_assert!(!has_garbage(table), "{:?}", table.facts);
            }
        }
        while let Some(job) = store.pick() {
            store.compact(&job);
        }
    }
}

#[test]
fn outputs_have_the_target_size_and_the_facts_of_their_inputs() {
    let mut store = store_of(4, 0..400);
    let job = store.pick().unwrap();
    let bytes: u64 = job.input_bytes();
    store.compact(&job);
    let tables = store.version.levels[1].clone();
    assert!(tables.len() >= 4 && store.version.tables().count() == tables.len());
    for table in &tables[..tables.len() - 1] {
        assert!((2 << 10..3 << 10).contains(&table.meta.file_bytes), "{} bytes", table.meta.file_bytes);
    }
    assert!(
        tables.iter().all(|t| t.facts.newest_unix_s == 4),
        "the newest of the inputs, whatever was kept of it"
    );
    let info = &store.infos[0];
    let written = tables.iter().map(|t| t.meta.file_bytes).sum::<u64>();
    assert_eq!((info.bytes_read, info.bytes_written), (bytes, written));
    assert_eq!((info.entries_read, info.entries_dropped), (1600, 1200));
    assert_eq!((info.input_levels.as_slice(), info.output_level), ([0].as_slice(), 1));
    assert_eq!(info.input_tables, [4, 3, 2, 1]);
    assert_eq!(info.output_tables, tables.iter().map(|t| t.meta.number).collect::<Vec<_>>());
    assert_eq!(store.limiter.bytes(), written);
}

#[test]
fn versions_of_one_key_stay_in_one_table() {
    let mut store = Store::new(small(CompactionStyle::Leveled));
    for _ in 0..100 {
        store.flush(&[Write::Put(b"k".to_vec(), vec![1; 100])]);
        store.snapshot();
    }
    store.flush(&[Write::Put(b"j".to_vec(), vec![1; 100]), Write::Put(b"l".to_vec(), vec![1; 100])]);
    let job = store.pick().unwrap();
    store.compact(&job);
    let tables = &store.version.levels[1];
    assert_eq!(tables.iter().map(|t| t.meta.entries).collect::<Vec<_>>(), [101, 1]);
}

#[test]
fn outputs_end_where_they_overlap_too_much_below() {
    let mut store = store_of(4, 0..2000);
    store.options.target_file_size_base = 1 << 10;
    store.options.max_bytes_for_level_multiplier = 100;
    let job = store.pick().unwrap();
    store.compact(&job);
    let below = store.version.levels[1].len();
    assert!(below > 30);
    // Moved one level down by hand: what comes from level 0 then has grandparents.
    let mut job = job;
    job.inputs = vec![(1, store.version.levels[1].clone())];
    (job.kind, job.output_level) = (CompactionKind::TrivialMove, 2);
    store.compact(&job);
    let sparse: Vec<_> =
        (0..20).map(|i| Write::Put(format!("{:06}", i * 100).into_bytes(), vec![9; 10])).collect();
    (0..4).for_each(|_| store.flush(&sparse));
    let job = store.pick().unwrap();
    assert!(job.grandparents.len() > 30);
    store.compact(&job);
    let outputs = &store.version.levels[1];
    assert!((3..=5).contains(&outputs.len()), "{}", outputs.len());
    for table in outputs {
        let below = overlapping(&store.version.levels[2], &KeyRange::of(table));
        assert!(below.len() <= 11, "{} tables, ten of the target size may be overlapped", below.len());
    }
}

#[test]
fn what_is_moved_or_dropped_is_not_read() {
    let mut store = store_of(1, 0..10);
    for from in [20, 40, 60] {
        let put = |key: u32| Write::Put(format!("{key:06}").into_bytes(), vec![1; 10]);
        store.flush(&(from..from + 10).map(put).collect::<Vec<_>>());
    }
    let operations = store.sim.operations();
    let job = store.pick().unwrap();
    let outcome = store.run(&job).unwrap();
    assert_eq!(store.sim.operations(), operations);
    assert_eq!((outcome.edit.set_table_user.len(), outcome.info.bytes_read), (4, 0));
    store.compact(&job);
    assert_eq!(store.version.levels[1].len(), 4);

    let job = Job { kind: CompactionKind::DropExpired, ..job };
    let outcome = store.run(&job).unwrap();
    assert_eq!((outcome.edit.remove_tables.len(), outcome.info.entries_dropped), (4, 40));
}

#[test]
fn a_deletion_goes_where_nothing_older_of_its_key_is() {
    let mut store = store_of(4, [1, 2, 8, 9].into_iter());
    let job = store.pick().unwrap();
    store.compact(&job);
    let job = Job {
        kind: CompactionKind::TrivialMove,
        inputs: vec![(1, store.version.levels[1].clone())],
        output_level: 3,
        ..job
    };
    store.compact(&job);
    // Over the table below lie 000001 to 000009.
    let delete = |key: &str| Write::Delete(key.as_bytes().to_vec());
    (0..4).for_each(|_| store.flush(&[delete("000000"), delete("000005"), delete("00001")]));
    let job = store.pick().unwrap();
    assert!(!job.is_bottommost);
    store.compact(&job);
    assert_eq!(store.version.levels[1][0].meta.entries, 1, "of 000005 there might be something");
}

#[test]
fn a_range_that_is_deleted_is_cut_with_the_tables() {
    let mut store = store_of(4, 0..300);
    let job = store.pick().unwrap();
    store.compact(&job);
    let job = Job {
        kind: CompactionKind::TrivialMove,
        inputs: vec![(1, store.version.levels[1].clone())],
        output_level: 3,
        ..job
    };
    store.compact(&job);
    let put = |key: u32| Write::Put(format!("{key:06}").into_bytes(), vec![7; 10]);
    (0..4).for_each(|_| store.flush(&(0..300).map(put).collect::<Vec<_>>()));
    store.flush(&[Write::DeleteRange(b"0".to_vec(), b"1".to_vec())]);
    store.snapshot();
    store.flush(&(0..300).map(put).collect::<Vec<_>>());
    let job = store.pick().unwrap();
    store.compact(&job);
    let tables = &store.version.levels[1];
    assert!(tables.len() > 2);
    assert!(tables.iter().all(|t| t.facts.range_deletes == 1));
    assert_eq!((tables[0].min_key(), tables[tables.len() - 1].max_key()), (b"0".as_slice(), b"1".as_slice()));
}

#[test]
fn a_failure_at_any_operation_leaves_the_inputs_and_nothing_else() {
    use Fault::{FlipBit, NoSpace, ReadError, ShortWrite, SyncFailed, TooManyFiles};
    let undisturbed = store_of(4, 0..150);
    let from = undisturbed.sim.operations();
    undisturbed.run(&undisturbed.pick().unwrap()).unwrap();
    let to = undisturbed.sim.operations();
    assert!(to - from > 20);
    for (index, fault) in (from..to).flat_map(|index| {
        [FlipBit, NoSpace, ReadError, ShortWrite, SyncFailed, TooManyFiles].map(|fault| (index, fault))
    }) {
        let mut store = store_of(4, 0..150);
        let before = store.sim.files();
        let job = store.pick().unwrap();
        store.sim.fail_at(index, fault);
        match store.run(&job) {
            Ok(_) => {
                let struck = !store.sim.faults_struck().is_empty();
                assert!(
                    !struck || [ShortWrite, FlipBit, TooManyFiles].contains(&fault),
                    "nobody noticed {fault:?} at {index}"
                );
                store.compact(&job);
            }
            Err(error) => {
                assert!(!store.sim.faults_struck().is_empty() && fault != ShortWrite, "{error}");
                assert_eq!(error.is_corruption(), fault == FlipBit, "{error}");
                assert_eq!(store.sim.files(), before, "after {fault:?} at {index}");
            }
        }
        store.check();
    }
}

#[test]
fn a_damaged_input_is_named_and_nothing_is_left() {
    let store = store_of(4, 0..200);
    let before = store.sim.files();
    store.sim.flip_bit(Path::new(&table_path(2)), 8 * 600).unwrap();
    let job = store.pick().unwrap();
    let error = store.run(&job).unwrap_err();
    assert!(error.is_corruption() && error.to_string().contains("2.sst"), "{error}");
    assert_eq!(store.sim.files(), before);
}

#[test]
fn a_cancelled_job_ends_and_leaves_nothing() {
    let mut store = store_of(4, 0..400);
    let before = store.sim.files();
    let job = store.pick().unwrap();
    // It would take years.
    store.limiter = RateLimiter::new(1, Arc::clone(&store.options.env.clock), true);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| store.run(&job));
        while store.limiter.bytes() == 0 {
            std::thread::yield_now();
        }
        store.cancel.cancel();
        let error = running.join().unwrap().unwrap_err();
        assert!(error.to_string().contains("being closed"), "{error}");
    });
    assert_eq!(store.sim.files(), before);
    assert!(store.run(&job).is_err());
}
