//! The sink and queries over a real PostgreSQL server, which the test starts, kills and starts again.

#![cfg(feature = "postgres")]
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are tests, too
#![allow(clippy::disallowed_methods)] // a real server, in real time

mod common;
#[path = "common/rows.rs"]
mod rows;
#[path = "common/server.rs"]
#[allow(dead_code)] // what other tests do with a server
mod server;

use common::{QUERIES, START_NS, answers, ask, log_samples};
use duramen::{Level, Record, Sink, Store, Value};
use duramen_engine::io::{Env, sim::Sim};
use duramen_query::{Order, ParseOptions, Query};
use duramen_sinks::import::{Copied, Copying, SqlTable, TableOptions};
use duramen_sinks::{Error, PostgresSink, PostgresSinkOptions, SinkOptions, SqlLogs, WhenFull};
use rows::rows;
use server::Server;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

fn messages(server: &Server) -> Vec<String> {
    let rows = server.connect().query("SELECT message FROM duramen_logs ORDER BY id", &[]).unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

fn log(sink: &PostgresSink, level: Level, message: &str) -> Result<(), String> {
    let record = Record { time_ns: START_NS, level, message, fields: &[("n", Value::Int(1))] };
    sink.log(&record).map_err(|e| e.to_string())
}

fn reset(server: &Server) {
    let drop = "DROP TABLE IF EXISTS duramen_logs, duramen_meta, duramen_writers";
    server.connect().batch_execute(drop).unwrap();
}

/// One server for all of it: starting one takes longer than a test.
#[test]
fn postgres() {
    let Some(mut server) = Server::start() else { return };
    batches_intervals_and_eager_lines(&server);
    reset(&server);
    what_is_wrong_is_told(&server);
    reset(&server);
    odd_lines(&server);
    reset(&server);
    a_failure_that_stays(&server);
    reset(&server);
    a_line_that_takes_too_long(&server);
    reset(&server);
    a_lock_costs_no_line(&server);
    reset(&server);
    every_query_has_one_answer_and_every_row_is_imported(&server);
    reset(&server);
    blocks_of_a_large_table_have_every_row_once(&server);
    reset(&server);
    another_table(&server);
    none_is_missed_that_others_are_writing(&server);
    reset(&server);
    thrown_out_again_and_again(&server);
    reset(&server);
    a_full_queue_while_the_server_is_away(&mut server);
    reset(&server);
    killed_in_the_middle(&mut server);
}

fn batches_intervals_and_eager_lines(server: &Server) {
    let sim = Sim::new(1);
    let env = Env { clock: sim.env().clock, ..Env::os() };
    let options = SinkOptions::new().env(env).background(false);
    let sink = PostgresSinkOptions::new().sink(options).open(&server.url()).unwrap();
    for i in 0..250 {
        log(&sink, Level::Info, &i.to_string()).unwrap();
    }
    sink.background_step().unwrap();
    assert_eq!((messages(server).len(), sink.stats().batches, sink.stats().queued), (200, 2, 50));
    sim.clock().advance(Duration::from_millis(4_999));
    sink.background_step().unwrap();
    assert_eq!(sink.stats().queued, 50);
    sim.clock().advance(Duration::from_millis(1));
    sink.background_step().unwrap();
    assert_eq!(messages(server), (0..250).map(|i| i.to_string()).collect::<Vec<_>>());
    log(&sink, Level::Info, "before").unwrap();
    log(&sink, Level::Error, "eager").unwrap();
    assert_eq!(messages(server)[250..], ["before", "eager"]);
    sink.close().unwrap();
    let left = server.connect().query_one("SELECT count(*) FROM duramen_writers", &[]).unwrap();
    drop(sink);
    assert_eq!(left.get::<_, i64>(0), 1, "while it is open");
    let left = server.connect().query_one("SELECT count(*) FROM duramen_writers", &[]).unwrap();
    assert_eq!(left.get::<_, i64>(0), 0);
}

fn what_is_wrong_is_told(server: &Server) {
    for url in ["nonsense", "postgres://test@127.0.0.1:1/x?foo=bar"] {
        assert!(matches!(PostgresSink::open(url), Err(Error::Invalid(_))), "{url}");
    }
    for url in [server.url() + "_not", "postgres://test@127.0.0.1:1/x".into()] {
        assert!(matches!(PostgresSink::open(&url), Err(Error::Database(_))), "{url}");
        assert!(matches!(SqlLogs::postgres(&url), Err(Error::Database(_))), "{url}");
    }
    assert!(matches!(SqlLogs::postgres(&server.url()), Err(Error::NoTables(_))));
    PostgresSink::open(&server.url()).unwrap().close().unwrap();
    let newer = "UPDATE duramen_meta SET value = '2' WHERE name = 'schema_version'";
    server.connect().batch_execute(newer).unwrap();
    let refused = Error::NewerSchema { found: 2, known: 1 };
    assert_eq!(PostgresSink::open(&server.url()).unwrap_err(), refused);
    assert_eq!(SqlLogs::postgres(&server.url()).unwrap_err(), refused);
}

fn odd_lines(server: &Server) {
    let sink = PostgresSink::open(&server.url()).unwrap();
    let ten_megabytes = "é".repeat(5_000_000);
    let names: Vec<String> = (0..10_000).map(|i| format!("field {i}")).collect();
    let fields: Vec<(&str, Value<'_>)> = names.iter().map(|name| (&**name, name.as_str().into())).collect();
    let record = Record { time_ns: i64::MIN, level: Level::Info, message: "", fields: &[] };
    let nul = [("z\0", Value::Str("a\0b")), ("lone", Value::Json("\"\\ud800\""))];
    sink.log(&Record { message: &ten_megabytes, ..record }).unwrap();
    sink.log(&Record { message: "many", fields: &fields, ..record }).unwrap();
    sink.log(&Record { message: "nul\0 😀", fields: &nul, time_ns: i64::MAX, ..record }).unwrap();
    sink.close().unwrap();
    assert_eq!(sink.stats().written, 3, "{:?}", sink.stats());
    assert_eq!(messages(server), [&*ten_megabytes, "many", "nul\u{FFFD} 😀"]);
    let query = Query::parse("\"z\0\":* or \"field 9999\":*", &ParseOptions::default()).unwrap();
    let logs = SqlLogs::postgres(&server.url()).unwrap();
    let found = ask(logs.blocks(&query).unwrap(), &query, Order::NewestFirst);
    assert_eq!(found.len(), 2);
    assert!(
        found[0].contains(r#""_msg":"nul\u0000 😀""#) && found[0].contains(r#""a\u0000b""#),
        "{}",
        found[0]
    );
    assert!(found[1].contains(r#""field 9999":"field 9999""#));
}

fn a_failure_that_stays(server: &Server) {
    let sink = PostgresSink::open(&server.url()).unwrap();
    server.connect().batch_execute("DROP TABLE duramen_logs").unwrap();
    assert!(log(&sink, Level::Error, "x").unwrap_err().contains("does not exist"));
    for refused in [log(&sink, Level::Info, "y"), sink.close().map_err(|e| e.to_string())] {
        assert!(refused.unwrap_err().contains("the sink has failed"));
    }
    assert_eq!((sink.stats().failed, sink.stats().dropped), (1, 1));
}

fn a_line_that_takes_too_long(server: &Server) {
    let options = SinkOptions::new().retry_ms(10, 10).timeout_ms(60_000);
    let sink =
        PostgresSinkOptions::new().sink(options).statement_timeout_ms(1_000).open(&server.url()).unwrap();
    let slow = "
        CREATE OR REPLACE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN IF NEW.message = 'slow' THEN PERFORM pg_sleep(60); END IF; RETURN NEW; END $$;
        CREATE TRIGGER slow BEFORE INSERT ON duramen_logs FOR EACH ROW EXECUTE FUNCTION slow()";
    server.connect().batch_execute(slow).unwrap();
    for message in ["a", "slow", "b"] {
        log(&sink, Level::Info, message).unwrap();
    }
    let told = sink.flush().unwrap_err().to_string();
    assert_eq!(told, "1 lines were refused by the database and are lost: it took longer than 1000 ms");
    assert_eq!(messages(server), ["a", "b"], "and no other that only tried");
    let stats = sink.stats();
    assert_eq!((stats.written, stats.failed, stats.queued), (2, 1, 0));
    sink.close().unwrap();
}

/// Whatever it is that somebody locks.
fn a_lock_costs_no_line(server: &Server) {
    let options = SinkOptions::new().flush_interval_ms(10).retry_ms(10, 10).timeout_ms(60_000);
    let sink =
        PostgresSinkOptions::new().sink(options).statement_timeout_ms(200).open(&server.url()).unwrap();
    log(&sink, Level::Info, "0").unwrap();
    sink.flush().unwrap();
    let locks = [
        "SELECT * FROM duramen_writers FOR UPDATE",
        "LOCK TABLE duramen_writers IN EXCLUSIVE MODE",
        "LOCK TABLE duramen_logs IN ACCESS EXCLUSIVE MODE",
    ];
    for (i, lock) in locks.iter().enumerate() {
        let mut other = server.connect();
        other.batch_execute(&format!("BEGIN; {lock}")).unwrap();
        log(&sink, Level::Info, &(i + 1).to_string()).unwrap();
        other.batch_execute("SELECT pg_sleep(4)").unwrap();
        other.batch_execute("ROLLBACK").unwrap();
        sink.flush().unwrap();
    }
    assert_eq!((messages(server).join(" "), sink.stats().failed), ("0 1 2 3".into(), 0));
    sink.close().unwrap();
}

/// Imports what is new, and gives what came of it and what was told of single rows.
fn import(store: &Store, server: &Server, options: &TableOptions) -> Result<(Copied, Vec<String>), Error> {
    let mut table = SqlTable::postgres(&server.url(), options)?;
    assert_eq!(table.warning(), None);
    let mut position = table.start(&store.source_positions().unwrap())?;
    let mut told = Vec::new();
    let copied = table.copy(store, &mut position, &mut |event| {
        if let Copying::Bad { key, why } | Copying::Odd { key, why } = event {
            told.push(format!("{key}: {why}"));
        }
        ControlFlow::Continue(())
    })?;
    assert!(table.rows_after(&position)? <= copied.bad_rows);
    Ok((copied, told))
}

fn every_query_has_one_answer_and_every_row_is_imported(server: &Server) {
    let dir = tempfile::tempdir().unwrap();
    let sink =
        PostgresSinkOptions::new().sink(SinkOptions::new().batch_size(500)).open(&server.url()).unwrap();
    let store = log_samples(&sink, &dir.path().join("store"));
    let logs = SqlLogs::postgres(&server.url()).unwrap();
    for text in QUERIES {
        let query = Query::parse(text, &ParseOptions::default()).unwrap();
        let expected = answers(&store, &query, Order::NewestFirst);
        assert_eq!(ask(logs.blocks(&query).unwrap(), &query, Order::NewestFirst), expected, "{text}");
    }
    let imported = Store::open(dir.path().join("imported")).unwrap();
    let ours = TableOptions::new();
    let whole = Copied { rows: 1_500, entries: 1_500, ..Copied::default() };
    assert_eq!(import(&imported, server, &ours).unwrap(), (whole, vec![]));
    assert!(rows(&imported) == rows(&store), "not every row is as it was logged");
    assert_eq!(import(&imported, server, &ours).unwrap().0, Copied::default());
    common::log_one(&PostgresSink::open(&server.url()).unwrap(), "more");
    assert_eq!(import(&imported, server, &ours).unwrap().0.entries, 1);
}

fn blocks_of_a_large_table_have_every_row_once(server: &Server) {
    PostgresSink::open(&server.url()).unwrap().close().unwrap();
    let insert = "INSERT INTO duramen_logs (time_ns, level, message, fields)
                  SELECT 1700000000000000000 + i / 7, 'info', 'm', '{}' FROM generate_series(0, 39999) AS i";
    server.connect().batch_execute(insert).unwrap();
    let logs = SqlLogs::postgres(&server.url()).unwrap();
    let query = Query::parse("* | stats count() n", &ParseOptions::default()).unwrap();
    let blocks = logs.blocks(&query).unwrap();
    assert_eq!(blocks.iter().map(|block| block.rows()).collect::<Vec<_>>(), [16_384, 16_384, 7_232]);
    assert_eq!(ask(blocks, &query, Order::NewestFirst), [r#"{"n":40000}"#]);
}

fn another_table(server: &Server) {
    let mut client = server.connect();
    client
        .batch_execute(
            "CREATE SCHEMA app;
             CREATE TABLE app.\"my events\" (
               number serial PRIMARY KEY, at timestamptz, text text, severity text, extra jsonb, raw bytea, n numeric);
             INSERT INTO app.\"my events\" (at, text, severity, extra, raw, n) VALUES
               ('2024-05-01 12:00:00.000001+02', 'first', 'warning', '{\"a\": {\"b\": [1]}}', '\\xff', 1.50),
               (NULL, 'no time', 'info', NULL, NULL, NULL);
             CREATE TABLE keyless (time bigint, name text); INSERT INTO keyless VALUES (1700000000, 'x');
             CREATE TABLE places (id int PRIMARY KEY, time bigint, file text, line int);
             INSERT INTO places VALUES (1, 1700000000, 'a.rs', 7);",
        )
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    let other = |name: &str| TableOptions::new().table(Some(name.into()));
    let events = other("app.\"my events\"").time_column(Some("at".into()));
    let (copied, told) = import(&store, server, &events).unwrap();
    assert_eq!((copied.rows, copied.entries, copied.bad_rows), (2, 1, 1));
    assert!(told[0].starts_with("2: no column of it reads as a time"), "{told:?}");
    let found = &rows(&store)[0];
    for part in [
        "1714557600000001000 \"first\"",
        "severity=\"warning\":String",
        "extra.a.b=\"[1]\":Json",
        r#"raw="\\xff":String"#,
        "n=\"1.50\":Number",
    ] {
        assert!(found.contains(part), "{part}: {found}");
    }
    client.batch_execute("INSERT INTO app.\"my events\" (at, text) VALUES (now(), 'new')").unwrap();
    assert_eq!(import(&store, server, &events).unwrap().0.entries, 1);
    // By another of the server's addresses, and with the schema found by its path: the same table.
    let elsewhere = server.url().replace("127.0.0.1", "localhost") + "?options=-csearch_path%3Dapp";
    let mut table = SqlTable::postgres(&elsewhere, &other("\"my events\"")).unwrap();
    let position = table.start(&store.source_positions().unwrap()).unwrap();
    assert_eq!((table.rows_after(&position).unwrap(), position.entries), (0, 2));
    drop(table);
    // A column more, and another zone of the role: the row that was imported last is the same.
    client
        .batch_execute(
            "ALTER TABLE app.\"my events\" ADD COLUMN later text;
             ALTER ROLE test SET timezone = 'Asia/Tokyo'; ALTER ROLE test SET datestyle = 'German';
             INSERT INTO app.\"my events\" (at, text) VALUES (now(), 'newer')",
        )
        .unwrap();
    assert_eq!(import(&store, server, &events).unwrap().0.entries, 1);
    client.batch_execute("ALTER ROLE test RESET ALL").unwrap();
    assert_eq!(import(&store, server, &events).unwrap().0.entries, 0);
    // A column may be called as its row is in the query.
    assert_eq!(import(&store, server, &other("places")).unwrap().0.entries, 1);
    assert!(rows(&store).iter().any(|row| row.contains("line=\"7\":Number")));
    let refused = |options: &TableOptions| import(&store, server, options).unwrap_err().to_string();
    assert!(refused(&other("gone")).contains("no table gone"));
    assert!(refused(&other("keyless")).contains("is not one integer column"));
    assert!(refused(&other("keyless").key_column(Some("m".into()))).contains("has no column m"));
    assert!(refused(&TableOptions::new()).contains("no log tables"));
    let keyed = other("keyless").key_column(Some("time".into()));
    assert_eq!(import(&store, server, &keyed).unwrap().0.entries, 1);
    // An upgraded server has another number: the same rows, most likely.
    let table_now = || SqlTable::postgres(&server.url(), &keyed).unwrap();
    let mut known = store.source_positions().unwrap();
    known.retain(|position| position.name == table_now().name());
    known.iter_mut().for_each(|position| position.head_hash ^= 1);
    let told = table_now().start(&known).unwrap_err().to_string();
    assert!(told.contains("another number"), "{told}");
    let position = table_now().go_on(&known);
    assert_eq!(table_now().rows_after(&position).unwrap(), 0);
    assert_eq!(position.head_hash, table_now().again(&known).head_hash);
    // Somebody who may only read is told what that means.
    client.batch_execute("CREATE ROLE reader LOGIN; GRANT SELECT ON keyless TO reader").unwrap();
    let url = server.url().replace("test@", "reader@");
    let table = SqlTable::postgres(&url, &keyed).unwrap();
    assert!(table.warning().is_some_and(|w| w.contains("permission denied")), "{:?}", table.warning());
    assert!(!table.name().contains("reader"), "{}", table.name());
}

/// A transaction takes a number, and commits after another that took a later one: an import between the two waits.
fn none_is_missed_that_others_are_writing(server: &Server) {
    let mut client = server.connect();
    client
        .batch_execute("CREATE TABLE busy (id bigserial PRIMARY KEY, time bigint DEFAULT 1700000000)")
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    let mut slow = server.connect();
    let mut first = slow.transaction().unwrap();
    first.batch_execute("INSERT INTO busy DEFAULT VALUES").unwrap();
    client.batch_execute("INSERT INTO busy DEFAULT VALUES").unwrap();
    let busy = TableOptions::new().table(Some("busy".into()));
    std::thread::scope(|scope| {
        let imported = scope.spawn(|| import(&store, server, &busy).unwrap().0.entries);
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        while client.query_one(waits, &[]).unwrap().get::<_, i64>(0) == 0 {
            std::thread::yield_now();
        }
        first.commit().unwrap();
        assert_eq!(imported.join().unwrap(), 2);
    });
}

/// Connections break again and again, at whatever they are doing.
fn thrown_out_again_and_again(server: &Server) {
    let options = SinkOptions::new().batch_size(3).retry_ms(1, 5);
    let sink = PostgresSinkOptions::new().sink(options).open(&server.url()).unwrap();
    for i in 0..30 {
        log(&sink, Level::Info, &i.to_string()).unwrap();
        if i % 7 == 3 {
            let all =
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'duramen'";
            server.connect().batch_execute(all).unwrap();
        }
    }
    sink.close().unwrap();
    assert_eq!(messages(server), (0..30).map(|i| i.to_string()).collect::<Vec<_>>());
}

fn a_full_queue_while_the_server_is_away(server: &mut Server) {
    let options =
        SinkOptions::new().batch_size(5).max_queue_lines(20).when_full(WhenFull::Refuse).retry_ms(1, 5);
    let sink = PostgresSinkOptions::new().sink(options.timeout_ms(60_000)).open(&server.url()).unwrap();
    server.kill();
    let mut refused = 0;
    for i in 0..30 {
        refused += u64::from(log(&sink, Level::Info, &i.to_string()).is_err());
    }
    assert_eq!((refused, sink.stats().dropped, sink.stats().queued), (10, 10, 20));
    server.up();
    sink.flush().unwrap();
    assert_eq!(messages(server), (0..20).map(|i| i.to_string()).collect::<Vec<_>>());
    sink.close().unwrap();
}

/// Threads log, some lines eagerly; the server is killed and started while they do. In the end every line is there
/// once, and what was acknowledged as committed was there at once.
fn killed_in_the_middle(server: &mut Server) {
    let options = SinkOptions::new().batch_size(10).retry_ms(1, 20).timeout_ms(60_000);
    let sink = PostgresSinkOptions::new().sink(options).open(&server.url()).unwrap();
    const THREADS: u64 = 3;
    const LINES: u64 = 400;
    let logged = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for t in 0..THREADS {
            let (sink, logged) = (&sink, &logged);
            scope.spawn(move || {
                for i in 0..LINES {
                    let level = if i % 20 == 19 { Level::Error } else { Level::Info };
                    log(sink, level, &format!("{t} {i:04}")).unwrap();
                    logged.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        for part in 1..=3 {
            while logged.load(Ordering::SeqCst) < THREADS * LINES * part / 4 {
                std::thread::yield_now();
            }
            let eager_acknowledged = sink.stats().written;
            server.kill();
            server.up();
            assert!(messages(server).len() as u64 >= eager_acknowledged, "committed, and gone");
        }
    });
    sink.close().unwrap();
    let mut found = messages(server);
    found.sort();
    let expected: Vec<String> =
        (0..THREADS).flat_map(|t| (0..LINES).map(move |i| format!("{t} {i:04}"))).collect();
    assert_eq!(found, expected);
    assert!(sink.stats().retries > 0, "the server was away, and nobody noticed");
}
