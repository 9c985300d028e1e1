#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code
//! What is held for requests is counted.

mod support;

use duramen_engine::io::Env;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use support::{Server, encoded};

/// What the server's metric of this name says; 0 if it says nothing.
fn metric(server: &Server, name: &str) -> u64 {
    let told = server.get("/metrics", &[]).body;
    let line = told.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    line.unwrap_or_default()
}

fn wait_until(what: &dyn Fn() -> bool) {
    let clock = Env::os().clock;
    let began = clock.monotonic();
    while !what() {
        assert!(clock.monotonic() - began < Duration::from_secs(30));
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn what_a_small_body_means_counts_as_a_body_does() {
    let server = Server::start_with(|settings| {
        settings.max_bodies_bytes = Some(4 << 20);
        settings.max_body_bytes = Some(1 << 20);
    });
    let send = |lines: usize| {
        let extra = format!("x={}", "A".repeat(5_000));
        let path = format!("/insert/jsonline?{}", encoded(&[("extra_fields", &extra)]));
        server.ask("POST", &path, &[], &"{\"_msg\":\"m\"}\n".repeat(lines))
    };
    // 0.5, 2.5 and 10 MB of entries.
    assert_eq!((send(100).status, send(500).status), (200, 200));
    let told = send(2_000);
    // They are more than there ever is: to send them again does not help, to send a part does.
    assert!(told.status == 413 && told.body.contains("max_bodies_bytes"), "{told:?}");
    assert_eq!(send(500).status, 200, "what was refused is held no more");
    let found = server.get("/select/logsql/query", &[("query", "* | stats count() n")]);
    assert!(found.body.contains("\"1100\""), "{found:?}");
}

#[test]
fn a_packed_body_that_never_fits_is_to_be_sent_in_parts() {
    let server = Server::start_with(|settings| {
        settings.max_bodies_bytes = Some(6 << 20);
        settings.max_body_bytes = Some(6 << 20);
    });
    let status = |lines: u64| {
        let text: String = (0..lines).map(|n| format!("{{\"_msg\":\"{n:0100}\"}}\n")).collect();
        // The window is as long as the text: what was unpacked last is kept a second time.
        let packed = zstd::encode_all(text.as_bytes(), 19).unwrap();
        let mut socket = TcpStream::connect(server.address).unwrap();
        let head = "POST /insert/jsonline HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-encoding: zstd\r\n";
        write!(socket, "{head}content-length: {}\r\n\r\n", packed.len()).unwrap();
        socket.write_all(&packed).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer[9..12].to_owned()
    };
    assert_eq!([status(35_000), status(20_000)], ["413", "200"]);
}

#[test]
fn what_is_gathered_for_an_answer_counts_as_the_querys() {
    let server = Server::start_with(|settings| settings.query_memory_bytes = Some(1 << 20));
    let rows = |n: u64| serde_json::json!({ "_time": 1_700_000_000_000_000_000 + n, "k": n.to_string() });
    server.ingest(&(0..1_000).map(rows).collect::<Vec<_>>());
    let start = ("start", "2023-11-14T00:00:00Z");
    let hits =
        |step| server.get("/select/logsql/hits", &[("query", "*"), ("field", "k"), ("step", step), start]);
    let by_k = ("query", "* | stats by (k) count() n");
    let answers = [
        hits("1ns"),
        hits("1d"),
        server.get("/select/logsql/stats_query", &[by_k]),
        server.get("/select/logsql/stats_query_range", &[by_k, ("step", "1ns"), start]),
    ];
    for told in answers {
        assert!(told.status == 422 && told.body.contains("the answer takes more than"), "{told:?}");
    }
    for few in [
        server.get("/select/logsql/hits", &[("query", "*"), ("step", "1d"), start]),
        server.get("/select/logsql/field_values", &[("query", "*"), ("field", "k")]),
        server.get("/select/logsql/stats_query", &[("query", "k:=1* | stats count() n")]),
    ] {
        assert_eq!(few.status, 200, "{few:?}");
    }
}

#[test]
fn of_a_field_with_too_many_values_to_count_some_are_told() {
    let server = Server::start_with(|settings| settings.query_memory_bytes = Some(1 << 20));
    let row = |n: u64| {
        let time = 1_700_000_000_000_000_000 + n;
        serde_json::json!({ "_time": time, "id": format!("id-{n:050}"), "few": format!("v{}", n * n % 7) })
    };
    server.ingest(&(0..20_000).map(row).collect::<Vec<_>>());
    let values_of = |query: &str, field: &str, limit: &str, part: &str| {
        let asked = [
            ("query", query),
            ("field", field),
            ("limit", limit),
            ("filter", part),
            ("ignore_pipes", if query == "*" { "0" } else { "1" }),
        ];
        let told = server.get("/select/logsql/field_values", &asked);
        let values: Vec<(String, u64)> = match told.status {
            200 => {
                let told: serde_json::Value = serde_json::from_str(&told.body).unwrap();
                let pair = |v: &serde_json::Value| {
                    (v["value"].as_str().unwrap().to_owned(), v["hits"].as_u64().unwrap())
                };
                told["values"].as_array().unwrap().iter().map(pair).collect()
            }
            _ => Vec::new(),
        };
        (told.status, values)
    };
    let values = |field: &str, limit: &str, part: &str| values_of("*", field, limit, part);
    // The most frequent first, as long as they can be counted.
    let of = |values: &[(&str, u64)]| values.iter().map(|(v, n)| ((*v).to_owned(), *n)).collect::<Vec<_>>();
    assert_eq!(values("few", "2", "").1, of(&[("v1", 5714), ("v2", 5714)]));
    assert_eq!(values("few", "9", "0").1, of(&[("v0", 2858)]));
    assert_eq!(values("nothing", "9", "").1, of(&[]));
    assert_eq!(values("id", "0", "").0, 422);
    let (status, some) = values("id", "10", "");
    assert_eq!((status, some.len()), (200, 10));
    assert!(some.iter().all(|(id, hits)| id.starts_with("id-0000") && *hits == 0), "{some:?}");
    assert_eq!(values("id", "3", "0012345").1.len(), 1);
    // Of a query that is not whole yet the filter counts, and so does the part.
    let unfinished = "few:v1 | stats by (x) count()";
    assert_eq!(values_of(unfinished, "few", "9", "").1, of(&[("v1", 5714)]));
    assert_eq!(values_of(unfinished, "id", "3", "0001234").1.len(), 3);
    assert_eq!(values_of("* | limit 1", "few", "1", "0").1, of(&[("v0", 2858)]));
}

/// `[tag, bytes of [time, record] packed with gzip, {"compressed": "gzip", "chunk": "c1"}]`, with so many entries of 5,000 bytes.
fn fluent_message(entries: usize) -> Vec<u8> {
    let mut event = b"\x92\xce\x66\x6d\x82\x40\x81\xa3log\xda\x13\x88".to_vec();
    event.extend([b'x'; 5_000]);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    (0..entries).for_each(|_| packed.write_all(&event).unwrap());
    let packed = packed.finish().unwrap();
    let mut message = b"\x93\xa3app\xc6".to_vec();
    message.extend(u32::try_from(packed.len()).unwrap().to_be_bytes());
    message.extend(packed);
    message.extend(b"\x82\xaacompressed\xa4gzip\xa5chunk\xa2c1");
    message
}

#[test]
fn what_a_message_of_fluent_means_counts_as_a_body_does() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server::start_with(move |settings| {
        settings.max_bodies_bytes = Some(8 << 20);
        settings.max_body_bytes = Some(4 << 20);
        settings.fluent_listen = vec![free];
    });
    let send = |stream: &mut TcpStream, entries: usize| {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(&fluent_message(entries)).unwrap();
        let mut ack = [0; 8];
        stream.read_exact(&mut ack).map(|()| ack == *b"\x81\xa3ack\xa2c1").unwrap_or_default()
    };
    let connect = || TcpStream::connect(free).unwrap();
    // 0.5 and 3.5 MB of entries, again and again: what is taken is held no more.
    let mut stream = connect();
    assert!((0..5).all(|_| send(&mut stream, 100) && send(&mut stream, 700)));
    // Bodies take nearly all that there is: little is taken at once, and much has no place to wait in.
    let mut body = TcpStream::connect(server.address).unwrap();
    let head = "POST /insert/jsonline HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 4000000\r\n\r\n";
    let mut bodies = [body.try_clone().unwrap(), TcpStream::connect(server.address).unwrap()];
    for stream in &mut bodies {
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&[b' '; 3_900_000]).unwrap();
    }
    while !server.get("/metrics", &[]).body.contains("duramen_bodies_free_bytes 5") {
        std::thread::park_timeout(Duration::from_millis(20));
    }
    assert!(send(&mut stream, 100));
    assert!(!send(&mut stream, 700), "it is hung up on");
    let told = server.get("/metrics", &[]).body;
    assert!(told.contains("duramen_rejected_lines_total{protocol=\"fluent\"} 700\n"), "{told}");
    for stream in &mut bodies {
        stream.write_all(&[b' '; 100_000]).unwrap();
    }
    body.read_to_end(&mut Vec::new()).unwrap();
    assert!(send(&mut connect(), 700), "there is room again");
    let found = server.get("/select/logsql/query", &[("query", "* | stats count() n")]);
    assert!(found.body.contains("\"4800\""), "{found:?}");
}

