//! Tables of an SQLite database into a store: every row, once, and only what is new.

#![cfg(feature = "sqlite")]
#![allow(clippy::unwrap_used)] // helpers of tests are tests, too
#![allow(clippy::disallowed_methods)] // real files

mod common;
#[path = "common/rows.rs"]
mod rows;

use common::{START_NS, log_one, log_samples};
use duramen::{Level, Record, Sink, SourcePosition, Store, Value};
use duramen_sinks::import::{Copied, Copying, SqlTable, TableOptions};
use duramen_sinks::{Error, SqliteSink};
use rows::rows;
use rusqlite::Connection;
use std::ops::ControlFlow;
use std::path::Path;

/// Imports what is new, and gives what came of it and what was told of single rows.
fn import(store: &Store, path: &Path, options: &TableOptions) -> Result<(Copied, Vec<String>), Error> {
    let mut table = SqlTable::sqlite(path, options)?;
    let mut position = table.start(&store.source_positions().unwrap())?;
    let mut told = Vec::new();
    let copied = table.copy(store, &mut position, &mut |event| {
        if let Copying::Bad { key, why } | Copying::Odd { key, why } = event {
            told.push(format!("{key}: {why}"));
        }
        ControlFlow::Continue(())
    })?;
    Ok((copied, told))
}

fn other(table: &str) -> TableOptions {
    TableOptions::new().table(Some(table.into()))
}

#[test]
fn every_row_is_as_if_it_had_been_logged_into_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("logs.db");
    let sink = SqliteSink::open(&path).unwrap();
    let direct = log_samples(&sink, &dir.path().join("direct"));
    // And what is large.
    let sink = SqliteSink::open(&path).unwrap();
    let ten_megabytes = "é😀\0".repeat(1_500_000);
    let names: Vec<String> = (0..10_000).map(|i| format!("field {i}")).collect();
    let many: Vec<(&str, Value<'_>)> = names.iter().map(|name| (&**name, name.as_str().into())).collect();
    let mut entry = duramen::EntryBuf::default();
    for (message, fields) in [(&*ten_megabytes, &[][..]), ("many", &many), (&*ten_megabytes, &many)] {
        sink.log(&Record { time_ns: START_NS, level: Level::Info, message, fields }).unwrap();
        entry.start(START_NS).level(Level::Info).message(message);
        fields.iter().for_each(|(name, value)| _ = entry.field(name, *value));
        direct.append(entry.finish().unwrap()).unwrap();
    }
    sink.close().unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    let (copied, told) = import(&store, &path, &TableOptions::new()).unwrap();
    assert_eq!(copied, Copied { rows: 1_503, entries: 1_503, ..Copied::default() });
    assert!(told.is_empty());
    let (found, expected) = (rows(&store), rows(&direct));
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert!(found == expected, "{:.300}\n{:.300}", found, expected);
    }
    let again = import(&store, &path, &TableOptions::new()).unwrap().0;
    assert_eq!(again, Copied::default());
}

