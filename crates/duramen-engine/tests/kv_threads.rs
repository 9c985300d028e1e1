//! Real threads on real files: writers, readers, snapshots, scans, flushes, compactions and checkpoints at once, and what
//! must hold of every state that anybody sees.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod kv_common;

use duramen_engine::io::Env;
use duramen_engine::kv::{Durability, Engine, ReadOptions, WriteBatch, WriteOptions};
use duramen_engine::lsm::{Lsm, LsmOptions};
use kv_common::dice::Dice;
use kv_common::{contents, durably, setups};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const WRITERS: u64 = 3;
/// Accounts of each writer.
const ACCOUNTS: u64 = 8;
const START: u64 = 1000;
const TRANSFERS: u64 = 400;

fn account(writer: u64, nth: u64) -> Vec<u8> {
    format!("account {writer}/{nth}").into_bytes()
}

fn counter(writer: u64) -> Vec<u8> {
    format!("count {writer}").into_bytes()
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().unwrap())
}

/// Padded, so that there is something to flush.
fn bytes(n: u64) -> Vec<u8> {
    [&n.to_le_bytes()[..], &[b'.'; 80]].concat()
}

/// Moves money between accounts of its own, each transfer a batch that also counts it.
fn transfer(store: &dyn Engine, writer: u64, done: &AtomicU64) {
    let mut dice = Dice(writer);
    for nth in 1..=TRANSFERS {
        let (from, to) = (dice.below(8) as u64, dice.below(8) as u64);
        let amount = dice.below(5) as u64;
        let read = |nth| number(&store.get(&account(writer, nth)).unwrap().unwrap());
        let (a, b) = (read(from), read(to));
        let mut batch = WriteBatch::new();
        if from != to && a >= amount {
            batch.delete(&account(writer, from)).unwrap();
            batch.put(&account(writer, from), &bytes(a - amount)).unwrap();
            batch.put(&account(writer, to), &bytes(b + amount)).unwrap();
        }
        batch.put(&counter(writer), &bytes(nth)).unwrap();
        let durability = if nth % 64 == 0 { Durability::Sync } else { Durability::Process };
        store.write(&batch, durably(durability)).unwrap();
        done.store(nth, Ordering::Release);
    }
}

/// What must hold of any state: nothing is lost, and no writer's count goes back. Returns the counts.
fn check(store: &dyn Engine, options: &ReadOptions, least: &[u64]) -> Vec<u64> {
    let all = contents(store, options).unwrap();
    let sum: u64 =
        all.iter().filter(|(key, _)| key.starts_with(b"account")).map(|(_, value)| number(value)).sum();
    assert_eq!(sum, WRITERS * ACCOUNTS * START);
    let counts: Vec<u64> =
        (0..WRITERS).map(|writer| all.get(&counter(writer)).map_or(0, |value| number(value))).collect();
    for (count, least) in counts.iter().zip(least) {
        assert!(count >= least, "{counts:?} after {least}");
    }
    counts
}

struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn transfers_keep_the_sum_in_every_state_that_anybody_sees() {
    for setup in setups() {
        let setup = setup.with_threads();
        let dir = tempfile::tempdir().unwrap();
        let store = setup.open(Env::os(), dir.path().join("store")).unwrap();
        let mut batch = WriteBatch::new();
        for (writer, nth) in (0..WRITERS).flat_map(|w| (0..ACCOUNTS).map(move |n| (w, n))) {
            batch.put(&account(writer, nth), &bytes(START)).unwrap();
        }
        store.write(&batch, WriteOptions::default()).unwrap();
        let done: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
        let over = AtomicBool::new(false);
        let read_done = || done.iter().map(|n| n.load(Ordering::Acquire)).collect::<Vec<u64>>();
        let until_over = |work: &dyn Fn(u64)| {
            let mut rounds = 0;
            while !over.load(Ordering::Acquire) || rounds < 3 {
                work(rounds);
                rounds += 1;
            }
        };
        std::thread::scope(|scope| {
            let _even_if_a_writer_panics = SetWhenDropped(&over);
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let (store, done) = (&store, &done[writer as usize]);
                    scope.spawn(move || transfer(&**store, writer, done))
                })
                .collect();
            scope.spawn(|| {
                until_over(&|round| {
                    let least = read_done();
                    let options = ReadOptions { reverse: round % 2 == 1, ..ReadOptions::default() };
                    check(&*store, &options, &least);
                });
            });
            scope.spawn(|| {
                until_over(&|round| {
                    let least = read_done();
                    let snapshot = ReadOptions { snapshot: Some(store.snapshot()), ..ReadOptions::default() };
                    let first = check(&*store, &snapshot, &least);
                    match round % 3 {
                        0 => store.flush().unwrap(),
                        1 => store.compact().unwrap(),
                        _ => {}
                    }
                    assert_eq!(check(&*store, &snapshot, &least), first, "a snapshot changes");
                    for (writer, count) in (0..WRITERS).zip(&first) {
                        let found = store.get_with(&counter(writer), &snapshot).unwrap();
                        assert_eq!(found.map_or(0, |value| number(&value)), *count);
                    }
                });
            });
            scope.spawn(|| {
                for round in 0..4u64 {
                    let least = read_done();
                    let copy = dir.path().join(format!("copy{round}"));
                    store.checkpoint(&copy).unwrap();
                    let copy = setup.open(Env::os(), &copy).unwrap();
                    check(&*copy, &ReadOptions::default(), &least);
                    let entries =
                        (0..50u64).map(|n| Ok((format!("ingested {n:03}").into_bytes(), bytes(round))));
                    store.ingest(&mut { entries }).unwrap();
                    let reader = setup.open_read_only(Env::os(), dir.path().join("store")).unwrap();
                    let of_reader = check(&*reader, &ReadOptions::default(), &least);
                    assert_eq!(check(&*reader, &ReadOptions::default(), &least), of_reader);
                }
            });
            writers.into_iter().for_each(|writer| writer.join().unwrap());
        });
        let counts = check(&*store, &ReadOptions::default(), &[TRANSFERS; WRITERS as usize]);
        store.close().unwrap();
        drop(store);
        let store = setup.open(Env::os(), dir.path().join("store")).unwrap();
        assert_eq!(check(&*store, &ReadOptions::default(), &counts), counts);
        assert_eq!(store.get(b"ingested 049").unwrap().unwrap(), bytes(3));
    }
}

