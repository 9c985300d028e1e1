//! Forked processes.
#![allow(unsafe_code)] // fork and its like

use crate::program::{Program, tell};
use crate::rows;
use duramen::{Level, Logger, Store, StoreOptions, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const CHILDREN: usize = 4;
const ROUNDS: usize = 6;
const LINES: usize = 200;

/// Runs something in a forked child, and says the child's number.
fn fork(in_child: impl FnOnce() -> bool) -> libc::pid_t {
    // SAFETY: the child only does what a child of a process with threads may count on here: it is Linux's C library,
    // which keeps its allocator usable, and ends by `_exit`.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(in_child));
        // SAFETY: it ends this process.
        unsafe { libc::_exit(i32::from(!matches!(ended, Ok(true)))) };
    }
    assert!(pid > 0, "{}", std::io::Error::last_os_error());
    pid
}

fn wait(pid: libc::pid_t) {
    let mut status = 0;
    // SAFETY: `status` is a place for an int.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert_eq!(status, 0, "the child has failed");
}

/// Kills a process, which has no time to do anything about it.
pub fn kill(pid: u32) {
    // SAFETY: a system call about a child of ours, which nobody has waited for yet.
    assert_eq!(unsafe { libc::kill(libc::pid_t::try_from(pid).unwrap(), libc::SIGKILL) }, 0);
}

fn log(logger: &Logger, who: &str, n: usize) -> bool {
    logger.log(Level::Info, &format!("{who} {n}"), &[("n", Value::Int(n as i64))]).is_ok()
}

/// Forks children again and again while it logs from other threads, which are in the middle of it every time.
pub fn prefork(dir: &Path) {
    let logger = Logger::builder(dir).pid(true).write_buffer_size(64 << 10).open().unwrap();
    let done = AtomicBool::new(false);
    let logged = std::thread::scope(|s| {
        let threads: Vec<_> = (0..2)
            .map(|thread| {
                let (logger, done) = (&logger, &done);
                s.spawn(move || {
                    let mut n = 0;
                    while !done.load(Ordering::Relaxed) {
                        assert!(log(logger, &format!("parent{thread}"), n));
                        n += 1;
                    }
                    n
                })
            })
            .collect();
        for round in 0..ROUNDS {
            let children: Vec<_> = (0..CHILDREN)
                .map(|child| {
                    fork(|| {
                        let who = format!("child{round}.{child}");
                        let all = (0..LINES).all(|n| log(&logger, &who, n));
                        // Some close, some drop, some just end.
                        match child {
                            0 => all && logger.close().is_ok(),
                            1 => {
                                all && {
                                    drop(logger.clone());
                                    logger.stats().lines == LINES as u64
                                }
                            }
                            _ => all,
                        }
                    })
                })
                .collect();
            children.into_iter().for_each(wait);
        }
        done.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    logger.close().unwrap();
    tell(format_args!("{} {}", logged[0], logged[1]));
}

#[test]
fn forked_children_log_as_writers_of_their_own_while_the_parent_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut program = Program::start("prefork", dir.path());
    let report = program.report().expect("it has failed, or hangs");
    assert!(program.child.wait().unwrap().success());
    let parent: Vec<usize> = report.split(' ').map(|n| n.parse().unwrap()).collect();

    let store = Store::open(dir.path()).unwrap();
    let mut lines: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut writers: BTreeMap<String, BTreeSet<(u64, String)>> = BTreeMap::new();
    rows(&store, |row| {
        let (who, n) = row.message().split_once(' ').unwrap();
        lines.entry(who.to_owned()).or_default().push(n.parse().unwrap());
        writers.entry(who.to_owned()).or_default().insert((row.id().writer, row.field("pid").unwrap()));
    });
    assert_eq!(lines.len(), 2 + ROUNDS * CHILDREN);
    for (who, found) in &mut lines {
        found.sort_unstable();
        let expected = match who.as_str() {
            "parent0" => parent[0],
            "parent1" => parent[1],
            _ => LINES,
        };
        assert_eq!(*found, (0..expected).collect::<Vec<_>>(), "{who}");
        assert_eq!(writers[who].len(), 1, "{who}");
    }
    let distinct: BTreeSet<_> = writers.values().flatten().collect();
    assert_eq!(distinct.len(), 1 + ROUNDS * CHILDREN);
}

/// Its child outlives it.
pub fn orphan(dir: &Path) {
    let logger = Logger::builder(dir).open().unwrap();
    assert!(log(&logger, "parent", 0) && logger.store().unwrap().is_keeper());
    let child = fork(|| {
        assert!(log(&logger, "child", 0) && !logger.store().unwrap().is_keeper());
        tell("logs");
        // Its parent is killed now, and with it the keeper's lock falls, though the child had inherited it.
        while !logger.store().unwrap().is_keeper() {
            std::thread::park_timeout(Duration::from_millis(2));
        }
        let ended = log(&logger, "child", 1) && logger.close().is_ok();
        tell("keeps");
        ended
    });
    wait(child);
}

#[test]
fn when_a_parent_is_killed_its_child_logs_on_and_becomes_keeper() {
    let dir = tempfile::tempdir().unwrap();
    let mut program = Program::start("orphan", dir.path());
    program.expect("logs");
    program.kill();
    program.expect("keeps");
    assert_eq!(program.report(), None);
    let store = Store::open_read_only(dir.path()).unwrap();
    assert_eq!(crate::messages(&store), ["parent 0", "child 0", "child 1"]);
    assert_eq!(std::fs::read_dir(dir.path().join("wal")).unwrap().count(), 0, "all of it is in tables");
}

/// Opens a store by a relative path and goes elsewhere then, as daemons do.
pub fn elsewhere(dir: &Path) {
    std::env::set_current_dir(dir).unwrap();
    std::fs::create_dir("elsewhere").unwrap();
    let logger = Logger::builder("logs").open().unwrap();
    assert!(log(&logger, "parent", 0));
    let reader = Store::open_read_only("logs").unwrap();
    std::env::set_current_dir("elsewhere").unwrap();
    wait(fork(|| log(&logger, "child", 0)));
    assert!(log(&logger, "parent", 1));
    logger.flush().unwrap();
    assert_eq!(crate::messages(&reader).len(), 3);
    logger.close().unwrap();
    tell("done");
}

#[test]
fn a_relative_path_goes_on_to_mean_the_same_when_the_program_goes_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let mut program = Program::start("elsewhere", dir.path());
    program.expect("done");
    assert!(program.child.wait().unwrap().success());
    let store = Store::open(dir.path().join("logs")).unwrap();
    assert_eq!(crate::messages(&store), ["parent 0", "child 0", "parent 1"]);
    assert_eq!(std::fs::read_dir(dir.path().join("elsewhere")).unwrap().count(), 0);
}