#[test]
fn a_line_that_is_not_whole_counts_as_a_body_does() {
    let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let addresses = [free(), free()];
    let server = Server::start_with(move |settings| {
        settings.max_bodies_bytes = Some(4 << 20);
        settings.stall_timeout_ms = Some(200);
        (settings.syslog_listen, settings.gelf_listen) = (vec![addresses[0]], vec![addresses[1]]);
    });
    let metric = |name: &str| metric(&server, name);
    for (address, head, end, protocol) in
        [(addresses[0], "<13>", "\n", "syslog"), (addresses[1], "{\"short_message\":\"", "\"}\0", "gelf")]
    {
        let rejected = || metric(&format!("duramen_rejected_lines_total{{protocol=\"{protocol}\"}}"));
        let taken = || metric(&format!("duramen_ingested_lines_total{{protocol=\"{protocol}\"}}"));
        let line = format!("{head}{}", "x".repeat(700_000));
        let mut streams: Vec<TcpStream> = (0..10).map(|_| TcpStream::connect(address).unwrap()).collect();
        // Who is hung up on may not get all of it out.
        streams.iter_mut().for_each(|stream| _ = stream.write_all(line.as_bytes()));
        wait_until(&|| rejected() >= 5);
        streams.iter_mut().for_each(|stream| _ = stream.write_all(end.as_bytes()));
        wait_until(&|| taken() + rejected() == 10 && metric("duramen_bodies_free_bytes") == 4 << 20);
        assert!(taken() >= 2, "{}", taken());
    }
}