#[test]
fn only_what_is_new_is_taken_also_after_the_file_has_moved() {
    let dir = tempfile::tempdir().unwrap();
    let (path, moved) = (dir.path().join("logs.db"), dir.path().join("moved.db"));
    let store = Store::open(dir.path().join("store")).unwrap();
    let sink = SqliteSink::open(&path).unwrap();
    let taken = |path: &Path| import(&store, path, &TableOptions::new()).unwrap().0.entries;
    assert_eq!(taken(&path), 0);
    log_one(&sink, "one");
    log_one(&sink, "two");
    assert_eq!((taken(&path), taken(&path)), (2, 0));
    log_one(&sink, "three");
    sink.close().unwrap();
    std::fs::rename(&path, &moved).unwrap();
    assert_eq!(taken(&moved), 1);
    // Old rows may be deleted, even all of them: numbers are not used again.
    let db = Connection::open(&moved).unwrap();
    db.execute("DELETE FROM duramen_logs", []).unwrap();
    log_one(&SqliteSink::open(&moved).unwrap(), "four");
    assert_eq!((taken(&moved), taken(&moved)), (1, 0));
    // Another database under the same name is another.
    log_one(&SqliteSink::open(&path).unwrap(), "five");
    assert_eq!(taken(&path), 1);
    assert_eq!(rows(&store).len(), 5);
    // What was imported last is another now.
    db.execute("UPDATE duramen_logs SET message = 'changed'", []).unwrap();
    let refused = import(&store, &moved, &TableOptions::new()).unwrap_err().to_string();
    assert!(refused.contains("is another now"), "{refused}");
    // From the beginning, and behind that again.
    let mut table = SqlTable::sqlite(&moved, &TableOptions::new()).unwrap();
    let mut position = table.again(&store.source_positions().unwrap());
    let copied = table.copy(&store, &mut position, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((copied.entries, table.rows_after(&position).unwrap()), (1, 0));
    assert_eq!(taken(&moved), 0);
}

#[test]
fn another_table_is_read_as_json_lines_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("app.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "CREATE TABLE \"my events\" (at TEXT, msg TEXT, severity TEXT, code INTEGER, ratio REAL, \"nothing\", raw BLOB);
         INSERT INTO \"my events\" VALUES
           ('2024-05-01T10:00:00Z', 'first \"x\"', 'WARN', 7, 0.5, NULL, x'ff00'),
           ('never', 'no time', 'info', 1, 1.0, NULL, 'text'),
           ('2024-05-01 10:00:01.5', '', NULL, -1, 1e300, '', x'6869'),
           ('2024-05-01 10:00:02', CAST(x'636166e92021' AS TEXT), NULL, 0, 1e-300, NULL, NULL);",
    )
    .unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    let options = other("my events").time_column(Some("at".into()));
    let (copied, told) = import(&store, &path, &options).unwrap();
    assert_eq!((copied.rows, copied.entries, copied.bad_rows), (4, 3, 1));
    assert_eq!(told, ["2: no column of it reads as a time; --time-column names one"]);
    let found = rows(&store);
    assert_eq!(found.len(), 3);
    assert!(found[1].contains("ratio=\"1e300\":Number"), "{}", found[1]);
    assert!(found[2].contains("caf\\\\xE9 !") && found[2].contains("ratio=\"1e-300\""), "{}", found[2]);
    let second = 1_000_000_000i64;
    assert!(found[0].starts_with(&format!("{} \"first \\\"x\\\"\"", 1_714_557_600 * second)), "{}", found[0]);
    for field in [
        "severity=\"WARN\":String",
        "code=\"7\":Number",
        "ratio=\"0.5\":Number",
        "nothing=\"\":Null",
        r#"raw="\\xff00":String"#,
    ] {
        assert!(found[0].contains(field), "{field}: {}", found[0]);
    }
    assert!(found[1].contains("raw=\"hi\":String"), "{}", found[1]);
    // Another column, and its default: the first changes nothing, of the second one has to say that it is no other row.
    db.execute("ALTER TABLE \"my events\" ADD COLUMN later", []).unwrap();
    assert_eq!(import(&store, &path, &options).unwrap().0.rows, 0);
    db.execute("ALTER TABLE \"my events\" ADD COLUMN kind DEFAULT 'x'", []).unwrap();
    assert!(import(&store, &path, &options).unwrap_err().to_string().contains("is another now"));
    let mut table = SqlTable::sqlite(&path, &options).unwrap();
    let position = table.go_on(&store.source_positions().unwrap());
    assert_eq!(table.rows_after(&position).unwrap(), 0);
    drop(table);
    db.execute("ALTER TABLE \"my events\" DROP COLUMN kind", []).unwrap();
    // One more, and the bad row is behind us.
    db.execute("INSERT INTO \"my events\" (at, msg) VALUES ('2024-05-01T10:00:02Z', 'more')", []).unwrap();
    assert_eq!(
        import(&store, &path, &options).unwrap(),
        (Copied { rows: 1, entries: 1, ..Copied::default() }, vec![])
    );
    // Emptied and filled again, its numbers begin anew: that cannot be the table it was.
    db.execute_batch(
        "DELETE FROM \"my events\"; INSERT INTO \"my events\" (at) VALUES ('2024-05-01T10:00:02Z')",
    )
    .unwrap();
    let refused = import(&store, &path, &options).unwrap_err().to_string();
    assert!(refused.contains("is gone now"), "{refused}");
}

