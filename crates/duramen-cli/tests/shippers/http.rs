//! HTTP protocols: what each answers, to good bodies and to bad ones.

use crate::sandbox::PATIENCE;
use crate::server::Server;
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use std::time::Instant;

const JSON: &str = "application/json";

#[test]
fn loki_takes_pushes_and_says_no_in_plain_text() {
    let server = Server::start(&[]);
    let push = r#"{"streams":[{"stream":{"app":"web"},"values":[["1718452800000000001","WARN: a",{"trace_id":"0af7"}]]}]}"#;
    for path in ["/loki/api/v1/push", "/insert/loki/api/v1/push"] {
        let answer = server.post(path, JSON, push);
        assert_eq!((answer.status, answer.body.as_str()), (204, ""));
    }
    // The same in protobuf: labels, entries, a time stamp, a line; as one literal of snappy.
    let protobuf = b"\x0a\x20\x0a\x0b{app=\"web\"}\x12\x11\x0a\x06\x08\xc0\x84\xb6\xb3\x06\x12\x07ERROR b";
    let snappy = [&[protobuf.len() as u8, ((protobuf.len() - 1) << 2) as u8][..], protobuf].concat();
    let answer = server.post("/loki/api/v1/push", "application/x-protobuf", &snappy);
    assert_eq!((answer.status, answer.body.as_str()), (204, ""));
    let rows = server.query("_stream:{app=\"web\"} | sort by (_time) | fields _time, _msg, level, trace_id");
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0], json!({ "_time": "2024-06-15T12:00:00Z", "_msg": "ERROR b", "level": "error" }));
    assert_eq!(
        rows[1],
        json!({ "_time": "2024-06-15T12:00:00.000000001Z", "_msg": "WARN: a", "level": "warn", "trace_id": "0af7" })
    );
    let answer = server.post("/loki/api/v1/push", JSON, "{\"streams\":[");
    assert_eq!(answer.status, 400);
    assert!(
        answer.body.starts_with("not a Loki push in JSON: ") && answer.head.contains("text/plain"),
        "{answer:?}"
    );
    assert_eq!(server.post("/loki/api/v1/push", "application/x-protobuf", "x").status, 400);
}

/// As vlagent sends: it gives up what is answered 400, and keeps what is answered 415.
#[test]
fn victorialogs_native_rows() {
    let server = Server::start(&[]);
    let row = b"\0\0\0\0\0\0\0\0\x0a\x01\x03app\x04shop\x17\xd9\x2b\xb7\x83\x46\x80\x01\x02\x03app\x04shop\0\x06WARN x";
    let rows = [&row[..], row].concat();
    let packed = zstd::encode_all(&rows[..], 1).unwrap();
    let headers = [("Content-Encoding", "zstd")];
    for path in ["/insert/native?version=v1", "/internal/insert?version=v1&extra_fields=dc=1"] {
        let answer = server.request("POST", path, &headers, &packed);
        assert_eq!((answer.status, answer.body.as_str()), (200, ""));
    }
    let rows = server
        .query("_stream:{app=\"shop\"} | stats by (_time, _msg, level, dc) count() as rows | sort by (dc)");
    let told = |dc| json!({ "_time": "2024-06-15T12:00:00.000000001Z", "_msg": "WARN x", "level": "warn", "dc": dc, "rows": "2" });
    assert_eq!(rows, [told(""), told("1")]);
    let answer = server.request("POST", "/insert/native?version=v9", &headers, &packed);
    assert_eq!(answer.status, 415);
    assert!(answer.body.contains("v9"), "{answer:?}");
    let answer = server.request("POST", "/insert/native?version=v1", &[], &row[..30]);
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("not rows of VictoriaLogs: "), "{answer:?}");
    let long = vec![b'x'; 2 << 20];
    let mut body = row[..27].to_vec();
    body.extend_from_slice(b"\x01\0\x80\x80\x80\x01");
    let body = [&body, &long[..], row].concat();
    let answer = server.request("POST", "/insert/native?version=v1", &[], &body);
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("1 of 2 lines rejected: row 0: "), "{answer:?}");
    assert_eq!(server.query("* | stats count() as rows"), [json!({ "rows": "5" })]);
}

