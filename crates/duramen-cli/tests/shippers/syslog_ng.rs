//! syslog-ng, by each of its ways: http() with lines of JSON, elasticsearch-http(), and syslog in both forms.
//!
//! Debian's packages exclude rsyslog, so `scripts/setup-clients.sh` unpacks them beside the other clients and installs
//! nothing. The test is left out, and says so, where they are not.

use crate::debian::{Running, expect_all, log, program};
use crate::real::clients;
use crate::sandbox::PATIENCE;
use crate::server::Server;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The folder with its modules, whose name is its version.
fn modules(root: &Path) -> Option<PathBuf> {
    let found = std::fs::read_dir(root.join("usr/lib/syslog-ng"));
    let found =
        found.ok().and_then(|found| found.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()));
    if found.is_none() {
        eprintln!("left out: there is no syslog-ng in {}", root.display());
    }
    found
}

#[test]
fn syslog_ng() {
    let Some(root) = clients().map(|clients| clients.join("debian")) else { return };
    let (Some(modules), Some(logger)) = (modules(&root), program("/usr/bin/logger")) else { return };
    let server = Server::start_with_token(&["--syslog-listen", "127.0.0.1:0"]);
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let config = format!(
        r#"@version: current
@requires json-plugin
@include "{root}/usr/share/syslog-ng/include/scl/elasticsearch/elastic-http.conf"
options {{ ts-format(iso); frac-digits(6); time-reopen(1); log-fifo-size(40000); }};
source s_in {{ unix-stream("{socket}"); }};
destination d_json {{ http(
  url("http://127.0.0.1:{http}/insert/jsonline?_stream_fields=app,host&extra_fields=via=json")
  method("POST") headers("Content-Type: application/x-ndjson") user("duramen") password("{token}")
  batch-lines(500) batch-timeout(1000) persist-name("json")
  body('$(format-json --scope none time=$ISODATE message=$MESSAGE level=$LEVEL app=$PROGRAM host=$HOST)')); }};
destination d_elastic {{ elasticsearch-http(
  url("http://127.0.0.1:{http}/_bulk?_stream_fields=HOST") index("syslog") type("") user("duramen") password("{token}")
  batch-lines(500) batch-timeout(1000) persist-name("elastic")); }};
destination d_rfc5424 {{ syslog("127.0.0.1" port({syslog}) transport("tcp") persist-name("rfc5424")); }};
destination d_rfc3164 {{ network("127.0.0.1" port({syslog}) transport("tcp") persist-name("rfc3164")); }};
log {{ source(s_in); destination(d_json); destination(d_elastic); destination(d_rfc5424); destination(d_rfc3164); }};
"#,
        root = root.display(),
        socket = at("socket"),
        http = server.http.port(),
        syslog = server.of("syslog").port(),
        token = server.token.as_deref().unwrap(),
    );
    std::fs::write(at("conf"), config).unwrap();
    let libraries =
        ["usr/lib/x86_64-linux-gnu", "usr/lib/syslog-ng", "lib/x86_64-linux-gnu"].map(|dir| root.join(dir));
    let mut command = Command::new(root.join("usr/sbin/syslog-ng"));
    command.args([
        "-F",
        "-e",
        "--no-caps",
        "-f",
        &at("conf"),
        "-R",
        &at("persist"),
        "-c",
        &at("ctl"),
        "-p",
        &at("pid"),
    ]);
    command
        .arg("--module-path")
        .arg(modules)
        .env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap());
    let told = std::fs::File::create(at("told")).unwrap();
    let _running = Running(command.stdout(Stdio::null()).stderr(told).spawn().unwrap());
    let began = Instant::now();
    while !PathBuf::from(at("socket")).exists() {
        assert!(began.elapsed() < PATIENCE, "{}", std::fs::read_to_string(at("told")).unwrap());
        std::thread::yield_now();
    }
    log(logger, &["-u", &at("socket"), "-t", "web", "-p", "user.warning"]);
    expect_all(&server, "via:json _stream:{app=\"web\"} level:warn");
    expect_all(&server, "es_index:syslog PROGRAM:web PRIORITY:warning level:warn");
    expect_all(&server, "_stream:{app=\"web\"} facility:user level:warn sd.meta.sequenceId:>0");
    // What RFC 3164 has no room for is missing, so that it can be told from the other.
    expect_all(&server, "_stream:{app=\"web\"} facility:user level:warn sd.meta.sequenceId:\"\"");
}
