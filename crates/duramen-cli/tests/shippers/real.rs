//! Real clients: 10,000 lines out of each, 10,000 lines in, with their fields.
//!
//! `scripts/setup-clients.sh` installs them, under `clients` in the target directory.

use crate::server::Server;
use std::path::{Path, PathBuf};
use std::process::Command;

const LINES: usize = 10_000;

/// Where the clients are, unless they are to be left out.
pub fn clients() -> Option<PathBuf> {
    if std::env::var_os("DURAMEN_SKIP_CLIENTS").is_some_and(|skip| skip == "1") {
        return None;
    }
    let command = Path::new(env!("CARGO_BIN_EXE_duramen"));
    let dir = command.ancestors().map(|dir| dir.join("clients")).find(|dir| dir.is_dir());
    Some(dir.expect("run scripts/setup-clients.sh first, or set DURAMEN_SKIP_CLIENTS=1"))
}

/// Runs a client's script with the server's address and how many lines to send.
fn run(server: &Server, script: &str, address: std::net::SocketAddr) -> bool {
    let Some(clients) = clients() else { return false };
    let mut command = match Path::new(script).extension().and_then(|e| e.to_str()) {
        Some("py") => Command::new(clients.join("python/bin/python")),
        Some("java") => {
            let Some(java) = jdk() else { return false };
            assert!(
                clients.join("java-of").exists(),
                "run scripts/setup-clients.sh first: there are no jars"
            );
            let mut command = Command::new(java);
            command.arg("-cp").arg(clients.join("java/*"));
            command
        }
        _ => Command::new("node"),
    };
    let ran = command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shippers/clients").join(script))
        .args([address.ip().to_string(), address.port().to_string(), LINES.to_string()])
        .args(&server.token)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NODE_PATH", clients.join("node/node_modules"))
        .output()
        .unwrap();
    let told = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ran.status.success(), "{}\n{}", told(&ran.stdout), told(&ran.stderr));
    assert_eq!(server.request("GET", "/health", &[], b"").status, 200);
    true
}

/// The `java` that has a compiler beside it, for what is run is source.
fn jdk() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).find(|dir| dir.join("javac").exists());
    if found.is_none() {
        eprintln!("left out: there is no JDK");
    }
    found.map(|dir| dir.join("java"))
}

/// Each line is there once, and these filters find it.
#[track_caller]
fn check(server: &Server, filters: &[&str]) {
    server.query_until("_msg:\"line 9999 of it\"", 1);
    let count = |filter: &str| {
        let rows = server.query(&format!("{filter} | stats count() as lines, count_uniq(_msg) as different"));
        (rows[0]["lines"].to_string(), rows[0]["different"].to_string())
    };
    let all = (LINES.to_string(), LINES.to_string());
    for filter in filters {
        let (lines, different) = count(&format!("\"of it\" {filter}"));
        assert_eq!(
            (lines.trim_matches('"').to_owned(), different.trim_matches('"').to_owned()),
            all,
            "{filter}"
        );
    }
}

#[test]
fn opentelemetry_in_protobuf_and_json() {
    for script in ["otlp_protobuf.py", "otlp_json.py"] {
        let server = Server::start(&[]);
        if run(&server, script, server.http) {
            check(
                &server,
                &[
                    "_stream:{service.name=\"shop\"}",
                    "level:warn",
                    "scope.name:otel order:>=0",
                    "trace_id:~\"^[0-9a-f]{32}$\"",
                ],
            );
        }
    }
}

#[test]
fn opentelemetry_over_grpc() {
    let filters = ["_stream:{service.name=\"shop\"}", "level:warn", "scope.name:otel order:>=0"];
    // Beside HTTP on one port, and on its own; the second is also asked with a token that is none.
    let server = Server::start(&[]);
    if run(&server, "otlp_grpc.py", server.http) {
        check(&server, &filters);
    }
    let server = Server::start_with_token(&["--otlp-grpc-listen", "127.0.0.1:0"]);
    if run(&server, "otlp_grpc.py", server.of("otlp-grpc")) {
        check(&server, &filters);
    }
}

#[test]
fn opentelemetry_for_java() {
    let server = Server::start_with_token(&[]);
    if run(&server, "OtlpJava.java", server.http) {
        check(&server, &["_stream:{service.name=\"shop\"}", "level:warn", "scope.name:otel order:>=0"]);
    }
}

#[test]
fn loki4j_in_json_and_protobuf() {
    let server = Server::start_with_token(&[]);
    if run(&server, "Loki4j.java", server.http) {
        check(&server, &["_stream:{application=\"shop\"}", "level:warn", "request_id:r-7 order:>=0"]);
        for logger in ["json", "protobuf"] {
            let rows = server.query(&format!("logger:={logger} | stats count() as lines"));
            assert_eq!(rows[0]["lines"], (LINES / 2).to_string());
            // What was thrown is in the line, and one line.
            assert_eq!(server.query(&format!("logger:={logger} IllegalStateException")).len(), 1);
        }
    }
}

#[test]
fn python_logging_loki() {
    let server = Server::start(&[]);
    if run(&server, "loki.py", server.http) {
        check(&server, &["_stream:{application=\"shop\"}", "level:warn", "logger:web"]);
    }
}

#[test]
fn elasticsearch_for_python() {
    let server = Server::start(&[]);
    if run(&server, "elastic.py", server.http) {
        check(&server, &["es_index:logs-shop", "level:warn", "order:>=0", "_time:2024-06-15"]);
    }
}

#[test]
fn fluent_logger_for_python() {
    let server = Server::start(&["--fluent-listen", "127.0.0.1:0"]);
    if run(&server, "fluent_forward.py", server.of("fluent")) {
        check(&server, &["_stream:{tag=\"shop.web\"}", "level:warn", "order:>=0"]);
    }
}

#[test]
fn pygelf() {
    let server = Server::start(&["--gelf-listen", "127.0.0.1:0"]);
    if run(&server, "gelf.py", server.of("gelf")) {
        check(&server, &["app:shop", "level:warn", "order:>=0"]);
    }
}

#[test]
fn syslog_of_python() {
    let server = Server::start(&["--syslog-listen", "127.0.0.1:0"]);
    if run(&server, "syslog.py", server.of("syslog")) {
        check(&server, &["app:shop", "level:warn", "facility:user"]);
    }
}

#[test]
fn splunk_handler_for_python() {
    let server = Server::start(&[]);
    if run(&server, "splunk.py", server.http) {
        check(&server, &["sourcetype:shop", "host:web-1"]);
    }
}

#[test]
fn datadog_for_python() {
    let server = Server::start(&[]);
    if run(&server, "datadog.py", server.http) {
        check(&server, &["_stream:{service=\"shop\"}", "level:warn", "env:prod"]);
    }
}

#[test]
fn pino_loki() {
    let server = Server::start(&[]);
    if run(&server, "pino_loki.mjs", server.http) {
        check(&server, &["_stream:{application=\"shop\"}", "level:warn"]);
    }
}

#[test]
fn winston_loki() {
    let server = Server::start(&[]);
    if run(&server, "winston_loki.mjs", server.http) {
        check(&server, &["_stream:{application=\"shop\"}", "level:warn", "part:web"]);
    }
}

#[test]
fn elasticsearch_for_node() {
    let server = Server::start(&[]);
    if run(&server, "elastic.mjs", server.http) {
        check(&server, &["es_index:logs-shop", "level:warn", "order:>=0"]);
    }
}
