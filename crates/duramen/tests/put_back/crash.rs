//! A crash or an error at every operation of setting a table aside and putting it back.

use crate::lost_end::*;
use duramen_engine::io::sim::{Fault, Sim};

/// Opens a store whose manifest has lost its end, and puts back what that set aside.
fn workload(sim: &Sim) -> duramen::Result<()> {
    let store = options(sim.env()).open("/logs")?;
    append(&store, 30..35)?;
    store.sync()?;
    store.put_back(false)?;
    store.close()
}

fn lost(seed: u64) -> Sim {
    let sim = Sim::new(seed);
    lose_end(&sim, |store| {
        append_and_flush(store, 10..20);
        append_and_flush(store, 20..30);
    });
    sim
}

fn crash_everywhere(fault: Fault, stride: usize, end: impl Fn(&Sim)) {
    let sim = lost(1);
    let from = sim.operations();
    workload(&sim).unwrap();
    let operations = from..sim.operations();
    assert!(operations.end > operations.start + 100);
    for index in operations.step_by(stride) {
        let sim = lost(1);
        sim.fail_at(index, fault);
        let ended = workload(&sim);
        end(&sim);
        let context = format!("{fault:?} at operation {index}: {:?}", ended.err());
        let store = options(sim.env()).open("/logs").unwrap_or_else(|e| panic!("{context}: {e}"));
        let there = numbers(&store);
        assert!(there.windows(2).all(|pair| pair[0] < pair[1]), "{context}: each once: {there:?}");
        let became = put_back(&store);
        let mut there = numbers(&store);
        there.retain(|number| *number < 30);
        assert_eq!(there, (0..30).collect::<Vec<_>>(), "{context}: {became:?}");
        // At the most the other name of one that is in use.
        for left in put_back(&store) {
            assert!(left.is_err(), "{context}: {left:?}");
        }
        let report = store.verify(&mut |_| {}).unwrap();
        assert!(report.damage.is_empty(), "{context}: {:?}", report.damage);
        let tables = sim.files().iter().filter(|file| file.contains("/tables/")).count() as u64;
        let named: u64 = store.stats().unwrap().days.values().map(|day| day.tables).sum();
        assert_eq!(tables, named, "{context}: {:?}", sim.files());
    }
}

#[test]
fn a_killed_process_has_put_back_all_of_a_table_or_nothing() {
    crash_everywhere(Fault::Crash, 1, Sim::crash_process);
}

#[test]
fn so_has_one_without_power() {
    for keep_percent in [0, 50] {
        crash_everywhere(Fault::Crash, 2, |sim| sim.crash_power_keeping(keep_percent));
    }
}

#[test]
fn so_has_one_that_met_an_error() {
    for fault in [Fault::NoSpace, Fault::SyncFailed, Fault::ReadError, Fault::TooManyFiles] {
        crash_everywhere(fault, 2, Sim::crash_process);
    }
}

/// Whoever set a table aside may have been killed before the number of that was no other's any more.
#[test]
fn what_is_taken_in_again_after_a_crash_comes_back_once() {
    let sim = lost(1);
    let from = sim.operations();
    drop(open(&sim));
    for index in from..sim.operations() {
        let sim = lost(1);
        sim.fail_at(index, Fault::Crash);
        drop(options(sim.env()).open("/logs"));
        sim.crash_process();
        let store = open(&sim);
        append_and_flush(&store, 10..30);
        let became = put_back(&store);
        assert_eq!(numbers(&store), (0..30).collect::<Vec<_>>(), "operation {index}: {became:?}");
    }
}
