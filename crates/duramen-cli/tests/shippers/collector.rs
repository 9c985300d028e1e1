//! An OpenTelemetry Collector that follows a file: 10,000 lines into it, 10,000 lines in, whatever becomes of the server.
//!
//! `scripts/setup-clients.sh` builds one of the official parts (`clients/collector`), where there is Go; `DURAMEN_COLLECTOR`
//! names another, which has to have the receiver `file_log` and the exporters `otlp_http` and `otlp_grpc`. Without one the
//! tests are left out, and say so.

use crate::debian::Running;
use crate::real::clients;
use crate::sandbox::PATIENCE;
use crate::server::Server;
use serde_json::json;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const LINES: usize = 10_000;

fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("DURAMEN_COLLECTOR") {
        return Some(named.into());
    }
    let found = clients()?.join("collector");
    if !found.exists() {
        eprintln!("left out: there is no {}, and DURAMEN_COLLECTOR names no other", found.display());
        return None;
    }
    Some(found)
}

/// It, and the file that it follows.
struct Collector {
    dir: tempfile::TempDir,
    running: Running,
    written: usize,
}

impl Collector {
    /// Begins to send in this way.
    fn start(program: &Path, way: &Way) -> Self {
        let Way { exporter, settings } = way;
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).display().to_string();
        File::create(at("shop.log")).unwrap();
        // The layout is how Go writes a time. By itself it would be patient for five seconds at first.
        let config = format!(
            r"receivers:
  file_log:
    include: [{lines}]
    start_at: beginning
    poll_interval: 20ms
    resource: {{service.name: shop}}
    operators:
      - type: regex_parser
        regex: '^(?P<time>\S+) (?P<sev>\S+) .* order=(?P<order>\d+)$'
        timestamp: {{parse_from: attributes.time, layout_type: gotime, layout: '2006-01-02T15:04:05.000000000Z07:00'}}
        severity: {{parse_from: attributes.sev}}
exporters:
  {exporter}: {{{settings}, retry_on_failure: {{initial_interval: 50ms, max_interval: 500ms, max_elapsed_time: 0s}}}}
service:
  pipelines:
    logs: {{receivers: [file_log], exporters: [{exporter}]}}
",
            lines = at("shop.log"),
        );
        std::fs::write(at("config.yaml"), config).unwrap();
        let mut command = Command::new(program);
        command.arg(format!("--config=file:{}", at("config.yaml"))).stdout(Stdio::null());
        let running = Running(command.stderr(File::create(at("told")).unwrap()).spawn().unwrap());
        Self { dir, running, written: 0 }
    }

    /// Appends so many lines to the file.
    fn write(&mut self, lines: usize) {
        let mut text = String::new();
        for i in self.written..self.written + lines {
            let level = ["INFO", "WARN", "ERROR", "DEBUG"][i % 4];
            writeln!(text, "2024-06-15T12:00:00.{i:09}Z {level} line of it order={i}").unwrap();
        }
        self.written += lines;
        let mut file = OpenOptions::new().append(true).open(self.dir.path().join("shop.log")).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn told(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("told")).unwrap()
    }

    /// Waits until it is so.
    #[track_caller]
    fn wait(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            let ended = self.running.0.try_wait().unwrap();
            assert!(ended.is_none() && began.elapsed() < PATIENCE, "not {what}: {ended:?} {}", self.told());
            std::thread::yield_now();
        }
    }

    /// Waits until each line that was written has come; how many there are.
    #[track_caller]
    fn wait_for_all(&mut self, server: &Server) -> usize {
        self.wait("all lines have come", |collector| different(server) == collector.written);
        number(server, "count()")
    }
}

/// What is counted of all lines of the collector's.
fn number(server: &Server, what: &str) -> usize {
    let rows = server.query(&format!("_stream:{{service.name=\"shop\"}} \"of it\" | stats {what} as n"));
    rows[0]["n"].as_str().unwrap().parse().unwrap()
}

fn different(server: &Server) -> usize {
    number(server, "count_uniq(order)")
}

