//! An LSM tree whose log is as it was left: whatever ended the store, nothing is missed that is there, and what is not there is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen_engine::io::sim::{Fault, OperationKind, Sim};
use duramen_engine::io::{Env, OpenMode};
use duramen_engine::kv::{Durability, Engine, WriteBatch, verify};
use duramen_engine::lsm::{CompactionStyle, Lsm, LsmOptions};
use duramen_engine::manifest::{Edit, Manifest, ManifestReader};
use duramen_engine::wal::{Background, WalKind, WalRecoveryMode};
use duramen_engine::{Error, Result};
use std::collections::BTreeMap;
use std::path::Path;

const DIR: &str = "store";

fn options(sim: &Sim) -> LsmOptions {
    LsmOptions {
        env: sim.env(),
        background: Background::Manual,
        write_buffer_size: 64 << 10,
        compaction: CompactionStyle::None,
        ..LsmOptions::default()
    }
}

fn strict(options: &LsmOptions) -> LsmOptions {
    LsmOptions { wal_recovery_mode: WalRecoveryMode::AbsoluteConsistency, ..options.clone() }
}

fn segments(sim: &Sim) -> Vec<String> {
    sim.files().into_iter().filter(|file| file.ends_with(".wal")).collect()
}

fn is_of_missing(detail: &str) -> bool {
    ["is missing", "is gone", "are gone"].iter().any(|words| detail.contains(words))
}

/// Nobody says that something is missing.
fn assert_nothing_missed(sim: &Sim, options: &LsmOptions, what: &str) {
    // There may be no store yet.
    if let Ok(found) = verify(&sim.env(), DIR, &mut |_| {}) {
        let told = |damage: &&duramen_engine::kv::Damage| {
            is_of_missing(&damage.detail) && damage.path.starts_with("store/wal")
        };
        assert!(found.damage.iter().find(told).is_none(), "{what}: {found:?}");
    }
    if let Ok(reader) = Lsm::open_read_only(DIR, LsmOptions { env: sim.env(), ..options.clone() }) {
        let damage = &reader.recovery().damage;
        assert!(!damage.iter().any(|damage| is_of_missing(&damage.detail)), "{what}, read: {damage:?}");
    }
    let opened = LsmOptions { env: sim.env(), ..options.clone() };
    let store = Lsm::open(DIR, opened).unwrap_or_else(|e| panic!("{what}: {e}"));
    let damage = &store.recovery().damage;
    assert!(!damage.iter().any(|damage| is_of_missing(&damage.detail)), "{what}: {damage:?}");
}

/// What a store was told, and what it promised to have.
type Promised = BTreeMap<Vec<u8>, u8>;

/// A life of a store. What fails is left, as a program that goes on does it.
fn live(sim: &Sim, options: &LsmOptions, promised: &mut Promised) {
    let mut number = 0;
    let put = |store: &Lsm, key: &[u8], len: usize, promised: &mut Promised, number: &mut u8| {
        *number += 1;
        // Memory can be written after the end.
        if store.put(key, &vec![*number; len]).is_ok() && !sim.is_halted() {
            promised.insert(key.to_vec(), *number);
        }
    };
    for life in 0..2u8 {
        let Ok(store) = Lsm::open(DIR, options.clone()) else { continue };
        for round in 0..2u8 {
            for n in 0..3u8 {
                put(&store, &[round, n], 12_000, promised, &mut number);
            }
            let _as_far_as_it_comes = store.flush();
            put(&store, &[round, 9], 5, promised, &mut number);
        }
        let _as_far_as_it_comes = store.flush();
        // Too long for the segment that is empty now.
        let mut batch = WriteBatch::new();
        for n in 0..4u8 {
            batch.put(&[7, n], &[life; 22_000]).unwrap();
        }
        if store.write(&batch, Default::default()).is_ok() && !sim.is_halted() {
            promised.extend((0..4).map(|n| (vec![7, n], life)));
        }
        for n in 0..4u8 {
            put(&store, &[9, n], 22_000, promised, &mut number);
        }
        let _as_far_as_it_comes = store.compact();
        put(&store, &[9, 9], 5, promised, &mut number);
        let _as_far_as_it_comes = store.close();
    }
}

