//! A table's file that lies under the name of another.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen_engine::io::OpenMode;
use duramen_engine::io::sim::Sim;
use duramen_engine::kv::{Engine, RepairOptions, repair, verify};
use duramen_engine::lsm::{CompactionStyle, Lsm, LsmOptions};
use duramen_engine::wal::Background;
use std::path::Path;

const DIR: &str = "store";
const FIRST: &str = "store/sst/00000001.sst";
const SECOND: &str = "store/sst/00000002.sst";

fn options(sim: &Sim) -> LsmOptions {
    LsmOptions {
        env: sim.env(),
        background: Background::Manual,
        compaction: CompactionStyle::None,
        ..LsmOptions::default()
    }
}

/// Two tables with the same keys; of the same length, if the second is not to delete any.
fn store(sim: &Sim, deletes: bool) {
    let store = Lsm::open(DIR, options(sim)).unwrap();
    // Numbers of two digits only, so that both tables' properties are as long.
    for _ in 0..10 {
        store.put(b"k\0", b"older").unwrap();
    }
    for value in [b"old", b"new"] {
        for n in 0..40u8 {
            store.put(&[b'k', n], value).unwrap();
        }
        if deletes && value == b"new" {
            store.delete(b"kz").unwrap();
        }
        store.flush().unwrap();
    }
    store.close().unwrap();
}

fn replace(sim: &Sim, path: &str, bytes: &[u8]) {
    let fs = sim.env().fs;
    fs.remove_file(Path::new(path)).unwrap();
    fs.open(Path::new(path), OpenMode::CreateNew).unwrap().write_all_at(bytes, 0).unwrap();
}

#[test]
fn it_is_refused_told_and_never_taken_for_the_right_one() {
    for (deletes, swap) in [(true, false), (false, false), (true, true), (false, true)] {
        let sim = Sim::new(1);
        store(&sim, deletes);
        let (first, second) =
            (sim.read_file(Path::new(FIRST)).unwrap(), sim.read_file(Path::new(SECOND)).unwrap());
        assert_eq!(first.len() == second.len(), !deletes);
        replace(&sim, SECOND, &first);
        if swap {
            replace(&sim, FIRST, &second);
        }
        let store = Lsm::open_read_only(DIR, options(&sim)).unwrap();
        for n in 0..40u8 {
            let error = store.get(&[b'k', n]).unwrap_err();
            assert!(error.is_corruption(), "{error}");
        }
        assert!(store.scan(..).and_then(|scan| scan.collect()).is_err());
        drop(store);
        let found = verify(&sim.env(), DIR, &mut |_| {}).unwrap();
        let told = found.damage.iter().find(|damage| damage.path.ends_with("sst/00000002.sst")).unwrap();
        assert_eq!(told.entries, Some(if deletes { 41 } else { 40 }), "{told:?}");
        assert!(told.keys.is_some() && told.detail.contains("another table"), "{told:?}");
        let mended = repair(&sim.env(), DIR, RepairOptions::default(), &mut |_| {}).unwrap();
        // What is only swapped is put back.
        let lost = if swap { Vec::new() } else { found.damage };
        assert_eq!(mended.lost, lost);
        assert_eq!(mended.quarantined.len(), lost.len(), "{mended:?}");
        assert!(verify(&sim.env(), DIR, &mut |_| {}).unwrap().is_whole());
        let store = Lsm::open(DIR, options(&sim)).unwrap();
        let expected: &[u8] = if swap { b"new" } else { b"old" };
        assert_eq!(store.get(b"k\x01").unwrap().as_deref(), Some(expected));
    }
}
