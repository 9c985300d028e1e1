//! A PostgreSQL server of the test's own: in a temporary directory, on a free port, not as root.
//!
//! Where its programs are missing, `scripts/setup-tests.sh` installs them. Where they cannot be installed,
//! `DURAMEN_SKIP_POSTGRES=1` leaves these tests out; without it they fail and say so.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server may take to start or to stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server, running or not; killed and removed when dropped.
pub struct Server {
    dir: tempfile::TempDir,
    bin: PathBuf,
    user: Option<&'static str>,
    port: u16,
    process: Option<Child>,
}

impl Server {
    /// Starts one, or says that these tests are left out.
    pub fn start() -> Option<Self> {
        if std::env::var_os("DURAMEN_SKIP_POSTGRES").is_some_and(|v| v == "1") {
            eprintln!("skipped: DURAMEN_SKIP_POSTGRES is 1");
            return None;
        }
        let bin = programs().unwrap_or_else(|| {
            panic!(
                "no initdb and postgres on PATH or in /usr/lib/postgresql/*/bin: run scripts/setup-tests.sh, or set \
                 DURAMEN_SKIP_POSTGRES=1 to leave the tests with PostgreSQL out"
            )
        });
        let dir = tempfile::tempdir().unwrap();
        // PostgreSQL refuses to run as root.
        let user =
            (std::fs::metadata("/proc/self").map(|m| std::os::unix::fs::MetadataExt::uid(&m)).unwrap_or(1)
                == 0)
                .then(unprivileged);
        if let Some(user) = user {
            run(Command::new("chown").arg(user).arg(dir.path()));
        }
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let mut server = Self { dir, bin, user, port, process: None };
        let data = server.data();
        run(server
            .command("initdb")
            .args(["--auth=trust", "--username=test", "--no-sync", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(data));
        server.up();
        Some(server)
    }

    /// The address, as `duramen` takes it.
    pub fn url(&self) -> String {
        format!("postgres://test@127.0.0.1:{}/postgres", self.port)
    }

    pub fn connect(&self) -> postgres::Client {
        postgres::Client::connect(&self.url(), postgres::NoTls).unwrap()
    }

    /// Has it speak TLS from its next start on, with this certificate and its key, in PEM; and refuse everybody who does
    /// not.
    pub fn speak_tls(&mut self, certificate: &str, key: &str) {
        self.kill();
        let data = self.data();
        for (name, text) in [
            ("server.crt", certificate),
            ("server.key", key),
            ("pg_hba.conf", "hostssl all all 127.0.0.1/32 trust"),
        ] {
            let file = data.join(name);
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
            if let Some(user) = self.user {
                run(Command::new("chown").arg(user).arg(&file));
            }
        }
        let settings = data.join("postgresql.auto.conf");
        std::fs::write(settings, "ssl = on\n").unwrap();
        self.up();
    }

    /// Starts it again after a [`Server::kill`].
    pub fn up(&mut self) {
        let started = Instant::now();
        let mut said = String::new();
        while let Err(log) = self.try_up() {
            // It may find that a process of the server before has not ended yet.
            said.push_str(&log);
            assert!(started.elapsed() < PATIENCE, "the server does not start: {said}");
        }
    }

    /// Starts it and waits until it takes connections; what it said if it ends instead.
    fn try_up(&mut self) -> Result<(), String> {
        let (data, port) = (self.data(), self.port.to_string());
        // `fsync` stays on: a killed server must have what it acknowledged.
        let mut process = self
            .command("postgres")
            .arg("-D")
            .arg(data)
            .args(["-p", &port, "-h", "127.0.0.1", "-k", "", "-c", "max_connections=20"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(process.stderr.take().unwrap());
        let mut log = String::new();
        while said.read_line(&mut log).is_ok_and(|n| n > 0) {
            if log.contains("ready to accept connections") {
                // It must never wait for somebody to read what it says.
                std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
                self.process = Some(process);
                return Ok(());
            }
        }
        let _ended = process.wait();
        Err(log)
    }

    /// Kills the server and all its processes, as a loss of power would.
    pub fn kill(&mut self) {
        let all = self.processes();
        let Some(mut process) = self.process.take() else { return };
        let all = all.iter().map(u32::to_string);
        let _gone = Command::new("kill").arg("-9").args(all).status();
        let _ended = process.wait();
    }

    /// The identities of the server and all its processes.
    pub fn processes(&self) -> Vec<u32> {
        let Some(process) = &self.process else { return Vec::new() };
        let postmaster = process.id();
        let ps = Command::new("ps").args(["-o", "pid=", "--ppid", &postmaster.to_string()]).output().unwrap();
        let children = String::from_utf8(ps.stdout).unwrap();
        let children = children.split_whitespace().map(|id| id.parse().unwrap());
        std::iter::once(postmaster).chain(children).collect()
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// One of PostgreSQL's programs, as a user that it accepts.
    fn command(&self, program: &str) -> Command {
        let program = self.bin.join(program);
        let mut command = match self.user {
            None => Command::new(program),
            Some(user) => {
                let mut command = Command::new("setpriv");
                command.args([format!("--reuid={user}"), "--clear-groups".into()]).arg(program);
                command
            }
        };
        command.current_dir("/").stdin(Stdio::null()).env("LC_ALL", "C");
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Where initdb and postgres are.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map(|versions| versions.flatten().map(|v| v.path().join("bin")).collect())
        .unwrap_or_default();
    places.sort();
    places.extend(std::env::split_paths(&path));
    places.into_iter().rev().find(|dir| ["initdb", "postgres"].iter().all(|name| dir.join(name).exists()))
}

/// A user that is not root.
fn unprivileged() -> &'static str {
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let known = |name: &str| users.lines().any(|line| line.starts_with(&format!("{name}:")));
    ["postgres", "nobody"].into_iter().find(|name| known(name)).unwrap()
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
}