/// Whether something of what was promised is not there.
fn lacks(store: &Lsm, promised: &Promised) -> bool {
    // A write that failed may be there.
    promised.keys().any(|key| store.get(key).unwrap().is_none())
        || promised.iter().any(|(key, byte)| store.get(key).unwrap().is_some_and(|value| value[0] < *byte))
}

fn remove_writers(sim: &Sim) {
    let fs = sim.env().fs;
    for file in sim.files().into_iter().filter(|file| file.starts_with("store/wal/")) {
        fs.remove_file(Path::new(&file)).unwrap();
    }
    for writer in fs.read_dir(Path::new("store/wal")).unwrap_or_default() {
        fs.remove_dir(&Path::new("store/wal").join(writer.name)).unwrap();
    }
}

/// What is done to a log, on what a run has left: all of it goes, or one segment, or that is cut to nothing.
fn spoil(sim: &Sim, which: usize) -> bool {
    let fs = sim.env().fs;
    let found = segments(sim);
    if which == 0 {
        remove_writers(sim);
        return true;
    }
    let Some(file) = found.get((which - 1) / 2) else { return false };
    if which % 2 == 1 {
        fs.remove_file(Path::new(file)).unwrap();
    } else {
        fs.open(Path::new(file), OpenMode::ReadWrite).unwrap().set_len(0).unwrap();
    }
    true
}

const KINDS: [(WalKind, Durability); 5] = [
    (WalKind::Mmap, Durability::Process),
    (WalKind::Mmap, Durability::Sync),
    (WalKind::Mmap, Durability::IntervalMs(1)),
    (WalKind::Write, Durability::Process),
    (WalKind::None, Durability::Process),
];

#[test]
fn nothing_is_missed_whenever_a_process_ends_or_power_is_lost() {
    for (wal_kind, durability) in KINDS {
        let options = |sim: &Sim| LsmOptions { wal_kind, durability, ..options(sim) };
        let whole = Sim::new(1);
        live(&whole, &options(&whole), &mut Promised::new());
        assert_nothing_missed(&whole, &options(&whole), "closed");
        for index in 0..whole.operations() {
            for fault in
                [Fault::Crash, Fault::TornWrite, Fault::NoSpace, Fault::SyncFailed, Fault::TooManyFiles]
            {
                if fault != Fault::Crash && !(index + fault as u64).is_multiple_of(5) {
                    continue;
                }
                let sim = Sim::new(index);
                sim.fail_at(index, fault);
                live(&sim, &options(&sim), &mut Promised::new());
                match fault {
                    Fault::Crash if index % 2 == 0 => sim.crash_power_keeping(50),
                    Fault::NoSpace if index % 2 == 0 => sim.crash_power(),
                    _ => sim.crash_process(),
                }
                let what = format!("{wal_kind:?} {durability:?} {fault:?} at {index}");
                assert_nothing_missed(&sim, &options(&sim), &what);
                sim.crash_process();
                assert_nothing_missed(&sim, &options(&sim), &format!("{what}, again"));
            }
        }
    }
}

/// What fails and what ends the process later: numbers are left out by then, and edits were not made.
#[test]
fn nothing_is_missed_if_something_failed_before() {
    for (wal_kind, durability) in &KINDS[..4] {
        let options = |sim: &Sim| LsmOptions { wal_kind: *wal_kind, durability: *durability, ..options(sim) };
        let whole = Sim::new(1);
        live(&whole, &options(&whole), &mut Promised::new());
        for index in (0..whole.operations()).step_by(7) {
            for (nth, fault) in [Fault::NoSpace, Fault::TooManyFiles].into_iter().enumerate() {
                for after in [1, 3, 8, 21, 55] {
                    let after = after + index % 4;
                    let sim = Sim::new(index);
                    sim.fail_at(index, fault);
                    let end = index + after + nth as u64 + index % 3;
                    sim.fail_at(end, Fault::Crash);
                    live(&sim, &options(&sim), &mut Promised::new());
                    if (index + after) % 4 == 0 {
                        sim.crash_power()
                    } else {
                        sim.crash_process()
                    }
                    let what = format!("{wal_kind:?} {durability:?} {fault:?} at {index}, ended at {end}");
                    assert_nothing_missed(&sim, &options(&sim), &what);
                }
            }
        }
    }
}

