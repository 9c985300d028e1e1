//! A crash at every single operation of a workload that appends, flushes and reopens, for each durability:
//! afterwards the store opens, and holds a prefix of what was appended that has everything acknowledged as
//! durable, each line once.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests may

use duramen::{Batch, Durability, EntryBuf, SourcePosition, Store, StoreOptions};
use duramen_engine::io::sim::{Fault, Sim};
use std::ops::ControlFlow;

/// How a run may end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Crash {
    Process,
    Power { keep_percent: u8 },
}

fn open(sim: &Sim, durability: Durability) -> duramen::Result<Store> {
    StoreOptions::new()
        .env(sim.env())
        .background(false)
        .durability(durability)
        .write_buffer_size(64 << 10)
        .open("/logs")
}

/// Appends numbered lines, some in batches with a source, in several lives of the process, and says which
/// were acknowledged and which were known to be synced when the first call failed.
#[derive(Default)]
struct Progress {
    appended: u64,
    acknowledged: u64,
    synced: u64,
    batches: u64,
}

fn workload(sim: &Sim, durability: Durability, progress: &mut Progress) -> duramen::Result<()> {
    let mut entry = EntryBuf::new(["app"]);
    // Long lines fill segments quickly, so that rotations and stalls happen in few operations.
    let filler = "x".repeat(1500);
    for life in 0..3 {
        let store = open(sim, durability)?;
        for round in 0..12u64 {
            let n = progress.appended;
            entry.start(n as i64).message(&format!("{n} {filler}")).field("app", "sim").field("life", life);
            let bytes = entry.finish()?.to_vec();
            progress.appended += 1;
            if round % 4 == 3 {
                let mut batch = Batch::new();
                batch.push(&bytes)?;
                for _ in 0..4 {
                    let n = progress.appended;
                    entry.start(n as i64).message(&format!("{n} {filler}")).field("app", "sim");
                    batch.push(entry.finish()?)?;
                    progress.appended += 1;
                }
                let source = SourcePosition {
                    name: "s".into(),
                    head_bytes: 1,
                    head_hash: 1,
                    read_bytes: progress.appended,
                    read_hash: 0,
                    entries: progress.batches + 1,
                };
                store.append_batch(&mut batch, Some(&source))?;
                progress.batches += 1;
            } else {
                store.append(&bytes)?;
            }
            progress.acknowledged = progress.appended;
            if durability == Durability::Sync {
                progress.synced = progress.appended;
            }
            if round == 5 {
                store.sync()?;
                progress.synced = progress.appended;
            }
            if round == 8 && life > 0 {
                store.flush()?;
                progress.synced = progress.appended;
            }
        }
        if life == 1 {
            store.close()?;
            progress.synced = progress.appended;
        }
        // Otherwise the process is gone without a word: what it did not close, the next one recovers.
        else {
            sim.crash_process();
        }
    }
    Ok(())
}

/// The numbers in the store, in the order of a scan, and the entries of the source.
fn contents(store: &Store) -> (Vec<u64>, u64) {
    let mut found = Vec::new();
    store
        .scan(i64::MIN, i64::MAX, &mut |row| {
            found.push(row.message().split(' ').next().unwrap().parse().unwrap());
            ControlFlow::Continue(())
        })
        .unwrap();
    (found, store.source_positions().unwrap().first().map_or(0, |source| source.read_bytes))
}

