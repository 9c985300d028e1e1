#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code
//! What a tail begins with keeps nobody from following, nor others from asking.

mod support;

use duramen_engine::io::Env;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use support::Server;

/// Begins to ask; the connection, and the answer's status.
fn begin(server: &Server, path: &str) -> (TcpStream, u16) {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
    let mut status = [0; 12];
    stream.read_exact(&mut status).unwrap();
    (stream, std::str::from_utf8(&status[9..]).unwrap().parse().unwrap())
}

/// The rows of a body, to its end.
fn rows(stream: TcpStream) -> impl Iterator<Item = Value> {
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.filter_map(|line| serde_json::from_str(&line).ok())
}

fn ingest(server: &Server, lines: u64, bytes: usize) {
    let now_ns = Env::os().clock.now_unix_ns();
    let text = "x".repeat(bytes);
    // No two alike: what is in all of them would be looked at once.
    let line = |n| json!({ "_msg": format!("{text}{n}"), "_time": now_ns });
    server.ingest(&(0..lines).map(line).collect::<Vec<_>>());
}

fn rest(ms: u64) {
    std::thread::park_timeout(Duration::from_millis(ms));
}

#[test]
fn who_looks_away_from_the_first_lines_keeps_no_place_and_is_told_what_was_skipped() {
    const LINES: u64 = 1_600;
    let server = Server::start_with(|settings| {
        settings.max_queries = Some(1);
        settings.query_timeout_ms = Some(2_000);
    });
    // More than sockets hold.
    (0..4).for_each(|_| ingest(&server, LINES / 4, 10_000));
    let (tail, status) = begin(&server, "/select/logsql/tail?query=*");
    assert_eq!(status, 200);
    let sorted = [("query", "* | sort by (_msg) | limit 1"), ("timeout", "1s")];
    assert_eq!(server.get("/select/logsql/query", &sorted).status, 200, "its place is free");
    rest(3_000);
    server.ingest(&[json!({ "_msg": "last" })]);
    let (mut seen, mut skipped) = (0, 0);
    let is_last = rows(tail).any(|row| {
        match row["skipped_lines"].as_str() {
            Some(lines) => skipped += lines.parse::<u64>().unwrap(),
            None => seen += 1,
        }
        row["_msg"] == "last"
    });
    assert!(is_last, "it was ended behind {seen} rows");
    assert_eq!(seen + skipped, LINES + 1);
    assert!(seen > 300 && skipped > 300, "{seen} {skipped}");
}

#[test]
fn only_a_past_that_was_asked_for_needs_a_place() {
    let server = Server::start_with(|settings| {
        settings.max_queries = Some(1);
        settings.query_timeout_ms = Some(600_000);
    });
    (0..4).for_each(|_| ingest(&server, 500, 10_000));
    let (_unread, status) = begin(&server, "/select/logsql/query?query=*");
    assert_eq!(status, 200);
    assert_eq!(begin(&server, "/select/logsql/tail?query=*&start_offset=5s&timeout=500ms").1, 429);
    let (tail, status) = {
        let server = &server;
        std::thread::scope(|scope| {
            let tail = scope.spawn(move || begin(server, "/select/logsql/tail?query=n:*"));
            while !tail.is_finished() {
                rest(50);
                server.ingest(&[json!({ "_msg": "m", "n": "1" })]);
            }
            tail.join().unwrap()
        })
    };
    assert_eq!(status, 200);
    assert_eq!(rows(tail).next().unwrap()["n"], "1");
}

#[test]
fn a_past_that_fails_was_not_asked_for() {
    let server = Server::start();
    ingest(&server, 1_000, 10_000);
    // ~"(x+x+)+[yw]": each text has to be read to its end, some milliseconds for all.
    let query = "~%22(x%2Bx%2B)%2B%5Byw%5D%22";
    let path = |more: &str| format!("/select/logsql/tail?query={query}&timeout=1ms{more}");
    assert_eq!(begin(&server, &path("&start_offset=5s")).1, 503);
    let server = &server;
    let (tail, status) = std::thread::scope(|scope| {
        let tail = scope.spawn(move || begin(server, &path("")));
        while !tail.is_finished() {
            rest(50);
            server.ingest(&[json!({ "_msg": "xxy" })]);
        }
        tail.join().unwrap()
    });
    assert_eq!(status, 200);
    assert_eq!(rows(tail).next().unwrap()["_msg"], "xxy");
}
