#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code
//! Pages of other sites do not get at a server through a browser on its machine.

mod support;

use support::Server;

const JSON: (&str, &str) = ("content-type", "application/json");

#[test]
fn a_name_that_leads_here_is_not_taken_for_this_server() {
    let server = Server::start_with(|settings| settings.allowed_host = vec!["logs".into()]);
    let status = |method, path, host, body: &str| {
        let headers = [("host", host), JSON];
        server.ask(method, path, if body.is_empty() { &headers[..1] } else { &headers }, body).status
    };
    for host in ["localhost", "localhost:9428", "x.localhost", "127.0.0.1:1", "[::1]:9428", "logs:80", "LOGS"]
    {
        assert_eq!(status("GET", "/select/logsql/query?query=*", host, ""), 200, "{host}");
    }
    let foreign = "evil.example:9428";
    assert_eq!(status("GET", "/select/logsql/query?query=*", foreign, ""), 403);
    assert_eq!(status("GET", "/loki/api/v1/labels", foreign, ""), 403);
    assert_eq!(status("POST", "/api/v1/ingest", foreign, "{}"), 403);
    assert_eq!(status("DELETE", "/api/v1/snapshots/x", foreign, ""), 403);
    let told = server.ask("POST", "/api/v1/delete", &[("host", foreign), JSON], "{\"query\":\"*\"}");
    assert!(told.status == 403 && told.body.contains("--allowed-host"), "{told:?}");
}

#[test]
fn a_page_of_another_site_neither_sends_nor_follows() {
    let server = Server::start_with(|settings| {
        settings.allowed_host = vec!["logs".into()];
        settings.cors_origin = Some("http://shop:3000".into());
    });
    let send = |origin, path, body| {
        let headers = [("host", "localhost:9428"), ("origin", origin), ("content-type", "text/plain")];
        server.ask("POST", path, &headers, body)
    };
    for own in ["http://localhost:9428", "http://shop:3000", "https://logs:443"] {
        assert_eq!(send(own, "/api/v1/ingest", "{\"_msg\":\"x\"}").status, 202, "{own}");
    }
    for foreign in ["http://evil.example", "http://localhost:3000", "http://shop", "null", ""] {
        for path in ["/api/v1/ingest", "/insert/jsonline", "/api/v1/delete"] {
            let told = send(foreign, path, "{\"_msg\":\"x\"}");
            assert!(told.status == 403 && told.body.contains("--cors-origin"), "{foreign} {path} {told:?}");
        }
    }
    let handshake = |origin| {
        let headers = [
            ("host", "localhost:9428"),
            ("upgrade", "websocket"),
            ("connection", "upgrade"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("origin", origin),
        ];
        server.ask("GET", "/loki/api/v1/tail?query=%7B%7D", &headers, "").status
    };
    assert_eq!(handshake("http://evil.example"), 403);
    let reads = [("origin", "http://evil.example")];
    assert_eq!(server.ask("GET", "/health", &reads, "").status, 200, "which the page may not look at");
}
