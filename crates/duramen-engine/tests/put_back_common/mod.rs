//! A store of three tables, for tests of what a repair does when they are not where the manifest says.
#![allow(dead_code)] // each test uses some of it

use duramen_engine::io::OpenMode;
use duramen_engine::io::sim::Sim;
use duramen_engine::kv::{Engine, RepairOptions, RepairReport, repair, verify};
use duramen_engine::lsm::{CompactionStyle, Lsm, LsmOptions};
use duramen_engine::wal::Background;
use std::path::Path;

pub const DIR: &str = "store";
/// Of the last level.
pub const OLDEST: &str = "store/sst/00000001.sst";
/// Its entries have no sequence number in it.
pub const INGESTED: &str = "store/sst/00000002.seq42.sst";
/// Of level 0.
pub const NEWEST: &str = "store/sst/00000003.sst";
pub const ASIDE: &str = "store/quarantine/sst-00000001.sst";

pub fn options(sim: &Sim) -> LsmOptions {
    LsmOptions {
        env: sim.env(),
        background: Background::Manual,
        write_buffer_size: 256 << 10,
        block_size: 256,
        compaction: CompactionStyle::None,
        ..LsmOptions::default()
    }
}

/// A table at the last level, one of ingested entries, and one that is newer than both, with some of their keys.
pub fn store(sim: &Sim) {
    let store = Lsm::open(DIR, options(sim)).unwrap();
    for n in 0..40u8 {
        store.put(&[b'k', n], b"old").unwrap();
    }
    store.put(b"gone", b"old").unwrap();
    store.compact().unwrap();
    let run = (0..20u8).map(|n| Ok((vec![b'k', n], b"ingested".to_vec())));
    store.ingest(&mut { run }).unwrap();
    for n in 0..10u8 {
        store.put(&[b'k', n], b"new").unwrap();
    }
    store.delete(b"gone").unwrap();
    store.close().unwrap();
    assert!(tables(sim).len() == 3 && levels(sim) == LEVELS, "{:?} {:?}", tables(sim), levels(sim));
    assert!(sim.files().iter().any(|file| file == OLDEST), "{:?}", tables(sim));
    assert!(sim.files().iter().any(|file| file == NEWEST), "{:?}", tables(sim));
    sim.sync_all();
}

pub const LEVELS: [u64; 7] = [2, 0, 0, 0, 0, 0, 1];

pub fn levels(sim: &Sim) -> Vec<u64> {
    let store = Lsm::open_read_only(DIR, options(sim)).unwrap();
    store.metrics().levels.iter().map(|level| level.tables).collect()
}

pub fn tables(sim: &Sim) -> Vec<String> {
    sim.files().into_iter().filter(|file| file.starts_with("store/sst/")).collect()
}

pub fn quarantine(sim: &Sim) -> Vec<String> {
    sim.files().into_iter().filter(|file| file.contains("quarantine")).collect()
}

pub fn has_all(sim: &Sim) {
    let found = verify(&sim.env(), DIR, &mut |_| {}).unwrap();
    assert!(found.is_whole(), "{found:?}");
    let store = Lsm::open(DIR, options(sim)).unwrap();
    for n in 0..40u8 {
        let expected: &[u8] = match n {
            ..10 => b"new",
            10..20 => b"ingested",
            _ => b"old",
        };
        assert_eq!(store.get(&[b'k', n]).unwrap().as_deref(), Some(expected), "{n}");
    }
    assert_eq!(store.get(b"gone").unwrap(), None);
    store.close().unwrap();
}

pub fn rename(sim: &Sim, from: &str, to: &str) {
    let fs = sim.env().fs;
    fs.create_dir_all(Path::new(to).parent().unwrap()).unwrap();
    fs.rename(Path::new(from), Path::new(to)).unwrap();
    sim.sync_all();
}

pub fn copy(sim: &Sim, from: &str, to: &str) {
    let bytes = sim.read_file(Path::new(from)).unwrap();
    write(sim, to, &bytes);
}

pub fn write(sim: &Sim, path: &str, bytes: &[u8]) {
    let fs = sim.env().fs;
    fs.create_dir_all(Path::new(path).parent().unwrap()).unwrap();
    let _may_be_new = fs.remove_file(Path::new(path));
    fs.open(Path::new(path), OpenMode::CreateNew).unwrap().write_all_at(bytes, 0).unwrap();
    sim.sync_all();
}

pub fn damage_at(sim: &Sim, path: &str, places: &[usize]) {
    let mut bytes = sim.read_file(Path::new(path)).unwrap();
    for at in places {
        bytes[*at] ^= 0xff;
    }
    write(sim, path, &bytes);
}

pub fn mend(sim: &Sim) -> RepairReport {
    let planned = repair(&sim.env(), DIR, RepairOptions { dry_run: true }, &mut |_| {}).unwrap();
    let mended = repair(&sim.env(), DIR, RepairOptions::default(), &mut |_| {}).unwrap();
    assert_eq!((&mended.lost, &mended.actions), (&planned.lost, &planned.actions));
    mended
}
