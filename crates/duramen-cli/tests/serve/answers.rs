//! Answers that are made whole before they are sent: what they take is counted, and they do not wait for ever.

use crate::server::{Server, eventually, store};
use std::io::{Read, Write};
use std::net::TcpStream;

/// 300 rows with three values that no other has, two of them of 3,000 bytes.
fn wide_rows() -> String {
    let value = |n: u32, name: &str, bytes| format!("{name}{n:03}{}", "x".repeat(bytes));
    let row = |n| {
        let [k, other, short] = [("k", 2_996), ("o", 2_996), ("s", 696)].map(|(name, x)| value(n, name, x));
        format!("{{\"_msg\":\"m\",\"k\":\"{k}\",\"other\":\"{other}\",\"short\":\"{short}\"}}\n")
    };
    (0..300).map(row).collect()
}

#[test]
fn what_an_answer_takes_counts_as_the_querys() {
    let (_dir, store) = store();
    let server = Server::start_with(&store, &["--query-memory-bytes", "1000000"]);
    assert_eq!(server.post("/insert/jsonline", wide_rows()).status, 200);
    for (path, status) in [
        ("/select/logsql/facets?query=*%20%7C%20fields%20k&limit=1000&max_value_len=5000", 422),
        ("/api/v1/facets?field=short&limit=1000", 422),
        ("/api/v1/entries?limit=300", 422),
        // Loki's clients know no 422.
        ("/loki/api/v1/detected_fields?line_limit=300", 400),
        ("/loki/api/v1/detected_field/k/values?line_limit=300", 400),
    ] {
        let told = server.get(path);
        assert!(
            told.status == status && told.body.contains("the answer takes more than"),
            "{path}: {} {:.200}",
            told.status,
            told.body
        );
    }
    for few in [
        "/select/logsql/facets?query=*",
        "/api/v1/facets?field=_msg",
        "/api/v1/entries?limit=10",
        "/loki/api/v1/label/_msg/values",
        "/loki/api/v1/detected_fields?line_limit=10",
        "/loki/api/v1/index/volume?targetLabels=_msg",
        "/loki/api/v1/index/stats",
        "/loki/api/v1/patterns",
    ] {
        let answer = server.get(few);
        assert_eq!(answer.status, 200, "{few}: {answer:?}");
    }
}

/// Else any number of them would wait in memory for clients that do not read.
#[test]
fn an_answer_that_nobody_reads_keeps_its_place() {
    let (_dir, store) = store();
    let server = Server::start_with(&store, &["--max-queries", "1", "--query-timeout-ms", "600000"]);
    let long = "x".repeat(400);
    let body: String = (0..50_000).map(|n| format!("{{\"_msg\":\"{n} {long}\"}}\n")).collect();
    assert_eq!(server.post("/insert/jsonline", body).status, 200);
    for path in [
        "/loki/api/v1/query_range?query=%7B%7D&limit=50000",
        "/select/logsql/field_values?query=*&field=_msg",
    ] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        let mut first = [0; 100];
        stream.read_exact(&mut first).unwrap();
        assert!(first.starts_with(b"HTTP/1.1 200"), "{path}: {}", String::from_utf8_lossy(&first));
        // Sorting takes a moment, so that it is not done where it is asked.
        let count =
            || server.get("/select/logsql/query?query=*%20%7C%20sort%20by%20(_msg)&timeout=300ms&limit=1");
        let told = count();
        assert_eq!(told.status, 429, "{path}: {told:?}");
        drop(stream);
        eventually("its place is free", || [200, 503].contains(&count().status));
    }
}