/// A child cannot open the store, and its own child can.
#[expect(clippy::disallowed_methods, reason = "the store lies in real files, which processes share")]
pub fn grandchild(dir: &Path) {
    // Without a keeper, which would see that the directory is not where it was.
    let logger = Logger::builder(dir.join("logs")).keeper(false).open().unwrap();
    assert!(log(&logger, "parent", 0));
    wait(fork(|| {
        std::fs::rename(dir.join("logs"), dir.join("away")).unwrap();
        std::fs::write(dir.join("logs"), "no directory").unwrap();
        assert!(!log(&logger, "child", 0));
        assert_eq!(logger.stats().errors, 1);
        std::fs::remove_file(dir.join("logs")).unwrap();
        std::fs::rename(dir.join("away"), dir.join("logs")).unwrap();
        wait(fork(|| {
            assert_eq!(logger.stats().errors, 0);
            // At once, though its parent would rest for a second.
            assert!(log(&logger, "grandchild", 0));
            logger.stats().errors == 0 && logger.stats().lines == 1
        }));
        logger.stats().errors == 1
    }));
    tell("done");
}

#[test]
fn a_child_counts_from_zero_and_rests_for_no_failure_of_its_parent() {
    let dir = tempfile::tempdir().unwrap();
    let mut program = Program::start("grandchild", dir.path());
    program.expect("done");
    assert!(program.child.wait().unwrap().success());
    let store = Store::open_read_only(dir.path().join("logs")).unwrap();
    assert_eq!(crate::messages(&store), ["parent 0", "grandchild 0"]);
}

/// A store without a logger, in a child.
pub fn plain_store(dir: &Path) {
    let store = StoreOptions::new().open(dir).unwrap();
    let read_only = Store::open_read_only(dir).unwrap();
    let mut entry = duramen::EntryBuf::new(["app"]);
    let entry = entry.start(1).message("parent").finish().unwrap().to_vec();
    store.append(&entry).unwrap();
    let mut tail = store.tail().unwrap();
    let child = fork(|| {
        let told = |outcome: Result<(), duramen::Error>| {
            outcome.is_err_and(|e| e.to_string().contains("open it again in the child"))
        };
        let all = told(store.append(&entry).map(drop))
            && told(store.sync())
            && told(store.flush())
            && told(store.compact())
            && told(store.snapshot().map(drop))
            && told(read_only.snapshot().map(drop))
            && told(store.stats().map(drop))
            && told(store.verify(&mut |_| {}).map(drop))
            && told(tail.poll(Duration::ZERO).map(drop))
            && !store.is_keeper()
            && store.wal_metrics().is_none()
            && store.incidents().messages.is_empty();
        let own = Store::open(dir).and_then(|own| own.append(&entry));
        drop(read_only);
        all && own.is_ok() && told(store.close())
    });
    wait(child);
    tell("done");
}

#[test]
fn a_store_says_in_a_forked_child_that_it_is_the_parents() {
    let dir = tempfile::tempdir().unwrap();
    let mut program = Program::start("plain store", dir.path());
    program.expect("done");
    assert!(program.child.wait().unwrap().success());
    assert_eq!(crate::messages(&Store::open(dir.path()).unwrap()), ["parent", "parent"]);
}