/// As one byte now and then would hold it for ever.
#[test]
fn a_message_that_does_not_end_holds_memory_for_a_while_only() {
    let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let addresses = [free(), free(), free()];
    let server = Server::start_with(move |settings| {
        settings.message_timeout_ms = Some(400);
        settings.max_bodies_bytes = Some(4 << 20);
        (settings.syslog_listen, settings.gelf_listen) = (vec![addresses[0]], vec![addresses[1]]);
        settings.fluent_listen = vec![addresses[2]];
    });
    let metric = |name: &str| metric(&server, name);
    let mut short = TcpStream::connect(addresses[0]).unwrap();
    short.write_all(b"<13>sh").unwrap();
    let mut short_chunk = TcpStream::connect(addresses[2]).unwrap();
    short_chunk.write_all(b"\x93\xa1t\x01").unwrap();
    for (address, before, begin, protocol) in [
        (addresses[0], &b"<13>before\n"[..], &b"<13>"[..], "syslog"),
        (addresses[1], b"{\"short_message\":\"before\"}\0", b"{\"short_message\":\"", "gelf"),
        (addresses[2], b"\x93\xa1t\x01\x81\xa1a\xa1b", b"\x93\xa1t\x01\x81\xa1a\xdb\0\x0f\xff\xff", "fluent"),
    ] {
        let rejected = || metric(&format!("duramen_rejected_lines_total{{protocol=\"{protocol}\"}}"));
        let taken = || metric(&format!("duramen_ingested_lines_total{{protocol=\"{protocol}\"}}"));
        let mut slow = TcpStream::connect(address).unwrap();
        slow.write_all(&[before, begin, &[b'x'; 100_000]].concat()).unwrap();
        wait_until(&|| metric("duramen_bodies_free_bytes") < (4 << 20) - 90_000);
        let clock = Env::os().clock;
        let began = clock.monotonic();
        // It is always sending.
        while metric("duramen_bodies_free_bytes") < 4 << 20 {
            _ = slow.write_all(b"x");
            assert!(clock.monotonic() - began < Duration::from_secs(20), "{protocol}");
            std::thread::park_timeout(Duration::from_millis(20));
        }
        assert!(clock.monotonic() - began > Duration::from_millis(250), "{protocol}");
        wait_until(&|| (taken(), rejected()) == (1, 1));
        slow.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        assert!(matches!(slow.read(&mut [0; 8]), Ok(0) | Err(_)), "it is hung up on");
    }
    // Messages that end are taken however long it goes on; and what holds little is waited for.
    let mut busy = TcpStream::connect(addresses[0]).unwrap();
    for _ in 0..12 {
        busy.write_all(&[b"<13>", &[b'y'; 40_000][..]].concat()).unwrap();
        std::thread::park_timeout(Duration::from_millis(60));
        busy.write_all(b"\n<13>").unwrap();
    }
    short.write_all(b"ort\n").unwrap();
    short_chunk.write_all(b"\x81\xa1a\xa1b").unwrap();
    wait_until(&|| metric("duramen_ingested_lines_total{protocol=\"fluent\"}") == 2);
    wait_until(&|| metric("duramen_ingested_lines_total{protocol=\"syslog\"}") == 14);
    assert_eq!(metric("duramen_rejected_lines_total{protocol=\"syslog\"}"), 1);
}

