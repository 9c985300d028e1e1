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

const KINDS: [&str; 6] =
    ["pipe", "socket", "directory", "link to a directory", "link to itself", "link to nothing"];

fn make(kind: &str, path: &Path, elsewhere: &Path) {
    match kind {
        "pipe" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "socket" => drop(UnixListener::bind(path).unwrap()),
        "directory" => {
            std::fs::create_dir(path).unwrap();
            std::fs::write(path.join("mine"), "x").unwrap();
        }
        "link to a directory" => symlink(elsewhere, path).unwrap(),
        "link to itself" => symlink(path, path).unwrap(),
        _ => symlink(elsewhere.join("not there"), path).unwrap(),
    }
}

/// In a directory of its own each, with another in it that is no store's.
fn of_each_kind(test: impl Fn(&str, &Path, &Path)) {
    let _alone = alone();
    for kind in KINDS {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = dir.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        test(kind, dir.path(), &elsewhere);
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
    of_each_kind(|kind, dir, elsewhere| {
        std::fs::write(elsewhere.join("theirs"), "x").unwrap();
        let root = dir.join("store");
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
            make(kind, &path, elsewhere);
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
    });
}

/// Where it is in a live table's place, that table's lines are lost, as if it were gone; all others are served as ever.
#[test]
fn in_a_tables_place_it_keeps_no_other_table_from_anything() {
    of_each_kind(|kind, dir, elsewhere| {
        let root = dir.join("store");
        let store = options().open(&root).unwrap();
        for n in 0..9 {
            append(&store, n * 10..n * 10 + 10);
            store.flush().unwrap();
        }
        let table = root.join("tables/19700101/00000003.sst");
        std::fs::remove_file(&table).unwrap();
        make(kind, &table, elsewhere);
        let all = |block: &Arc<dyn duramen::block::Block>| Ok(vec![true; block.rows()]);
        store.delete(0..=9, &mut |block| all(block), &|| false).expect(kind);
        store.compact().expect(kind);
        let copied = store.checkpoint(dir.join("copy")).expect(kind);
        assert_eq!(copied.missing_tables, 1, "{kind}");
        append(&store, 90..100);
        store.flush().expect(kind);
    });
}

/// Then nothing tells whether a writer lives: its last lines stay where they are, in every answer, and all others are served.
#[test]
fn in_a_locks_place_it_keeps_no_other_writer_from_anything() {
    of_each_kind(|kind, dir, elsewhere| {
        let root = dir.join("store");
        let writer = store_in(&root);
        let other = options().keeper(false).open(&root).unwrap();
        append(&other, 20..30);
        drop(other);
        std::fs::remove_file(writer.join("LOCK")).unwrap();
        make(kind, &writer.join("LOCK"), elsewhere);
        let store = options().open(&root).unwrap();
        for n in 3..6 {
            append(&store, n * 10..n * 10 + 10);
            store.flush().expect(kind);
            store.compact().expect(kind);
        }
        assert_eq!(rows(&store), 60, "{kind}");
        assert!(store.verify(&mut |_| {}).unwrap().damage.is_empty(), "{kind}");
        // Such a link is one to a lock that was not there yet.
        let is_told = kind != "link to nothing";
        let writers = || std::fs::read_dir(root.join("wal")).unwrap().count();
        assert_eq!((writer.exists(), writers()), (is_told, 1 + usize::from(is_told)), "{kind}");
        let told = store.incidents().messages;
        assert_eq!(
            told.iter().filter(|told| told.contains("LOCK")).count(),
            usize::from(is_told),
            "{told:?}"
        );
        if is_told {
            std::fs::rename(writer.join("LOCK"), dir.join("away")).unwrap();
        }
        store.flush().expect(kind);
        assert_eq!((rows(&store), writers()), (60, 1), "{kind}");
    });
}

/// A link that leads nowhere has a name in quarantine, too: what is kept there gets another.
#[test]
fn a_damaged_segment_is_kept_beside_a_link_of_its_name() {
    of_each_kind(|kind, dir, elsewhere| {
        let root = dir.join("store");
        let writer = store_in(&root);
        let segment = writer.join("00000001.wal");
        let mut bytes = std::fs::read(&segment).unwrap();
        let at = bytes.windows(7).position(|text| text == b"line 14").unwrap();
        bytes[at] = b'f';
        std::fs::write(&segment, &bytes).unwrap();
        let quarantine = root.join("quarantine");
        std::fs::create_dir_all(&quarantine).unwrap();
        let name = format!("{}-00000001.wal", writer.file_name().unwrap().to_string_lossy());
        make(kind, &quarantine.join(&name), elsewhere);
        let store = options().open(&root).unwrap();
        store.flush().expect(kind);
        assert_eq!(rows(&store), 19, "{kind}");
        assert!(!writer.exists(), "{kind}");
        assert!(std::fs::read(quarantine.join(format!("{name}.2"))).unwrap() == bytes, "{kind}");
    });
}
