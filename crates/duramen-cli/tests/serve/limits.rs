//! Bodies, bombs, slow clients, heads.

use crate::server::{Answer, Server, eventually, store, token};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

fn gzip_of_zeros(bytes: usize) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![b' '; 1 << 20];
    for _ in 0..bytes >> 20 {
        out.write_all(&zeros).unwrap();
    }
    out.finish().unwrap()
}

#[test]
fn bodies_have_a_limit_compressed_and_not() {
    let (_dir, store) = store();
    let server = Server::start_with(&store, &["--max-body-bytes", "1000000"]);
    let answer = server.post("/api/v1/ingest", vec![b' '; 1_000_001]);
    assert!(answer.status == 413 && answer.body.contains("max_body_bytes"), "{answer:?}");
    let bomb = gzip_of_zeros(64 << 20);
    assert!(bomb.len() < 1_000_000);
    let answer = server.post_with("/api/v1/ingest", &[("content-encoding", "gzip")], &bomb);
    assert!(answer.status == 413 && answer.body.contains("max_body_bytes"), "{answer:?}");
    assert_eq!(server.post("/api/v1/ingest", r#"{"_msg":"goes on"}"#).status, 202);
}

#[test]
fn all_bodies_together_have_a_limit() {
    let (_dir, store) = store();
    let server = Server::start_with(&store, &["--max-bodies-bytes", "1000000"]);
    let bomb = gzip_of_zeros(16 << 20);
    let answer = server.post_with("/api/v1/ingest", &[("content-encoding", "gzip")], &bomb);
    // It would never fit.
    assert!(answer.status == 413 && answer.body.contains("max_bodies_bytes"), "{answer:?}");
    // One that stays open keeps its part; the others are told to wait, and may come when it has gone.
    let mut open = TcpStream::connect(server.address).unwrap();
    write!(open, "POST /api/v1/ingest HTTP/1.1\r\nhost: localhost\r\ncontent-length: 900000\r\n\r\n")
        .unwrap();
    open.write_all(&vec![b' '; 899_999]).unwrap();
    // Nothing else may be sent meanwhile: the last to come is who is refused.
    eventually("its part is taken", || free_bytes(&server.get("/metrics")) < 200_000);
    let post = || server.post("/api/v1/ingest", format!("{{\"_msg\":\"{}\"}}", "y".repeat(200_000)));
    let answer = post();
    assert!(answer.status == 429 && answer.headers.contains_key("retry-after"), "{answer:?}");
    drop(open);
    eventually("there is room again", || post().status == 202);
}

/// So small a body may ask for a window of 128 MiB.
#[test]
fn what_zstd_keeps_to_unpack_counts_as_the_bodys() {
    let (_dir, store) = store();
    let server = Server::start_with(&store, &["--max-bodies-bytes", "1000000"]);
    let post = |window_log| {
        let mut out = zstd::Encoder::new(Vec::new(), 1).unwrap();
        out.window_log(window_log).unwrap();
        out.write_all(&vec![b' '; 600_000]).unwrap();
        out.write_all(b"{\"_msg\":\"x\"}").unwrap();
        let body = out.finish().unwrap();
        assert!(body.len() < 1_000);
        server.post_with("/api/v1/ingest", &[("content-encoding", "zstd")], body).status
    };
    assert_eq!((post(17), post(27), post(17)), (202, 413, 202));
    assert!(free_bytes(&server.get("/metrics")) > 990_000, "all of it is given back");
}

/// Megabytes of address space, which must come from somewhere once they are used.
fn reserved_mb(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
}

#[cfg(target_os = "linux")]
#[test]
fn room_is_made_for_what_has_come_and_not_for_what_is_announced() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let before = reserved_mb(&server);
    let open: Vec<_> = (0..100)
        .map(|_| {
            let mut open = TcpStream::connect(server.address).unwrap();
            let head = "POST /api/v1/ingest HTTP/1.1\r\nhost: localhost\r\ncontent-length: 60000000\r\n\r\n";
            open.write_all(head.as_bytes()).unwrap();
            open
        })
        .collect();
    // In pieces, for room is made with the second.
    for _ in 0..2 {
        let free = free_bytes(&server.get("/metrics"));
        open.iter().for_each(|mut open| open.write_all(&[b' '; 10_000]).unwrap());
        eventually("it has come", || free_bytes(&server.get("/metrics")) < free - 990_000);
    }
    let more = reserved_mb(&server) - before;
    assert!(more < 2_000, "{more} MB for 2");
}

#[test]
fn an_answer_reaches_a_client_that_sends_much_which_nobody_reads() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let ask = |head: &str, bytes: usize| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        write!(stream, "{head} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {bytes}\r\n\r\n").unwrap();
        // More than the sockets between them hold: a connection that is closed meanwhile breaks the pipe.
        stream.write_all(&vec![b' '; bytes]).unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        String::from_utf8_lossy(&first[9..]).into_owned()
    };
    let much = 24 << 20;
    // What Filebeat sets up before its first line is of this kind.
    assert_eq!(ask("PUT /_index_template/filebeat-9.3.0", much), "200");
    assert_eq!(ask("PUT /insert/elasticsearch/_ingest/pipeline/nginx", much), "200");
    assert_eq!(ask("POST /nothing/here", much), "404");
    assert_eq!(ask("POST /api/openapi.json", much), "405");
    token(&store, &["new", "--scope", "ingest"]);
    eventually("a token is asked for", || ask("POST /api/v1/ingest", 0) == "401");
    for path in ["/api/v1/ingest", "/_bulk", "/x/_bulk", "/loki/api/v1/push"] {
        assert_eq!(ask(&format!("POST {path}"), much), "401", "{path}");
    }
    // Who asks before sending is not made to send.
    let mut stream = TcpStream::connect(server.address).unwrap();
    let head = "host: localhost\r\nexpect: 100-continue\r\ncontent-length: 1000";
    write!(stream, "POST /_bulk HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first[9..], b"401");
}

