//! Bodies of JSON lines that are longer than one that is stored whole: files, mostly, as they are.

use crate::server::{Server, eventually, store, token};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

const LIMIT_BYTES: usize = 1_000_000;
const LINES: usize = 30_000;

/// Three times what a body may have; every 10,000th line is none.
fn lines() -> String {
    let line = |i: usize| match i % 10_000 {
        9_999 => "no line\n".to_owned(),
        _ => format!("{{\"_msg\":\"it was the {i}th that went there\",\"n\":{i},\"app\":\"import\"}}\n"),
    };
    let lines: String = (0..LINES).map(line).collect();
    assert!(lines.len() > 2 * LIMIT_BYTES);
    lines
}

fn start(store: &std::path::Path) -> Server {
    Server::start_with(store, &["--max-body-bytes", &LIMIT_BYTES.to_string()])
}

/// Sends a body without its length.
fn chunked(server: &Server, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(server.address).unwrap();
    write!(
        stream,
        "POST /insert/jsonline HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}transfer-encoding: chunked\r\n\r\n"
    )
    .unwrap();
    for chunk in body.as_bytes().chunks(77_777) {
        write!(stream, "{:x}\r\n", chunk.len()).unwrap();
        stream.write_all(chunk).unwrap();
        stream.write_all(b"\r\n").unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_file_is_taken_in_pieces() {
    let (_dir, store) = store();
    let server = start(&store);
    let answer = server.post("/insert/jsonline?_stream_fields=app", lines());
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body.starts_with("3 of 30000 lines rejected: row 9999: "), "{answer:?}");
    assert!(answer.body.contains("; row 19999: ") && answer.body.contains("; row 29999: "), "{answer:?}");
    assert_eq!(server.count("*"), LINES as u64 - 3);
    assert_eq!(server.count("{app=\"import\"} n:=25000"), 1);
}

#[test]
fn a_file_of_a_length_that_nobody_tells_is_taken_in_pieces() {
    let (_dir, store) = store();
    let server = start(&store);
    let answer = chunked(&server, "", &lines());
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("3 of 30000 lines rejected"), "{answer}");
    assert_eq!(server.count("*"), LINES as u64 - 3);
}

#[test]
fn a_file_that_is_said_to_be_plain_in_capitals_is_taken_in_pieces() {
    let (_dir, store) = store();
    let server = start(&store);
    let answer = chunked(&server, "content-encoding: Identity\r\n", &lines());
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(server.count("*"), LINES as u64 - 3);
}

#[test]
fn what_came_before_a_body_broke_off_stays_and_is_told() {
    let (_dir, store) = store();
    let server = start(&store);
    let lines = lines();
    let mut stream = TcpStream::connect(server.address).unwrap();
    write!(
        stream,
        "POST /insert/jsonline HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
        lines.len()
    )
    .unwrap();
    stream.write_all(&lines.as_bytes()[..2 * LIMIT_BYTES]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    drop(stream);
    // Of two pieces, the first at least was whole.
    eventually("the first piece is there", || server.count("*") > 9_000);
    assert!(server.count("*") < 29_000);
    assert_eq!(server.count("n:=0"), 1);
    // One line that is longer than a body may be is no line.
    let answer = server.post("/insert/jsonline", format!("{{\"n\":1}}\n{}", "x".repeat(3 * LIMIT_BYTES)));
    assert_eq!(answer.status, 413, "{answer:?}");
    assert!(
        answer.body.contains("a line has more than 1000000 bytes (max_body_bytes)")
            && answer.body.contains("its first 1 lines were taken"),
        "{answer:?}"
    );
}

#[test]
fn a_token_with_a_limit_of_its_own_keeps_it() {
    let (_dir, store) = store();
    let limited = token(&store, &["t", "--scope", "ingest", "--max-body-bytes", "1000"]);
    let server = start(&store);
    let bearer = format!("Bearer {limited}");
    let answer = server.post_with("/insert/jsonline", &[("authorization", &bearer)], lines());
    assert!(answer.status == 413 && answer.body.contains("1000 bytes"), "{answer:?}");
}

#[test]
fn a_token_s_rate_is_waited_for() {
    let (_dir, store) = store();
    let slow = token(&store, &["t", "--scope", "ingest", "--max-bytes-per-s", "1500000"]);
    let reader = token(&store, &["r", "--scope", "read"]);
    let server = start(&store);
    let bearer = format!("Bearer {slow}");
    let lines = lines();
    let count = || {
        let answer = server.get_with("/select/logsql/query?query=*%20%7C%20count()%20n", &reader);
        answer.lines()[0]["n"].as_str().unwrap().parse::<usize>().unwrap()
    };
    // Within what a body may have, one of no told length is let through as one that tells it is.
    let short = &lines[..lines[..LIMIT_BYTES].rfind('\n').unwrap() + 1];
    let answer = chunked(&server, &format!("authorization: {bearer}\r\n"), short);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let rows = count();
    assert_eq!(rows, short.lines().filter(|line| *line != "no line").count());
    // A longer one takes its time.
    let answer = server.post_with("/insert/jsonline", &[("authorization", &bearer)], lines);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(count(), rows + LINES - 3);
}

#[test]
fn a_server_that_stops_tells_how_far_it_came() {
    let (_dir, store) = store();
    let server = start(&store);
    let lines = lines();
    let mut stream = TcpStream::connect(server.address).unwrap();
    write!(
        stream,
        "POST /insert/jsonline HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
        lines.len()
    )
    .unwrap();
    stream.write_all(&lines.as_bytes()[..2 * LIMIT_BYTES]).unwrap();
    eventually("the first piece is there", || server.count("*") > 9_000);
    server.signal("TERM");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("the server is stopping"), "{answer}");
    let told = answer.split("its first ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
    let told = told.unwrap_or_else(|| panic!("{answer}"));
    drop(server);
    assert_eq!(start(&store).count("*"), told - told / 10_000);
}

#[test]
fn empty_lines_count_when_it_is_told_where_to_go_on() {
    let (_dir, store) = store();
    let server = start(&store);
    let mut body: String =
        (0..20_000).map(|i| format!("{{\"n\":{i},\"_msg\":\"with an empty line\"}}\n\n")).collect();
    body.push_str(&"x".repeat(LIMIT_BYTES + 1));
    let answer = server.post("/insert/jsonline", body);
    assert!(answer.status == 413 && answer.body.contains("its first 40000 lines were taken"), "{answer:?}");
    assert_eq!(server.count("*"), 20_000);
}