#[test]
fn an_opening_may_end_anywhere_too() {
    for (wal_kind, durability) in &KINDS[..4] {
        let options = |sim: &Sim| LsmOptions { wal_kind: *wal_kind, durability: *durability, ..options(sim) };
        let whole = Sim::new(1);
        live(&whole, &options(&whole), &mut Promised::new());
        for index in (3..whole.operations()).step_by(29) {
            for fault in [Fault::Crash, Fault::NoSpace, Fault::TooManyFiles] {
                for after in 0.. {
                    let sim = Sim::new(index);
                    sim.fail_at(index, Fault::Crash);
                    live(&sim, &options(&sim), &mut Promised::new());
                    sim.crash_process();
                    let at = sim.operations() + after * 3 + index % 3;
                    sim.fail_at(at, fault);
                    let opened = Lsm::open(DIR, options(&sim));
                    let has_ended = sim.operations() <= at;
                    if (index + after) % 4 == 0 {
                        sim.crash_power()
                    } else {
                        sim.crash_process()
                    }
                    drop(opened);
                    let what = format!("{wal_kind:?} {durability:?} at {index}, {fault:?} {after}");
                    assert_nothing_missed(&sim, &options(&sim), &what);
                    if has_ended {
                        break;
                    }
                }
            }
        }
    }
}

/// The other side: of what was promised and is not there any more, all tell.
#[test]
fn what_is_lost_is_missed_whenever_a_process_ends() {
    let mut lost = 0;
    for (wal_kind, durability) in &KINDS[..4] {
        let options = |sim: &Sim| LsmOptions { wal_kind: *wal_kind, durability: *durability, ..options(sim) };
        let whole = Sim::new(1);
        live(&whole, &options(&whole), &mut Promised::new());
        for index in 0..whole.operations() {
            for fault in [Fault::Crash, Fault::NoSpace, Fault::SyncFailed] {
                if !(index + fault as u64).is_multiple_of(9) {
                    continue;
                }
                for which in 0.. {
                    let sim = Sim::new(index);
                    sim.fail_at(index, fault);
                    let mut promised = Promised::new();
                    if fault != Fault::Crash {
                        sim.fail_at(index + 1 + index % 50, Fault::Crash);
                    }
                    live(&sim, &options(&sim), &mut promised);
                    sim.crash_process();
                    if promised.is_empty() || !spoil(&sim, which) {
                        break;
                    }
                    // Otherwise it may have lost its end.
                    let is_marked = ManifestReader::open(&sim.env(), DIR).unwrap().ends_in_mark();
                    let what = format!("{wal_kind:?} {durability:?} {fault:?} at {index}, {which}");
                    let found = verify(&sim.env(), DIR, &mut |_| {}).unwrap();
                    let read =
                        Lsm::open_read_only(DIR, options(&sim)).map(|read| read.recovery().damage.len());
                    let store = Lsm::open(DIR, options(&sim)).unwrap_or_else(|e| panic!("{what}: {e}"));
                    if is_marked && lacks(&store, &promised) {
                        lost += 1;
                        assert!(!found.is_whole(), "{what}");
                        assert!(read.is_err() || read.is_ok_and(|found| found > 0), "{what}, read");
                        let recovery = store.recovery();
                        assert!(!recovery.damage.is_empty(), "{what}: {recovery:?}");
                    }
                }
            }
        }
    }
    assert!(lost > 100, "{lost}");
}

