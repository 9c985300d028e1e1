//! Pipes, sockets, directories and links to such, under the names of a store's files: nobody waits for them, and they keep
//! nothing else from anything.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code
#![allow(clippy::disallowed_methods)] // it makes what the io layer does not

use duramen::store::Aside;
use duramen::{EntryBuf, Store, StoreOptions};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A child has the locks of all stores until it is another program: while one makes a pipe, no other has a store open.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const KINDS: [&str; 5] = ["pipe", "socket", "directory", "link to a directory", "link to nothing"];

fn make(kind: &str, path: &Path, elsewhere: &Path) {
    match kind {
        "pipe" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "socket" => drop(UnixListener::bind(path).unwrap()),
        "directory" => {
            std::fs::create_dir(path).unwrap();
            std::fs::write(path.join("mine"), "x").unwrap();
        }
        "link to a directory" => symlink(elsewhere, path).unwrap(),
        _ => symlink(elsewhere.join("not there"), path).unwrap(),
    }
}

fn options() -> StoreOptions {
    StoreOptions::new().background(false).write_buffer_size(64 << 10)
}

fn append(store: &Store, numbers: std::ops::Range<u64>) {
    for n in numbers {
        let mut entry = EntryBuf::new(["app"]);
        entry.start(n as i64).message(&format!("line {n}")).field("app", "x");
        store.append(entry.finish().unwrap()).unwrap();
    }
}

fn rows(store: &Store) -> u64 {
    store.snapshot().unwrap().rows()
}

/// A store with a table of ten lines, and a dead writer with ten others; and that writer's directory.
fn store_in(dir: &Path) -> PathBuf {
    let store = options().open(dir).unwrap();
    append(&store, 0..10);
    store.flush().unwrap();
    drop(store);
    let writer = options().keeper(false).open(dir).unwrap();
    append(&writer, 10..20);
    drop(writer);
    let mut writers = std::fs::read_dir(dir.join("wal")).unwrap().map(|entry| entry.unwrap().path());
    writers.find(|writer| writer.join("00000001.wal").exists()).unwrap()
}

#[test]
fn what_is_no_file_keeps_nothing_from_anything() {
    let _alone = alone();
    for kind in KINDS {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = dir.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        std::fs::write(elsewhere.join("theirs"), "x").unwrap();
        let root = dir.path().join("store");
        let writer = store_in(&root);
        let day = root.join("tables/19700101");
        std::fs::create_dir_all(root.join("quarantine")).unwrap();
        for path in [
            day.join("00000001.sst"),
            day.join("00000002.sst"),
            day.join("00000003.sst.tmp"),
            writer.join("00000002.wal"),
            root.join("quarantine/tables-19700101-00000099.sst"),
        ] {
            make(kind, &path, &elsewhere);
        }
        let reader = options().keeper(false).open_read_only(&root).unwrap();
        assert_eq!(rows(&reader), 20, "{kind}");
        drop(reader);
        let store = options().open(&root).unwrap();
        append(&store, 20..30);
        store.flush().unwrap();
        append(&store, 30..40);
        store.flush().unwrap();
        assert_eq!(rows(&store), 40, "{kind}");
        let report = store.put_back(false).unwrap();
        let stays = |aside: &Aside| matches!(aside, Aside::Stays { .. });
        assert!(report.files.iter().all(|(_, became)| stays(became)), "{kind}: {report:?}");
        assert!(report.files.iter().any(|(name, _)| name.contains("00000099.sst")), "{kind}");
        assert!(store.verify(&mut |_| {}).unwrap().damage.is_empty(), "{kind}");
        assert!(!writer.exists(), "{kind}: what is left keeps the dead writer from going");
        assert!(elsewhere.join("theirs").exists(), "{kind}");
        let kept =
            if kind == "directory" { std::fs::read_dir(root.join("quarantine")).unwrap().count() } else { 5 };
        assert_eq!(kept, 5, "what may be somebody's is kept");
    }
}

/// Where it is in a live table's place, that table's lines are lost, as if it were gone; all others are served as ever.
#[test]
fn in_a_tables_place_it_keeps_no_other_table_from_anything() {
    let _alone = alone();
    for kind in KINDS {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = dir.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        let root = dir.path().join("store");
        let store = options().open(&root).unwrap();
        for n in 0..9 {
            append(&store, n * 10..n * 10 + 10);
            store.flush().unwrap();
        }
        let table = root.join("tables/19700101/00000003.sst");
        std::fs::remove_file(&table).unwrap();
        make(kind, &table, &elsewhere);
        let all = |block: &Arc<dyn duramen::block::Block>| Ok(vec![true; block.rows()]);
        store.delete(0..=9, &mut |block| all(block), &|| false).expect(kind);
        store.compact().expect(kind);
        let copied = store.checkpoint(dir.path().join("copy")).expect(kind);
        assert_eq!(copied.missing_tables, 1, "{kind}");
        append(&store, 90..100);
        store.flush().expect(kind);
    }
}
