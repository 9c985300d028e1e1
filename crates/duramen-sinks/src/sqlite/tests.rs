//! The sink over real SQLite files.

use super::*;
use crate::{SinkOptions, WhenFull};
use duramen::{Level, Value};
use duramen_engine::io::{Env, sim::Sim};
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

struct Database(tempfile::TempDir);

impl Database {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("logs.db")
    }

    fn connect(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    fn messages(&self) -> Vec<String> {
        let db = self.connect();
        let mut query = db.prepare("SELECT message FROM duramen_logs ORDER BY id").unwrap();
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }
}

fn log(
    sink: &SqliteSink,
    level: Level,
    message: &str,
    fields: &[(&str, Value<'_>)],
) -> Result<(), SinkError> {
    sink.log(&Record { time_ns: 1_700_000_000_000_000_001, level, message, fields })
}

#[test]
fn a_line_is_a_row() {
    let db = Database::new();
    let sink = SqliteSink::open(db.path()).unwrap();
    log(&sink, Level::Warn, "disk \"a\" 😀", &[("app", "x".into()), ("n", 7.into()), ("f", 0.5.into())])
        .unwrap();
    log(&sink, Level::Unknown, "", &[]).unwrap();
    sink.close().unwrap();
    let connection = db.connect();
    let rows: Vec<(i64, i64, String, String, String)> = connection
        .prepare("SELECT id, time_ns, level, message, fields FROM duramen_logs ORDER BY id")
        .unwrap()
        .query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let time = 1_700_000_000_000_000_001;
    assert_eq!(
        rows,
        [
            (1, time, "warn".into(), "disk \"a\" 😀".into(), r#"{"app":"x","n":7,"f":0.5}"#.into()),
            (2, time, "".into(), "".into(), "{}".into()),
        ]
    );
    // SQLite itself can look into the fields.
    let n: i64 = connection
        .query_row("SELECT fields ->> '$.n' FROM duramen_logs WHERE level = 'warn'", [], |r| r.get(0))
        .unwrap();
    assert_eq!(n, 7);
    let mode: String = connection.pragma_query_value(None, "journal_mode", |r| r.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn an_eager_line_is_committed_when_the_call_returns_and_others_later() {
    let db = Database::new();
    let sim = Sim::new(1);
    let env = Env { clock: sim.env().clock, ..Env::os() };
    let options = SinkOptions::new().env(env).background(false);
    let sink = SqliteSinkOptions::new().sink(options).open(db.path()).unwrap();
    log(&sink, Level::Info, "one", &[]).unwrap();
    assert!(db.messages().is_empty());
    log(&sink, Level::Error, "two", &[]).unwrap();
    assert_eq!(db.messages(), ["one", "two"]);
    log(&sink, Level::Info, "three", &[]).unwrap();
    sim.clock().advance(Duration::from_millis(5_000));
    sink.background_step().unwrap();
    assert_eq!(db.messages(), ["one", "two", "three"]);
    for i in 0..250 {
        log(&sink, Level::Info, &i.to_string(), &[]).unwrap();
    }
    sink.background_step().unwrap();
    assert_eq!((db.messages().len(), sink.stats().queued, sink.stats().batches), (203, 50, 4));
}

#[test]
fn the_journal_is_what_was_asked_for() {
    let db = Database::new();
    for (mode, name) in
        [(JournalMode::Delete, "delete"), (JournalMode::Wal, "wal"), (JournalMode::Delete, "delete")]
    {
        let sink = SqliteSinkOptions::new()
            .journal_mode(mode)
            .synchronous(Synchronous::Full)
            .open(db.path())
            .unwrap();
        log(&sink, Level::Error, name, &[]).unwrap();
        let now: String = db.connect().pragma_query_value(None, "journal_mode", |r| r.get(0)).unwrap();
        assert_eq!(now, name);
        sink.close().unwrap();
    }
    assert_eq!(db.messages(), ["delete", "wal", "delete"]);
    let refused = SqliteSinkOptions::new().open(":memory:").unwrap_err().to_string();
    assert!(refused.contains("keeps the journal mode memory"), "{refused}");
}

#[test]
fn tables_of_a_newer_version_are_refused_and_those_of_others_left_alone() {
    let db = Database::new();
    db.connect().execute_batch("CREATE TABLE logs (x); INSERT INTO logs VALUES (5)").unwrap();
    SqliteSink::open(db.path()).unwrap().close().unwrap();
    let connection = db.connect();
    assert_eq!(connection.query_row("SELECT x FROM logs", [], |r| r.get::<_, i64>(0)).unwrap(), 5);
    connection.execute("UPDATE duramen_meta SET value = '2' WHERE name = 'schema_version'", []).unwrap();
    assert_eq!(SqliteSink::open(db.path()).unwrap_err(), Error::NewerSchema { found: 2, known: 1 });
    connection.execute("DELETE FROM duramen_meta", []).unwrap();
    assert!(SqliteSink::open(db.path()).unwrap_err().to_string().contains("never was one"));
    let not_a_database = db.0.path().join("text");
    std::fs::write(&not_a_database, "this is a text, and no database ".repeat(100)).unwrap();
    assert!(matches!(SqliteSink::open(&not_a_database), Err(Error::Database(_))));
    assert!(SqliteSink::open(db.0.path().join("no/such/dir.db")).is_err());
}

#[test]
fn a_lock_that_another_holds_is_waited_for_and_nothing_is_doubled() {
    let db = Database::new();
    let options = SinkOptions::new().background(false).retry_ms(1, 1);
    let sink = SqliteSinkOptions::new().sink(options).busy_timeout_ms(1).open(db.path()).unwrap();
    let other = db.connect();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = log(&sink, Level::Error, "one", &[]).unwrap_err().to_string();
    assert!(refused.contains("locked"), "{refused}");
    assert_eq!((sink.stats().queued, sink.stats().written), (1, 0), "taken, and not written yet");
    other.execute_batch("COMMIT").unwrap();
    // Time passes by itself; no more of it than a millisecond or two is needed.
    while sink.flush().is_err() {}
    assert_eq!(db.messages(), ["one"]);
    assert!(sink.stats().retries >= 1);
}

#[test]
fn a_table_that_is_gone_is_a_failure_that_stays() {
    let db = Database::new();
    let sink = SqliteSink::open(db.path()).unwrap();
    log(&sink, Level::Error, "one", &[]).unwrap();
    db.connect().execute_batch("DROP TABLE duramen_logs").unwrap();
    log(&sink, Level::Info, "two", &[]).unwrap();
    assert!(log(&sink, Level::Error, "three", &[]).unwrap_err().to_string().contains("no such table"));
    for call in [log(&sink, Level::Info, "four", &[]), sink.flush(), sink.close()] {
        let error = call.unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(Error::Failed(_))), "{error}");
    }
    let stats = sink.stats();
    assert_eq!((stats.written, stats.failed, stats.dropped, stats.queued), (1, 2, 1, 0));
}

#[test]
fn a_database_that_was_deleted_is_not_written_to() {
    let db = Database::new();
    let sink = SqliteSink::open(db.path()).unwrap();
    log(&sink, Level::Error, "one", &[]).unwrap();
    std::fs::remove_dir_all(db.0.path()).unwrap();
    let error = log(&sink, Level::Error, "two", &[]).unwrap_err().to_string();
    assert!(error.contains("has been deleted"), "{error}");
}

#[test]
fn a_database_that_another_has_replaced_is_not_written_to() {
    let db = Database::new();
    let sink = SqliteSink::open(db.path()).unwrap();
    log(&sink, Level::Error, "one", &[]).unwrap();
    Env::os().fs.rename(&db.path(), &db.0.path().join("old.db")).unwrap();
    let other = SqliteSink::open(db.path()).unwrap();
    let error = log(&sink, Level::Error, "two", &[]).unwrap_err().to_string();
    assert!(error.contains("another in its place"), "{error}");
    log(&other, Level::Error, "three", &[]).unwrap();
    assert_eq!(db.messages(), ["three"]);
}

#[test]
fn a_relative_path_goes_on_to_mean_the_same_when_the_program_goes_elsewhere() {
    let db = Database::new();
    // No other test has a relative path.
    std::env::set_current_dir(db.0.path()).unwrap();
    let sink = SqliteSink::open("relative.db").unwrap();
    std::env::set_current_dir("/").unwrap();
    log(&sink, Level::Error, "one", &[]).unwrap();
    sink.close().unwrap();
}

#[test]
fn a_line_too_big_for_sqlite_costs_only_itself() {
    let db = Database::new();
    let sink = SqliteSink::open(db.path()).unwrap();
    let ten_megabytes = "é".repeat(5_000_000);
    let names: Vec<String> = (0..10_000).map(|i| format!("field {i}")).collect();
    let fields: Vec<(&str, Value<'_>)> = names.iter().map(|name| (&**name, name.as_str().into())).collect();
    log(&sink, Level::Info, &ten_megabytes, &[]).unwrap();
    log(&sink, Level::Info, "many", &fields).unwrap();
    log(&sink, Level::Info, "nul\0nul", &[("z", "a\0b".into())]).unwrap();
    let refused = log(&sink, Level::Info, &"x".repeat(33 << 20), &[]).unwrap_err();
    assert!(refused.to_string().contains("at most"), "{refused}");
    sink.close().unwrap();
    assert_eq!((sink.stats().written, sink.stats().dropped), (3, 1));
    let messages = db.messages();
    assert_eq!(messages[0], ten_megabytes);
    assert_eq!(messages[2], "nul\u{FFFD}nul");
    let fields: String =
        db.connect().query_row("SELECT fields FROM duramen_logs WHERE id = 2", [], |r| r.get(0)).unwrap();
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&fields).unwrap();
    assert_eq!((fields.len(), &fields["field 9999"]), (10_000, &"field 9999".into()));
}

#[test]
fn many_threads_and_many_sinks_lose_and_double_nothing() {
    let db = Database::new();
    let options = || SinkOptions::new().batch_size(20).max_queue_lines(100).when_full(WhenFull::Block);
    let sinks: Vec<Arc<SqliteSink>> =
        (0..2).map(|_| Arc::new(SqliteSinkOptions::new().sink(options()).open(db.path()).unwrap())).collect();
    std::thread::scope(|scope| {
        for t in 0..4 {
            let sink = &sinks[t % 2];
            scope.spawn(move || {
                for i in 0..500 {
                    log(sink, Level::Info, &format!("{t} {i:03}"), &[]).unwrap();
                }
            });
        }
    });
    sinks.iter().for_each(|sink| sink.close().unwrap());
    let mut found = db.messages();
    found.sort();
    let expected: Vec<String> = (0..4).flat_map(|t| (0..500).map(move |i| format!("{t} {i:03}"))).collect();
    assert_eq!(found, expected);
}
