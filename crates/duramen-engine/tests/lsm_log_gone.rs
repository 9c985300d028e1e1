//! An LSM tree whose log, or the end of it, is not there any more: what was in it is missed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen_engine::io::OpenMode;
use duramen_engine::io::sim::{Fault, Sim};
use duramen_engine::kv::{Durability, Engine, RepairOptions, WriteBatch, WriteOptions, repair, verify};
use duramen_engine::lsm::{Lsm, LsmOptions};
use duramen_engine::wal::{Background, WalKind, WalRecoveryMode};
use std::path::Path;

const DIR: &str = "store";

fn options(sim: &Sim) -> LsmOptions {
    LsmOptions {
        env: sim.env(),
        background: Background::Manual,
        write_buffer_size: 256 << 10,
        ..LsmOptions::default()
    }
}

fn strict(sim: &Sim) -> LsmOptions {
    LsmOptions { wal_recovery_mode: WalRecoveryMode::AbsoluteConsistency, ..options(sim) }
}

fn segments(sim: &Sim) -> Vec<String> {
    sim.files().into_iter().filter(|file| file.ends_with(".wal")).collect()
}

fn remove(sim: &Sim, path: &str) {
    sim.env().fs.remove_file(Path::new(path)).unwrap();
}

fn cut(sim: &Sim, path: &str) {
    sim.env().fs.open(Path::new(path), OpenMode::ReadWrite).unwrap().set_len(0).unwrap();
}

/// Removes the directories of all writers.
fn remove_writers(sim: &Sim) {
    for file in sim.files().into_iter().filter(|file| file.starts_with("store/wal/")) {
        remove(sim, &file);
    }
    let fs = sim.env().fs;
    for writer in fs.read_dir(Path::new("store/wal")).unwrap_or_default() {
        fs.remove_dir(&Path::new("store/wal").join(writer.name)).unwrap();
    }
}

fn remove_log(sim: &Sim) {
    remove_writers(sim);
    sim.env().fs.remove_dir(Path::new("store/wal")).unwrap();
}

/// Writes so many bytes that are in no table, and dies.
fn killed(sim: &Sim, options: LsmOptions, bytes: usize) {
    let store = Lsm::open(DIR, options).unwrap();
    store.put(b"flushed", b"1").unwrap();
    store.flush().unwrap();
    for n in 0..bytes / 1000 {
        store.put(format!("key {n}").as_bytes(), &[7; 980]).unwrap();
    }
    if bytes < 256_000 {
        // The next segment is made ready when this one is nearly full.
        store.background_step().unwrap();
    }
    sim.crash_process();
    drop(store);
}

fn tells(sim: &Sim) -> usize {
    let found = verify(&sim.env(), DIR, &mut |_| {}).unwrap();
    found.damage.iter().filter(|damage| damage.path.starts_with("store/wal")).count()
}

/// All tell that something is gone, and the next opening is well again.
fn assert_told(sim: &Sim, what: &str) {
    assert_eq!(tells(sim), 1, "{what}");
    assert!(Lsm::open_read_only(DIR, strict(sim)).unwrap_err().is_corruption(), "{what}");
    assert!(Lsm::open(DIR, strict(sim)).unwrap_err().is_corruption(), "{what}");
    let reader = Lsm::open_read_only(DIR, options(sim)).unwrap();
    assert_eq!(reader.recovery().damage.len(), 1, "{what}, read only");
    drop(reader);
    let store = Lsm::open(DIR, options(sim)).unwrap();
    let told = store.recovery().damage.iter().filter(|damage| damage.path.starts_with("store/wal"));
    assert_eq!(told.count(), 1, "{what}: {:?}", store.recovery());
    assert_eq!(store.get(b"flushed").unwrap().unwrap(), b"1");
    store.put(b"later", b"2").unwrap();
    sim.crash_process();
    drop(store);
    assert!(verify(&sim.env(), DIR, &mut |_| {}).unwrap().is_whole(), "{what}");
    let store = Lsm::open(DIR, strict(sim)).unwrap();
    assert!(store.recovery().damage.is_empty(), "{what}: {:?}", store.recovery());
    assert_eq!(store.get(b"later").unwrap().unwrap(), b"2");
}

#[test]
fn a_log_that_is_gone_is_missed() {
    for power in [false, true] {
        for remove in [remove_log, remove_writers] {
            let sim = Sim::new(1);
            killed(&sim, options(&sim), 10_000);
            if power {
                sim.sync_all();
                sim.crash_power();
            }
            remove(&sim);
            assert_told(&sim, "all of it");
        }
    }
}

#[test]
fn the_segment_that_took_the_last_writes_is_missed() {
    // One that is far from its end; one for which the next is ready; one before which another is that is in no table.
    for (bytes, files) in [(10_000, 1), (230_000, 2), (300_000, 2)] {
        for is_cut in [false, true] {
            let sim = Sim::new(1);
            killed(&sim, options(&sim), bytes);
            let found = segments(&sim);
            assert_eq!(found.len(), files, "{bytes} bytes");
            let active = if bytes < 256_000 { &found[0] } else { &found[1] };
            if is_cut {
                cut(&sim, active)
            } else {
                remove(&sim, active)
            }
            assert_told(&sim, &format!("{bytes} bytes, cut: {is_cut}"));
        }
    }
}