/// Its answer would come behind `100 Continue` else, and a body that nobody wants behind that.
#[test]
fn who_asks_before_sending_a_packed_journal_is_not_made_to_send() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    for (path, more, status) in
        [("/upload", "content-encoding: zstd\r\n", b"415"), ("/upload?extra_fields=x", "", b"400")]
    {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let head = "host: localhost\r\nexpect: 100-continue\r\ncontent-length: 1000";
        write!(stream, "POST {path} HTTP/1.1\r\n{more}{head}\r\n\r\n").unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first[9..], status, "{path}");
    }
}

/// A client that has asked for more than connections hold on the way, and has read the first bytes of it.
fn ask_for_much(server: &Server, query: &str) -> TcpStream {
    let long = "x".repeat(400);
    let body: String = (0..50_000).map(|i| format!("{{\"_msg\":\"{i} {long}\"}}\n")).collect();
    assert_eq!(server.post("/insert/jsonline", body).status, 200);
    let mut stream = TcpStream::connect(server.address).unwrap();
    write!(stream, "GET /select/logsql/query?{query} HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut first = [0; 100];
    stream.read_exact(&mut first).unwrap();
    assert!(first.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&first));
    stream
}

/// Else who asks and never reads would keep all places.
#[cfg(target_os = "linux")]
#[test]
fn a_client_that_never_reads_loses_its_connection() {
    let (_dir, store) = store();
    let limits = ["--max-connections", "1", "--idle-timeout-ms", "200", "--query-timeout-ms", "5000"];
    let server = Server::start_with(&store, &limits);
    let _stream = ask_for_much(&server, "query=*");
    // The only place is free again.
    assert_eq!(server.count("*"), 50_000);
}

