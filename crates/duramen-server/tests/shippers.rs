//! What shippers sent, word for word, where the answer decides what they do next.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod support;

use duramen_server::Scope;
use serde_json::{Value, json};
use support::Server;

/// Telegraf sends again what was not answered with success, all of it and for ever: the good lines of a push that has a bad one
/// would be there more often each second. Others are told.
#[test]
fn a_push_with_a_bad_line_is_over_for_telegraf() {
    let server = Server::start_with(|settings| settings.max_line_bytes = Some(100));
    let stream = r#"{"__name":"applog","host":"h1","level":"warn","path":"/var/log/app.log"}"#;
    let value = r#"["1795986977358470763","value=\"0000001 \tI/O timings: read: 0.000 ms\" "]"#;
    let long = format!(r#"["1795986977358526577","value=\"0000475 {}\" "]"#, "x".repeat(200));
    let push = format!(r#"{{"streams":[{{"stream":{stream},"values":[{value},{long}]}}]}}"#);
    for (agent, status, told) in
        [("Telegraf/1.38.0 Go/1.26.8", 204, ""), ("promtail/3.5.0", 400, "1 of 2 lines rejected: row 1: ")]
    {
        let headers = [("User-Agent", agent), ("Content-Type", "application/json")];
        let answer = server.ask("POST", "/loki/api/v1/push", &headers, &push);
        assert_eq!(answer.status, status, "{agent}: {answer:?}");
        assert!(answer.body.contains(told), "{agent}: {answer:?}");
        // What makes no sense at all is told to each of them.
        let answer = server.ask("POST", "/loki/api/v1/push", &headers, &push[..99]);
        assert_eq!(answer.status, 400, "{agent}: {answer:?}");
    }
}

/// As the servers tell it for which they are made; they show or log what they understand, and decide by it.
#[test]
fn who_may_not_send_is_told_in_the_protocols_own_form() {
    let (server, tokens) = Server::start_guarded(&[Scope::Ingest, Scope::Read]);
    let ask = |path: &str, token: Option<&str>| {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let headers: Vec<_> = bearer.iter().map(|bearer| ("authorization", &**bearer)).collect();
        server.ask("POST", path, &headers, "{}")
    };
    let cases = [(None, 401), (Some("drm_no_such"), 401), (Some(&*tokens[1]), 403)];
    for (token, status) in cases {
        for path in ["/_bulk", "/insert/elasticsearch/_bulk", "/logs/_bulk", "/_ilm/policy/x"] {
            let told = ask(path, token);
            let error = &told.json()["error"];
            assert_eq!((told.status, &told.json()["status"]), (status, &json!(status)), "{path}");
            assert_eq!(error["type"], "security_exception", "{path}");
            assert_eq!(
                error["root_cause"][0],
                json!({ "type": "security_exception", "reason": error["reason"] })
            );
            assert!(told.head.contains("x-elastic-product: elasticsearch"), "{path}: {}", told.head);
        }
        for path in ["/services/collector/event", "/services/collector/raw"] {
            let told = ask(path, token);
            let code = if token.is_none() { 2 } else { 4 };
            assert_eq!((told.status, &told.json()["code"]), (status, &json!(code)), "{path}");
            assert!(told.json()["text"].as_str().is_some_and(|text| text.contains("token")), "{told:?}");
        }
        for path in ["/api/v2/logs", "/insert/datadog/api/v2/logs"] {
            let told = ask(path, token);
            assert_eq!(
                (told.status, &told.json()["errors"][0]["status"]),
                (status, &json!(status.to_string()))
            );
        }
        for path in ["/loki/api/v1/push", "/insert/loki/api/v1/push"] {
            let told = ask(path, token);
            assert!(told.status == status && told.head.contains("text/plain"), "{path}: {told:?}");
            assert!(told.body.contains("token") && serde_json::from_str::<Value>(&told.body).is_err());
        }
        let told = ask("/insert/jsonline", token);
        assert_eq!((told.status, &told.json()["code"]), (status, &json!(status)), "Duramen's own");
    }
    assert!(ask("/_bulk", None).head.contains("www-authenticate: bearer"));
    let elasticsearch = "x-elastic-product: elasticsearch";
    for (method, path) in [
        ("GET", "/"),
        ("HEAD", "/"),
        ("HEAD", "/logs"),
        ("PUT", "/logs"),
        ("GET", "/insert/elasticsearch/logs"),
        ("PUT", "/insert/elasticsearch/logs"),
        ("GET", "/_license"),
        ("POST", "/logs/_doc"),
        ("PUT", "/insert/elasticsearch/logs/_create/7"),
        ("POST", "/logs/_refresh"),
    ] {
        let told = server.ask(method, path, &[], "");
        assert!(told.status == 401 && told.head.contains(elasticsearch), "{method} {path}: {told:?}");
        assert!(method == "HEAD" || told.json()["error"]["type"] == "security_exception", "{told:?}");
    }
    let of_read = [("authorization", &*format!("Bearer {}", tokens[1]))];
    let told = server.ask("PUT", "/logs", &of_read, "{}");
    assert_eq!((told.status, &told.json()["error"]["type"]), (403, &json!("security_exception")));
    for path in ["/logs/_update/7", "/logs/_search"] {
        let told = server.ask("POST", path, &[], "{}");
        assert!(told.status == 404 && told.head.contains(elasticsearch), "{path}: {told:?}");
        assert_eq!(told.json()["status"], 404, "{path}");
    }
    for path in ["/metrics", "/logs", "/select/logsql/query"] {
        assert!(server.ask("GET", path, &[], "").json()["code"].is_u64(), "{path}: Duramen's own");
    }
    assert_eq!(server.ask("PUT", "/gelf", &[], "{}").json()["code"], 405, "no index");
    assert_eq!(ask("/loki/api/v1/push", Some(&tokens[0])).status, 400, "which may");
}

#[test]
fn a_name_in_the_path_that_is_no_text_is_refused_in_elasticsearchs_form() {
    let server = Server::start();
    for (method, path) in [
        ("PUT", "/logs/_doc/%ff"),
        ("POST", "/logs/_create/a%ff"),
        ("POST", "/%ff/_doc"),
        ("POST", "/insert/elasticsearch/%ff/_bulk"),
        ("PUT", "/%ff"),
    ] {
        let told = server.ask(method, path, &[], "{\"message\":\"m\"}");
        assert!(told.status == 400 && told.head.contains("application/json"), "{path}: {told:?}");
        let error = &told.json()["error"];
        assert_eq!(
            (&error["type"], &told.json()["status"]),
            (&json!("illegal_argument_exception"), &json!(400))
        );
        assert!(error["reason"].as_str().is_some_and(|reason| reason.contains("UTF-8")), "{told:?}");
    }
    assert_eq!(server.ask("PUT", "/logs/_doc/%c3%a9", &[], "{\"message\":\"m\"}").status, 201);
}

/// Fluent Bit's `format json` and `json_stream`, Vector's `codec: json` and winston's `batch`, and JSON that people can read.
#[test]
fn json_lines_may_be_an_array_or_objects_one_after_another() {
    let server = Server::start();
    let path = "/insert/jsonline?_stream_fields=app";
    for (app, body) in [
        ("array", r#"[{"_msg":"a","app":"array"},{"_msg":"b","app":"array"}]"#),
        ("stream", r#"{"_msg":"a","app":"stream"}{"_msg":"b","app":"stream"}"#),
        (
            "pretty",
            "[\n {\n  \"_msg\": \"a\",\n  \"app\": \"pretty\"\n },\n {\"_msg\": \"b\", \"app\": \"pretty\"}\n]\n",
        ),
    ] {
        let answer = server.ask("POST", path, &[("content-type", "application/json")], body);
        assert_eq!((answer.status, &*answer.body), (200, ""), "{app}: {answer:?}");
        let query = format!("{{app=\"{app}\"}} | sort by (_msg) | fields _msg");
        let rows = server.get("/select/logsql/query", &[("query", &query)]);
        assert_eq!(rows.body, "{\"_msg\":\"a\"}\n{\"_msg\":\"b\"}\n", "{app}");
    }
    let answer =
        server.ask("POST", path, &[], r#"[{"_msg":"a","app":"x"},{"_msg":!},{"_msg":"b","app":"x"}]"#);
    assert!(answer.status == 200 && answer.body.contains("1 of 3 lines rejected: row 1: "), "{answer:?}");
    let answer = server.ask("POST", path, &[], r#"[1,"x"]"#);
    assert!(answer.status == 400 && answer.body.contains("row 0: "), "{answer:?}");
    let rows = server.get("/select/logsql/query", &[("query", "{app=\"x\"} | stats count() n")]);
    assert_eq!(rows.body, "{\"n\":\"2\"}\n");
}
