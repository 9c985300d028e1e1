//! What Debian's packages send: `logger`, rsyslog and systemd's journal. Each test is left out, and says so, where its
//! program is not installed; `scripts/setup-clients.sh` installs them where it may.

use crate::sandbox::PATIENCE;
use crate::server::Server;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const LINES: usize = 10_000;

pub fn program(path: &str) -> Option<&Path> {
    let found = Some(Path::new(path)).filter(|path| path.exists());
    if found.is_none() {
        eprintln!("left out: there is no {path}");
    }
    found
}

/// Gives lines to `logger`, which sends them one by one.
pub fn log(logger: &Path, args: &[&str]) {
    let mut child = Command::new(logger).args(args).stdin(Stdio::piped()).spawn().unwrap();
    let mut lines = String::new();
    for i in 0..LINES {
        writeln!(lines, "line {i} of it").unwrap();
    }
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// Waits until all lines have come, and no more.
#[track_caller]
pub fn expect_all(server: &Server, filter: &str) {
    let query = format!("\"of it\" {filter} | stats count() as lines, count_uniq(_msg) as different");
    let all = serde_json::json!({ "lines": LINES.to_string(), "different": LINES.to_string() });
    let began = Instant::now();
    while server.query(&query) != [all.clone()] {
        assert!(began.elapsed() < PATIENCE, "{:?}", server.query(&query));
        std::thread::yield_now();
    }
}

#[test]
fn logger() {
    let Some(logger) = program("/usr/bin/logger") else { return };
    let server = Server::start(&["--syslog-listen", "127.0.0.1:0"]);
    let port = server.of("syslog").port().to_string();
    log(
        logger,
        &["--server", "127.0.0.1", "--port", &port, "--tcp", "--rfc5424", "-t", "shop", "-p", "user.err"],
    );
    expect_all(&server, "app:shop level:error facility:user");
}

/// Ended when the test is.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

#[test]
fn rsyslog_forwards_and_fills_elasticsearch() {
    let (Some(rsyslogd), Some(logger), Some(_)) = (
        program("/usr/sbin/rsyslogd"),
        program("/usr/bin/logger"),
        program("/usr/lib/x86_64-linux-gnu/rsyslog/omelasticsearch.so"),
    ) else {
        return;
    };
    let server = Server::start(&["--syslog-listen", "127.0.0.1:0"]);
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let (http, syslog) = (server.http.port(), server.of("syslog").port());
    let config = format!(
        r#"global(workDirectory="{dir}")
module(load="imuxsock" SysSock.Use="off")
input(type="imuxsock" Socket="{socket}" RateLimit.Interval="0")
module(load="omelasticsearch")
template(name="json" type="list") {{ constant(value="{{\"@timestamp\":\"") property(name="timereported" dateFormat="rfc3339")
  constant(value="\",\"message\":\"") property(name="msg" format="json")
  constant(value="\",\"severity\":\"") property(name="syslogseverity-text") constant(value="\"}}") }}
*.* action(type="omelasticsearch" server="127.0.0.1" serverport="{http}" bulkmode="on" searchIndex="syslog" searchType=""
  template="json")
*.* action(type="omfwd" target="127.0.0.1" port="{syslog}" protocol="tcp" TCP_Framing="octet-counted"
  template="RSYSLOG_SyslogProtocol23Format")
"#,
        dir = dir.path().display(),
        socket = at("socket"),
    );
    std::fs::write(at("conf"), config).unwrap();
    let mut command = Command::new(rsyslogd);
    command.args(["-n", "-f", &at("conf"), "-i", &at("pid")]).stdout(Stdio::null()).stderr(Stdio::null());
    let _running = Running(command.spawn().unwrap());
    let began = Instant::now();
    while !PathBuf::from(at("socket")).exists() {
        assert!(began.elapsed() < PATIENCE, "rsyslogd does not start");
        std::thread::yield_now();
    }
    log(logger, &["-u", &at("socket"), "-t", "web", "-p", "user.warning"]);
    expect_all(&server, "app:web level:warn");
    expect_all(&server, "es_index:syslog level:warn");
}

#[test]
fn systemd_journal_upload() {
    let (Some(remote), Some(upload)) =
        (program("/lib/systemd/systemd-journal-remote"), program("/lib/systemd/systemd-journal-upload"))
    else {
        return;
    };
    let server = Server::start(&[]);
    let dir = tempfile::tempdir().unwrap();
    let id = "0123456789abcdef0123456789abcdef";
    let mut export = String::new();
    for i in 0..LINES {
        write!(
            export,
            "__REALTIME_TIMESTAMP={}\n__MONOTONIC_TIMESTAMP={}\n_BOOT_ID={id}\n_MACHINE_ID={id}\n_HOSTNAME=web-1\n\
             PRIORITY=4\nMESSAGE=line {i} of it\n\n",
            1_718_452_800_000_000 + i,
            i + 1
        )
        .unwrap();
    }
    std::fs::write(dir.path().join("export"), export).unwrap();
    let journal = dir.path().join("system.journal");
    let input = std::fs::File::open(dir.path().join("export")).unwrap();
    let made = Command::new(remote).arg("-o").arg(&journal).arg("-").stdin(input).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let mut command = Command::new(upload);
    command.arg(format!("--url=http://{}", server.http)).arg("-D").arg(dir.path());
    command.arg(format!("--save-state={}", dir.path().join("state").display()));
    // It follows the journal until it is ended.
    let _running = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    expect_all(&server, "_stream:{_HOSTNAME=\"web-1\"} level:warn _time:2024-06-15");
}
