//! What is odd: huge lines, places that cannot be written to. Each has the outcome that the guide gives.

use crate::{messages, rows};
use duramen::{Error, Level, Logger, Store, StoreOptions, Value};
use duramen_engine::io::sim::Sim;

#[test]
fn a_message_of_ten_megabytes_is_cut_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let logger = Logger::builder(dir.path()).open().unwrap();
    let message = "ä".repeat(5 << 20);
    logger.log(Level::Info, &message, &[]).unwrap();
    let found = rows(logger.store().unwrap(), |row| (row.message().len(), row.field("truncated_from_bytes")));
    assert_eq!(found, [(1 << 20, Some((10 << 20).to_string()))]);
    assert_eq!(logger.stats().truncated, 1);
}

#[test]
fn a_message_of_ten_megabytes_is_kept_whole_where_that_is_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let logger = Logger::builder(dir.path()).max_message_bytes(10 << 20).open().unwrap();
    let message = "x".repeat(10 << 20);
    logger.log(Level::Info, &message, &[]).unwrap();
    assert!(messages(logger.store().unwrap()) == [message]);
}

#[test]
fn ten_thousand_fields_are_kept_and_more_than_an_entry_may_have_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let logger = Logger::builder(dir.path()).open().unwrap();
    let names: Vec<String> = (0..20_000).map(|n| format!("field_{n}")).collect();
    let fields: Vec<(&str, Value<'_>)> = names.iter().map(|name| (name.as_str(), Value::Int(1))).collect();
    logger.log(Level::Info, "many", &fields[..10_000]).unwrap();
    let error = logger.log(Level::Info, "too many", &fields).unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error}");
    let mut count = 0;
    rows(logger.store().unwrap(), |row| row.for_each_field(&mut |_, _, _| count += 1));
    assert_eq!(count, 10_002, "the level and the stream, too");
    logger.close().unwrap();
    let stats = logger.stats();
    assert_eq!((stats.lines, stats.errors), (1, 1));
    // In tables, too, and with what is said of the refused one.
    let store = duramen::Store::open_read_only(dir.path()).unwrap();
    let found = rows(&store, |row| (row.field("field_9999"), row.message().to_owned()));
    assert_eq!(found[0].0.as_deref(), Some("1"));
    assert!(found[1].1.starts_with("1 lines dropped: 20000 fields"), "{found:?}");
}

#[test]
fn a_directory_that_cannot_be_written_to_is_an_error_of_opening() {
    let sim = Sim::new(1);
    sim.set_read_only(true);
    let refused = Logger::builder("/logs").env(sim.env()).open().unwrap_err().to_string();
    assert!(refused.contains("/logs") && refused.to_lowercase().contains("read-only"), "{refused}");
}

#[test]
fn a_disk_that_turns_read_only_is_an_error_of_each_call_once_a_new_segment_is_needed() {
    let sim = Sim::new(2);
    let logger = Logger::builder("/logs").env(sim.env()).write_buffer_size(64 << 10).open().unwrap();
    sim.set_read_only(true);
    let line = "x".repeat(2_000);
    let kept = (0..1_000).find(|_| logger.log(Level::Info, &line, &[]).is_err()).unwrap();
    assert!(logger.log(Level::Info, &line, &[]).is_err());
    assert_eq!(messages(logger.store().unwrap()).len(), kept);
    assert_eq!(logger.stats().errors, 2);
}

