//! A process that gets no more threads: what it does on several otherwise, it does alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen::{EntryBuf, StoreOptions};
use std::ops::ControlFlow;
use std::process::Command;

const STORE: &str = "DURAMEN_TEST_WITHOUT_THREADS";

/// Is no test: what the other one runs in a process whose threads would need more memory for their stacks than there is.
#[test]
fn role() {
    const DAY_NS: i64 = 86_400_000_000_000;
    let Some(dir) = std::env::var_os(STORE) else { return };
    assert!(std::thread::Builder::new().spawn(|| ()).is_err(), "it would show nothing");
    let store = StoreOptions::new().background(false).flush_threads(4);
    let store = store.max_write_buffer_number(100).open(dir).unwrap();
    for n in 0..40_000 {
        let mut entry = EntryBuf::new(["app"]);
        let noise = (n as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        entry.start(n % 40 * DAY_NS).message(&format!("{n} {noise:x} {:x}", noise.rotate_left(17)));
        store.append(entry.finish().unwrap()).unwrap();
    }
    store.flush().unwrap();
    let mut rows = 0;
    let mut count = |_: &duramen::store::ScanRow<'_>| {
        rows += 1;
        ControlFlow::Continue(())
    };
    store.scan(i64::MIN, i64::MAX, &mut count).unwrap();
    assert_eq!(rows, 40_000);
}

#[test]
fn lines_are_put_into_tables_without_more_threads() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "role", "--nocapture", "--test-threads", "1"]);
    command.env(STORE, dir.path().join("logs")).env("RUST_MIN_STACK", (1_u64 << 60).to_string());
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(String::from_utf8_lossy(&done.stdout).contains("1 passed"));
}