/// As OpenTelemetry's Collector packs: what it calls `snappy` is one block, and HTTP's deflate it calls `zlib`.
#[test]
fn otlp_packed_as_the_collector_does() {
    let body = br#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"packed"}}]}]}]}"#;
    for (name, before, after) in [
        ("snappy", &b"\x55\xf0\x54"[..], &b""[..]),
        ("snappy", b"\xff\x06\x00\x00\x73\x4e\x61\x50\x70\x59\x01\x59\x00\x00\xd4\x59\xc9\x01", b""),
        ("x-snappy-framed", b"\xff\x06\x00\x00\x73\x4e\x61\x50\x70\x59\x01\x59\x00\x00\xd4\x59\xc9\x01", b""),
        ("zlib", b"\x78\x01\x01\x55\x00\xaa\xff", b"\x36\xda\x1f\x25"),
        ("deflate", b"\x78\x01\x01\x55\x00\xaa\xff", b"\x36\xda\x1f\x25"),
    ] {
        let server = Server::start(&[]);
        let headers = [("Content-Type", JSON), ("Content-Encoding", name)];
        let answer = server.request("POST", "/v1/logs", &headers, &[before, body, after].concat());
        assert_eq!(answer.status, 200, "{name}: {answer:?}");
        assert_eq!(server.query("packed").len(), 1, "{name}");
        let answer = server.request("POST", "/v1/logs", &headers, &[before, &body[1..], b"!"].concat());
        assert_eq!(answer.status, 400, "{name}: {answer:?}");
    }
}

