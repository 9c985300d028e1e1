//! One process.

use crate::{messages, rows};
use duramen::{Level, Logger, Record, Sink, Value};
use duramen_engine::io::sim::Sim;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_line_has_its_own_fields_and_those_of_every_line() {
    let sim = Sim::new(1);
    let logger = Logger::builder("/logs").env(sim.env()).field("app", "shop").field("n", 1).pid(true).open();
    let logger = logger.unwrap();
    sim.clock().set(1_000);
    logger
        .log(Level::Warn, "slow", &[("ms", Value::Int(12)), ("host", Value::Str("a")), ("n", 2.into())])
        .unwrap();
    let found = rows(logger.store().unwrap(), |row| {
        let mut fields = Vec::new();
        row.for_each_field(&mut |name, text, _| fields.push(format!("{name}={text}")));
        (row.time(), row.message().to_owned(), fields.join(" "))
    });
    let fields = format!(
        r#"_stream={{app="shop",host="a"}} app=shop host=a level=warn ms=12 n=2 pid={}"#,
        std::process::id()
    );
    assert_eq!(found, [(1_000, "slow".to_owned(), fields)]);
}

#[test]
fn a_sink_is_logged_to_through_its_trait_and_closed_once() {
    let dir = tempfile::tempdir().unwrap();
    let sink: Arc<dyn Sink> = Arc::new(Logger::builder(dir.path()).open().unwrap());
    let record = Record { time_ns: 5, level: Level::Info, message: "m", fields: &[] };
    sink.log(&record).unwrap();
    sink.flush().unwrap();
    sink.close().unwrap();
    sink.close().unwrap();
    assert!(sink.log(&record).unwrap_err().to_string().contains("closed"));
    assert_eq!(messages(&duramen::Store::open_read_only(dir.path()).unwrap()), ["m"]);
}

#[test]
fn threads_share_a_logger_and_every_line_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let logger = Logger::builder(dir.path()).open().unwrap();
    std::thread::scope(|s| {
        for thread in 0..4 {
            let logger = logger.clone();
            s.spawn(move || {
                for n in 0..500 {
                    logger.log(Level::Info, &format!("{thread} {n}"), &[("n", Value::Int(n))]).unwrap();
                }
            });
        }
    });
    let stats = logger.stats();
    assert_eq!((stats.lines, stats.dropped, stats.errors, stats.truncated), (2000, 0, 0, 0));
    assert!(stats.bytes > 2000 * 20);
    let mut found = messages(logger.store().unwrap());
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 2000);
}

#[test]
fn a_dropped_logger_leaves_everything_sealed_and_a_closed_one_in_tables() {
    let sim = Sim::new(2);
    let open = || Logger::builder("/logs").env(sim.env()).open().unwrap();
    let files = |end: &str| sim.files().iter().filter(|file| file.ends_with(end)).count();
    let logger = open();
    logger.log(Level::Info, "one", &[]).unwrap();
    drop(logger.clone());
    logger.log(Level::Info, "two", &[]).unwrap();
    drop(logger);
    assert_eq!((files(".wal"), files(".sst")), (1, 0));
    sim.crash_power_keeping(0);
    let logger = open();
    assert_eq!(messages(logger.store().unwrap()), ["one", "two"]);
    logger.close().unwrap();
    assert_eq!((files(".wal"), files(".sst")), (0, 1));
}

#[test]
fn a_clock_that_is_set_back_costs_no_line() {
    let sim = Sim::new(3);
    let logger = Logger::builder("/logs").env(sim.env()).open().unwrap();
    let start = sim.env().clock.now_unix_ns();
    logger.log(Level::Info, "before", &[]).unwrap();
    sim.clock().step_back(Duration::from_secs(3600));
    logger.log(Level::Info, "after", &[]).unwrap();
    // In order of time, each with the time that the clock showed.
    let found = rows(logger.store().unwrap(), |row| (row.time() - start, row.message().to_owned()));
    assert_eq!(found, [(-3_600_000_000_000, "after".to_owned()), (0, "before".to_owned())]);
}
