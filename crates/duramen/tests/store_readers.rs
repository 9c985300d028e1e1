//! Readers of many processes, one always following on another: none of them loses a file that it has seen named, and
//! files that have left the manifest go all the same.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests may

use duramen::{EntryBuf, Snapshot, Store, StoreOptions};
use duramen_engine::io::Env;
use duramen_engine::io::sim::{Fault, OperationKind, Sim, SimProcess};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const DIR: &str = "/logs";

fn options(env: Env) -> StoreOptions {
    StoreOptions::new().env(env).background(false).write_buffer_size(64 << 10)
}

fn append(store: &Store, n: u64) -> duramen::Result<()> {
    let mut entry = EntryBuf::default();
    store.append(entry.start(n as i64).message(&format!("{n} {}", "x".repeat(200))).finish()?)?;
    Ok(())
}

/// Makes tables that are merged into one, so that their files are to go.
fn replace_tables(store: &Store, from: u64) -> duramen::Result<()> {
    for n in from..from + 10 {
        append(store, n)?;
        store.flush()?;
    }
    store.compact()
}

/// How many lines are read when a snapshot's blocks are opened, all of them.
fn read(snapshot: &Snapshot) -> u64 {
    let blocks = snapshot.blocks(i64::MIN, i64::MAX);
    blocks.iter().map(|block| block.open().unwrap().times().unwrap().len() as u64).sum()
}

fn tables(sim: &Sim) -> Vec<String> {
    sim.files().into_iter().filter(|file| file.ends_with(".sst")).collect()
}

/// A process that reads: it opens the store anew, so that no table is open yet.
struct Reader {
    process: SimProcess,
    store: Store,
}

impl Reader {
    fn start(sim: &Sim) -> Self {
        let process = sim.spawn_process();
        let store = options(process.env()).keeper(false).open(DIR).unwrap();
        Self { process, store }
    }

    /// As `kill -9` would.
    fn kill(self) {
        std::mem::forget(self.store);
        self.process.kill();
    }
}

#[test]
fn replaced_tables_go_though_there_is_no_moment_without_a_reader() {
    let sim = Sim::new(1);
    let store = options(sim.env()).open(DIR).unwrap();
    let mut before: Option<(Reader, Snapshot, u64)> = None;
    let mut lines = 0;
    let mut seen = Vec::new();
    for round in 0..8usize {
        replace_tables(&store, lines).unwrap();
        lines += 10;
        let reader = Reader::start(&sim);
        let snapshot = reader.store.snapshot().unwrap();
        store.flush().unwrap();
        // Only now the one before is read, and ends: all its files must still be there.
        if let Some((reader, snapshot, expected)) = before.replace((reader, snapshot, lines)) {
            assert_eq!(read(&snapshot), expected, "round {round}");
            if round % 2 == 0 {
                std::mem::forget(snapshot);
                reader.kill();
            }
        }
        store.flush().unwrap();
        // Those of the round before last have gone.
        seen.push(tables(&sim));
        if let Some(old) = round.checked_sub(2).map(|old| &seen[old]) {
            let there = tables(&sim);
            assert!(old.iter().all(|file| !there.contains(file)), "round {round}: {old:?} in {there:?}");
        }
    }
    let last = before.unwrap();
    assert_eq!(read(&last.1), lines);
    drop(last);
    store.flush().unwrap();
    assert_eq!(tables(&sim).len(), 1);
    assert!(store.incidents().messages.is_empty(), "{:?}", store.incidents());
}

