//! A crash at every single operation, for every durability and both kinds of segments: what is recovered is a prefix of
//! what was appended, holds everything that was acknowledged as durable, and nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod wal_common;

use duramen_engine::io::sim::{Fault, Sim};
use duramen_engine::wal::{
    Background, Durability, Wal, WalKind, WalOptions, WalRecoveryMode, WriteOptions, lock_writer_dir,
    recover, recover_unflushed, segment_path, writers,
};
use duramen_engine::{Error, Result};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use wal_common::{WAL, Written, append_next, offered, read_segment, small};

#[derive(Clone, Copy, Debug)]
struct Case {
    durability: Durability,
    wal_kind: WalKind,
    /// Whether sealed segments are put into tables and removed.
    flush: bool,
}

#[derive(Clone, Copy, Debug)]
enum Crash {
    Process,
    PowerKeeping(u8),
    Power,
}

/// What the program knew when it died.
#[derive(Debug, Default)]
struct Known {
    /// Everything it tried to append, in order.
    appended: Vec<Written>,
    /// How many of these survive the death of the process.
    process: usize,
    /// How many of these survive a loss of power.
    power: usize,
    /// Which segment each acknowledged record is in.
    segments: Vec<u64>,
    /// What is in tables, and of which segments.
    tables: Vec<Written>,
    flushed: Vec<u64>,
}

fn workload(sim: &Sim, case: Case, known: &mut Known) -> Result<()> {
    let env = sim.env();
    let sealed = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&sealed);
    let wal = Wal::create(
        &env,
        Path::new(WAL),
        small(WalOptions {
            durability: case.durability,
            wal_kind: case.wal_kind,
            max_write_buffer_number: if case.flush { 2 } else { 100 },
            background: Background::Manual,
            on_sealed: Some(Arc::new(move |number, _| heard.lock().unwrap().push(number))),
            ..WalOptions::default()
        }),
    )?;
    for nth in 0..130 {
        if case.flush && wal.live_segments().len() > 1 {
            wal.background_step()?;
        }
        let segment = append_next(&wal, &mut known.appended, WriteOptions::default())?;
        known.segments.push(segment);
        let all = known.appended.len();
        if case.wal_kind == WalKind::Mmap || case.durability != Durability::None {
            known.process = all;
        }
        if case.durability == Durability::Sync {
            known.power = all;
        }
        match nth % 26 {
            7 => wal.sync().map(|()| known.power = all)?,
            12 => {
                sim.clock().advance(Duration::from_millis(60));
                wal.background_step()?;
                if matches!(case.durability, Durability::IntervalMs(_)) {
                    known.power = all;
                }
            }
            18 => wal.background_step()?,
            23 => drop(wal.rotate()?),
            _ => {}
        }
        // Sealed is as good as synced.
        for number in sealed.lock().unwrap().drain(..) {
            let through = known.segments.iter().filter(|s| **s <= number).count();
            known.power = known.power.max(through);
            if case.flush {
                let segments = wal.live_segments();
                let segment = segments.iter().find(|s| s.number() == number).unwrap();
                assert!(segment.is_sealed());
                known.tables.extend(read_segment(segment));
                known.flushed.push(number);
                wal.release(number);
                env.fs.remove_file(segment.path().unwrap()).map_err(Error::io("remove", "a segment"))?;
            }
        }
        known.process = known.process.max(known.power);
    }
    wal.close()?;
    known.power = known.appended.len();
    known.process = known.power;
    Ok(())
}

/// A machine with a durable directory for the store, which is the store's to make. The workload begins at the
/// operation with the index that is returned.
fn machine(seed: u64) -> (Sim, u64) {
    let sim = Sim::new(seed);
    let fs = sim.env().fs;
    fs.create_dir_all(Path::new("store")).unwrap();
    fs.sync_dir(Path::new("/")).unwrap();
    let first = sim.operations();
    (sim, first)
}

/// Runs the workload until operation `index` crashes. Whether it did.
fn crash_at(index: u64, case: Case, crash: Crash) -> bool {
    let (sim, first) = machine(index * 31 + 7);
    sim.fail_at(first + index, Fault::Crash);
    let mut known = Known::default();
    let done = workload(&sim, case, &mut known);
    let crashed = sim.is_halted();
    // A crash in what is done on a best effort shows in nothing.
    assert!(done.is_ok() || crashed, "{done:?}");
    match crash {
        Crash::Process => sim.crash_process(),
        Crash::PowerKeeping(percent) => sim.crash_power_keeping(percent),
        Crash::Power => sim.crash_power(),
    }
    check(&sim, &known, crash, &format!("{case:?}, {crash:?} at operation {index}"));
    crashed
}

