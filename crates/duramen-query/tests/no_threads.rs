//! A process that gets no more threads answers all the same.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod support;

use duramen_query::RunOptions;
use std::process::Command;
use support::{run, store, written};

const ROLE: &str = "DURAMEN_TEST_WITHOUT_THREADS";

/// Is no test: what the other one runs in a process whose threads would need more memory for their stacks than there is.
#[test]
fn role() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    assert!(std::thread::Builder::new().spawn(|| ()).is_err(), "it would show nothing");
    let blocks = store(60, 50);
    for query in [
        "* | stats count() n, sum(n) s",
        "* | sort by (n) desc | limit 7",
        "line | fields n",
        "* | uniq by (n)",
    ] {
        let options = |threads| RunOptions { threads, ..RunOptions::default() };
        let sorted = |threads| {
            let mut rows = run(query, &blocks, &options(threads)).unwrap().0;
            rows.sort();
            rows
        };
        assert_eq!(sorted(4), sorted(1), "{query}");
        assert_eq!(
            written(query, &blocks, &options(4)).unwrap().len(),
            written(query, &blocks, &options(1)).unwrap().len()
        );
    }
}

#[test]
fn queries_are_answered_without_more_threads() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "role", "--nocapture", "--test-threads", "1"]);
    command.env(ROLE, "1").env("RUST_MIN_STACK", (1_u64 << 60).to_string());
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(String::from_utf8_lossy(&done.stdout).contains("1 passed"));
}