#[test]
fn a_table_is_the_same_by_whichever_path_it_is_reached() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("app.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch("CREATE TABLE events (time INTEGER); INSERT INTO events VALUES (1700000000)").unwrap();
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    let link = dir.path().join("sub/link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    let taken = |path: &Path| import(&store, path, &other("events")).unwrap().0.entries;
    assert_eq!((taken(&path), taken(&dir.path().join("sub/../app.db")), taken(&link)), (1, 0, 0));
    // What an earlier version knew by another path is known, and goes on under the file's own.
    let now = store.source_positions().unwrap().remove(0);
    let former = format!("sqlite:{}?table=events 0", link.display());
    let known = SourcePosition { head_hash: xxhash_rust::xxh3::xxh3_64(former.as_bytes()), ..now.clone() };
    let mut table = SqlTable::sqlite(&link, &other("events")).unwrap();
    assert_eq!(table.start(&[known]).unwrap(), now);
}

/// Without a WAL a transaction that reads keeps all others from writing.
#[test]
fn others_write_while_a_table_is_imported() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("app.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "CREATE TABLE events (time INTEGER); INSERT INTO events VALUES (1700000000), (1700000001)",
    )
    .unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    let mut table = SqlTable::sqlite(&path, &other("events")).unwrap();
    assert!(!table.is_of_one_moment());
    let mut position = table.start(&[]).unwrap();
    db.busy_timeout(std::time::Duration::ZERO).unwrap();
    db.execute_batch("INSERT INTO events VALUES (1700000002)").unwrap();
    // What came since is for the next time.
    assert_eq!(table.rows_after(&position).unwrap(), 2);
    let copied = table.copy(&store, &mut position, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((copied.entries, table.rows_after(&position).unwrap()), (2, 0));
    assert_eq!(import(&store, &path, &other("events")).unwrap().0.entries, 1);
    db.pragma_update(None, "journal_mode", "wal").unwrap();
    assert!(SqlTable::sqlite(&path, &other("events")).unwrap().is_of_one_moment());
}

#[test]
fn what_has_no_key_or_is_not_there_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("app.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "CREATE TABLE keyed (name TEXT PRIMARY KEY, n INTEGER, time INTEGER) WITHOUT ROWID;
         INSERT INTO keyed VALUES ('a', 5, 1700000000), ('b', 3, 1700000001), ('c', NULL, 1700000002),
           ('d', -9223372036854775808, 1700000003);
         CREATE VIEW seen AS SELECT * FROM keyed;
         CREATE TABLE rowids (RowId TEXT, time INTEGER); INSERT INTO rowids VALUES ('x', 1700000000);
         CREATE TABLE least (id INTEGER PRIMARY KEY, time INTEGER);
         INSERT INTO least VALUES (-9223372036854775808, 1700000000);
         CREATE TABLE made (time INTEGER, a TEXT, b TEXT AS ('b' || a), c TEXT AS ('c' || a) STORED);
         INSERT INTO made VALUES (1700000000, 'x');",
    )
    .unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    let refused = |options: &TableOptions| import(&store, &path, options).unwrap_err().to_string();
    assert!(refused(&TableOptions::new()).contains("no log tables"));
    assert!(refused(&other("gone")).contains("has no table gone"));
    assert!(refused(&other("keyed")).contains("has no rowid"));
    assert!(refused(&other("seen")).contains("has no rowid"));
    assert!(refused(&other("keyed").key_column(Some("m".into()))).contains("has no column m"));
    assert!(refused(&other("rowids").level_column(Some("x".into()))).contains("has no column x"));
    assert!(refused(&other("keyed").key_column(Some("name".into()))).contains("no integer"));
    assert_eq!(import(&store, &path, &other("rowids")).unwrap().0.entries, 1);
    let made = other("made").message_column(Some("b".into())).level_column(Some("c".into()));
    assert_eq!(import(&store, &path, &made).unwrap().0.entries, 1);
    assert!(rows(&store)[1].contains("\"bx\""), "{:?}", rows(&store));
    // It ends.
    let mut least = SqlTable::sqlite(&path, &other("least")).unwrap();
    let mut position = least.start(&[]).unwrap();
    let mut appended = 0;
    let copied = least.copy(&store, &mut position, &mut |_| {
        appended += 1;
        if appended < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert_eq!(copied.unwrap(), Copied { rows: 1, entries: 1, ..Copied::default() });
    let mut table = SqlTable::sqlite(&path, &other("keyed").key_column(Some("n".into()))).unwrap();
    let mut position = table.start(&[]).unwrap();
    assert_eq!(table.rows_after(&position).unwrap(), 4);
    let copied = table.copy(&store, &mut position, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((copied.rows, table.rows_after(&position).unwrap()), (3, 1), "one has no key");
}

#[test]
fn a_copy_that_is_broken_off_goes_on_where_it_stood() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("logs.db");
    let sink = SqliteSink::open(&path).unwrap();
    let fields = [("text", Value::Str(&"x".repeat(1_000)))];
    for i in 0..10_000i64 {
        sink.log(&Record { time_ns: START_NS + i, level: Level::Info, message: "m", fields: &fields })
            .unwrap();
    }
    sink.close().unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    let mut runs = 0;
    loop {
        let mut table = SqlTable::sqlite(&path, &TableOptions::new()).unwrap();
        let mut position = table.start(&store.source_positions().unwrap()).unwrap();
        let copied = table.copy(&store, &mut position, &mut |_| ControlFlow::Break(())).unwrap();
        assert_eq!(rows(&store).len() as u64, position.entries);
        if copied.rows == 0 {
            break;
        }
        assert!(copied.interrupted && copied.rows == copied.entries);
        runs += 1;
    }
    assert!(runs > 3, "{runs}");
    let times: Vec<i64> = {
        let mut times = Vec::new();
        store
            .scan(i64::MIN, i64::MAX, &mut |row| {
                times.push(row.time());
                ControlFlow::Continue(())
            })
            .unwrap();
        times
    };
    assert!(times.into_iter().eq(START_NS..START_NS + 10_000));
}

#[test]
fn fields_that_are_no_json_are_kept_and_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("logs.db");
    SqliteSink::open(&path).unwrap().close().unwrap();
    let insert = "INSERT INTO duramen_logs (time_ns, level, message, fields) VALUES (1, 'info', 'm', ?1)";
    Connection::open(&path).unwrap().execute(insert, ["{oops"]).unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    let (copied, told) = import(&store, &path, &TableOptions::new()).unwrap();
    assert_eq!((copied.entries, copied.odd_rows), (1, 1));
    assert!(told[0].starts_with("1: its fields are kept as a text"), "{told:?}");
    assert!(rows(&store)[0].contains("fields=\"{oops\":String"), "{:?}", rows(&store));
}

#[test]
fn a_text_that_is_not_utf8_keeps_no_other_row_from_being_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("logs.db");
    let sink = SqliteSink::open(&path).unwrap();
    log_one(&sink, "before");
    let insert = "INSERT INTO duramen_logs (time_ns, level, message, fields)
                  VALUES (1, 'info', CAST(x'61ff62' AS TEXT), '{}')";
    Connection::open(&path).unwrap().execute(insert, []).unwrap();
    log_one(&sink, "after");
    let store = Store::open(dir.path().join("store")).unwrap();
    assert_eq!(import(&store, &path, &TableOptions::new()).unwrap().0.entries, 3);
    assert!(rows(&store)[0].contains("a\u{FFFD}b"), "{:?}", rows(&store));
    for text in ["=\"a\u{FFFD}b\"", "\"a\u{FFFD}b\"", "!=before !=after", "!before !after"] {
        let query = duramen_query::Query::parse(text, &duramen_query::ParseOptions::default()).unwrap();
        let blocks = duramen_sinks::SqlLogs::sqlite(&path).unwrap().blocks(&query).unwrap();
        let found = common::ask(blocks, &query, duramen_query::Order::NewestFirst);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
    }
}
