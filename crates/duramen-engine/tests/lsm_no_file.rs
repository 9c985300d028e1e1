//! Pipes, directories and links to such, under the names of an LSM tree's files: nobody waits for them, and they keep nothing else
//! from anything.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code
#![allow(clippy::disallowed_methods)] // it makes what the io layer does not

use duramen_engine::io::Env;
use duramen_engine::kv::{Engine, RepairOptions, repair, verify};
use duramen_engine::lsm::{Lsm, LsmOptions};
use duramen_engine::wal::Background;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A child has the locks of all stores until it is another program: while one makes a pipe, no other has a store open.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const KINDS: [&str; 3] = ["pipe", "directory", "link to a directory"];

fn make(kind: &str, path: &Path) {
    match kind {
        "pipe" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "directory" => std::fs::create_dir(path).unwrap(),
        _ => symlink("/", path).unwrap(),
    }
}

fn options() -> LsmOptions {
    LsmOptions { background: Background::Manual, ..LsmOptions::default() }
}

/// A store with a table of one write, and another write that is in the WAL only.
fn store_in(dir: &Path) {
    let store = Lsm::open(dir, options()).unwrap();
    store.put(b"a", b"1").unwrap();
    store.flush().unwrap();
    store.put(b"b", b"2").unwrap();
}

#[test]
fn what_is_no_file_keeps_a_store_from_nothing() {
    let _alone = alone();
    for kind in KINDS {
        let dir = tempfile::tempdir().unwrap();
        store_in(dir.path());
        let writer = std::fs::read_dir(dir.path().join("wal")).unwrap().next().unwrap().unwrap().path();
        std::fs::create_dir_all(dir.path().join("quarantine")).unwrap();
        let names =
            ["sst/00000002.sst", "sst/00000003.sst", "sst/00000004.seq9.sst", "quarantine/sst-00000001.sst"];
        for path in names.map(|name| dir.path().join(name)).into_iter().chain([writer.join("00000099.wal")]) {
            make(kind, &path);
        }
        verify(&Env::os(), dir.path(), &mut |_| {}).unwrap();
        repair(&Env::os(), dir.path(), RepairOptions::default(), &mut |_| {}).unwrap();
        for (key, value) in [(b"c", b"3"), (b"d", b"4")] {
            let store = Lsm::open(dir.path(), options()).unwrap();
            store.put(key, value).unwrap();
            store.flush().unwrap();
            store.compact().unwrap();
            store.close().unwrap();
        }
        let store = Lsm::open(dir.path(), options()).unwrap();
        for (key, value) in [(b"a", b"1"), (b"b", b"2"), (b"c", b"3"), (b"d", b"4")] {
            assert_eq!(store.get(key).unwrap().as_deref(), Some(&value[..]), "{kind}");
        }
    }
}

#[test]
fn a_table_in_whose_place_is_no_file_is_one_that_is_gone() {
    let _alone = alone();
    for kind in KINDS {
        let dir = tempfile::tempdir().unwrap();
        store_in(dir.path());
        let table = dir.path().join("sst/00000001.sst");
        std::fs::remove_file(&table).unwrap();
        make(kind, &table);
        let report = repair(&Env::os(), dir.path(), RepairOptions::default(), &mut |_| {}).unwrap();
        assert!(!report.lost.is_empty(), "{kind}: {report:?}");
        let store = Lsm::open(dir.path(), options()).unwrap();
        assert_eq!(store.get(b"a").unwrap(), None, "{kind}");
        assert_eq!(store.get(b"b").unwrap().as_deref(), Some(&b"2"[..]), "{kind}");
        store.flush().unwrap();
    }
}

#[test]
fn a_manifest_that_is_no_file_is_told() {
    let _alone = alone();
    for kind in KINDS {
        let dir = tempfile::tempdir().unwrap();
        store_in(dir.path());
        let manifest = dir.path().join("MANIFEST");
        std::fs::remove_file(&manifest).unwrap();
        make(kind, &manifest);
        let error = Lsm::open(dir.path(), options()).unwrap_err();
        assert!(error.to_string().contains("MANIFEST: it is no file"), "{kind}: {error}");
    }
}