#[test]
fn bodies_of_a_tenant_leave_room_for_those_of_others() {
    let (_dir, store) = store();
    let [shop, own] = ["shop", ""].map(|tenant| {
        let of_tenant = ["shop", "--scope", "admin", "--tenant", tenant];
        token(&store, if tenant.is_empty() { &["own", "--scope", "admin"] } else { &of_tenant })
    });
    let limits = ["--max-bodies-bytes", "2000000", "--max-body-bytes", "400000"];
    let server = Server::start_with(&store, &limits);
    // Three of 300,000 of a million: a fourth is refused.
    let open: Vec<_> = (0..3)
        .map(|_| {
            let mut open = TcpStream::connect(server.address).unwrap();
            let head =
                "POST /api/v1/ingest HTTP/1.1\r\nhost: localhost\r\ncontent-length: 300001\r\nauthorization: Bearer";
            write!(open, "{head} {shop}\r\n\r\n").unwrap();
            open.write_all(&[b' '; 300_000]).unwrap();
            open
        })
        .collect();
    eventually("their part is taken", || free_bytes(&server.get_with("/metrics", &own)) < 1_200_000);
    let post = |token: &str| {
        let bearer = format!("Bearer {token}");
        let body = format!("{{\"_msg\":\"{}\"}}", "y".repeat(300_000));
        server.post_with("/api/v1/ingest", &[("authorization", &bearer)], body).status
    };
    assert_eq!((post(&shop), post(&own)), (429, 202));
    drop(open);
    eventually("there is room again", || post(&shop) == 202);
}

/// How much memory a server has left for bodies, as its metrics say.
fn free_bytes(metrics: &Answer) -> u64 {
    let line = metrics.body.lines().find_map(|line| line.strip_prefix("duramen_bodies_free_bytes ")).unwrap();
    line.parse().unwrap()
}

#[test]
fn slow_clients_are_not_waited_for_for_ever() {
    let (_dir, store) = store();
    let server = Server::start_with(&store, &["--read-timeout-ms", "200", "--idle-timeout-ms", "200"]);
    let answer_to = |request: &str| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        let _cut_or_closed = stream.read_to_string(&mut answer);
        answer
    };
    // Neither a head nor a body that never ends holds a connection.
    let head = answer_to("POST /api/v1/ingest HTTP/1.1\r\nhost: localhost\r\n");
    assert!(head.is_empty() || head.starts_with("HTTP/1.1 408"), "{head}");
    let body = answer_to(
        "POST /api/v1/ingest HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 9\r\n\r\n{",
    );
    assert!(body.starts_with("HTTP/1.1 408"), "{body}");
    // OpenTelemetry's clients would drop what 408 is told of.
    let otlp = answer_to(
        "POST /v1/logs HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 9\r\n\r\n{",
    );
    assert!(otlp.starts_with("HTTP/1.1 503"), "{otlp}");
    let huge = format!("GET /health HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "y".repeat(200_000));
    let told = answer_to(&huge);
    assert!(told.is_empty() || told.starts_with("HTTP/1.1 431"), "{told}");
    for nonsense in [
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "\0\0\0\0",
        "GET /../../etc/passwd HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    ] {
        let told = answer_to(nonsense);
        assert!(told.is_empty() || told.starts_with("HTTP/1.1 4"), "{told}");
    }
    assert_eq!(server.get("/health").status, 200);
}

/// Sends a request on a connection that stays open, and reads the answer, whose body is an object.
fn asks(stream: &mut TcpStream) -> String {
    stream.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    while !answer.ends_with('}') {
        let mut piece = [0; 1024];
        let n = stream.read(&mut piece).unwrap();
        assert!(n > 0, "closed: {answer}");
        answer.push_str(std::str::from_utf8(&piece[..n]).unwrap());
    }
    answer
}

