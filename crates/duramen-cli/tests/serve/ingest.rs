//! Lines go in, in every form and compression; bad ones are named.

use crate::server::{Server, store};
use std::io::Write;

#[test]
fn an_object_an_array_and_ndjson() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    for (body, count) in [
        (r#"{"_msg":"one","level":"warn","user":{"id":7}}"#, 1),
        (r#"[{"_msg":"two"},{"_msg":"three"}]"#, 2),
        ("{\"_msg\":\"four\"}\n\n{\"_msg\":\"five\"}\n", 2),
    ] {
        let answer = server.post("/api/v1/ingest", body);
        assert_eq!(answer.status, 202, "{answer:?}");
        assert_eq!(answer.json(), serde_json::json!({ "status": "accepted", "count": count }));
    }
    assert_eq!(server.count("*"), 5);
    let row = &server.query("one")[0];
    assert_eq!((&row["level"], &row["user.id"]), (&"warn".into(), &"7".into()));
}

#[test]
fn a_bad_row_is_named_and_the_others_are_taken() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let answer = server.post("/api/v1/ingest", "{\"_msg\":\"a\"}\n{\"_msg\":\n{\"_msg\":\"b\"}\n");
    assert_eq!(answer.status, 202, "{answer:?}");
    let told = answer.json();
    assert_eq!((told["count"].as_u64(), told["rejected"].as_u64()), (Some(2), Some(1)));
    assert_eq!(told["errors"][0]["row"], 1);
    assert_eq!(server.post("/api/v1/ingest", "nonsense").status, 422);
    let answer = server.post("/insert/jsonline", "nonsense\n");
    assert!(answer.status == 400 && answer.body.contains("row 0"), "{answer:?}");
    assert_eq!(server.post("/insert/jsonline", "{\"_msg\":\"c\"}\nnonsense\n").status, 200);
    assert_eq!(server.count("*"), 3);
    let long = format!("{{\"_msg\":\"{}\"}}", "x".repeat(2 << 20));
    let answer = server.post("/api/v1/ingest", long);
    assert!(answer.status == 422 && answer.body.contains("max_line_bytes"), "{}", answer.status);
}

#[test]
fn every_compression() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let line = |name: &str| format!("{{\"_msg\":\"{name} packed\"}}\n").repeat(100);
    let gzip = |text: &str| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(text.as_bytes()).unwrap();
        out.finish().unwrap()
    };
    let zlib = |text: &str| {
        let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(text.as_bytes()).unwrap();
        out.finish().unwrap()
    };
    for (name, body) in [
        ("gzip", gzip(&line("gzip"))),
        ("deflate", zlib(&line("deflate"))),
        ("zstd", zstd::bulk::compress(line("zstd").as_bytes(), 1).unwrap()),
        ("identity", line("identity").into_bytes()),
    ] {
        let answer = server.post_with("/insert/jsonline", &[("content-encoding", name)], &body);
        assert_eq!(answer.status, 200, "{name}: {answer:?}");
        assert_eq!(server.count(name), 100, "{name}");
        if name != "identity" {
            let cut = &body[..body.len() / 2];
            let answer = server.post_with("/insert/jsonline", &[("content-encoding", name)], cut);
            assert_eq!(answer.status, 400, "{name}: {answer:?}");
        }
    }
    let two = [zlib(&line("one")), zlib(&line("two"))].concat();
    let answer = server.post_with("/insert/jsonline", &[("content-encoding", "deflate")], &two);
    assert!(answer.status == 400 && answer.body.contains("follows"), "{answer:?}");
    assert_eq!(server.post_with("/insert/jsonline", &[("content-encoding", "br")], "x").status, 415);
    assert_eq!(server.count("*"), 400, "of what was cut short nothing was taken");
}