/// A chunk of Fluentd's, of megabytes, on a slow line.
#[test]
fn a_message_that_comes_well_is_waited_for_as_long_as_it_takes() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server::start_with(move |settings| {
        settings.message_timeout_ms = Some(300);
        settings.fluent_listen = vec![free];
    });
    let mut stream = TcpStream::connect(free).unwrap();
    stream.write_all(b"\x93\xa1t\x01\x81\xa1a\xdb\0\x03\x0d\x40").unwrap();
    for _ in 0..20 {
        stream.write_all(&[b'x'; 10_000]).unwrap();
        std::thread::park_timeout(Duration::from_millis(60));
    }
    wait_until(&|| metric(&server, "duramen_ingested_lines_total{protocol=\"fluent\"}") == 1);
}

/// Memory that was needed for a long one before it is given back after a second, and counted no more.
#[test]
fn a_short_message_behind_a_long_one_may_take_its_time() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server::start_with(move |settings| {
        settings.message_timeout_ms = Some(2_000);
        settings.max_bodies_bytes = Some(4 << 20);
        settings.syslog_listen = vec![free];
    });
    let left = || metric(&server, "duramen_bodies_free_bytes");
    let mut stream = TcpStream::connect(free).unwrap();
    stream.write_all(&[b"<13>", &[b'x'; 500_000][..], b"\n<13>sh"].concat()).unwrap();
    wait_until(&|| left() < 4 << 20);
    wait_until(&|| left() == 4 << 20);
    std::thread::park_timeout(Duration::from_millis(2_500));
    stream.write_all(b"ort\n").unwrap();
    wait_until(&|| metric(&server, "duramen_ingested_lines_total{protocol=\"syslog\"}") == 2);
}

