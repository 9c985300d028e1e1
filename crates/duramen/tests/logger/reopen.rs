//! Going on by itself after a failed write or sync.

use crate::{messages, rows};
use duramen::{Error, Level, Logger, OnFull, Store, StoreOptions};
use duramen_engine::Error as EngineError;
use duramen_engine::io::sim::{Fault, OperationKind, Sim};
use std::collections::BTreeMap;
use std::time::Duration;

/// Without threads, so that it is known whose the next operation is.
fn open(sim: &Sim) -> Logger {
    let store = StoreOptions::new().background(false).write_buffer_size(64 << 10).env(sim.env());
    Logger::builder("/logs").store_options(store).open().unwrap()
}

fn log(logger: &Logger, level: Level, message: &str) -> Result<(), Error> {
    logger.log(level, message, &[])
}

/// Logs an error, whose sync fails.
fn fail_a_sync(sim: &Sim, logger: &Logger, message: &str) {
    let struck = sim.faults_struck().len();
    sim.fail_at(sim.operations(), Fault::SyncFailed);
    let error = log(logger, Level::Error, message).unwrap_err();
    assert!(matches!(error, Error::Engine(EngineError::Io { .. })), "{error}");
    assert_eq!(sim.faults_struck().len(), struck + 1);
}

fn is_stopped(outcome: &Result<(), Error>) -> bool {
    matches!(outcome, Err(Error::Engine(EngineError::Poisoned { .. })))
}

/// What the log says of writers that were replaced: lines that may not have been on the device, and why.
fn told(store: &Store) -> Vec<(String, String)> {
    let found = rows(store, |row| Some((row.field("unsynced_lines")?, row.message().to_owned())));
    found.into_iter().flatten().collect()
}

#[test]
fn after_a_failed_sync_it_goes_on_and_says_what_may_not_be_on_the_device() {
    let sim = Sim::new(1);
    let logger = open(&sim);
    let writer = |logger: &Logger| rows(logger.store().unwrap(), |row| row.id().writer);
    for n in 0..10 {
        log(&logger, Level::Info, &format!("before {n}")).unwrap();
    }
    logger.sync().unwrap();
    for n in 0..7 {
        log(&logger, Level::Info, &format!("unsynced {n}")).unwrap();
    }
    fail_a_sync(&sim, &logger, "it fails");
    assert!(is_stopped(&logger.sync()), "nobody has made a new one yet");
    log(&logger, Level::Info, "after").unwrap();
    let stats = logger.stats();
    assert_eq!((stats.reopened, stats.unsynced), (1, 8), "with the one that failed");
    assert_eq!((stats.lines, stats.errors, stats.dropped), (19, 1, 0));

    // The old writer's lines are read where they lie, once each, and then put into tables.
    let found = messages(logger.store().unwrap());
    assert_eq!(found.len(), 10 + 7 + 1 + 1 + 2, "and two of our own: {found:?}");
    let said = told(logger.store().unwrap());
    assert_eq!(said.len(), 1);
    assert!(said[0].0 == "8" && said[0].1.contains("sync"), "{said:?}");
    let mut writers = writer(&logger);
    writers.dedup();
    assert_eq!(writers.len(), 2);
    logger.sync().unwrap();
    sim.crash_power_keeping(0);
    std::mem::forget(logger);
    assert_eq!(messages(open(&sim).store().unwrap()), found);
}

#[test]
fn a_sync_is_no_success_as_long_as_lines_of_the_stopped_writer_are_nowhere_else() {
    let sim = Sim::new(2);
    let keeper = sim.spawn_process();
    let options = |env| StoreOptions::new().background(false).env(env);
    let keeper = options(keeper.env()).open("/logs").unwrap();
    let store = options(sim.env()).keeper(false);
    let logger = Logger::builder("/logs").store_options(store).open().unwrap();
    log(&logger, Level::Info, "unsynced").unwrap();
    fail_a_sync(&sim, &logger, "it fails");
    log(&logger, Level::Info, "after").unwrap();
    for _ in 0..2 {
        let error = logger.sync().unwrap_err();
        assert!(matches!(error, Error::NotYetSafe { lines: 2, .. }), "{error}");
    }
    keeper.flush().unwrap();
    logger.sync().unwrap();
    sim.crash_power_keeping(0);
    std::mem::forget((logger, keeper));
    assert!(messages(open(&sim).store().unwrap()).contains(&"unsynced".to_owned()));
}