/// A segment's number is left out if it could not be made.
#[test]
fn a_segment_that_could_not_be_made_is_not_missed() {
    for n in 0.. {
        let sim = Sim::new(1);
        let store = Lsm::open(DIR, options(&sim)).unwrap();
        store.put(b"a", b"1").unwrap();
        sim.set_capacity_bytes(Some(sim.used_bytes()));
        assert!(store.flush().is_err());
        assert!(store.flush().is_err());
        sim.set_capacity_bytes(None);
        let at = sim.operations() + n;
        sim.fail_at(at, Fault::Crash);
        let _cut_short = store.flush();
        let has_ended = sim.operations() <= at;
        sim.crash_process();
        drop(store);
        let found = verify(&sim.env(), DIR, &mut |_| {}).unwrap();
        assert!(found.is_whole(), "{n}: {found:?}");
        let reader = Lsm::open_read_only(DIR, strict(&options(&sim))).unwrap();
        assert_eq!(reader.get(b"a").unwrap().unwrap(), b"1");
        let store = Lsm::open(DIR, strict(&options(&sim))).unwrap();
        assert_eq!(store.get(b"a").unwrap().unwrap(), b"1");
        if has_ended {
            break;
        }
    }
}

/// One that is ready is left out for a longer one, and so is the active one that is empty.
#[test]
fn a_segment_that_was_left_out_for_a_longer_one_is_not_missed() {
    for (wal_kind, durability) in &KINDS[..4] {
        for first in [0, 57_500] {
            for n in 0.. {
                let sim = Sim::new(n);
                let options = LsmOptions { wal_kind: *wal_kind, durability: *durability, ..options(&sim) };
                let store = Lsm::open(DIR, options.clone()).unwrap();
                store.put(b"a", b"1").unwrap();
                store.flush().unwrap();
                for key in 0..first / 2_500u32 {
                    store.put(&key.to_le_bytes(), &[7; 2_500]).unwrap();
                }
                while store.background_step().unwrap() {}
                let at = sim.operations() + n;
                sim.fail_at(at, Fault::Crash);
                let mut cut_short = store.put(b"big", &[7; 170_000]);
                while cut_short.is_ok() && store.background_step().is_ok_and(|more| more) {}
                for key in 0..30u32 {
                    cut_short = cut_short.and_then(|()| store.put(&key.to_le_bytes(), &[7; 2_500]));
                }
                let _cut_short = cut_short.and_then(|()| store.flush());
                let has_ended = sim.operations() <= at;
                if n % 3 == 0 {
                    sim.crash_power()
                } else {
                    sim.crash_process()
                }
                drop(store);
                assert_nothing_missed(&sim, &options, &format!("{wal_kind:?} {durability:?} {first} {n}"));
                if has_ended {
                    break;
                }
            }
        }
    }
}

#[test]
fn who_only_reads_locks_nothing() {
    for is_open in [true, false] {
        let sim = Sim::new(1);
        let store = Lsm::open(DIR, options(&sim)).unwrap();
        store.put(b"a", b"1").unwrap();
        if !is_open {
            sim.crash_process();
        }
        let before = sim.operations();
        assert_eq!(Lsm::open_read_only(DIR, options(&sim)).unwrap().get(b"a").unwrap().unwrap(), b"1");
        for kind in [OperationKind::Lock, OperationKind::LockShared] {
            assert!(sim.indices_of(kind).iter().all(|index| *index < before), "{kind:?}");
        }
        drop(store);
    }
}

/// While one writes, those who read see no more missing than there is.
#[test]
fn who_reads_while_another_writes_misses_nothing() {
    let sim = Sim::new(1);
    let store = Lsm::open(DIR, options(&sim)).unwrap();
    for n in 0..40u8 {
        store.put(&[n], &[7; 12_000]).unwrap();
        if n % 7 == 3 {
            store.flush().unwrap();
        }
        let reader = Lsm::open_read_only(DIR, strict(&options(&sim))).unwrap();
        assert!(reader.get(&[n]).unwrap().is_some());
        assert!(verify(&sim.env(), DIR, &mut |_| {}).unwrap().is_whole());
    }
}

fn manifest_apply(env: &Env, edit: Edit) {
    Manifest::open(env, DIR).unwrap().0.apply(edit).unwrap();
}