#[test]
fn what_was_synced_is_missed_after_a_loss_of_power() {
    let sim = Sim::new(1);
    killed(&sim, LsmOptions { durability: Durability::Sync, ..options(&sim) }, 10_000);
    // The manifest's mark is on the device, as after half a minute.
    sim.sync_all();
    sim.crash_power();
    let found = segments(&sim);
    remove(&sim, &found[0]);
    assert_told(&sim, "the segment");
}

/// A segment that was made for a batch that is too long for the active one says that this is empty. That is not so for ever.
#[test]
fn a_segment_that_took_writes_after_a_longer_one_was_made_ready_is_missed() {
    let sim = Sim::new(1);
    let store = Lsm::open(DIR, options(&sim)).unwrap();
    store.put(b"flushed", b"1").unwrap();
    store.flush().unwrap();
    let mut batch = WriteBatch::new();
    for n in 0..8u8 {
        batch.put(&[n], &[7; 90_000]).unwrap();
    }
    let at_once = WriteOptions { no_slowdown: true, ..WriteOptions::default() };
    assert!(store.write(&batch, at_once).is_err());
    // Makes the longer one.
    while store.background_step().unwrap() {}
    store.put(b"small", b"2").unwrap();
    while store.background_step().unwrap() {}
    sim.crash_process();
    drop(store);
    let found = segments(&sim);
    remove(&sim, &found[0]);
    assert_told(&sim, &format!("{found:?}"));
}

#[test]
fn a_repair_says_what_is_gone_and_that_once() {
    let sim = Sim::new(1);
    killed(&sim, options(&sim), 10_000);
    remove_log(&sim);
    let mend = |dry_run| repair(&sim.env(), DIR, RepairOptions { dry_run }, &mut |_| {}).unwrap();
    assert_eq!(mend(true).lost.len(), 1);
    let mended = mend(false);
    assert_eq!(mended.lost.len(), 1, "{mended:?}");
    assert!(verify(&sim.env(), DIR, &mut |_| {}).unwrap().is_whole());
    assert!(mend(false).is_idle());
}

/// If this log is not there, is the write missing, and is that told?
fn assert_missed_if_lost(sim: &Sim, key: &[u8], what: &str) -> bool {
    remove_writers(sim);
    let told = tells(sim);
    let reader = Lsm::open_read_only(DIR, options(sim)).unwrap();
    let read = reader.recovery().damage.len();
    let store = Lsm::open(DIR, options(sim)).unwrap();
    let is_lost = store.get(key).unwrap().is_none();
    if is_lost {
        assert!(told > 0 && read > 0 && !store.recovery().damage.is_empty(), "{what}");
    }
    is_lost
}

#[test]
fn an_opening_that_ends_early_goes_on_missing_the_log_before_it() {
    let mut lost = 0;
    for writes in [1, 3] {
        let made = || {
            let sim = Sim::new(1);
            let store = Lsm::open(DIR, options(&sim)).unwrap();
            for n in 0..writes {
                store.put(b"last", &vec![n; 150_000]).unwrap();
            }
            sim.crash_process();
            drop(store);
            sim
        };
        for fault in [Fault::Crash, Fault::NoSpace, Fault::SyncFailed, Fault::TooManyFiles] {
            for n in 0.. {
                let sim = made();
                let at = sim.operations() + n;
                sim.fail_at(at, fault);
                let opened = Lsm::open(DIR, options(&sim));
                let has_ended = sim.operations() <= at;
                sim.crash_process();
                drop(opened);
                if has_ended {
                    break;
                }
                // Nothing was removed yet.
                let what = format!("{writes} {fault:?} at {n}");
                assert_eq!(tells(&sim), 0, "{what}");
                lost += u32::from(assert_missed_if_lost(&sim, b"last", &what));
            }
        }
    }
    assert!(lost > 20, "{lost}");
}

#[test]
fn a_close_that_fails_does_not_end_what_it_could_not_bring_into_tables() {
    let mut lost = 0;
    for fault in [Fault::Crash, Fault::NoSpace, Fault::SyncFailed, Fault::TooManyFiles] {
        for n in 0.. {
            let sim = Sim::new(1);
            let store = Lsm::open(DIR, options(&sim)).unwrap();
            store.put(b"last", b"1").unwrap();
            let at = sim.operations() + n;
            sim.fail_at(at, fault);
            let closed = store.close();
            let has_ended = sim.operations() <= at;
            sim.crash_process();
            drop(store);
            if has_ended {
                break;
            }
            let what = format!("{fault:?} at {n}: {closed:?}");
            assert_eq!(tells(&sim), 0, "{what}");
            assert_eq!(Lsm::open_read_only(DIR, strict(&sim)).unwrap().get(b"last").unwrap().unwrap(), b"1");
            let is_lost = assert_missed_if_lost(&sim, b"last", &what);
            assert!(closed.is_err() || !is_lost, "{what}");
            lost += u32::from(is_lost);
        }
    }
    assert!(lost > 5, "{lost}");
}

#[test]
fn a_written_log_is_missed_as_well() {
    let sim = Sim::new(1);
    killed(&sim, LsmOptions { wal_kind: WalKind::Write, ..options(&sim) }, 300_000);
    let found = segments(&sim);
    remove(&sim, &found[1]);
    assert_told(&sim, "the segment");
}