/// As graypy packs: with zlib, whatever it says. What says so may be gzip as well.
#[test]
fn gelf_packed_as_graypy_does() {
    let zlib =
        [&b"\x78\x01\x01\x17\x00\xe8\xff"[..], br#"{"short_message":"gpy"}"#, b"\x69\xc7\x08\x7f"].concat();
    let gzip = [
        &b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\x17\x00\xe8\xff"[..],
        br#"{"short_message":"gpy"}"#,
        b"\xe0\xd2\xdc\xc9\x17\x00\x00\x00",
    ]
    .concat();
    let server = Server::start(&[]);
    let mut lines = 0;
    for packed in ["gzip,deflate", "gzip, deflate"] {
        for body in [&zlib, &gzip] {
            let answer = server.request("POST", "/gelf", &[("Content-Encoding", packed)], body);
            assert_eq!(answer.status, 202, "{answer:?}");
            lines += 1;
            assert_eq!(server.query("gpy").len(), lines);
        }
    }
}

/// As graypy sends, and others that do not wait: what has come whole is kept, though nobody takes the answer.
#[test]
fn who_sends_and_goes_has_sent() {
    const EACH: usize = 100;
    let server = Server::start(&[]);
    for (path, body) in [
        ("/insert/jsonline", r#"{"_msg":"gone","path":"jsonline"}"#),
        ("/gelf", r#"{"short_message":"gone","_path":"gelf"}"#),
    ] {
        let head =
            format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
        for _ in 0..EACH {
            let mut stream = TcpStream::connect(server.http).unwrap();
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(body.as_bytes()).unwrap();
        }
    }
    let all = ["gelf", "jsonline"].map(|path| json!({ "path": path, "lines": EACH.to_string() }));
    let query = "gone | stats by (path) count() as lines | sort by (path)";
    let began = Instant::now();
    while server.query(query) != all {
        assert!(began.elapsed() < PATIENCE, "{:?}", server.query(query));
        std::thread::yield_now();
    }
}

#[test]
fn elasticsearch_answers_each_item_and_what_clients_ask_first() {
    let server = Server::start(&[]);
    let body = "{\"create\":{\"_index\":\"logs\"}}\n{\"@timestamp\":\"2024-06-15T12:00:00Z\",\"message\":\"a\",\"log.level\":\"error\"}\n";
    for (method, path) in
        [("POST", "/_bulk"), ("PUT", "/_bulk"), ("POST", "/x/_bulk"), ("POST", "/insert/elasticsearch/_bulk")]
    {
        let answer =
            server.request(method, path, &[("Content-Type", "application/x-ndjson")], body.as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.head.contains("x-elastic-product: elasticsearch"), "{answer:?}");
        assert!(
            answer
                .body
                .contains("\"errors\":false,\"items\":[{\"create\":{\"_index\":\"logs\",\"status\":201}}]"),
            "{answer:?}"
        );
    }
    assert_eq!(server.query("es_index:logs message:a level:error").len(), 4);
    let answer = server.post(
        "/x/_bulk",
        JSON,
        "{\"create\":{}}\n{\"a\":}\n{\"delete\":{}}\n{\"index\":{}}\n{\"message\":\"b\"}\n",
    );
    let reply: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!((answer.status, &reply["errors"]), (200, &json!(true)));
    let statuses = [
        &reply["items"][0]["create"]["status"],
        &reply["items"][1]["delete"]["status"],
        &reply["items"][2]["index"]["status"],
    ];
    assert_eq!(statuses, [400, 400, 201]);
    assert_eq!(server.query("es_index:x _msg:b").len(), 1);
    let answer = server.post("/_bulk", JSON, "hello\n{}\n");
    let reply: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!((answer.status, &reply["error"]["type"]), (400, &json!("illegal_argument_exception")));
    // What a path says once, the reply has in each item.
    let answer = server.post(&format!("/{}/_bulk", "%01".repeat(256)), JSON, "{\"create\":{}}\n{\"a\":1}\n");
    let reply: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!((answer.status, &reply["error"]["type"]), (400, &json!("illegal_argument_exception")));
    assert!(answer.body.contains("256 bytes, and the name of an index at most 255"), "{answer:?}");
    // A chunk of short lines of Fluent Bit, which sends it again if the reply has more than 512,000 bytes.
    let chunk = "{\"create\":{\"_index\":\"fluent-bit\"}}\n{\"log\":\"l\"}\n".repeat(30_000);
    let headers = [("User-Agent", "Fluent-Bit"), ("Content-Type", "application/x-ndjson")];
    let answer = server.request("POST", "/_bulk", &headers, chunk.as_bytes());
    assert!(answer.status == 200 && answer.body.len() < 512_000, "{} bytes", answer.body.len());
    assert!(answer.body.contains("\"errors\":false"), "{answer:?}");
    for path in [
        "/",
        "/_license",
        "/_license?human=false",
        "/_cluster/health",
        "/_index_template/logs",
        "/_ilm/policy/x",
        "/_nodes/http",
        "/insert/elasticsearch/",
        // Filebeat's first request, at the URL of `hosts`, before it sends anything.
        "/insert/elasticsearch",
    ] {
        let answer = server.request("GET", path, &[], b"");
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        assert!(answer.head.contains("x-elastic-product"), "{path}");
        serde_json::from_str::<Value>(&answer.body).unwrap();
    }
    assert_eq!(server.request("HEAD", "/", &[], b"").status, 200);
    assert_eq!(server.request("HEAD", "/insert/elasticsearch", &[], b"").status, 200);
    assert_eq!(server.request("HEAD", "/_cat/health", &[], b"").status, 200);
    assert_eq!(server.request("PUT", "/_index_template/logs", &[("Content-Type", JSON)], b"{}").status, 200);
}

#[test]
fn otlp_answers_in_kind() {
    let server = Server::start(&[]);
    let protobuf = b"\x0a\x29\x0a\x0d\x0a\x0b\x0a\x03app\x12\x04\x0a\x02w1\x12\x18\x12\x16\x09\x00\x00\x0a\xf2\x20\x09\xd9\x17\x10\x11\x2a\x04\x0a\x02hi\x45\x01\x00\x00\x00";
    for path in ["/v1/logs", "/otlp/v1/logs", "/insert/opentelemetry/v1/logs"] {
        let answer = server.post(path, "application/x-protobuf", protobuf);
        assert_eq!((answer.status, answer.body.as_str()), (200, ""));
        assert!(answer.head.contains("content-type: application/x-protobuf"), "{answer:?}");
        let body = r#"{"resourceLogs":[{"resource":{"attributes":[{"key":"app","value":{"stringValue":"w1"}}]},"scopeLogs":[{"logRecords":[{"severityNumber":17,"body":{"stringValue":"hi"}}]}]}]}"#;
        let answer = server.post(path, JSON, body);
        assert_eq!((answer.status, answer.body.as_str()), (200, "{}"));
    }
    assert_eq!(server.query("_stream:{app=\"w1\"} level:error hi").len(), 6);
    let long = format!(
        r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{{"body":{{"stringValue":"{}"}}}},{{}}]}}]}}]}}"#,
        "x".repeat(2 << 20)
    );
    let reply: Value = serde_json::from_str(&server.post("/v1/logs", JSON, long).body).unwrap();
    assert_eq!(reply["partialSuccess"]["rejectedLogRecords"], "1");
    assert!(reply["partialSuccess"]["errorMessage"].as_str().unwrap().contains("max_line_bytes"), "{reply}");
    let answer = server.post("/v1/logs", JSON, "[");
    assert_eq!(answer.status, 400);
    assert_eq!(serde_json::from_str::<Value>(&answer.body).unwrap()["code"], 3);
    let answer = server.post("/v1/logs", "application/x-protobuf", "x");
    assert!(answer.status == 400 && answer.body.contains("not an OTLP logs request"), "{answer:?}");
}

