//! Queries over an SQLite database find what the same queries find over a store with the same lines.

#![cfg(feature = "sqlite")]
#![allow(clippy::unwrap_used)] // helpers of tests are tests, too

mod common;

use common::{EMPTY, QUERIES, answers, ask, log_samples};
use duramen_query::{Order, ParseOptions, Query};
use duramen_sinks::{Error, SinkOptions, SqlLogs, SqliteSink, SqliteSinkOptions};

#[test]
fn every_query_has_one_answer() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("logs.db");
    let sink = SqliteSinkOptions::new().sink(SinkOptions::new().batch_size(1_000)).open(&path).unwrap();
    let store = log_samples(&sink, &dir.path().join("store"));
    let logs = SqlLogs::sqlite(&path).unwrap();
    for order in [Order::NewestFirst, Order::OldestFirst] {
        for text in QUERIES {
            let query = Query::parse(text, &ParseOptions::default()).unwrap();
            let expected = answers(&store, &query, order);
            assert_eq!(expected.is_empty(), EMPTY.contains(text), "{text}");
            let found = ask(logs.blocks(&query).unwrap(), &query, order);
            assert_eq!(found, expected, "{text}");
        }
    }
}

/// More than SQLite takes in one condition.
#[test]
fn a_long_list_of_values_has_its_answer_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("logs.db");
    let sink = SqliteSinkOptions::new().sink(SinkOptions::new().batch_size(1_000)).open(&path).unwrap();
    let store = log_samples(&sink, &dir.path().join("store"));
    let logs = SqlLogs::sqlite(&path).unwrap();
    let numbers: Vec<String> = (0..1_200).map(|n| n.to_string()).collect();
    for text in [
        format!("n:in({}) | stats count() n", numbers.join(",")),
        format!("level:error n:in({}) | stats count() n", numbers.join(",")),
        format!("_msg:in(ready, {}) | stats count() n", numbers.join(",")),
        format!("(n:={}) | stats count() n", numbers.join(" or n:=")),
        format!("!(n:={}) | stats count() n", numbers.join(" or n:=")),
    ] {
        let query = Query::parse(&text, &ParseOptions::default()).unwrap();
        let expected = answers(&store, &query, Order::NewestFirst);
        let found = ask(logs.blocks(&query).unwrap(), &query, Order::NewestFirst);
        assert_eq!(found, expected, "{}", &text[..40]);
        assert_ne!(found, [r#"{"n":0}"#], "{}", &text[..40]);
    }
}

#[test]
fn blocks_have_every_row_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("logs.db");
    drop(SqliteSink::open(&path).unwrap());
    let db = rusqlite::Connection::open(&path).unwrap();
    let block = 16_384; // the most that one has, as rows are small
    let mut had = 0;
    for rows in [0, 1, 100, block, block + 1, 2 * block, 2 * block + 1] {
        // Several at one time.
        let insert = "WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
                      INSERT INTO duramen_logs (time_ns, level, message, fields)
                      SELECT 1700000000000000000 + i / 7, 'info', 'm', '{}' FROM n WHERE i < ?2";
        db.execute(insert, [had, rows]).unwrap();
        had = rows;
        let logs = SqlLogs::sqlite(&path).unwrap();
        let query = Query::parse("*", &ParseOptions::default()).unwrap();
        let blocks = logs.blocks(&query).unwrap();
        assert_eq!(blocks.len(), usize::try_from((rows + block - 1) / block).unwrap(), "{rows}");
        let mut times = Vec::new();
        for block in &blocks {
            let opened = block.open().unwrap();
            assert_eq!(opened.rows(), block.rows());
            let of_block = opened.times().unwrap();
            assert_eq!(of_block.iter().min(), Some(&block.min_time()));
            assert_eq!(of_block.iter().max(), Some(&block.max_time()));
            times.extend(of_block.iter().copied());
        }
        times.sort_unstable();
        assert!(times.into_iter().eq((0..rows).map(|i| common::START_NS + i / 7)), "{rows}");
    }
}

#[test]
fn the_answer_is_of_the_moment_of_opening() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("logs.db");
    let sink = SqliteSink::open(&path).unwrap();
    common::log_one(&sink, "one");
    let logs = SqlLogs::sqlite(&path).unwrap();
    common::log_one(&sink, "two");
    let query = Query::parse("* | stats count() n", &ParseOptions::default()).unwrap();
    assert_eq!(ask(logs.blocks(&query).unwrap(), &query, Order::NewestFirst), [r#"{"n":1}"#]);
    let now = SqlLogs::sqlite(&path).unwrap();
    assert_eq!(ask(now.blocks(&query).unwrap(), &query, Order::NewestFirst), [r#"{"n":2}"#]);
}

#[test]
fn a_database_without_log_tables_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("other.db");
    assert!(SqlLogs::sqlite(&path).is_err(), "reading makes no database");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(matches!(SqlLogs::sqlite(&path), Err(Error::NoTables(_))));
}
