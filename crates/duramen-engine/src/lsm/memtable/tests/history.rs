//! Any history, against a map.

use super::arena::{Model, Wal, Write, at, check, check_sorted, get};
use super::*;
use crate::kv::OpKind;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cmp::Reverse;

#[derive(Clone, Debug)]
enum Step {
    Batch(Vec<(OpKind, Vec<u8>, Vec<u8>)>),
    Get(Vec<u8>, u64),
    Walk { key: Vec<u8>, seq: u64, at: u64, before: bool, turns: Vec<bool> },
    Check(u64),
    Sorted,
}

/// Few keys, so that they have many versions; some with much in common, some that begin others.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => (0..30u8).prop_map(|n| vec![n]),
        4 => (0..40u32).prop_map(|n| format!("user/00000000/{n}").into_bytes()),
        2 => prop::collection::vec(0..2u8, 0..20),
        1 => Just(vec![]),
        1 => prop::collection::vec(any::<u8>(), 0..300),
    ]
}

fn write() -> impl Strategy<Value = (OpKind, Vec<u8>, Vec<u8>)> {
    let value = prop::collection::vec(any::<u8>(), 0..30);
    prop_oneof![
        8 => (Just(OpKind::Put), key(), value),
        2 => (Just(OpKind::Delete), key(), Just(vec![])),
        1 => (Just(OpKind::DeleteRange), key(), key()),
    ]
}

/// A place among the sequence numbers so far: of so many in 100.
fn seq() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(100u64), 2 => 0..120u64]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => prop::collection::vec(write(), 1..30).prop_map(Step::Batch),
        6 => (key(), seq()).prop_map(|(key, seq)| Step::Get(key, seq)),
        6 => (key(), seq(), seq(), any::<bool>(), prop::collection::vec(any::<bool>(), 0..30))
            .prop_map(|(key, seq, at, before, turns)| Step::Walk { key, seq, at, before, turns }),
        1 => seq().prop_map(Step::Check),
        1 => Just(Step::Sorted),
    ]
}

pub(super) fn any_history_is_as_in_a_map(make: Make) {
    let (cases, steps) = if cfg!(miri) { (2, 12) } else { (60, 60) };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let history = prop::collection::vec(step(), 1..steps);
    TestRunner::new(config)
        .run(&history, |steps| {
            replay(make, &steps);
            Ok(())
        })
        .unwrap();
}

fn replay(make: Make, steps: &[Step]) {
    let wal = Wal::sized(1 << 20);
    let memtable = make(wal.segment());
    let mut model = Model::default();
    let mut last = 0;
    for step in steps {
        match step {
            Step::Batch(writes) => {
                let writes: Vec<Write<'_>> =
                    writes.iter().map(|(kind, k, v)| (*kind, &k[..], &v[..])).collect();
                last = wal.insert(&*memtable, &writes);
                for (seq, write) in (last + 1 - writes.len() as u64..).zip(writes) {
                    model.insert(seq, write);
                }
            }
            Step::Get(key, seq) => {
                let seq = last * seq / 100;
                assert_eq!(get(&*memtable, key, seq), model.get(key, seq));
            }
            Step::Walk { key, seq, at: at_seq, before, turns } => {
                let (seq, at_seq) = (last * seq / 100, last * at_seq / 100);
                walk(&memtable, &model, seq, (key, at_seq), *before, turns);
            }
            Step::Check(seq) => check(&memtable, &model, last * seq / 100),
            Step::Sorted => check_sorted(&memtable, &model),
        }
    }
    check_sorted(&memtable, &model);
    check(&memtable, &model, last);
}

fn walk(
    memtable: &Arc<dyn Memtable>,
    model: &Model,
    seq: u64,
    (key, at_seq): (&[u8], u64),
    before: bool,
    turns: &[bool],
) {
    let all = model.seen(seq);
    let mut cursor = Arc::clone(memtable).cursor(seq);
    let mut here = all.partition_point(|v| (&v.0[..], Reverse(v.1)) < (key, Reverse(at_seq)));
    if before {
        cursor.seek_before(key, at_seq).unwrap();
        here = here.wrapping_sub(1);
    } else {
        cursor.seek(key, at_seq).unwrap();
    }
    for turn in turns {
        assert_eq!(at(&*cursor), all.get(here).cloned());
        if !cursor.valid() {
            return;
        }
        if *turn {
            cursor.next().unwrap();
            here += 1;
        } else {
            cursor.prev().unwrap();
            here = here.wrapping_sub(1);
        }
    }
}
