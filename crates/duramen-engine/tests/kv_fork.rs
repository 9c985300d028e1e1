//! A store in a child that was forked from the process that opened it: it is the parent's, and stays so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code
#![allow(unsafe_code)] // fork

use duramen_engine::Error;
use duramen_engine::kv::{Engine, WriteBatch};
use duramen_engine::log::{Log, LogOptions};
use duramen_engine::lsm::{Lsm, LsmOptions, MemtableKind};
use duramen_engine::wal::{Background, WalKind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs something in a forked child, which must say yes within a while.
fn in_child(yes: impl FnOnce() -> bool) {
    // SAFETY: the child only does what a child of a process with threads may count on here: it is Linux's C library, which keeps
    // its allocator usable, and ends by `_exit`; or by the alarm, if it waits for who is not there.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: as above.
        unsafe { libc::alarm(30) };
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(yes));
        // SAFETY: it ends this process.
        unsafe { libc::_exit(i32::from(!matches!(ended, Ok(true)))) };
    }
    assert!(pid > 0, "{}", std::io::Error::last_os_error());
    let mut status = 0;
    // SAFETY: `status` is a place for an int.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert_eq!(status, 0, "the child failed, or waited for ever");
}

fn stays_the_parents<E: Engine>(open: impl Fn() -> E) {
    let store = open();
    store.put(b"a", b"parent").unwrap();
    let mut child = Some(store);
    in_child(|| {
        let store = child.take().unwrap();
        let is_refused = |result: Result<(), Error>| matches!(result, Err(Error::Forked));
        let mut batch = WriteBatch::new();
        batch.put(b"a", b"child").unwrap();
        let refused = [
            store.put(b"b", b"child"),
            store.delete(b"a"),
            store.write(&batch, Default::default()),
            store.flush(),
            store.compact(),
            store.close(),
        ];
        let all = refused.into_iter().all(is_refused);
        drop(store);
        all
    });
    let store = child.take().unwrap();
    store.put(b"c", b"parent").unwrap();
    store.flush().unwrap();
    store.close().unwrap();
    drop(store);
    let all = open().scan(..).unwrap().collect().unwrap();
    let expected = [(b"a".to_vec(), b"parent".to_vec()), (b"c".to_vec(), b"parent".to_vec())];
    assert_eq!(all, expected);
}

#[test]
fn a_log_stays_the_parents() {
    let dir = tempfile::tempdir().unwrap();
    stays_the_parents(|| Log::open(dir.path().join("kv"), LogOptions::default()).unwrap());
}

#[test]
fn a_tree_stays_the_parents() {
    let dir = tempfile::tempdir().unwrap();
    stays_the_parents(|| Lsm::open(dir.path().join("kv"), LsmOptions::default()).unwrap());
}

/// The child reads on, though a writer of the parent held the log's lock.
#[test]
fn a_child_scans_past_deleted_keys_without_its_parents_locks() {
    let dir = tempfile::tempdir().unwrap();
    let options = LsmOptions {
        memtable: MemtableKind::Skiplist,
        wal_kind: WalKind::None,
        background: Background::Manual,
        write_buffer_size: 64 << 20,
        ..LsmOptions::default()
    };
    let store = Lsm::open(dir.path().join("kv"), options).unwrap();
    for n in 0..200u8 {
        store.delete(&[n]).unwrap();
    }
    store.put(&[201], b"first").unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    store.delete(&[3]).unwrap();
                }
            });
        }
        let all_read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..150 {
                in_child(|| matches!(store.scan(..).unwrap().next(), Ok(Some((key, _))) if key == [201]));
            }
        }));
        is_over.store(true, Ordering::Relaxed);
        all_read.unwrap();
    });
}