fn check(sim: &Sim, known: &Known, crash: Crash, context: &str) {
    let env = sim.env();
    let mut found = known.tables.clone();
    let writers = writers(&env, Path::new(WAL)).unwrap();
    assert!(writers.len() <= 1, "{context}");
    let before = sim.operations();
    if let Some(writer) = writers.first() {
        let _lock = lock_writer_dir(&env, &writer.path).unwrap().expect("its lock fell with it");
        let is_flushed = |number: u64| known.flushed.contains(&number);
        let mode = WalRecoveryMode::PointInTime;
        let recovered = recover_unflushed(&env, &writer.path, mode, &is_flushed).unwrap();
        assert!(recovered.damage.iter().all(|d| !d.proven), "{context}: {:?}", recovered.damage);
        let of_point_in_time = offered(&recovered);
        let skipping = WalRecoveryMode::SkipAnyCorrupted;
        let of_skipping = offered(&recover_unflushed(&env, &writer.path, skipping, &is_flushed).unwrap());
        assert!(of_skipping.starts_with(&of_point_in_time), "{context}");
        let mut genuine = known.appended.iter();
        assert!(of_skipping.iter().all(|r| genuine.any(|g| g == r)), "{context}: something was made up");
        if matches!(crash, Crash::Process) {
            // The page cache survived, so there are no holes, only a torn record at most.
            assert_eq!((recovered.damage.as_slice(), recovered.set_aside.len()), (&[][..], 0), "{context}");
        }
        found.extend(of_point_in_time);
    }
    assert!(known.appended.starts_with(&found), "{context}: not a prefix");
    let least = if matches!(crash, Crash::Process) { known.process } else { known.power };
    assert!(found.len() >= least, "{context}: {} of {least} records that were acknowledged", found.len());

    let only_reads = ["lock", "read_dir", "open_segment", "exists", "open", "read", "len"];
    for operation in &sim.trace()[before as usize..] {
        let word = operation.split(' ').next().unwrap();
        assert!(only_reads.contains(&word), "recovery did {operation}");
    }
}

fn crash_everywhere(durability: Durability) {
    for wal_kind in [WalKind::Mmap, WalKind::Write] {
        for flush in [false, true] {
            let case = Case { durability, wal_kind, flush };
            let crashes = [Crash::Process, Crash::PowerKeeping(0), Crash::PowerKeeping(50), Crash::Power];
            for crash in crashes {
                let mut index = 0;
                while crash_at(index, case, crash) {
                    index += 1;
                }
                assert!(index > 50, "{case:?}: the workload has only {index} operations");
            }
        }
    }
}

#[test]
fn durability_none() {
    crash_everywhere(Durability::None);
}

#[test]
fn durability_process() {
    crash_everywhere(Durability::Process);
}

#[test]
fn durability_interval() {
    crash_everywhere(Durability::IntervalMs(50));
}

#[test]
fn durability_sync() {
    crash_everywhere(Durability::Sync);
}

/// A write that is torn in the middle, of a segment that is not mapped.
#[test]
fn torn_writes() {
    let case = Case { durability: Durability::Process, wal_kind: WalKind::Write, flush: true };
    for index in 0.. {
        let (sim, first) = machine(index + 1000);
        sim.fail_at(first + index, Fault::TornWrite);
        let mut known = Known::default();
        let done = workload(&sim, case, &mut known);
        let crashed = sim.is_halted();
        assert!(done.is_ok() || crashed, "{done:?}");
        sim.crash_process();
        check(&sim, &known, Crash::Process, &format!("torn write at operation {index}"));
        if !crashed {
            assert!(index > 50);
            break;
        }
    }
}

/// Any single operation may fail without a crash: whatever was acknowledged, before or after, is there.
#[test]
fn a_failure_at_every_operation() {
    for fault in [Fault::NoSpace, Fault::SyncFailed, Fault::TooManyFiles, Fault::ShortWrite] {
        for (durability, wal_kind) in
            [(Durability::Sync, WalKind::Mmap), (Durability::Process, WalKind::Write)]
        {
            let case = Case { durability, wal_kind, flush: true };
            for index in 0.. {
                let (sim, first) = machine(index);
                sim.fail_at(first + index, fault);
                let mut known = Known::default();
                let done = workload(&sim, case, &mut known);
                let context = format!("{case:?}, {fault:?} at operation {index}");
                if sim.faults_struck().is_empty() {
                    assert!(done.is_ok(), "{context}: {done:?}");
                }
                if sim.operations() <= first + index {
                    assert!(index > 50);
                    break;
                }
                sim.crash_power();
                check(&sim, &known, Crash::Power, &context);
            }
        }
    }
}

/// After a clean end, recovery finds everything in order even when nothing may be amiss.
#[test]
fn a_closed_log_is_consistent() {
    for wal_kind in [WalKind::Mmap, WalKind::Write] {
        let (sim, _first) = machine(3);
        let mut known = Known::default();
        workload(&sim, Case { durability: Durability::Process, wal_kind, flush: false }, &mut known).unwrap();
        sim.crash_power_keeping(0);
        let env = sim.env();
        let dir = wal_common::only_writer(&env, Path::new(WAL));
        let recovered = recover(&env, &dir, WalRecoveryMode::AbsoluteConsistency).unwrap();
        assert!(offered(&recovered) == known.appended);
        assert_eq!(recovered.next_seq, known.appended.last().map(|w| w.seq + u64::from(w.count)));
        assert!(recovered.empty.iter().all(|p| *p != segment_path(&dir, 1)));
    }
}