#[test]
fn while_the_device_fails_it_tries_ever_more_seldom_and_soon_again_once_it_has_worked() {
    let sim = Sim::new(3);
    let logger = open(&sim);
    fail_a_sync(&sim, &logger, "it fails");
    for pause_s in [1, 2, 4, 8, 16, 30, 30] {
        // The next call makes a new writer, which fails at once.
        let reopened = logger.stats().reopened;
        log(&logger, Level::Info, "tried").unwrap();
        fail_a_sync(&sim, &logger, "it fails again");
        assert_eq!(logger.stats().reopened, reopened + 1);
        sim.clock().advance(Duration::from_secs(pause_s) - Duration::from_nanos(1));
        assert!(is_stopped(&log(&logger, Level::Info, "too soon")));
        sim.clock().advance(Duration::from_nanos(1));
    }
    log(&logger, Level::Info, "it works").unwrap();
    sim.clock().advance(Duration::from_secs(60));
    fail_a_sync(&sim, &logger, "it fails");
    log(&logger, Level::Info, "at once").unwrap();
    fail_a_sync(&sim, &logger, "it fails");
    sim.clock().advance(Duration::from_secs(1));
    log(&logger, Level::Info, "a second later").unwrap();
    assert_eq!(logger.stats().errors, 1 + 7 * 2 + 2);
    let found = messages(logger.store().unwrap());
    let tried = found.iter().filter(|message| *message == "tried").count();
    assert_eq!((tried, found.iter().any(|message| message == "too soon")), (7, false));
}

#[test]
fn a_full_disk_that_is_written_to_is_gone_on_with_once_there_is_room() {
    let sim = Sim::new(4);
    sim.refuse_mapping(true);
    let logger = open(&sim);
    let line = |n: usize| format!("{n:04} {}", "x".repeat(500));
    sim.set_capacity_bytes(Some(sim.used_bytes() + (20 << 10)));
    let taken = (0..).find(|&n| log(&logger, Level::Info, &line(n)).is_err()).unwrap();
    for _ in 0..5 {
        assert!(log(&logger, Level::Info, "no room").is_err_and(|e| e.is_full()));
        sim.clock().advance(Duration::from_secs(30));
    }
    let stats = logger.stats();
    assert_eq!((stats.errors, stats.dropped), (1, 5), "the one whose write failed waits for room");

    sim.set_capacity_bytes(None);
    sim.clock().advance(Duration::from_secs(30));
    log(&logger, Level::Info, "it goes on").unwrap();
    logger.flush().unwrap();
    let mut found = messages(logger.store().unwrap());
    found.retain(|message| message.contains("xxx"));
    found.retain(|message| !message.contains("dropped"));
    let appended: Vec<String> = (0..=taken).map(line).collect();
    assert_eq!(found, appended);
    assert!(logger.store().unwrap().verify(&mut |_| {}).unwrap().damage.is_empty());
    assert_eq!(logger.stats().reopened, 0, "the writer has not stopped");
}

#[test]
fn threads_that_wait_for_the_sync_that_fails_are_told_and_no_line_is_doubled() {
    for seed in 0..8 {
        let sim = Sim::new(seed);
        let builder =
            Logger::builder("/logs").env(sim.env()).on_full(OnFull::Block { timeout: Duration::MAX });
        let logger = builder.write_buffer_size(64 << 10).open().unwrap();
        let acknowledged: Vec<BTreeMap<String, bool>> = std::thread::scope(|s| {
            let threads: Vec<_> = (0..4)
                .map(|thread| {
                    let (logger, sim) = (&logger, &sim);
                    s.spawn(move || {
                        let mut outcomes = BTreeMap::new();
                        for n in 0..120 {
                            if n % 40 == 20 && thread == 0 {
                                let now = sim.operations();
                                (now..now + 6).for_each(|index| sim.fail_at(index, Fault::SyncFailed));
                            }
                            let message = format!("{thread} {n}");
                            let level = if n % 3 == 0 { Level::Info } else { Level::Error };
                            let taken = log(logger, level, &message).is_ok();
                            outcomes.insert(message, taken);
                            sim.clock().advance(Duration::from_millis(200));
                        }
                        outcomes
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for message in messages(logger.store().unwrap()) {
            *counts.entry(message).or_default() += 1;
        }
        for (message, taken) in acknowledged.into_iter().flatten() {
            let count = counts.get(&message).copied().unwrap_or(0);
            assert!(
                count == 1 || count == 0 && !taken,
                "{message}, acknowledged: {taken}, is there {count} times"
            );
        }
        assert!(!sim.indices_of(OperationKind::Sync).is_empty());
    }
}

#[test]
fn a_logger_that_was_closed_stays_so() {
    let sim = Sim::new(6);
    let logger = open(&sim);
    fail_a_sync(&sim, &logger, "it fails");
    assert!(logger.close().is_err(), "it says once more that something is in doubt");
    for _ in 0..3 {
        assert!(log(&logger, Level::Info, "after").is_err());
        sim.clock().advance(Duration::from_secs(60));
    }
    assert_eq!(logger.stats().reopened, 0);
    assert_eq!(messages(open(&sim).store().unwrap()), ["it fails"]);
}