fn check(sim: &Sim, durability: Durability, crash: Crash, progress: &Progress, context: &str) {
    let store = open(sim, durability).unwrap_or_else(|e| panic!("{context}: does not open: {e}"));
    let (before, source) = contents(&store);
    let prefix: Vec<u64> = (0..before.len() as u64).collect();
    assert_eq!(before, prefix, "{context}: not a prefix, each line once");
    let safe = match crash {
        Crash::Process => progress.acknowledged,
        Crash::Power { .. } => progress.synced,
    };
    assert!(before.len() as u64 >= safe, "{context}: {} of {safe} safe lines", before.len());
    assert!(before.len() as u64 <= progress.appended, "{context}: more than was appended");
    assert!(source <= before.len() as u64, "{context}: the source is ahead of its lines");
    store.flush().unwrap_or_else(|e| panic!("{context}: does not flush: {e}"));
    // Recovery may find more than a reader before it: records whose header was lost. Never less.
    let (after, source_after) = contents(&store);
    let prefix: Vec<u64> = (0..after.len() as u64).collect();
    assert_eq!(after, prefix, "{context}: not a prefix after recovery ({:?})", store.incidents());
    assert!(after.len() >= before.len() && source_after >= source, "{context}: recovery lost lines");
    assert!(after.len() as u64 <= progress.appended && source_after <= after.len() as u64, "{context}");
    let report = store.verify(&mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{context}: {:?}", report.damage);
    // A table that a crash left beside the manifest is no sign of an older manifest.
    let aside = store.stats().unwrap().quarantined;
    assert!(!aside.iter().any(|name| name.starts_with("tables-")), "{context}: {aside:?}");
    store.close().unwrap_or_else(|e| panic!("{context}: does not close: {e}"));
}

fn crash_everywhere(durability: Durability, crash: Crash, fault: Fault) {
    let sim = Sim::new(1);
    workload(&sim, durability, &mut Progress::default()).unwrap();
    let operations = sim.operations();
    assert!(operations > 100, "the workload does something");
    for index in 0..operations {
        let sim = Sim::new(index);
        sim.fail_at(index, fault);
        let mut progress = Progress::default();
        let ended = workload(&sim, durability, &mut progress);
        let context = format!("{durability:?}, {crash:?}, {fault:?} at operation {index}: {:?}", ended.err());
        match crash {
            Crash::Process => sim.crash_process(),
            Crash::Power { keep_percent } => sim.crash_power_keeping(keep_percent),
        }
        check(&sim, durability, crash, &progress, &context);
    }
}

const DURABILITIES: [Durability; 4] =
    [Durability::None, Durability::Process, Durability::IntervalMs(50), Durability::Sync];

#[test]
fn a_killed_process_loses_nothing_that_was_acknowledged() {
    for durability in DURABILITIES {
        crash_everywhere(durability, Crash::Process, Fault::Crash);
    }
}

#[test]
fn a_loss_of_power_keeps_what_was_synced() {
    for durability in DURABILITIES {
        for keep_percent in [0, 50, 100] {
            crash_everywhere(durability, Crash::Power { keep_percent }, Fault::Crash);
        }
    }
}

#[test]
fn a_torn_write_costs_nothing_that_was_synced() {
    for durability in [Durability::Process, Durability::Sync] {
        crash_everywhere(durability, Crash::Power { keep_percent: 50 }, Fault::TornWrite);
    }
}

#[test]
fn a_second_crash_while_recovering_changes_nothing() {
    let durability = Durability::Process;
    let sim = Sim::new(3);
    let mut progress = Progress::default();
    workload(&sim, durability, &mut progress).unwrap();
    let before = sim.operations();
    check(&sim, durability, Crash::Process, &progress, "the first recovery");
    let recovery = sim.operations() - before;
    for index in 0..recovery {
        for keep_percent in [0, 60] {
            let sim = Sim::new(3);
            let mut progress = Progress::default();
            workload(&sim, durability, &mut progress).unwrap();
            sim.sync_all();
            progress.synced = progress.acknowledged;
            sim.fail_at(sim.operations() + index, Fault::Crash);
            // Recovery is cut short somewhere...
            if let Ok(store) = open(&sim, durability) {
                let _cut_short = store.flush();
                let _cut_short = store.close();
            }
            sim.crash_power_keeping(keep_percent);
            // ...and the next one has everything all the same.
            let context = format!("crash at operation {index} of the recovery, {keep_percent} % kept");
            check(&sim, durability, Crash::Power { keep_percent }, &progress, &context);
        }
    }
}

/// What a process made, and was killed before it was durable, the next must not take for durable.
#[test]
fn a_loss_of_power_after_a_recovery_that_followed_a_killed_one_loses_nothing() {
    let durability = Durability::Sync;
    let worked = || {
        let sim = Sim::new(4);
        let store = open(&sim, durability).unwrap();
        store.append(EntryBuf::default().start(7).message("0").finish().unwrap()).unwrap();
        sim.crash_process();
        sim
    };
    let recover = |sim: &Sim| open(sim, durability).and_then(|store| store.flush().and(store.close()));
    let sim = worked();
    let before = sim.operations();
    recover(&sim).unwrap();
    let recovery = sim.operations() - before;
    assert!(recovery > 20, "the recovery does something");
    let progress = Progress { appended: 1, acknowledged: 1, synced: 1, batches: 0 };
    for index in 0..recovery {
        let sim = worked();
        sim.fail_at(sim.operations() + index, Fault::Crash);
        let _cut_short = recover(&sim);
        sim.crash_process();
        recover(&sim).unwrap();
        sim.crash_power_keeping(0);
        let context = format!("killed at operation {index} of the recovery");
        check(&sim, durability, Crash::Power { keep_percent: 0 }, &progress, &context);
    }
}

/// Who copies a store may leave out directories that are empty.
#[test]
fn a_loss_of_power_after_what_made_tables_anew_loses_nothing() {
    let durability = Durability::Sync;
    for killed in [false, true] {
        let sim = Sim::new(4);
        open(&sim, durability).and_then(Store::close).unwrap();
        sim.env().fs.remove_dir("/logs/tables".as_ref()).unwrap();
        sim.sync_all();
        let store = open(&sim, durability).unwrap();
        store.append(EntryBuf::default().start(7).message("0").finish().unwrap()).unwrap();
        if killed {
            sim.fail_at(sim.operations() + 3, Fault::Crash);
        }
        let _cut_short = store.flush().and(store.close());
        if killed {
            sim.crash_process();
            open(&sim, durability).and_then(|store| store.flush().and(store.close())).unwrap();
        }
        sim.crash_power_keeping(0);
        let progress = Progress { appended: 1, acknowledged: 1, synced: 1, batches: 0 };
        check(&sim, durability, Crash::Power { keep_percent: 0 }, &progress, &format!("killed: {killed}"));
    }
}

#[test]
fn an_error_at_any_operation_is_told_and_loses_nothing() {
    let durability = Durability::Process;
    let sim = Sim::new(1);
    workload(&sim, durability, &mut Progress::default()).unwrap();
    for fault in [Fault::NoSpace, Fault::TooManyFiles, Fault::SyncFailed, Fault::ReadError] {
        for index in 0..sim.operations() {
            let sim = Sim::new(index);
            sim.fail_at(index, fault);
            let mut progress = Progress::default();
            let ended = workload(&sim, durability, &mut progress);
            let context = format!("{fault:?} at operation {index}: {:?}", ended.err());
            sim.crash_process();
            check(&sim, durability, Crash::Process, &progress, &context);
        }
    }
}
