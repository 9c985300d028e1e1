//! Answers that are made whole before they are sent: what they take is counted, and they do not wait for ever.

use crate::server::{Server, eventually, store};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

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

/// Begins to ask; the connection, of whose answer 100 bytes were read, and these.
fn begin(server: &Server, path: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut first = [0; 100];
    stream.read_exact(&mut first).unwrap();
    let first = String::from_utf8_lossy(&first).into_owned();
    assert!(first.starts_with("HTTP/1.1 200"), "{path}: {first}");
    (stream, first)
}

/// 20 MB, of which answers of all lines are made.
fn fill(server: &Server) {
    let long = "x".repeat(400);
    let body: String = (0..50_000).map(|n| format!("{{\"_msg\":\"{n} {long}\"}}\n")).collect();
    assert_eq!(server.post("/insert/jsonline", body).status, 200);
}

const LARGE: [&str; 2] =
    ["/loki/api/v1/query_range?query=%7B%7D&limit=50000", "/select/logsql/field_values?query=*&field=_msg"];

/// As long as there is memory for them; else any number would wait for clients that do not read.
#[test]
fn answers_that_nobody_reads_keep_nobody_waiting_before_they_take_too_much() {
    let (_dir, store) = store();
    let limits = ["--max-queries", "1", "--query-timeout-ms", "600000", "--query-memory-bytes", "150000000"];
    let server = Server::start_with(&store, &limits);
    fill(&server);
    // Sorting takes a moment, so that it is not done where it is asked.
    let count = || server.get("/select/logsql/query?query=*%20%7C%20sort%20by%20(_msg)&timeout=2s&limit=1");
    for path in LARGE {
        let mut unread = vec![begin(&server, path).0];
        assert_eq!(count().status, 200, "{path}: its place is free");
        while unread.len() < 10 && count().status == 200 {
            unread.push(begin(&server, path).0);
        }
        assert!((2..10).contains(&unread.len()), "{path}: {}", unread.len());
        assert_eq!(count().status, 429, "{path}");
        drop(unread);
        eventually("its place is free", || count().status == 200);
    }
}

#[test]
fn an_answer_has_its_own_time_to_be_read_and_tells_its_length() {
    let (_dir, store) = store();
    let server = Server::start_with(&store, &["--query-timeout-ms", "3000"]);
    fill(&server);
    for path in LARGE {
        let (mut stream, first) = begin(&server, path);
        let mut rest = vec![0; 1 << 20];
        let mut all = first.into_bytes();
        // Longer than the query may take, and never long without a byte.
        for _ in 0..20 {
            std::thread::park_timeout(Duration::from_millis(200));
            let n = stream.read(&mut rest).unwrap();
            all.extend_from_slice(&rest[..n]);
        }
        let head = all.windows(4).position(|at| at == b"\r\n\r\n").unwrap() + 4;
        let text = String::from_utf8_lossy(&all[..head]).to_lowercase();
        let len: usize =
            text.split("content-length: ").nth(1).unwrap().lines().next().unwrap().parse().unwrap();
        assert!(len > 20_000_000, "{text}");
        let mut left = vec![0; head + len - all.len()];
        stream.read_exact(&mut left).unwrap();
        assert_eq!(left.last(), Some(&b'}'), "{path}");
        // Who takes nothing for so long is not waited for.
        let (mut stream, _) = begin(&server, path);
        std::thread::park_timeout(Duration::from_millis(5_000));
        let mut count = 0;
        while let Ok(n @ 1..) = stream.read(&mut rest) {
            count += n;
        }
        assert!(count < len, "{path}: {count}");
    }
}