#[test]
fn one_that_reads_for_long_keeps_its_files_whatever_others_do() {
    let sim = Sim::new(2);
    let store = options(sim.env()).open(DIR).unwrap();
    replace_tables(&store, 0).unwrap();
    let patient = Reader::start(&sim);
    let long = patient.store.snapshot().unwrap();
    for round in 1..5 {
        replace_tables(&store, round * 10).unwrap();
        let other = Reader::start(&sim);
        assert_eq!(read(&other.store.snapshot().unwrap()), (round + 1) * 10);
    }
    // Its process has gone on to the next generation with what it asks now, and still has the old one.
    assert_eq!(read(&patient.store.snapshot().unwrap()), 50);
    store.flush().unwrap();
    assert_eq!(read(&long), 10);
    let before_the_turn = patient.store.snapshot().unwrap();
    drop(long);
    store.flush().unwrap();
    let after_it = patient.store.snapshot().unwrap();
    assert!(tables(&sim).len() > 1, "they were replaced in the generation of one that still reads");
    assert_eq!(read(&before_the_turn), 50);
    drop(before_the_turn);
    store.flush().unwrap();
    assert_eq!(tables(&sim).len(), 1);
    assert_eq!(read(&after_it), 50);
}

/// A run of the keeper, which dies where an operation fails, with an old and a young reader about: none of them loses a
/// file, and the next keeper leaves nothing behind. How many operations there were before it died.
fn keeper_dies(fault: Option<(u64, Fault)>) -> (Sim, u64) {
    let sim = Sim::new(3);
    let keeper = sim.spawn_process();
    let store = options(keeper.env()).open(DIR).unwrap();
    replace_tables(&store, 0).unwrap();
    let old = Reader::start(&sim);
    let seen_by_old = old.store.snapshot().unwrap();
    let young = Reader::start(&sim);
    let mut seen_by_young = None;
    let mut acknowledged = 10;
    if let Some((at, fault)) = fault {
        sim.fail_at(at, fault);
    }
    let ended = (|| {
        replace_tables(&store, 10)?;
        acknowledged = 20;
        seen_by_young = Some(young.store.snapshot()?);
        replace_tables(&store, 20)?;
        acknowledged = 30;
        store.flush()
    })();
    std::mem::forget(store);
    keeper.kill();
    let until = sim.operations();
    let context = format!("{fault:?}: {ended:?}");
    let next = sim.spawn_process();
    let store = options(next.env()).open(DIR).unwrap();
    let let_it_look = || (0..3).for_each(|_| store.flush().unwrap());
    let_it_look();
    assert_eq!(read(&seen_by_old), 10, "{context}");
    drop(seen_by_old);
    let_it_look();
    if let Some(snapshot) = seen_by_young {
        assert_eq!(read(&snapshot), 20, "{context}");
    }
    let_it_look();
    assert!(read(&store.snapshot().unwrap()) >= acknowledged, "{context}");
    assert_eq!(tables(&sim).len() as u64, named(&store), "{context}");
    (sim, until)
}

/// How many tables the manifest names.
fn named(store: &Store) -> u64 {
    store.stats().unwrap().days.values().map(|day| day.tables).sum()
}

