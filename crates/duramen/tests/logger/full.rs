//! No room: a full disk, full write buffers.

use crate::{messages, rows};
use duramen::{Level, Logger, LoggerBuilder, OnFull, StoreOptions};
use duramen_engine::io::sim::Sim;
use std::time::{Duration, Instant};

/// So long that the smallest write buffer holds some dozens.
fn line(n: u64) -> String {
    format!("{n:04} {}", "x".repeat(2_000))
}

fn builder(sim: &Sim, on_full: OnFull) -> LoggerBuilder {
    let store = StoreOptions::new().write_buffer_size(64 << 10);
    Logger::builder("/logs").store_options(store).env(sim.env()).on_full(on_full)
}

/// Logs until a line is refused, and says how many were not.
fn fill(logger: &Logger, sim: &Sim) -> u64 {
    sim.set_capacity_bytes(Some(sim.used_bytes()));
    (0..).find(|&n| logger.log(Level::Info, &line(n), &[]).is_err()).unwrap()
}

/// Every line that was acknowledged, once; and what the log says of those that were not.
fn check(logger: &Logger, acknowledged: u64) -> Vec<(String, Option<String>)> {
    let found = rows(logger.store().unwrap(), |row| (row.message().to_owned(), row.field("dropped_lines")));
    let (told, lines): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, dropped)| dropped.is_some());
    let mut lines: Vec<String> = lines.into_iter().map(|(message, _)| message).collect();
    lines.sort();
    assert_eq!(lines.len() as u64, acknowledged + 1, "and the one after");
    assert!((0..acknowledged).all(|n| lines[n as usize] == line(n)));
    told
}

#[test]
fn count_refuses_at_once_counts_and_says_so_in_the_log_when_it_goes_on() {
    let sim = Sim::new(1);
    let logger = builder(&sim, OnFull::Count).open().unwrap();
    let acknowledged = fill(&logger, &sim);
    for n in 0..9 {
        assert!(logger.log(Level::Info, &line(n), &[]).is_err());
    }
    let stats = logger.stats();
    assert_eq!((stats.lines, stats.dropped, stats.errors), (acknowledged, 10, 0));
    assert!(stats.last_error.is_some());

    sim.set_capacity_bytes(None);
    let again = (0..1_000).find(|_| {
        std::thread::park_timeout(Duration::from_millis(5));
        logger.log(Level::Info, "it goes on", &[]).is_ok()
    });
    let more = again.unwrap() as u64;
    // The line may have taken the last room of its segment: then what is to be told waits for the next occasion.
    let told = (0..1_000).find_map(|_| {
        logger.sync().unwrap();
        let told = check(&logger, acknowledged);
        std::thread::park_timeout(Duration::from_millis(5));
        (!told.is_empty()).then_some(told)
    });
    let told = told.unwrap();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].1, Some((10 + more).to_string()));
    assert!(told[0].0.starts_with(&format!("{} lines dropped: ", 10 + more)), "{told:?}");
    assert_eq!(logger.stats().lines, acknowledged + 1, "ours do not count");
}

#[test]
fn block_waits_no_longer_than_its_timeout() {
    let sim = Sim::new(2);
    let timeout = Duration::from_millis(60);
    let logger = builder(&sim, OnFull::Block { timeout }).open().unwrap();
    let acknowledged = fill(&logger, &sim);
    #[expect(clippy::disallowed_methods, reason = "it is about real time")]
    let started = Instant::now();
    assert!(logger.log(Level::Info, &line(0), &[]).is_err());
    let waited = started.elapsed();
    // Not much longer: what is waited for besides is this machine's other work.
    assert!(waited >= timeout && waited < Duration::from_secs(5), "{waited:?}");
    assert_eq!(logger.stats().dropped, 2);
    assert_eq!(logger.stats().lines, acknowledged);
}

#[test]
fn block_goes_on_by_itself_once_there_is_room() {
    let sim = Sim::new(3);
    let logger = builder(&sim, OnFull::Block { timeout: Duration::from_millis(1) }).open().unwrap();
    let acknowledged = fill(&logger, &sim);
    drop(logger);
    sim.crash_process();
    sim.set_capacity_bytes(None);
    let logger = builder(&sim, OnFull::Block { timeout: Duration::from_secs(60) }).open().unwrap();
    let store = logger.store().unwrap();
    assert_eq!(messages(store).len() as u64, acknowledged);
    sim.set_capacity_bytes(Some(sim.used_bytes()));
    std::thread::scope(|s| {
        let waiting = s.spawn(|| (0..200).for_each(|n| logger.log(Level::Info, &line(n), &[]).unwrap()));
        while store.wal_metrics().unwrap().stalls == 0 {
            std::thread::park_timeout(Duration::from_millis(1));
        }
        sim.set_capacity_bytes(None);
        waiting.join().unwrap();
    });
    assert_eq!(logger.stats().lines, 200);
}
