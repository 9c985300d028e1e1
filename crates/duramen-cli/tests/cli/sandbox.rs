//! A directory for files and a store, and the command to run in it.

use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take before the test fails; far more than it takes.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub struct Sandbox {
    dir: tempfile::TempDir,
}

/// How a run ended.
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The run, which must have ended with this code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }
}

impl Sandbox {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn store(&self) -> PathBuf {
        self.path("store")
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// The command with arguments, in this directory, with an environment that changes nothing.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_duramen"));
        command.args(args).current_dir(self.dir.path()).env("DURAMEN_STORE", self.store());
        command.env("TZ", "UTC").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command
    }

    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        Ran::of(self.command(args).stdin(Stdio::null()).output().unwrap())
    }

    /// Runs with this on stdin.
    pub fn run_with_input<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>, input: &[u8]) -> Ran {
        let mut child = self.spawn(args);
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let feeding = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &input));
        let ran = Ran::of(child.wait_with_output().unwrap());
        // The command may have refused to read it.
        let _refused = feeding.join().unwrap();
        ran
    }

    /// Starts the command with all its streams as pipes.
    pub fn spawn<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Child {
        self.command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Ingests a file, which must go well; what was said about it.
    #[track_caller]
    pub fn ingest(&self, path: &Path) -> String {
        self.run([OsStr::new("ingest"), path.as_os_str()]).expect(0).stderr
    }

    /// What a query finds, oldest first.
    #[track_caller]
    pub fn find(&self, query: &str) -> Vec<Value> {
        let ran = self.run(["query", query, "--order", "oldest"]).expect(0);
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The messages a query finds, oldest first.
    #[track_caller]
    pub fn messages(&self, query: &str) -> Vec<String> {
        self.find(query).iter().map(|row| row["_msg"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// How many entries there are.
    #[track_caller]
    pub fn count(&self) -> u64 {
        let ran = self.run(["query", "* | stats count() n", "--output", "raw"]).expect(0);
        ran.stdout.trim().parse().unwrap()
    }
}

/// Asks again until the answer is yes.
#[track_caller]
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < PATIENCE, "waited {PATIENCE:?} for: {what}");
    }
}