#[test]
fn parameters_name_the_fields() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let line = r#"{"when":"2024-06-27T00:00:07Z","what":"paid","app":"shop","secret":"x"}"#;
    let path = "/insert/jsonline?_time_field=when&_msg_field=what&_stream_fields=app&ignore_fields=secret&extra_fields=dc=eu";
    assert_eq!(server.post(path, line).status, 200);
    let row = &server.query("paid")[0];
    let wanted = serde_json::json!({
        "_time": "2024-06-27T00:00:07Z", "_stream": "{app=\"shop\"}", "_msg": "paid", "app": "shop", "dc": "eu",
    });
    for (name, value) in wanted.as_object().unwrap() {
        assert_eq!(&row[name], value, "{name}: {row}");
    }
    assert!(row.get("secret").is_none());
    let answer = server.post("/insert/jsonline?extra_fields=x", line);
    assert!(answer.status == 400 && answer.body.contains("extra_fields"), "{answer:?}");
    // More than a socket holds: who is still sending has to see the answer, too.
    for (path, headers) in [
        ("/insert/jsonline?extra_fields=x", &[][..]),
        ("/_bulk?extra_fields=x", &[]),
        ("/upload", &[("content-encoding", "zstd")]),
    ] {
        let answer = server.post_with(path, headers, line.repeat(300_000));
        assert!(matches!(answer.status, 400 | 415) && !answer.body.is_empty(), "{path}: {answer:?}");
    }
    let headers = [("VL-Ignore-Fields", "geheimnis,schlüssel"), ("VL-Extra-Fields", "ort=Zürich")];
    let line = r#"{"_msg":"by header","schlüssel":"x"}"#;
    assert_eq!(server.post_with("/insert/jsonline", &headers, line).status, 200);
    let row = &server.query("\"by header\"")[0];
    assert!(row["ort"] == "Zürich" && row.get("schlüssel").is_none(), "{row}");
}

#[test]
fn colours_go_where_they_are_not_wanted() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let line = r#"{"_msg":"\u001b[31mpaid\u001b[0m at once","app":"\u001b[1mshop","kept":"\u001b[1mx","n":7,"none":null}"#;
    let path = "/insert/jsonline?_stream_fields=app&decolorize_fields=_msg,ap*";
    assert_eq!(server.post(path, line).status, 200);
    let row = &server.query(r#"{app="shop"} paid"#)[0];
    assert_eq!((&row["_msg"], &row["app"]), (&"paid at once".into(), &"shop".into()), "{row}");
    assert_eq!((&row["kept"], &row["n"]), (&"\u{1b}[1mx".into(), &"7".into()), "{row}");
    let body =
        r#"{"streams":[{"stream":{"app":"web"},"values":[["1718452800000000000","\u001b[32mgreen"]]}]}"#;
    let headers = [("content-type", "application/json"), ("VL-Decolorize-Fields", "_msg")];
    assert_eq!(server.post_with("/insert/loki/api/v1/push", &headers, body).status, 204);
    let journal = "__REALTIME_TIMESTAMP=1718452800000000\nMESSAGE=\u{1b}[34mblue\n\n";
    assert_eq!(server.post("/insert/journald/upload?decolorize_fields=_msg", journal).status, 202);
    assert_eq!(server.post("/insert/jsonline", r#"{"_msg":"\u001b[33mgold"}"#).status, 200);
    for (query, message) in [("app:web", "green"), ("=blue", "blue"), ("~gold", "\u{1b}[33mgold")] {
        assert_eq!(server.query(query)[0]["_msg"], message, "{query}");
    }
}

#[test]
fn what_is_sent_for_a_look_is_not_stored() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let line = r#"{"_msg":"just looking","app":"shop"}"#;
    for headers in [&[("VL-Debug", "1")][..], &[]] {
        let path = if headers.is_empty() { "/insert/jsonline?debug=true" } else { "/insert/jsonline" };
        assert_eq!(server.post_with(path, headers, line).status, 200);
    }
    assert_eq!(server.post("/insert/journald/upload?debug=1", "MESSAGE=just looking\n\n").status, 202);
    assert_eq!(server.post("/insert/jsonline?debug=maybe", line).status, 400);
    assert_eq!(server.count("*"), 0);
    assert_eq!(server.post("/insert/jsonline?debug=0", line).status, 200);
    assert_eq!(server.count("*"), 1, "the next is stored");
}

#[test]
fn a_head_tells_the_time_of_datadogs_lines() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let body = r#"[{"message":"late"},{"message":"own","timestamp":1719446407123}]"#;
    let headers = [("dd-message-timestamp", "1719446400000")];
    assert_eq!(server.post_with("/api/v2/logs", &headers, body).status, 202);
    for (query, time) in [("late", "2024-06-27T00:00:00Z"), ("own", "2024-06-27T00:00:07.123Z")] {
        assert_eq!(server.query(query)[0]["_time"], time);
    }
}

#[test]
fn other_processes_log_into_the_same_store() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    server.post("/api/v1/ingest", r#"{"_msg":"over http"}"#);
    let logger = duramen::Logger::builder(&store).open().unwrap();
    logger.log(duramen::Level::Info, "from a process", &[]).unwrap();
    assert_eq!(server.count("*"), 2);
    logger.close().unwrap();
    assert_eq!(server.count("*"), 2);
    assert_eq!(server.stop().0, Some(0));
    assert_eq!(duramen::Store::open_read_only(&store).unwrap().snapshot().unwrap().rows(), 2);
}
