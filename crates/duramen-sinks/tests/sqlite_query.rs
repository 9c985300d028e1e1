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
