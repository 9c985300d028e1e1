//! Lines come as they are appended, all of them, by whomever.

use crate::server::{Server, store};
use serde_json::Value;
use std::io::{BufRead, BufReader};

/// Follows, from the moment it returns.
fn follow(server: &Server, path: &str) -> impl Iterator<Item = Value> + use<> {
    let response = Server::agent().get(server.url(path)).call().unwrap();
    assert_eq!(response.status(), 200);
    let lines = BufReader::new(response.into_body().into_reader()).lines();
    lines
        .map_while(Result::ok)
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(&line).unwrap())
}

#[test]
fn all_that_is_appended_comes_once_and_in_order() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    server.post("/api/v1/ingest", r#"{"_msg":"before"}"#);
    let coming = follow(&server, "/select/logsql/tail?query=n:*");
    let logger = duramen::Logger::builder(&store).open().unwrap();
    for n in 0..300 {
        if n % 3 == 0 {
            logger.log(duramen::Level::Info, "direct", &[("n", n.into())]).unwrap();
        } else {
            server.post("/api/v1/ingest", format!("{{\"_msg\":\"http\",\"n\":{n}}}"));
        }
    }
    let mut seen: Vec<u64> =
        coming.take(300).map(|row| row["n"].as_str().unwrap().parse().unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..300).collect::<Vec<_>>());
}

#[test]
fn the_past_and_what_comes_meet_without_a_gap() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let writer = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for n in 0..400 {
                assert_eq!(
                    server.post("/api/v1/ingest", format!("{{\"_msg\":\"x\",\"n\":{n}}}")).status,
                    202
                );
            }
        });
        let mut followers = Vec::new();
        for _ in 0..4 {
            followers.push(scope.spawn(|| {
                let coming = follow(&server, "/select/logsql/tail?query=*&start_offset=1h");
                let mut seen: Vec<u64> =
                    coming.take(400).map(|row| row["n"].as_str().unwrap().parse().unwrap()).collect();
                seen.sort_unstable();
                seen
            }));
        }
        for follower in followers {
            let seen = follower.join().unwrap();
            assert!(seen == (0..400).collect::<Vec<_>>(), "{seen:?}\n{}", server.log());
        }
        writer.join()
    });
    writer.unwrap();
}

#[test]
fn what_was_just_appended_is_the_beginning_unless_none_is_wanted() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let now_ns =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let ago = |s: u64| format!("{{\"_msg\":\"ago\",\"s\":{s},\"_time\":{}}}\n", now_ns - s * 1_000_000_000);
    assert_eq!(server.post("/api/v1/ingest", ago(3600) + &ago(60) + &ago(0)).status, 202);
    let path = |more: &str| format!("/select/logsql/tail?query=*{more}");
    let first = |coming: &mut dyn Iterator<Item = Value>| coming.next().unwrap()["s"].clone();
    let mut just_now = follow(&server, &path(""));
    assert_eq!(first(&mut just_now), "0");
    // As VictoriaLogs would stay behind by `offset`, it would begin by as much before.
    let mut longer = follow(&server, &path("&offset=10m&refresh_interval=10s"));
    assert_eq!([first(&mut longer), first(&mut longer)], ["60", "0"]);
    let mut none = follow(&server, &path("&start_offset=0"));
    assert_eq!(server.post("/api/v1/ingest", "{\"_msg\":\"after\",\"s\":-1}").status, 202);
    assert_eq!(first(&mut none), "-1");
    for wrong in ["&start_offset=x", "&offset=x", "&refresh_interval=x"] {
        assert_eq!(server.get(&path(wrong)).status, 400, "{wrong}");
    }
}

#[test]
fn a_long_past_comes_whole_and_in_order() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    const ROWS: u64 = 20_000;
    let now_ns =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let row = |n: u64| {
        format!("{{\"_msg\":\"{:0100}\",\"_time\":{},\"n\":{n}}}\n", n, now_ns - 1_000_000 * (ROWS - n))
    };
    assert_eq!(server.post("/api/v1/ingest", (0..ROWS).map(row).collect::<String>()).status, 202);
    let mut coming = follow(&server, "/select/logsql/tail?query=*&start_offset=1h");
    for n in 0..ROWS {
        assert_eq!(coming.next().unwrap()["n"], n.to_string());
    }
    server.post("/api/v1/ingest", r#"{"_msg":"new","n":"last"}"#);
    assert_eq!(coming.next().unwrap()["n"], "last");
}