/// Where each batch waits for the device, entries that came count; they need no more room than they have to go into the store.
#[test]
fn whole_lines_are_kept_where_there_is_no_memory_to_wait_in() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server::start_with(move |settings| {
        settings.max_bodies_bytes = Some(4 << 20);
        settings.max_body_bytes = Some(2 << 20);
        settings.stall_timeout_ms = Some(100);
        settings.durability = Some("sync".parse().unwrap());
        settings.syslog_listen = vec![free];
    });
    let metric = |name: &str| metric(&server, name);
    let head = "POST /insert/jsonline HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 2090000\r\n\r\n";
    let mut bodies = [0; 2].map(|_| TcpStream::connect(server.address).unwrap());
    for stream in &mut bodies {
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&[b' '; 2_060_000]).unwrap();
    }
    wait_until(&|| metric("duramen_bodies_free_bytes") < 80_000);
    let mut stream = TcpStream::connect(free).unwrap();
    // Who is hung up on may not get all of it out.
    _ = stream.write_all("<13>a\n".repeat(10_000).as_bytes());
    let taken = || metric("duramen_ingested_lines_total{protocol=\"syslog\"}");
    let rejected = || metric("duramen_rejected_lines_total{protocol=\"syslog\"}");
    wait_until(&|| taken() + rejected() > 0);
    assert_eq!(rejected(), 0);
    wait_until(&|| taken() == 10_000);
}

/// The second question, where values cannot be counted, is asked in the time that the first left.
#[test]
fn values_that_cannot_be_counted_are_told_in_time() {
    let server = Server::start_with(|settings| {
        settings.query_memory_bytes = Some(1 << 20);
        settings.max_queries = Some(1);
        settings.query_timeout_ms = Some(60_000);
    });
    let row = |n: u64| {
        let time = 1_700_000_000_000_000_000 + n;
        serde_json::json!({ "_time": time, "id": format!("id-{n:050}"), "_msg": "x".repeat(500) })
    };
    server.ingest(&(0..20_000).map(row).collect::<Vec<_>>());
    let rest = |ms| std::thread::park_timeout(Duration::from_millis(ms));
    // More than sockets hold: who does not read it keeps the only place.
    let unread = || begin(&server, "/select/logsql/query?query=* HTTP/1.1");
    let (first, status) = unread();
    assert_eq!(status, 200);
    let clock = Env::os().clock;
    let began = clock.monotonic();
    let asked = [("query", "*"), ("field", "id"), ("limit", "10"), ("timeout", "4s")];
    let told = std::thread::scope(|scope| {
        let told = scope.spawn(|| server.get("/select/logsql/field_values", &asked).status);
        rest(500);
        // It is given to who waited first, and then to the next.
        let next = scope.spawn(unread);
        rest(2_500);
        drop(first);
        let _kept_until_here = next.join().unwrap();
        told.join().unwrap()
    });
    let took = clock.monotonic() - began;
    assert!(told == 429 && took < Duration::from_millis(5_800), "{told} after {took:?}");
}

/// Begins to ask; the connection, and the answer's status.
fn begin(server: &Server, head: &str) -> (TcpStream, u16) {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET {head}\r\nhost: localhost\r\n\r\n").unwrap();
    let mut status = [0; 12];
    stream.read_exact(&mut status).unwrap();
    (stream, std::str::from_utf8(&status[9..]).unwrap().parse().unwrap())
}

const WEB_SOCKET: &str = "/loki/api/v1/tail?query=%7Bapp%3D%22x%22%7D HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
    sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==";

