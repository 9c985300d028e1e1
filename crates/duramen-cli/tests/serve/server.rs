//! Starts a server, and talks to it.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A running server; killed when dropped.
pub struct Server {
    pub child: Child,
    pub address: SocketAddr,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

/// What was answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: ureq::http::HeaderMap,
    pub body: String,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The body's lines as JSON.
    pub fn lines(&self) -> Vec<Value> {
        self.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A store's directory that does not exist yet.
pub fn store() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("logs");
    (dir, store)
}

/// The command, for this store.
pub fn duramen(store: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_duramen"));
    command.arg("--store").arg(store);
    command
}

/// Makes a token.
pub fn token(store: &Path, args: &[&str]) -> String {
    let output = duramen(store).args(["token", "create"]).args(args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Server {
    /// Serves a store on a port that is free.
    pub fn start(store: &Path) -> Self {
        Self::start_with(store, &[])
    }

    /// The same with these flags, too.
    pub fn start_with(store: &Path, args: &[&str]) -> Self {
        Self::try_start(store, args).unwrap_or_else(|log| panic!("the server has not started: {log}"))
    }

    /// The same; its log, if it ends instead.
    pub fn try_start(store: &Path, args: &[&str]) -> Result<Self, String> {
        Self::try_start_by(duramen(store), args)
    }

    /// The same by this command, which is `duramen` for a store, or ends up as it.
    pub fn try_start_by(mut command: Command, args: &[&str]) -> Result<Self, String> {
        command.args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json"]).args(args);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut log = String::new();
        let address = loop {
            let mut line = String::new();
            if lines.read_line(&mut line).unwrap() == 0 {
                child.wait().unwrap();
                return Err(log);
            }
            log.push_str(&line);
            let event: Value = serde_json::from_str(&line).unwrap_or_default();
            if let Some(address) = event["fields"]["address"].as_str() {
                break address.parse().unwrap();
            }
        };
        let log = Arc::new(Mutex::new(log));
        let kept = log.clone();
        let reader = std::thread::spawn(move || {
            let mut rest = String::new();
            while lines.read_line(&mut rest).is_ok_and(|n| n > 0) {
                kept.lock().unwrap().push_str(&std::mem::take(&mut rest));
            }
        });
        Ok(Self { child, address, log, reader: Some(reader) })
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn agent() -> ureq::Agent {
        Self::agent_for(Duration::from_secs(60))
    }

    /// One whose requests may take so long.
    pub fn agent_for(longest: Duration) -> ureq::Agent {
        ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(longest)).build().into()
    }

    pub fn get(&self, path: &str) -> Answer {
        answer(Self::agent().get(self.url(path)).call())
    }

    pub fn get_with(&self, path: &str, token: &str) -> Answer {
        answer(Self::agent().get(self.url(path)).header("authorization", format!("Bearer {token}")).call())
    }

    pub fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Answer {
        self.post_with(path, &[], body)
    }

    pub fn post_with(&self, path: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Answer {
        let mut request = Self::agent().post(self.url(path));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        answer(request.send(body.as_ref()))
    }

    /// The rows that a query finds.
    pub fn query(&self, query: &str) -> Vec<Value> {
        let form: String =
            form_urlencoded::Serializer::new(String::new()).append_pair("query", query).finish();
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let answer = self.post_with("/select/logsql/query", &headers, form);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.lines()
    }

    /// How many entries a filter finds.
    pub fn count(&self, filter: &str) -> u64 {
        let rows = self.query(&format!("{filter} | stats count() n"));
        rows[0]["n"].as_str().unwrap().parse().unwrap()
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Asks it to stop and waits for it; its exit code, and what it has logged.
    pub fn stop(mut self) -> (Option<i32>, String) {
        self.signal("TERM");
        let code = self.child.wait().unwrap().code();
        self.reader.take().unwrap().join().unwrap();
        (code, self.log())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// What was answered.
pub fn answer(result: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Answer {
    let mut response = result.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let mut body = String::new();
    response.body_mut().as_reader().read_to_string(&mut body).unwrap();
    Answer { status, headers, body }
}

/// Asks again until it is so.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < until, "it never was so that {what}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}