#[test]
fn a_span_before_now_goes_on_with_the_time() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let mut coming = follow(&server, "/select/logsql/tail?query=_time:5m&start_offset=0s");
    for n in ["1", "2"] {
        server.post("/api/v1/ingest", format!(r#"{{"_msg":"new","n":"{n}"}}"#));
        assert_eq!(coming.next().unwrap()["n"], n);
    }
}

#[test]
fn it_ends_when_the_server_stops() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let coming = follow(&server, "/select/logsql/tail?query=*");
    server.post("/api/v1/ingest", r#"{"_msg":"last"}"#);
    let mut coming = coming.peekable();
    assert_eq!(coming.peek().unwrap()["_msg"], "last");
    assert_eq!(server.stop().0, Some(0));
    assert_eq!(coming.count(), 1);
}

/// Reads all rows up to the last; how many there were, and how many it was told were skipped.
fn read_to_last(coming: impl Iterator<Item = Value>) -> (u64, u64) {
    let (mut rows, mut skipped) = (0, 0);
    for row in coming {
        match row["skipped_lines"].as_str() {
            Some(lines) => skipped += lines.parse::<u64>().unwrap(),
            None => rows += 1,
        }
        if row["_msg"] == "last" {
            break;
        }
    }
    (rows, skipped)
}

#[test]
fn a_pipe_that_makes_much_of_a_line_is_cut_short_and_that_is_told() {
    const LINES: usize = 12;
    let (_dir, store) = store();
    let server = Server::start(&store);
    let format = format!("* | format \"{}\" as much | fields much", "<_msg>".repeat(100));
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("query", &format).finish();
    let mut coming = follow(&server, &format!("/select/logsql/tail?{query}"));
    // A batch is seen at once; 120 MB would be made of it.
    let line = format!("{{\"_msg\":\"{}\"}}\n", "x".repeat(100_000));
    assert_eq!(server.post("/insert/jsonline", line.repeat(LINES)).status, 200);
    let rows = coming.by_ref().take_while(|row| row["skipped_lines"].is_null()).count();
    assert!((6..LINES).contains(&rows), "{rows}");
}

#[test]
fn who_is_too_slow_is_told_how_many_lines_were_skipped() {
    const LARGE: u64 = 200;
    const SMALL: u64 = 60_000;
    let (_dir, store) = store();
    let server = Server::start(&store);
    let slow = follow(&server, "/select/logsql/tail?query=*");
    // What this one has seen, the slow one was given, too.
    let mut quick = follow(&server, "/select/logsql/tail?query=*");
    let mut all = 0;
    let mut send = |lines: u64, line: &str| {
        assert_eq!(server.post("/insert/jsonline", line.repeat(lines as usize)).status, 200);
        assert_eq!(quick.by_ref().take(lines as usize).count() as u64, lines);
        all += lines;
    };
    // More than sockets hold: the server cannot go on writing until it is read.
    let large = format!("{{\"_msg\":\"{}\"}}\n", "x".repeat(100_000));
    for _ in 0..4 {
        send(LARGE / 4, &large);
    }
    // More than may wait for it, the second time.
    send(SMALL, "{\"_msg\":\"small\"}\n");
    send(SMALL, "{\"_msg\":\"small\"}\n");
    send(1, "{\"_msg\":\"last\"}\n");
    let (rows, skipped) = read_to_last(slow);
    assert_eq!(rows + skipped, all);
    assert!(skipped > 0 && rows > LARGE, "{rows} {skipped}");
    let metrics = server.get("/metrics").body;
    assert!(metrics.lines().any(|line| line == format!("duramen_tail_skipped_lines_total {skipped}")));
}
