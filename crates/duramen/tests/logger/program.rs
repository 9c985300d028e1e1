//! This test's program, run again as another process.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

/// What tells the program which of its tests' roles to play, and in which directory.
const ROLE: &str = "DURAMEN_LOGGER_TEST_ROLE";
const STORE: &str = "DURAMEN_LOGGER_TEST_STORE";
/// What a report begins with, on standard error, which is not captured.
const MARK: &str = "@ ";

/// A process that plays a role. Killed, if need be, when the test is over.
pub struct Program {
    pub child: Child,
    lines: std::io::Lines<BufReader<ChildStderr>>,
}

impl Program {
    pub fn start(role: &str, dir: &Path) -> Self {
        Self::spawn(Command::new(std::env::current_exe().unwrap()), role, dir)
    }

    /// The same as another user, from a copy of the program in a directory that this user may look into.
    pub fn start_as(uid: u32, copy_in: &Path, role: &str, dir: &Path) -> Self {
        let copy = copy_in.join("program");
        if !copy.exists() {
            // By another process: a child that a test forks meanwhile would keep ours open for writing for a moment,
            // and a program that is open for writing cannot be run.
            let copied =
                Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&copy).status().unwrap();
            assert!(copied.success());
        }
        let mut command = Command::new(copy);
        command.uid(uid).gid(uid).current_dir("/");
        Self::spawn(command, role, dir)
    }

    fn spawn(mut command: Command, role: &str, dir: &Path) -> Self {
        let mut child = command
            .args(["--exact", "program::role", "--nocapture", "--test-threads", "1"])
            .env(ROLE, role)
            .env(STORE, dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, lines }
    }

    /// What it reports next; `None` once it and its children have ended.
    pub fn report(&mut self) -> Option<String> {
        loop {
            let line = self.lines.next()?.unwrap();
            match line.strip_prefix(MARK) {
                Some(report) => return Some(report.to_owned()),
                None => eprintln!("{line}"),
            }
        }
    }

    pub fn expect(&mut self, report: &str) {
        assert_eq!(self.report().as_deref(), Some(report));
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _it_may_have_ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Reports to the test that started this process.
pub fn tell(report: impl std::fmt::Display) {
    std::io::stderr().write_all(format!("{MARK}{report}\n").as_bytes()).unwrap();
}

/// Is no test: what the others run in processes of its own.
#[test]
fn role() {
    let (Ok(role), Some(dir)) = (std::env::var(ROLE), std::env::var_os(STORE)) else { return };
    let dir = Path::new(&dir);
    match role.as_str() {
        "kill" => crate::kill::program(dir),
        "prefork" => crate::fork::prefork(dir),
        "orphan" => crate::fork::orphan(dir),
        "grandchild" => crate::fork::grandchild(dir),
        "elsewhere" => crate::fork::elsewhere(dir),
        "plain store" => crate::fork::plain_store(dir),
        "stranger" => crate::owner::stranger(dir),
        "exit" => crate::synced::exit(dir),
        other => match other.strip_prefix("writer ") {
            Some(life) => crate::writers::program(dir, life),
            None => panic!("no such role: {other}"),
        },
    }
}