#[test]
fn splunk_datadog_gelf_and_journald_are_answered_as_their_clients_expect() {
    let server = Server::start(&[]);
    let answer = server.post(
        "/services/collector/event",
        JSON,
        r#"{"event":{"message":"s1","level":"warn"},"host":"h"}{"event":"s2"}"#,
    );
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"code":0,"text":"Success"}"#));
    let answer = server.post("/services/collector/raw?host=h&sourcetype=t", "text/plain", "s3\ns4\n");
    assert_eq!(answer.status, 200);
    let answer = server.post("/services/collector", JSON, r#"{"event":"s5"}{"host":"x"}"#);
    let reply: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!((answer.status, &reply["code"], &reply["invalid-event-number"]), (400, &json!(12), &json!(1)));
    assert_eq!(server.query("_msg:~\"^s[1-5]$\"").len(), 5);
    assert_eq!(server.query("_stream:{host=\"h\",sourcetype=\"t\"}").len(), 2);

    for path in ["", "/event", "/event/1.0", "/raw", "/raw/1.0"] {
        let answer = server.request("OPTIONS", &format!("/services/collector{path}"), &[], b"");
        assert_eq!(answer.status, 200, "{path}");
    }

    let answer = server.post(
        "/api/v2/logs",
        JSON,
        r#"[{"message":"d1","service":"pay","ddtags":"env:prod","status":"error"}]"#,
    );
    assert_eq!((answer.status, answer.body.as_str()), (202, "{}"));
    assert_eq!(server.query("_stream:{service=\"pay\"} env:prod level:error d1").len(), 1);
    assert_eq!(server.post("/api/v2/logs", JSON, "[1]").status, 400);
    // Fluent Bit sends all of a chunk again after 400, and again: the good line is there once.
    let answer = server.post("/api/v2/logs", JSON, r#"[{"message":"d2"},1]"#);
    assert!(answer.status == 202 && answer.body.contains("1 of 2 lines rejected"), "{answer:?}");
    assert_eq!(server.query("d2").len(), 1);
    assert_eq!(server.request("GET", "/api/v1/validate", &[], b"").status, 200);

    let answer =
        server.post("/gelf", JSON, r#"{"version":"1.1","host":"g","short_message":"g1","level":4,"_n":5}"#);
    assert_eq!(answer.status, 202, "{answer:?}");
    assert_eq!(server.query("_stream:{host=\"g\"} n:5 level:warn g1").len(), 1);
    assert_eq!(server.post("/gelf", JSON, "{}").status, 400);

    let journal = b"__REALTIME_TIMESTAMP=1718452800000000\n_HOSTNAME=j\nPRIORITY=3\nMESSAGE\n\x05\0\0\0\0\0\0\0a\nb\nc\n\nMESSAGE=j2\n\n";
    let answer = server.post("/upload", "application/vnd.fdo.journal", journal);
    assert_eq!((answer.status, answer.body.as_str()), (202, "2 entries taken, 0 rejected\n"));
    let rows = server.query("_stream:{_HOSTNAME=\"j\"} level:error | fields _time, _msg");
    assert_eq!(rows, [json!({ "_time": "2024-06-15T12:00:00Z", "_msg": "a\nb\nc" })]);
    assert_eq!(server.post("/upload", "application/vnd.fdo.journal", "A\n\x05\0").status, 400);
}

#[test]
fn a_browser_asks_for_leave_by_naming_a_method() {
    let server = Server::start(&["--cors-origin", "http://shop"]);
    let ask = |path: &str, headers: &[(&str, &str)]| server.request("OPTIONS", path, headers, b"");
    let browsers = [("Origin", "http://shop"), ("Access-Control-Request-Method", "POST")];
    for path in ["/services/collector/event/1.0", "/select/logsql/query", "/api/v1/ingest"] {
        let answer = ask(path, &browsers);
        assert_eq!(answer.status, 204, "{path}");
        assert!(answer.head.contains("access-control-allow-origin: http://shop"), "{answer:?}");
    }
    assert_eq!(ask("/services/collector/event/1.0", &[]).status, 200);
    assert_eq!(ask("/select/logsql/query", &[]).status, 405);
}
