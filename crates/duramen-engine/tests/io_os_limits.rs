//! How the operating system's limits come through. One test to this process, as it lowers a limit of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen_engine::io::{Env, OpenMode};
use duramen_engine::kv::{Durability, Engine, WriteOptions};
use duramen_engine::lsm::{Lsm, LsmOptions};
use duramen_engine::wal::Background;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::PathBuf;

/// A store has a descriptor for the name of what it is to make durable, though none is left: it was no failed sync.
fn a_store_syncs_what_it_has(dir: PathBuf) -> impl FnOnce() {
    let options = LsmOptions { background: Background::Manual, ..LsmOptions::default() };
    let store = Lsm::open(dir, options).unwrap();
    move || {
        let synced = WriteOptions { durability: Some(Durability::Sync), ..WriteOptions::default() };
        store.put_with(b"key", b"value", synced).unwrap();
        assert_eq!(store.poisoned(), None);
    }
}

#[test]
fn running_out_of_descriptors_is_an_error_that_heals_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let fs = Env::os().fs;
    let put = a_store_syncs_what_it_has(dir.path().join("store"));
    let limit = Rlimit { current: Some(64), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).unwrap();
    let mut open = Vec::new();
    let error = loop {
        match fs.open(&dir.path().join(open.len().to_string()), OpenMode::CreateNew) {
            Ok(file) => open.push(file),
            Err(e) => break e,
        }
    };
    assert_eq!(error.raw_os_error(), Some(Errno::MFILE.raw_os_error()));
    let path = dir.path().join("segment");
    for refused in [fs.create_segment(&path, 4096), fs.create_unmapped_segment(&path, 4096)] {
        assert_eq!(refused.unwrap_err().raw_os_error(), Some(Errno::MFILE.raw_os_error()));
    }
    assert!(!fs.exists(&path).unwrap());
    fs.sync_dir(dir.path()).unwrap();
    fs.sync_dir(dir.path()).unwrap();
    put();
    open.pop();
    fs.create_segment(&path, 4096).unwrap();
}