/// An earlier version does not know the value, and leaves it.
#[test]
fn a_store_that_an_earlier_version_has_opened_and_closed_since_misses_nothing() {
    for writes in [0, 1] {
        let sim = Sim::new(1);
        let store = Lsm::open(DIR, options(&sim)).unwrap();
        store.put(b"flushed", b"1").unwrap();
        store.flush().unwrap();
        for n in 0..writes {
            store.put(b"a", &[n]).unwrap();
        }
        sim.crash_process();
        drop(store);
        let state = Manifest::open(&sim.env(), DIR).unwrap().1;
        let writer = *state.writers.keys().next().unwrap();
        if writes == 0 {
            // Nothing was needed: it removes the directory, and forgets the writer.
            manifest_apply(&sim.env(), Edit { forget_writers: vec![writer], ..Edit::default() });
        } else {
            // It brings the rest into tables, says so, and removes the directory. It forgets the writer later.
            manifest_apply(&sim.env(), Edit { flushed: vec![(writer, 2)], ..Edit::default() });
        }
        remove_writers(&sim);
        assert_nothing_missed(&sim, &strict(&options(&sim)), &format!("{writes} writes"));
    }
}

#[test]
fn a_close_on_a_full_disk_that_has_all_in_tables_succeeds_and_leaves_little() {
    let closed = |full: &dyn Fn(&Sim), most: u64| {
        let sim = Sim::new(1);
        let store = Lsm::open(DIR, options(&sim)).unwrap();
        store.put(b"a", b"1").unwrap();
        store.flush().unwrap();
        let before = sim.used_bytes();
        full(&sim);
        let closed = store.close();
        drop(store);
        if closed.is_ok() {
            let len = |file: &String| sim.read_file(Path::new(file)).unwrap().len() as u64;
            assert!(segments(&sim).iter().map(len).sum::<u64>() <= most);
            assert!(sim.used_bytes() <= before - (48 << 10), "{} after {before}", sim.used_bytes());
            sim.crash_process();
            sim.set_capacity_bytes(None);
            assert_nothing_missed(&sim, &strict(&options(&sim)), "full");
        }
        closed.map_err(|_| sim.indices_of(OperationKind::SetLen))
    };
    closed(&|sim| sim.set_capacity_bytes(Some(sim.used_bytes())), 0).unwrap();
    // Not even what the log gives back is enough; cutting a file takes no space.
    let mut spared: Vec<u64> = Vec::new();
    while let Err(cuts) = closed(
        &|sim| {
            let from = sim.operations();
            (from..from + 40)
                .filter(|at| !spared.contains(at))
                .for_each(|at| sim.fail_at(at, Fault::NoSpace));
        },
        4096,
    ) {
        assert!(cuts.iter().any(|at| !spared.contains(at)));
        spared.extend(cuts);
    }
}

#[test]
fn an_opening_that_finds_no_room_leaves_no_segment_of_its_own() -> Result<()> {
    for is_killed in [false, true] {
        for n in 0.. {
            let sim = Sim::new(1);
            let store = Lsm::open(DIR, options(&sim))?;
            store.put(b"a", b"1")?;
            if is_killed {
                sim.crash_process()
            } else {
                store.close()?
            }
            drop(store);
            let before = segments(&sim);
            let at = sim.operations() + n;
            sim.fail_at(at, Fault::NoSpace);
            match Lsm::open(DIR, options(&sim)) {
                Err(Error::Io { .. }) => {
                    let left = segments(&sim);
                    assert!(left.iter().all(|file| before.contains(file)), "{n}: {left:?}");
                    assert_eq!(
                        sim.env().fs.read_dir(Path::new("store/wal")).unwrap().len(),
                        before.len(),
                        "{n}"
                    );
                }
                Err(e) => return Err(e),
                Ok(store) => store.close()?,
            }
            if sim.operations() <= at {
                break;
            }
        }
    }
    Ok(())
}

/// A disk that was full when the process died has room for the next opening: what the log had reserved.
#[test]
fn what_a_log_without_records_had_reserved_is_there_for_the_next_opening() {
    let sim = Sim::new(1);
    let store = Lsm::open(DIR, options(&sim)).unwrap();
    store.put(b"a", b"1").unwrap();
    store.flush().unwrap();
    sim.crash_process();
    drop(store);
    sim.set_capacity_bytes(Some(sim.used_bytes() + (32 << 10)));
    let store = Lsm::open(DIR, options(&sim)).unwrap();
    assert_eq!(store.get(b"a").unwrap().unwrap(), b"1");
}
