//! An LSM tree whose log, or the end of it, is not there any more: what was in it is missed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen_engine::Error;
use duramen_engine::io::OpenMode;
use duramen_engine::io::sim::{Fault, Sim};
use duramen_engine::kv::{Durability, Engine, RepairOptions, repair, verify};
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

fn segments(sim: &Sim) -> Vec<String> {
    sim.files().into_iter().filter(|file| file.ends_with(".wal")).collect()
}

fn remove(sim: &Sim, path: &str) {
    sim.env().fs.remove_file(Path::new(path)).unwrap();
}

fn remove_log(sim: &Sim) {
    for file in sim.files().into_iter().filter(|file| file.starts_with("store/wal/")) {
        remove(sim, &file);
    }
    let fs = sim.env().fs;
    for writer in fs.read_dir(Path::new("store/wal")).unwrap() {
        fs.remove_dir(&Path::new("store/wal").join(writer.name)).unwrap();
    }
    fs.remove_dir(Path::new("store/wal")).unwrap();
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

/// All tell that something is gone, and the next opening is well again.
fn assert_told(sim: &Sim, what: &str) {
    let found = verify(&sim.env(), DIR, &mut |_| {}).unwrap();
    let told = found.damage.iter().filter(|damage| damage.path.starts_with("store/wal"));
    assert_eq!(told.count(), 1, "{what}: {found:?}");
    let strict = LsmOptions { wal_recovery_mode: WalRecoveryMode::AbsoluteConsistency, ..options(sim) };
    assert!(Lsm::open(DIR, strict).unwrap_err().is_corruption(), "{what}");
    let reader = Lsm::open_read_only(DIR, options(sim)).unwrap();
    assert!(!reader.recovery().damage.is_empty(), "{what}, read only");
    drop(reader);
    let store = Lsm::open(DIR, options(sim)).unwrap();
    let told = store.recovery().damage.iter().filter(|damage| damage.path.starts_with("store/wal"));
    assert_eq!(told.count(), 1, "{what}: {:?}", store.recovery());
    assert_eq!(store.get(b"flushed").unwrap().unwrap(), b"1");
    store.put(b"later", b"2").unwrap();
    sim.crash_process();
    drop(store);
    assert!(verify(&sim.env(), DIR, &mut |_| {}).unwrap().is_whole(), "{what}");
    let store = Lsm::open(DIR, options(sim)).unwrap();
    assert!(store.recovery().damage.is_empty(), "{what}: {:?}", store.recovery());
    assert_eq!(store.get(b"later").unwrap().unwrap(), b"2");
}

#[test]
fn a_log_that_is_gone_is_missed() {
    for power in [false, true] {
        let sim = Sim::new(1);
        killed(&sim, options(&sim), 10_000);
        if power {
            sim.sync_all();
            sim.crash_power();
        }
        remove_log(&sim);
        assert_told(&sim, "all of it");
    }
}

#[test]
fn the_segment_that_took_the_last_writes_is_missed() {
    // One that is far from its end; one for which the next is ready; one before which another is that is in no table.
    for (bytes, files) in [(10_000, 1), (230_000, 2), (300_000, 2)] {
        for cut in [false, true] {
            let sim = Sim::new(1);
            killed(&sim, options(&sim), bytes);
            let found = segments(&sim);
            assert_eq!(found.len(), files, "{bytes} bytes");
            let active = if bytes < 256_000 { &found[0] } else { &found[1] };
            if cut {
                let file = sim.env().fs.open(Path::new(active), OpenMode::ReadWrite).unwrap();
                file.set_len(0).unwrap();
            } else {
                remove(&sim, active);
            }
            assert_told(&sim, &format!("{bytes} bytes, cut: {cut}"));
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

/// A life of a store, as far as it comes.
fn live(options: LsmOptions) -> Result<(), Error> {
    let store = Lsm::open(DIR, options)?;
    for round in 0..2u8 {
        for n in 0..3u8 {
            store.put(&[round, n], &[7; 50_000])?;
        }
        store.flush()?;
        store.put(&[round, 9], b"small")?;
    }
    for n in 0..4u8 {
        store.put(&[9, n], &[7; 90_000])?;
    }
    store.close()
}

fn assert_nothing_missed(sim: &Sim, what: &str) {
    let missed = |detail: &str| ["is missing", "is gone"].iter().any(|words| detail.contains(words));
    let found = verify(&sim.env(), DIR, &mut |_| {});
    let damage = found.map(|found| found.damage).unwrap_or_default();
    assert!(
        !damage.iter().any(|damage| missed(&damage.detail) && damage.path.starts_with("store/wal")),
        "{what}: {damage:?}"
    );
    let store = Lsm::open(DIR, options(sim)).unwrap_or_else(|e| panic!("{what}: {e}"));
    let damage = &store.recovery().damage;
    assert!(!damage.iter().any(|damage| missed(&damage.detail)), "{what}: {damage:?}");
}

#[test]
fn nothing_is_missed_whenever_a_process_ends_or_power_is_lost() {
    for (wal_kind, durability) in [
        (WalKind::Mmap, Durability::Process),
        (WalKind::Mmap, Durability::Sync),
        (WalKind::Write, Durability::Process),
        (WalKind::None, Durability::Process),
    ] {
        let options = |sim: &Sim| LsmOptions { wal_kind, durability, ..options(sim) };
        let whole = Sim::new(1);
        live(options(&whole)).unwrap();
        assert_nothing_missed(&whole, "closed");
        for index in 0..whole.operations() {
            for fault in [Fault::Crash, Fault::NoSpace, Fault::SyncFailed, Fault::TooManyFiles] {
                let sim = Sim::new(index);
                sim.fail_at(index, fault);
                let _cut_short = live(options(&sim));
                match fault {
                    Fault::Crash if index % 2 == 0 => sim.crash_power_keeping(50),
                    _ => sim.crash_process(),
                }
                let what = format!("{wal_kind:?} {durability:?} {fault:?} at {index}");
                assert_nothing_missed(&sim, &what);
                sim.crash_process();
                assert_nothing_missed(&sim, &format!("{what}, again"));
            }
        }
    }
}