#[test]
fn a_keeper_that_dies_anywhere_costs_no_reader_a_file() {
    use OperationKind::{Create, Lock, Open, Read, ReadDir, Sync, SyncDir, Write};
    let (sim, until) = keeper_dies(None);
    let is_chosen = |at: &u64| *at < until && at.is_multiple_of(3);
    let mut struck = 0;
    for (kinds, fault) in [
        (&[Create, Write][..], Fault::NoSpace),
        (&[Sync, SyncDir], Fault::SyncFailed),
        (&[Open, Lock], Fault::TooManyFiles),
        (&[Read, ReadDir], Fault::ReadError),
    ] {
        for at in kinds.iter().flat_map(|kind| sim.indices_of(*kind)).filter(is_chosen) {
            struck += keeper_dies(Some((at, fault))).0.faults_struck().len();
        }
    }
    assert!(struck > 100, "{struck}");
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Append,
    Replace,
    Look,
    KillKeeper,
    Read(usize),
    End(usize),
    Kill(usize),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        2 => Just(Act::Append),
        3 => Just(Act::Replace),
        3 => Just(Act::Look),
        1 => Just(Act::KillKeeper),
        4 => (0..3usize).prop_map(Act::Read),
        3 => (0..3usize).prop_map(Act::End),
        1 => (0..3usize).prop_map(Act::Kill),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Three processes read, each with any number of snapshots at a time, and the keeper dies now and then.
    #[test]
    fn whatever_they_do_each_reads_what_it_saw(seed in 0..1000u64, acts in prop::collection::vec(act(), 1..60)) {
        let sim = Sim::new(seed);
        let mut keeper = sim.spawn_process();
        let mut store = options(keeper.env()).open(DIR).unwrap();
        let mut lines = 0;
        replace_tables(&store, 0).unwrap();
        lines += 10;
        let mut readers: Vec<_> = (0..3).map(|_| (Reader::start(&sim), Vec::<(Snapshot, u64)>::new())).collect();
        for act in acts {
            match act {
                Act::Append => {
                    append(&store, lines).unwrap();
                    lines += 1;
                }
                Act::Replace => {
                    replace_tables(&store, lines).unwrap();
                    lines += 10;
                }
                Act::Look => store.flush().unwrap(),
                Act::KillKeeper => {
                    std::mem::forget(store);
                    keeper.kill();
                    keeper = sim.spawn_process();
                    store = options(keeper.env()).open(DIR).unwrap();
                    store.flush().unwrap();
                }
                Act::Read(i) => {
                    let (reader, snapshots) = &mut readers[i];
                    snapshots.push((reader.store.snapshot().unwrap(), lines));
                }
                Act::End(i) => {
                    let snapshots = &mut readers[i].1;
                    if !snapshots.is_empty() {
                        let (snapshot, expected) = snapshots.remove(0);
                        prop_assert_eq!(read(&snapshot), expected);
                    }
                }
                Act::Kill(i) => {
                    let (reader, snapshots) = std::mem::replace(&mut readers[i], (Reader::start(&sim), Vec::new()));
                    std::mem::forget(snapshots);
                    reader.kill();
                }
            }
        }
        for (_, snapshots) in &readers {
            for (snapshot, expected) in snapshots {
                prop_assert_eq!(read(snapshot), *expected);
            }
        }
        drop(readers);
        store.flush().unwrap();
        store.flush().unwrap();
        prop_assert_eq!(tables(&sim).len() as u64, named(&store));
    }
}

fn files_in(dir: &Path) -> Vec<PathBuf> {
    let of = |path: PathBuf| std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    of(dir.join("tables")).flat_map(of).collect()
}

/// Ends the threads that read, however the test ends.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Two threads with a store each read on real files, and neither ever lets a snapshot go before it has the next.
#[test]
fn on_real_files_too() {
    let dir = tempfile::tempdir().unwrap();
    let store = options(Env::os()).open(dir.path()).unwrap();
    replace_tables(&store, 0).unwrap();
    let (stop, read_so_far) = (AtomicBool::new(false), [AtomicU64::new(0), AtomicU64::new(0)]);
    std::thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        let mut reading = Vec::new();
        for count in &read_so_far {
            reading.push(scope.spawn(|| {
                let store = options(Env::os()).keeper(false).open(dir.path()).unwrap();
                let mut held = store.snapshot().unwrap();
                while !stop.load(Ordering::SeqCst) {
                    let next = store.snapshot().unwrap();
                    let lines = read(&held);
                    assert!(lines >= 10, "{lines}");
                    held = next;
                    count.fetch_add(1, Ordering::SeqCst);
                }
            }));
        }
        // Each of them holds a snapshot from here on, until it is told to stop.
        let let_them_read = |times: u64| {
            let until: Vec<u64> = read_so_far.iter().map(|n| n.load(Ordering::SeqCst) + times).collect();
            while read_so_far.iter().zip(&until).any(|(n, until)| n.load(Ordering::SeqCst) < *until) {
                assert!(reading.iter().all(|thread| !thread.is_finished()), "a reader has failed");
                std::thread::yield_now();
            }
        };
        let_them_read(1);
        for round in 1..6 {
            let before = files_in(dir.path());
            replace_tables(&store, round * 10).unwrap();
            // A turn may be due for those of the round before first.
            for _ in 0..3 {
                let_them_read(3);
                store.flush().unwrap();
            }
            let after = files_in(dir.path());
            assert!(before.iter().all(|file| !after.contains(file)), "round {round}: {before:?}, {after:?}");
        }
    });
    store.flush().unwrap();
    assert_eq!(files_in(dir.path()).len(), 1);
}
