//! Answers as Parquet, from the command and over HTTP: with the feature `parquet`.

#![cfg(all(feature = "parquet", feature = "server"))]
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are tests, too
#![allow(clippy::disallowed_methods)] // what is tested runs in other processes, with real files and time

#[path = "cli/sandbox.rs"]
#[allow(dead_code)]
mod sandbox;
#[path = "serve/server.rs"]
#[allow(dead_code)]
mod server;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::process::Stdio;

const LINES: &str = "{\"_time\":\"2026-11-22T10:00:00Z\",\"_msg\":\"one\",\"app\":\"a\",\"n\":1}\n\
                     {\"_time\":\"2026-11-22T10:00:01Z\",\"_msg\":\"two\",\"took\":1.5,\"ok\":true}\n\
                     {\"_time\":\"2026-11-22T10:00:02Z\",\"_msg\":\"three\",\"n\":3}\n";

/// The rows, each with the values of its columns that are there.
fn rows(file: Vec<u8>) -> Vec<Vec<(String, Field)>> {
    let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        let there = row.get_column_iter().filter(|(_, field)| **field != Field::Null);
        there.map(|(name, field)| (name.clone(), field.clone())).collect()
    });
    rows.collect()
}

#[test]
fn the_command_writes_it_to_stdout() {
    let sandbox = sandbox::Sandbox::new();
    sandbox.run_with_input(["ingest", "-"], LINES.as_bytes()).expect(0);
    let ask = |query: &str| {
        let mut command = sandbox.command(["query", query, "--parquet"]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        rows(output.stdout)
    };
    let found = ask("n:* | fields n, _msg");
    let long = |n| ("n".to_owned(), Field::Long(n));
    let text = |text: &str| ("_msg".to_owned(), Field::Str(text.into()));
    assert_eq!(found, [vec![long(3), text("three")], vec![long(1), text("one")]]);
    let whole = ask("two");
    assert!(whole[0].contains(&("took".into(), Field::Double(1.5))), "{whole:?}");
    assert!(whole[0].contains(&("_time".into(), Field::Long(1_795_341_601_000_000_000))), "{whole:?}");
    assert!(ask("nothing").is_empty());
}

#[test]
fn who_reads_no_further_and_who_asks_what_it_cost() {
    let sandbox = sandbox::Sandbox::new();
    sandbox.run_with_input(["ingest", "-"], LINES.as_bytes()).expect(0);
    let (gone, closed) = std::io::pipe().unwrap();
    drop(gone);
    let unread = sandbox.command(["query", "*", "--parquet"]).stdout(closed).output().unwrap();
    assert_eq!((unread.status.code(), unread.stderr), (Some(0), Vec::new()));
    let asked = sandbox.command(["query", "*", "--parquet", "--stats"]).output().unwrap();
    let told = String::from_utf8_lossy(&asked.stderr);
    assert!(told.starts_with("3 rows shown; 3 matched of 3 rows scanned"), "{told}");
}

#[test]
fn the_server_answers_with_it() {
    let (_dir, store) = server::store();
    let server = server::Server::start(&store);
    assert_eq!(server.post("/insert/jsonline", LINES).status, 200);
    let ask = |query: &str| {
        let mut response = server::Server::agent().get(server.url(query)).call().unwrap();
        let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
        (response.status().as_u16(), kind, response.body_mut().read_to_vec().unwrap())
    };
    let (status, kind, file) = ask("/select/logsql/query?query=*&format=parquet");
    assert_eq!((status, &*kind), (200, "application/vnd.apache.parquet"));
    let found = rows(file);
    assert_eq!(found.len(), 3);
    assert!(found[1].contains(&("ok".into(), Field::Bool(true))), "{found:?}");
    let (_, _, file) = ask("/select/logsql/query?query=*&format=parquet&limit=1&offset=1");
    assert_eq!(rows(file)[0][1], ("_msg".into(), Field::Str("two".into())));
    let (_, _, file) = ask("/select/logsql/query?query=*%20%7C%20stats%20count()%20n&format=parquet");
    assert_eq!(rows(file).len(), 1);
    assert!(rows(ask("/select/logsql/query?query=nothing&format=parquet").2).is_empty());
    assert_eq!(ask("/select/logsql/query?query=(&format=parquet").0, 400);
}
