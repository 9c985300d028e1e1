//! Logs in SQLite: queried where they are, and imported.

use crate::sandbox::Sandbox;
use duramen::{Level, Record, Sink, Value};
use duramen_sinks::SqliteSink;
use std::path::PathBuf;

const START_NS: i64 = 1_700_000_000_000_000_000;

fn database(sandbox: &Sandbox, lines: std::ops::Range<i64>) -> PathBuf {
    let path = sandbox.path("app.db");
    let sink = SqliteSink::open(&path).unwrap();
    for i in lines {
        let fields = [("n", Value::Int(i)), ("app", Value::Str(if i % 3 == 0 { "web" } else { "job" }))];
        let level = if i % 100 == 0 { Level::Warn } else { Level::Info };
        let message = if i % 2 == 0 { "connection refused" } else { "ready" };
        sink.log(&Record { time_ns: START_NS + i, level, message, fields: &fields }).unwrap();
    }
    sink.close().unwrap();
    path
}

#[test]
fn a_database_answers_as_the_store_that_it_is_imported_into() {
    let sandbox = Sandbox::new();
    let path = database(&sandbox, 0..1_000);
    let db = path.to_str().unwrap();
    let said = sandbox.run(["import", "sqlite", db]).expect(0).stderr;
    assert!(said.contains("app.db?table=duramen_logs: 1,000 rows, 1,000 entries, "), "{said}");
    for query in [
        "*",
        "refused level:warn",
        "app:web n:<10 | sort by (n)",
        "* | stats by (app, level) count() n",
        "nowhere",
    ] {
        for more in [&["--order", "oldest"][..], &["-n", "7"], &["--from", "2023-11-14T22:13:20.000000500Z"]]
        {
            let asked =
                |rest: &[&str]| sandbox.run([&["query", query], more, rest].concat()).expect(0).stdout;
            assert_eq!(asked(&["--sqlite", db]), asked(&[]), "{query} {more:?}");
        }
    }
    let none = sandbox.run(["query", "nowhere", "--sqlite", db, "-e"]).expect(4);
    assert_eq!(none.stdout, "");
    // Again, and only what is new; also into another store.
    let said = sandbox.run(["import", "sqlite", db]).expect(0).stderr;
    assert!(said.ends_with(": already in the store: 1,000 entries, nothing new\n"), "{said}");
    database(&sandbox, 1_000..1_005);
    let said = sandbox.run(["import", "sqlite", db]).expect(0).stderr;
    assert!(said.contains(": 5 rows, 5 entries, ") && said.contains("already in the store: 1,000"), "{said}");
    assert_eq!(sandbox.count(), 1_005);
    let other = sandbox.path("other");
    sandbox.run(["import", "sqlite", db, other.to_str().unwrap(), "--quiet"]).expect(0);
    let ran =
        sandbox.run(["--store", other.to_str().unwrap(), "query", "* | stats count() n", "--output", "raw"]);
    assert_eq!(ran.expect(0).stdout, "1005\n");
    sandbox.run(["import", "sqlite", db, "--again", "--quiet"]).expect(0);
    assert_eq!(sandbox.count(), 2_010);
}

#[test]
fn what_cannot_be_asked_or_imported_is_told() {
    let sandbox = Sandbox::new();
    let missing = sandbox.run(["query", "*", "--sqlite", "no.db"]).expect(1);
    assert!(missing.stderr.contains("cannot read no.db"), "{}", missing.stderr);
    let missing = sandbox.run(["import", "sqlite", "no.db"]).expect(1);
    assert!(missing.stderr.contains("cannot read no.db"), "{}", missing.stderr);
    assert!(!sandbox.store().exists(), "no store is made for nothing");
    sandbox.write("text.db", "this is no database, but a text that is long enough ".repeat(20));
    sandbox.run(["query", "*", "--sqlite", "text.db"]).expect(1);
    sandbox.run(["query", "*", "--sqlite", "text.db", "--postgres", "postgres://x"]).expect(2);
    let away = sandbox.run(["query", "*", "--postgres", "postgres://x:secret@127.0.0.1:1/x"]).expect(1);
    assert!(away.stderr.contains("refused") && !away.stderr.contains("secret"), "{}", away.stderr);
    sandbox.run(["import", "postgres", "postgres://x:secret@127.0.0.1:1/x"]).expect(1);
    let path = database(&sandbox, 0..1);
    let db = path.to_str().unwrap();
    let refused = sandbox.run(["import", "sqlite", db, "--table", "gone"]).expect(1);
    assert!(refused.stderr.contains("has no table gone"), "{}", refused.stderr);
    sandbox.run(["import", "sqlite", db, "--time-column", "at"]).expect(2);
}