#[test]
fn a_file_system_without_reserving_or_mapping_costs_a_system_call_and_no_promise() {
    for refuse in [Sim::refuse_reserving, Sim::refuse_mapping] {
        let sim = Sim::new(3);
        refuse(&sim, true);
        let open = |env| Logger::builder("/logs").env(env).write_buffer_size(64 << 10).open().unwrap();
        let logger = open(sim.env());
        let line = |n: usize| format!("{n:03} {}", "x".repeat(500));
        // Others see each line at once, whatever segment it is in, and what a flush puts into tables.
        let other = sim.spawn_process();
        let beside = StoreOptions::new().env(other.env()).keeper(false).open("/logs").unwrap();
        for n in 0..300 {
            logger.log(Level::Info, &line(n), &[]).unwrap();
            assert_eq!(messages(&beside).len(), n + 1);
        }
        // Killed: every line is there.
        let expected: Vec<String> = (0..300).map(line).collect();
        sim.crash_process();
        std::mem::forget(logger);
        let logger = open(sim.env());
        assert!(messages(logger.store().unwrap()) == expected);
        // Without power: what is in tables, and lines up to a synced one.
        logger.flush().unwrap();
        logger.log(Level::Info, "it tries", &[]).unwrap();
        logger.log(Level::Error, "it fails", &[]).unwrap();
        sim.crash_power_keeping(0);
        std::mem::forget(logger);
        let logger = open(sim.env());
        assert_eq!(messages(logger.store().unwrap()).len(), 302);
        logger.close().unwrap();
        assert_eq!(
            sim.files().iter().filter(|file| file.ends_with(".wal")).count(),
            0,
            "all of it is in tables"
        );
    }
}

#[test]
fn a_directory_that_is_removed_stops_the_logger_soon() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("logs");
    let logger = Logger::builder(&path).open().unwrap();
    logger.log(Level::Info, "before", &[]).unwrap();
    // Its keeper may be just making a file in it.
    while std::fs::remove_dir_all(&path).is_err() {}
    let refused = (0..10_000).find_map(|_| {
        std::thread::park_timeout(std::time::Duration::from_millis(2));
        logger.log(Level::Info, "after", &[]).err()
    });
    let told = refused.unwrap().to_string();
    assert!(told.contains("was removed while it was written to"), "{told}");
    assert!(logger.close().is_err());
    assert!(!path.exists(), "nothing was made in its place");
}

#[test]
fn a_file_in_place_of_the_directory_is_an_error_of_opening() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("logs");
    std::fs::write(&file, "not a store").unwrap();
    assert!(matches!(Logger::builder(&file).open(), Err(Error::NotAStore { .. })));
}

#[test]
fn somebody_elses_directory_is_an_error_of_opening_and_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("thesis.txt"), "precious").unwrap();
    assert!(matches!(Logger::builder(dir.path()).open(), Err(Error::NotAStore { .. })));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_key_value_store_of_the_engine_is_an_error_of_opening_and_stays_as_it_is() {
    use duramen_engine::kv::{EngineKind, OpenOptions, open};
    for kind in [EngineKind::Lsm, EngineKind::Log] {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("state");
        let store = open(&dir, &OpenOptions { kind: Some(kind), ..OpenOptions::default() }).unwrap();
        store.put(b"key", b"value").unwrap();
        store.close().unwrap();
        let names = || {
            let entries = std::fs::read_dir(&dir).unwrap();
            entries.map(|entry| entry.unwrap().file_name()).collect::<std::collections::BTreeSet<_>>()
        };
        let before = names();
        let refused = Logger::builder(&dir).open().unwrap_err();
        assert!(matches!(refused, Error::NotAStore { .. }), "{refused}");
        let refused = Store::open_read_only(&dir).unwrap_err();
        assert!(matches!(refused, Error::NotAStore { .. }), "{refused}");
        assert_eq!(names(), before);
    }
}

#[test]
fn a_logger_and_its_store_are_shown_in_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let logger = Logger::builder(dir.path()).open().unwrap();
    for shown in [format!("{logger:?}"), format!("{:?}", logger.store().unwrap())] {
        assert!(shown.contains("dir: ") && shown.len() < 1000, "{} bytes", shown.len());
    }
}

#[test]
fn buffers_that_cannot_be_are_refused_before_anything_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("logs");
    for (options, named) in [
        (StoreOptions::new().write_buffer_size(10), "write_buffer_size 10 "),
        (StoreOptions::new().max_write_buffer_number(1), "max_write_buffer_number 1 "),
    ] {
        let refused = options.open(&dir).unwrap_err();
        assert!(refused.to_string().contains(named), "{refused}");
    }
    assert!(Logger::builder(&dir).write_buffer_size(10).open().is_err());
    assert!(!dir.exists());
}
