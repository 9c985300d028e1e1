//! A crash at every operation while lines expire: afterwards exactly the right ones are there, and the next keeper
//! finishes what was begun.

use crate::lines::{DAY, DAY_NS, Line, lines_of, options};
use duramen::{Level, Retention, RetentionRule};
use duramen_engine::io::sim::{Fault, Sim};

/// Lines of five days and three levels, in mixed tables; then rules, and time.
fn workload(sim: &Sim, progress: &mut Progress) -> duramen::Result<()> {
    let store = options(sim.env()).open("/logs")?;
    let now = sim.env().clock.now_unix_ns();
    for number in 0..30 {
        let level = [Level::Debug, Level::Info, Level::Error][number as usize % 3];
        let line = Line { number, time: now - (number as i64 % 5) * DAY_NS, level, app: "web" };
        line.append_to(&store, "")?;
        progress.acknowledged.push(line);
        if number == 14 {
            store.flush()?;
        }
    }
    store.flush()?;
    store.sync()?;
    progress.synced = true;
    let policy = policy();
    progress.policy_asked_for = true;
    store.set_retention(&policy)?;
    progress.policy_set = true;
    store.enforce_retention()?; // the mixed tables are split
    sim.clock().advance(DAY + DAY);
    store.enforce_retention()?; // and what was split expires as files
    store.close()
}

#[derive(Default)]
struct Progress {
    acknowledged: Vec<Line>,
    synced: bool,
    policy_asked_for: bool,
    policy_set: bool,
}

fn policy() -> Retention {
    Retention {
        max_age: Some(3 * DAY),
        rules: vec![RetentionRule::level(Level::Debug, Some(DAY)), RetentionRule::level(Level::Error, None)],
        ..Retention::default()
    }
}

fn check(sim: &Sim, progress: &Progress, context: &str) {
    let store = options(sim.env()).open("/logs").unwrap_or_else(|e| panic!("{context}: {e}"));
    store.flush().unwrap_or_else(|e| panic!("{context}: {e}"));
    let now = sim.env().clock.now_unix_ns();
    let found = lines_of(&store);
    assert!(found.windows(2).all(|pair| pair[0].number < pair[1].number), "{context}: each once");
    let in_force = store.retention().unwrap();
    assert!(in_force == policy() || !progress.policy_set, "{context}: the policy was lost");
    assert!(in_force == Retention::default() || progress.policy_asked_for, "{context}");
    let check_all = |found: &[Line], enforced: bool| {
        for line in progress.acknowledged.iter().filter(|_| progress.synced) {
            let there = found.contains(line);
            assert!(there || line.has_expired(&in_force, now), "{context}: {line:?} is gone");
            assert!(!(there && enforced && line.has_to_go(&in_force, now)), "{context}: {line:?} is there");
        }
    };
    check_all(&found, false);
    store.enforce_retention().unwrap_or_else(|e| panic!("{context}: {e}"));
    check_all(&lines_of(&store), true);
    let report = store.verify(&mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{context}: {:?}", report.damage);
    // No file is left that the manifest does not name.
    let tables = sim.files().iter().filter(|file| file.contains("/tables/")).count() as u64;
    let named: u64 = store.stats().unwrap().days.values().map(|day| day.tables).sum();
    assert_eq!(tables, named, "{context}: {:?}", sim.files());
}

/// At every operation, or at every how-manieth.
fn crash_everywhere(fault: Fault, stride: usize, end: impl Fn(&Sim)) {
    let sim = Sim::new(1);
    let mut progress = Progress::default();
    workload(&sim, &mut progress).unwrap();
    check(&sim, &progress, "without a crash");
    let sim_operations = sim.operations();
    assert!(sim_operations > 100);
    for index in (0..sim_operations).step_by(stride) {
        let sim = Sim::new(index);
        sim.fail_at(index, fault);
        let mut progress = Progress::default();
        let ended = workload(&sim, &mut progress);
        end(&sim);
        check(&sim, &progress, &format!("{fault:?} at operation {index}: {:?}", ended.err()));
    }
}

#[test]
fn a_killed_keeper_loses_nothing_that_has_not_expired() {
    crash_everywhere(Fault::Crash, 1, Sim::crash_process);
}

#[test]
fn nor_does_one_without_power() {
    for keep_percent in [0, 50] {
        crash_everywhere(Fault::Crash, 5, |sim| sim.crash_power_keeping(keep_percent));
    }
}

#[test]
fn nor_do_errors() {
    for fault in [Fault::NoSpace, Fault::SyncFailed, Fault::ReadError, Fault::TooManyFiles] {
        crash_everywhere(fault, 13, Sim::crash_process);
    }
}