#[test]
fn a_connection_that_rests_is_closed_by_the_idle_timeout_and_not_by_that_of_a_read() {
    const IDLE: Duration = Duration::from_millis(3_000);
    let (_dir, store) = store();
    let server = Server::start_with(&store, &["--read-timeout-ms", "100", "--idle-timeout-ms", "3000"]);
    let connect = || {
        let stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    };
    let mut resting = connect();
    assert!(asks(&mut resting).starts_with("HTTP/1.1 200"));
    // Another's read times out meanwhile, so that this one has rested for longer than that.
    let mut slow = connect();
    slow.write_all(b"POST /api/v1/ingest HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{").unwrap();
    let mut status = [0; 12];
    slow.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 408");
    assert!(asks(&mut resting).starts_with("HTTP/1.1 200"), "it was still open");
    let rests_since = std::time::Instant::now();
    assert_eq!(resting.read(&mut [0; 1024]).unwrap(), 0, "closed, without a word");
    // It began to rest a moment before that was noted here.
    assert!(rests_since.elapsed() > IDLE * 9 / 10, "{:?}", rests_since.elapsed());
}

#[test]
fn nasty_bodies_are_the_clients_fault() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let deep = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    for body in [
        deep.as_bytes(),
        b"\xff\xfe\xfd",
        b"{\"_msg\":\"\xff\"}",
        b"[[[[[[",
        b"{\"a\":1e999999}",
        b"null",
        b"\"x\"",
    ] {
        let answer = server.post("/api/v1/ingest", body);
        assert!((400..500).contains(&answer.status) || answer.status == 202, "{answer:?}");
    }
    for path in [
        "/select/logsql/query?query=%ff%fe",
        "/select/logsql/query?query=%00",
        "/select/logsql/query?query=_time:[9999999999999,",
    ] {
        let answer = server.get(path);
        assert!(answer.status == 400 || answer.status == 200, "{path}: {answer:?}");
    }
    let parentheses = format!("/select/logsql/query?query={}", "(".repeat(20_000));
    assert_eq!(server.get(&parentheses).status, 400);
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn a_query_ends_when_its_time_is_up_or_its_client_has_gone() {
    let (_dir, store) = store();
    let server = Server::start_with(&store, &["--max-queries", "1"]);
    let body: String = (0..50_000).map(|i| format!("{{\"_msg\":\"line {i} of many\"}}\n")).collect();
    assert_eq!(server.post("/insert/jsonline", body).status, 200);
    let slow = "query=*%20%7C%20sort%20by%20(_msg)";
    let answer = server.get(&format!("/select/logsql/query?{slow}&timeout=1ms"));
    assert!(answer.status == 503 && answer.body.contains("limit"), "{answer:?}");
    // It does not read what it asked for, and goes: the only place for queries is free again.
    let mut stream = TcpStream::connect(server.address).unwrap();
    write!(stream, "GET /select/logsql/query?{slow} HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut first = [0; 100];
    stream.read_exact(&mut first).unwrap();
    drop(stream);
    assert_eq!(server.count("*"), 50_000);
}

/// It keeps its connection, and the only place for queries until its query's time is up; a part is not taken for the whole.
#[test]
fn a_client_that_does_not_read_keeps_others_waiting_for_a_while_only() {
    let (_dir, store) = store();
    let server = Server::start_with(&store, &["--max-queries", "1"]);
    let mut stream = ask_for_much(&server, "query=*&timeout=1s");
    assert_eq!(server.count("*"), 50_000);
    let mut rest = Vec::new();
    // The connection may as well be reset.
    let _reset = stream.read_to_end(&mut rest);
    assert!(!rest.ends_with(b"0\r\n\r\n"), "{} bytes are not all", rest.len());
}

#[test]
fn a_form_is_limited_too() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let query = |bytes: usize| {
        server.post_with("/select/logsql/query", &form, format!("query={}", "x".repeat(bytes)))
    };
    assert_eq!(query(1000).status, 200);
    let refused = query(1 << 20);
    assert!(refused.status == 413 && refused.body.contains("1048576 bytes"), "{refused:?}");
}
