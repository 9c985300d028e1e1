#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code
//! A process that gets no more threads does not begin to serve, and says why.

use duramen_engine::io::Env;
use duramen_server::{Allocator, Settings, serve};
use std::process::Command;

const STORE: &str = "DURAMEN_TEST_WITHOUT_THREADS";

/// Is no test: what the other one runs in a process whose threads would need more memory for their stacks than there is.
#[test]
fn role() {
    let Some(dir) = std::env::var_os(STORE) else { return };
    assert!(std::thread::Builder::new().spawn(|| ()).is_err(), "it would show nothing");
    let mut settings = Settings::default();
    settings.listen = vec![([127, 0, 0, 1], 0).into()];
    let outcome = serve(dir.as_ref(), &Env::os(), settings, Allocator::default(), |_| ());
    let told = outcome.unwrap_err().to_string();
    assert!(told.starts_with("cannot start: no more threads can be had: "), "{told}");
}

#[test]
fn a_server_without_threads_says_so_and_does_not_panic() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "role", "--nocapture", "--test-threads", "1"]);
    command.env(STORE, dir.path().join("logs")).env("RUST_MIN_STACK", (1_u64 << 60).to_string());
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(String::from_utf8_lossy(&done.stdout).contains("1 passed"));
}
