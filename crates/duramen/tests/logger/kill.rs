//! `kill -9` while threads log: every line whose call returned is there, once and whole.

use crate::messages;
use crate::program::{Program, tell};
use duramen::{Level, Logger, Store, Value};
use std::path::Path;

const THREADS: usize = 4;

/// What no part of can be missing without being seen.
fn message(thread: usize, n: u64) -> String {
    let tail: String = (0..n % 50).map(|i| char::from(b'a' + ((n + i) % 26) as u8)).collect();
    format!("{thread} {n} {tail}")
}

pub fn program(dir: &Path) {
    let logger = Logger::builder(dir).write_buffer_size(64 << 10).open().unwrap();
    std::thread::scope(|s| {
        for thread in 0..THREADS {
            let logger = &logger;
            s.spawn(move || {
                for n in 0.. {
                    logger.log(Level::Info, &message(thread, n), &[("n", Value::Int(n as i64))]).unwrap();
                    tell(format_args!("{thread} {n}"));
                }
            });
        }
    });
}

#[test]
fn a_killed_process_has_lost_no_line_whose_call_returned() {
    let dir = tempfile::tempdir().unwrap();
    for lines in [1, 700, 2_500] {
        let before = Store::open(dir.path()).map(|store| messages(&store).len()).unwrap();
        let mut program = Program::start("kill", dir.path());
        let mut acknowledged = [0u64; THREADS];
        let mut heard = 0;
        while let Some(report) = program.report() {
            let (thread, n) = report.split_once(' ').unwrap();
            let (thread, n): (usize, u64) = (thread.parse().unwrap(), n.parse().unwrap());
            assert_eq!(acknowledged[thread], n, "reports come in order");
            acknowledged[thread] = n + 1;
            heard += 1;
            if heard == lines {
                program.child.kill().unwrap(); // what it said until then is read on
            }
        }
        let store = Store::open(dir.path()).unwrap();
        let mut found: Vec<String> = messages(&store);
        let total = found.len() - before;
        // Lives do not tell their lines apart, so that of the earlier ones there may be more of each.
        found.sort_unstable();
        for (thread, &through) in acknowledged.iter().enumerate() {
            for n in 0..through {
                assert!(found.binary_search(&message(thread, n)).is_ok(), "{thread} {n} of {through}");
            }
        }
        let heard: u64 = acknowledged.iter().sum();
        // Each thread may have logged one more before it could say so.
        assert!(
            (heard..=heard + THREADS as u64).contains(&(total as u64)),
            "{heard} heard of, {total} there"
        );
    }
}