/// Each line is there, with its fields.
#[track_caller]
fn check_fields(server: &Server) {
    for level in ["info", "warn", "error", "debug"] {
        let found = server.query(&format!("level:{level} | stats count_uniq(order) as n"));
        assert_eq!(found, [json!({ "n": (LINES / 4).to_string() })], "{level}");
    }
    let row = &server.query("order:=7 | limit 1")[0];
    for (name, value) in [
        ("_time", "2024-06-15T12:00:00.000000007Z"),
        ("_msg", "2024-06-15T12:00:00.000000007Z DEBUG line of it order=7"),
        ("level", "debug"),
        ("service.name", "shop"),
        ("log.file.name", "shop.log"),
    ] {
        assert_eq!(row[name], value, "{row}");
    }
}

/// An exporter, with its settings as YAML has them in one line.
struct Way {
    exporter: &'static str,
    settings: String,
}

/// The endpoint is where HTTP is, if there is none for gRPC.
fn way(server: &Server, exporter: &'static str, more: &str) -> Way {
    let token = server.token.as_deref().unwrap();
    let endpoint = match exporter {
        "otlp_http" => format!("logs_endpoint: \"http://{}/v1/logs\"", server.http),
        _ => format!("endpoint: \"{}\", tls: {{insecure: true}}", server.http),
    };
    let settings = format!("{endpoint}, headers: {{Authorization: \"Bearer {token}\"}}, {more}");
    Way { exporter, settings }
}

/// How it can send: what each packs with is another's, too.
const WAYS: [(&str, &str); 5] = [
    ("otlp_http", "compression: zstd"),
    ("otlp_http", "compression: gzip, encoding: json"),
    ("otlp_http", "compression: snappy"),
    ("otlp_grpc", "compression: gzip"),
    ("otlp_grpc", "compression: snappy"),
];

#[test]
fn collector_sends_a_file() {
    let Some(program) = program() else { return };
    for (exporter, more) in WAYS {
        let server = Server::start_with_token(&[]);
        let mut collector = Collector::start(&program, &way(&server, exporter, more));
        collector.write(LINES);
        assert_eq!(collector.wait_for_all(&server), LINES, "{exporter} {more}");
        check_fields(&server);
        assert!(!collector.told().contains("Exporting failed"), "{exporter} {more}: {}", collector.told());
    }
}

/// The limit of its token refuses much of it at first: with 429, or `RESOURCE_EXHAUSTED`, and when to come again.
#[test]
fn collector_sends_again_what_is_refused_for_now() {
    let Some(program) = program() else { return };
    for exporter in ["otlp_http", "otlp_grpc"] {
        let server = Server::start_with_limited_token(&["--max-bytes-per-s", "1000000"], &[]);
        let mut collector = Collector::start(&program, &way(&server, exporter, "compression: none"));
        collector.write(LINES);
        assert_eq!(collector.wait_for_all(&server), LINES, "{exporter}");
        check_fields(&server);
        let told = collector.told();
        assert!(told.contains("Will retry") && told.contains("max_bytes_per_s"), "{exporter}: {told}");
    }
}

/// What was cut may be there twice, for it is sent again; nothing is lost.
#[test]
fn collector_loses_nothing_when_the_server_is_killed() {
    let Some(program) = program() else { return };
    for exporter in ["otlp_http", "otlp_grpc"] {
        let mut server = Server::start_with_token(&[]);
        let mut collector = Collector::start(&program, &way(&server, exporter, "compression: none"));
        for _ in 0..4 {
            collector.write(LINES / 8);
            let before = collector.written - LINES / 8;
            collector.wait("at work", |_| different(&server) > before);
            server.kill();
            collector.write(LINES / 8);
            let failed = collector.told().matches("Will retry").count();
            collector.wait("refused", |collector| collector.told().matches("Will retry").count() > failed);
            server.start_again(&[]);
            collector.wait_for_all(&server);
        }
        assert!(collector.wait_for_all(&server) >= LINES);
        check_fields(&server);
    }
}