#[test]
fn what_a_thread_was_told_is_seen_by_all_others() {
    const THREADS: u64 = 4;
    for setup in setups() {
        let dir = tempfile::tempdir().unwrap();
        let store = setup.with_threads().open(Env::os(), dir.path().join("store")).unwrap();
        let told: Vec<AtomicU64> = (0..THREADS).map(|_| AtomicU64::new(0)).collect();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (store, told) = (&store, &told);
                scope.spawn(move || {
                    for n in 1..=300u64 {
                        let key = [b"t", &thread.to_le_bytes()[..]].concat();
                        store.put_with(&key, &bytes(n), durably(Durability::Process)).unwrap();
                        told[thread as usize].store(n, Ordering::Release);
                        let other = (thread + n) % THREADS;
                        let least = told[other as usize].load(Ordering::Acquire);
                        let key = [b"t", &other.to_le_bytes()[..]].concat();
                        let found = store.get(&key).unwrap().map_or(0, |value| number(&value));
                        assert!(found >= least, "{found} after {least}");
                    }
                });
            }
        });
    }
}

#[test]
fn synced_writes_of_many_threads_are_all_there_after_the_end_of_the_process() {
    use duramen_engine::io::sim::Sim;
    for setup in setups() {
        let sim = Sim::new(1);
        let store = setup.with_durability(Durability::Sync).with_threads().open(sim.env(), "s").unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let store = &store;
                scope.spawn(move || {
                    for n in 0..40u64 {
                        store.put(&[thread.to_be_bytes(), n.to_be_bytes()].concat(), &[7; 2000]).unwrap();
                    }
                });
            }
        });
        sim.crash_power_keeping(0);
        drop(store);
        let store = setup.open(sim.env(), "s").unwrap();
        assert_eq!(kv_common::now(&*store).unwrap().len(), 160);
    }
}

/// Level 0 holds writers back and lets them go all the while; nobody waits for ever.
#[test]
fn ingestions_flushes_compactions_and_writers_let_each_other_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let options = LsmOptions {
        write_buffer_size: 64 << 10,
        level0_file_num_compaction_trigger: 2,
        level0_slowdown_writes_trigger: 3,
        level0_stop_writes_trigger: 3,
        ..LsmOptions::default()
    };
    let store = Lsm::open(dir.path(), options.clone()).unwrap();
    let patient = WriteOptions { stall_timeout: Some(Duration::from_secs(30)), ..WriteOptions::default() };
    std::thread::scope(|s| {
        for writer in 0..2u32 {
            let store = &store;
            s.spawn(move || {
                for n in 0..3_000u32 {
                    let key = [writer.to_be_bytes(), n.to_be_bytes()].concat();
                    store.put_with(&key, &[7; 100], patient).unwrap();
                    if n % 50 == writer {
                        store.flush().unwrap();
                    }
                }
            });
        }
        s.spawn(|| {
            for n in 0..300u32 {
                let key = [9u32.to_be_bytes(), n.to_be_bytes()].concat();
                store.ingest(&mut [Ok((key, vec![7]))].into_iter()).unwrap();
                drop(store.snapshot());
            }
        });
    });
    assert_eq!(kv_common::now(&store).unwrap().len(), 6_300);
    drop(store);
    let store = Lsm::open(dir.path(), options).unwrap();
    assert!(store.recovery().damage.is_empty(), "{:?}", store.recovery());
    assert_eq!(kv_common::now(&store).unwrap().len(), 6_300);
}

/// Whichever comes last of a put and an ingestion that run at once, it stays the last when all is flushed.
#[test]
fn what_is_read_after_an_ingestion_is_read_after_the_flush_too() {
    let dir = tempfile::tempdir().unwrap();
    let options = LsmOptions { write_buffer_size: 256 << 10, ..LsmOptions::default() };
    let store = Lsm::open(dir.path(), options).unwrap();
    let mut dice = Dice(1);
    for round in 0..100 {
        std::thread::scope(|s| {
            for writer in 0..3 {
                let (store, pause) = (&store, dice.below(200_000));
                s.spawn(move || {
                    (0..pause).for_each(|_| std::hint::spin_loop());
                    store.put(b"key", format!("put {writer} {round}").as_bytes()).unwrap();
                });
            }
            store.ingest(&mut [Ok((b"key".to_vec(), b"ingested".to_vec()))].into_iter()).unwrap();
        });
        let before = store.get(b"key").unwrap();
        store.flush().unwrap();
        assert_eq!(store.get(b"key").unwrap().as_deref(), before.as_deref(), "round {round}");
    }
}
