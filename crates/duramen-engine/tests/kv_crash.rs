//! A crash at every operation of a workload that writes, flushes, compacts, checkpoints, ingests and reopens: what was
//! acknowledged is there as durably as was promised, batches are never there in part, and nothing is out of order. The
//! same for a crash while what the first one left is being recovered.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod kv_common;

use duramen_engine::io::sim::Fault;
use duramen_engine::kv::Durability;
use kv_common::driver::Driver;
use kv_common::script::{run, stop};
use kv_common::{Setup, setups, some_of};

#[derive(Clone, Copy, Debug)]
enum Crash {
    Process,
    Power(u8),
}

const POWER: [Crash; 3] = [Crash::Power(0), Crash::Power(50), Crash::Power(100)];

impl Crash {
    fn happen(self, d: &mut Driver) {
        match self {
            Self::Process => d.kill(),
            Self::Power(percent) => d.lose_power(Some(percent)),
        }
    }

    fn loses_power(self) -> bool {
        matches!(self, Self::Power(_))
    }
}

/// How many operations the workload has.
fn operations(setup: &Setup, durability: Durability) -> u64 {
    let mut d = Driver::new(0, setup, durability);
    run(&mut d, &mut stop).unwrap_or_else(|e| panic!("{}: {e}", d.context));
    d.sim.operations()
}

/// Runs the workload until operation `index`.
fn crashed_at(index: u64, fault: Fault, setup: &Setup, durability: Durability, crash: Crash) -> Driver {
    let mut d = Driver::new(index, setup, durability);
    d.context = format!("{}, {durability:?}, {crash:?}, {fault:?} at operation {index}", setup.name());
    d.arm(index, fault);
    let ended = run(&mut d, &mut stop);
    assert!(ended.is_ok() || d.sim.is_halted(), "{}: {:?}", d.context, ended.err());
    crash.happen(&mut d);
    d
}

/// Crashes spread over all operations.
fn crash_everywhere(durability: Durability, crashes: &[Crash], fault: Fault, lane: usize) {
    for (nth, setup) in setups().iter().enumerate() {
        let all = operations(setup, durability);
        assert!(all > 100, "the workload does something");
        for (which, crash) in crashes.iter().enumerate() {
            for index in some_of(all, 120, lane + 3 * nth + which) {
                crashed_at(index, fault, setup, durability, *crash).verify(crash.loses_power());
            }
        }
    }
}

#[test]
fn the_process_ends_anywhere() {
    crash_everywhere(Durability::Process, &[Crash::Process], Fault::Crash, 0);
    crash_everywhere(Durability::None, &[Crash::Process], Fault::Crash, 1);
}

#[test]
fn power_is_lost_anywhere_and_what_was_synced_is_there() {
    crash_everywhere(Durability::Sync, &POWER, Fault::Crash, 2);
}

#[test]
fn power_is_lost_anywhere_and_what_was_not_synced_is_lost_from_the_end() {
    crash_everywhere(Durability::Process, &POWER, Fault::Crash, 5);
    crash_everywhere(Durability::None, &POWER, Fault::Crash, 8);
}

#[test]
fn power_is_lost_anywhere_and_what_is_older_than_the_interval_is_there() {
    crash_everywhere(Durability::IntervalMs(50), &POWER, Fault::Crash, 3);
}

#[test]
fn the_last_write_is_torn() {
    crash_everywhere(Durability::Process, &[Crash::Process], Fault::TornWrite, 4);
    crash_everywhere(Durability::Sync, &[Crash::Power(50)], Fault::TornWrite, 6);
}

#[test]
fn a_second_crash_while_the_first_is_being_recovered() {
    for setup in setups() {
        let all = operations(&setup, Durability::Process);
        for (nth, first) in some_of(all, 30, 0).enumerate() {
            let crash = [Crash::Process, Crash::Power(0), Crash::Power(50), Crash::Power(100)][nth % 4];
            let again = if nth % 2 == 0 { crash } else { Crash::Power(50) };
            for second in some_of(60, 20, nth) {
                if !crash_twice(&setup, (first, crash), (second, again)) {
                    break;
                }
            }
        }
    }
}

/// A crash at an operation of the workload, and one so many operations into the recovery. Whether there was that one.
fn crash_twice(setup: &Setup, (first, crash): (u64, Crash), (second, again): (u64, Crash)) -> bool {
    let mut d = crashed_at(first, Fault::Crash, setup, Durability::Process, crash);
    d.context = format!("{}, {again:?} at operation {second} of the recovery", d.context);
    let index = d.sim.operations() + second;
    d.arm(index, Fault::Crash);
    let recovered = d.open(crash.loses_power()).and_then(|()| d.background()).and_then(|()| d.flush());
    let halted = d.sim.is_halted();
    assert!(recovered.is_ok() || halted, "{}: {recovered:?}", d.context);
    d.armed = None;
    again.happen(&mut d);
    d.verify(crash.loses_power() || again.loses_power());
    halted
}