/// SQLite's own functions give UTC, whatever the machine's zone is.
#[test]
fn times_that_sqlite_made_are_utc() {
    let sandbox = Sandbox::new();
    let db = rusqlite::Connection::open(sandbox.path("app.db")).unwrap();
    db.execute_batch(
        "CREATE TABLE events (at, text); INSERT INTO events VALUES ('2024-05-01 12:00:00', 'x')",
    )
    .unwrap();
    let args = ["import", "sqlite", "app.db", "--table", "events", "--time-column", "at"];
    assert!(sandbox.command(args).env("TZ", "Europe/Berlin").output().unwrap().status.success());
    assert_eq!(sandbox.find("*")[0]["_time"], "2024-05-01T12:00:00Z");
    let zoned = [&args[..], &["--again", "--timezone", "Europe/Berlin"]].concat();
    sandbox.run(zoned).expect(0);
    assert_eq!(sandbox.find("*")[0]["_time"], "2024-05-01T10:00:00Z");
}

/// A server that takes connections and never answers, as the kernel does for a program that is stopped.
#[test]
fn a_database_that_does_not_answer_keeps_nobody_waiting() {
    let sandbox = Sandbox::new();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://x@127.0.0.1:{}/x", silent.local_addr().unwrap().port());
    let over = sandbox.run(["query", "*", "--postgres", &url, "--timeout", "100ms"]).expect(1);
    assert!(over.stderr.contains("limit of 100ms"), "{}", over.stderr);
    let over = sandbox.run(["query", "*", "--postgres", &format!("{url}?connect_timeout=1")]).expect(1);
    assert!(over.stderr.contains("does not answer"), "{}", over.stderr);
    let child = sandbox.spawn(["query", "*", "--postgres", &url]);
    // It has asked, and waits.
    let _connected = silent.incoming().nth(2).unwrap().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(143));
    // And a lock of SQLite's.
    let path = database(&sandbox, 0..10);
    let db = rusqlite::Connection::open(&path).unwrap();
    db.pragma_update(None, "journal_mode", "delete").unwrap();
    db.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let over =
        sandbox.run(["query", "*", "--sqlite", path.to_str().unwrap(), "--timeout", "100ms"]).expect(1);
    assert!(over.stderr.contains("limit of 100ms"), "{}", over.stderr);
}

#[test]
fn rows_that_make_no_entry_are_named_and_counted() {
    let sandbox = Sandbox::new();
    let path = database(&sandbox, 0..0);
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(
        "CREATE TABLE events (id INTEGER PRIMARY KEY, at, text);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
         INSERT INTO events SELECT i, iif(i % 2, 1700000000 + i, 'never'), 'text ' || i FROM n",
    )
    .unwrap();
    let args = [
        "import",
        "sqlite",
        "app.db",
        "--table",
        "events",
        "--time-column",
        "at",
        "--message-column",
        "text",
    ];
    let said = sandbox.run(args).expect(1).stderr;
    assert!(said.contains("app.db?table=events: row 2: no column of it reads as a time"), "{said}");
    assert!(said.contains("and 10 such rows more: 42, 44, 46, 48, 50, 52, 54, 56, 58, 60\n"), "{said}");
    assert!(said.contains("60 rows, 30 entries, 30 bad"), "{said}");
    assert_eq!(sandbox.messages("\"text 59\""), ["text 59"]);
}