#[test]
fn only_so_many_follow_at_once() {
    let server = Server::start_with(|settings| settings.max_tails = Some(2));
    let logsql = "/select/logsql/tail?query=* HTTP/1.1";
    server.ingest(&[serde_json::json!({ "_msg": "before" })]);
    // The past comes at once, and with it the answer's head.
    let first = begin(&server, "/select/logsql/tail?query=*&start_offset=1d HTTP/1.1");
    let second = begin(&server, WEB_SOCKET);
    assert_eq!((first.1, second.1), (200, 101));
    assert_eq!(begin(&server, logsql).1, 429);
    assert_eq!(begin(&server, WEB_SOCKET).1, 429);
    drop(second);
    let clock = Env::os().clock;
    let began = clock.monotonic();
    while begin(&server, WEB_SOCKET).1 != 101 {
        assert!(clock.monotonic() - began < Duration::from_secs(60), "the place of who has gone is free");
    }
}

#[test]
fn who_follows_may_not_say_much() {
    let server = Server::start();
    let (mut stream, status) = begin(&server, WEB_SOCKET);
    assert_eq!(status, 101);
    // The head of a text of 60 MiB, and the beginning of it.
    stream.write_all(&[0x81, 0xff, 0, 0, 0, 0, 3, 0xc0, 0, 0, 1, 2, 3, 4]).unwrap();
    let _may_be_closed_already = stream.write_all(&[b'x'; 10_000]);
    let clock = Env::os().clock;
    let began = clock.monotonic();
    let mut piece = [0; 4096];
    // What it is sent meanwhile are the handshake's end and pings.
    while stream.read(&mut piece).is_ok_and(|n| n > 0) {
        assert!(clock.monotonic() - began < Duration::from_secs(30), "it is closed");
    }
}

#[test]
fn a_timeline_ends_where_there_is_no_more_room_and_says_so() {
    let server = Server::start_with(|settings| settings.query_memory_bytes = Some(4 << 20));
    let fields: Vec<(String, serde_json::Value)> =
        (0..60).map(|n| (format!("field{n}"), "v".into())).collect();
    let row = |id: &str, n: u64, message: &str| {
        let mut row = serde_json::Map::from_iter(fields.clone());
        row.insert("_time".into(), (1_700_000_000_000_000_000 + n * 1_000_000).into());
        row.insert("_msg".into(), message.into());
        row.insert("request_id".into(), id.into());
        row.insert("level".into(), if n.is_multiple_of(2) { "info" } else { "error" }.into());
        serde_json::Value::Object(row)
    };
    // Of 60 short fields each, as a tree they would take much more than as text: 3.3 MB.
    server.ingest(&(0..3_000).map(|n| row("r1", n, "m")).collect::<Vec<_>>());
    let timeline = server.get("/api/v1/timeline/request/r1", &[]);
    assert_eq!(timeline.status, 200, "{}", timeline.body);
    assert_eq!(
        timeline.json()["stats"],
        serde_json::json!({ "count": 3000, "duration_ms": 2999.0, "levels": { "info": 1500, "error": 1500 } })
    );
    assert_eq!(timeline.json()["request_id"], "r1");
    server.ingest(&(0..100).map(|n| row("r2", n, &"x".repeat(100_000))).collect::<Vec<_>>());
    let cut = server.get("/api/v1/timeline/request/r2", &[]).json();
    let entries = cut["entries"].as_array().unwrap();
    assert!((35..42).contains(&entries.len()), "{}", entries.len());
    assert_eq!((&cut["stats"]["count"], &cut["stats"]["truncated"]), (&entries.len().into(), &true.into()));
    assert_eq!(cut["stats"]["duration_ms"], entries.len() as f64 - 1.0);
    // Who asks for a list can ask for less of it.
    let list = |limit| server.get("/api/v1/entries", &[("q", "request_id:r2"), ("limit", limit)]);
    assert_eq!((list("100").status, list("10").json()["count"].as_u64()), (422, Some(10)));
}
