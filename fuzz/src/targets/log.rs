//! The file of the log engine: opened to read, then to write, and read whole.
//!
//! ```text
//! input   flags u8 | the file LOG      flags bit 0: put checksums right     bit 1: the machine was started anew
//! ```

use super::Seed;
use crate::input::flags;
use crate::seal;
use duramen_engine::io::OpenMode;
use duramen_engine::io::sim::Sim;
use duramen_engine::kv::{Engine, WriteBatch};
use duramen_engine::log::{Log, LogOptions};
use duramen_engine::wal::Background;
use std::path::Path;

fn options(sim: &Sim) -> LogOptions {
    LogOptions { env: sim.env(), background: Background::Manual, ..LogOptions::default() }
}

/// Tries an input.
pub fn run(input: &[u8]) {
    let (flags, input) = flags(input);
    let mut bytes = input.to_vec();
    if flags & 1 != 0 {
        seal::log(&mut bytes);
    }
    let sim = Sim::new(1);
    Log::open("store", options(&sim)).unwrap().close().unwrap();
    let file = sim.env().fs.open(Path::new("store/LOG"), OpenMode::ReadWrite).unwrap();
    file.set_len(0).unwrap();
    file.write_all_at(&bytes, 0).unwrap();
    drop(file);
    if flags & 2 != 0 {
        sim.sync_all();
        sim.crash_power();
    }
    let read = |store: &Log| {
        let all = store.scan(..).and_then(|scan| scan.collect());
        if let Ok(all) = &all {
            assert!(all.is_sorted_by(|a, b| a.0 < b.0));
            for (key, value) in all.iter().take(8) {
                assert_eq!(store.get(key).unwrap().unwrap(), value);
            }
        }
        all.ok()
    };
    let before = Log::open_read_only("store", options(&sim)).ok().and_then(|store| read(&store));
    let Ok(store) = Log::open("store", options(&sim)) else { return };
    let opened = read(&store);
    if before.is_some() {
        assert_eq!(opened, before);
    }
    if store.put(b"key", b"value").is_ok() && store.close().is_ok() {
        drop(store);
        // What was read and written is there again.
        let store = Log::open("store", options(&sim)).unwrap();
        assert_eq!(store.get(b"key").unwrap().unwrap(), b"value");
    }
}

/// Logs with and without a rewritten part.
pub fn seeds() -> Vec<Seed> {
    let sim = Sim::new(1);
    let store = Log::open("store", options(&sim)).unwrap();
    let file = || [&[1][..], &sim.read_file(Path::new("store/LOG")).unwrap()].concat();
    let mut seeds = vec![("new".to_owned(), file())];
    for n in 0..8 {
        store.put(format!("key {}", n % 3).as_bytes(), format!("value {n}").as_bytes()).unwrap();
    }
    let mut batch = WriteBatch::new();
    batch.put(b"a", b"1").unwrap();
    batch.delete(b"key 0").unwrap();
    batch.delete_range(b"key 1", b"key 2").unwrap();
    store.write(&batch, Default::default()).unwrap();
    seeds.push(("alive".to_owned(), file()));
    store.compact().unwrap();
    store.put(b"after", b"compaction").unwrap();
    let mut run = vec![(b"x".to_vec(), b"1".to_vec()), (b"y".to_vec(), b"2".to_vec())].into_iter().map(Ok);
    store.ingest(&mut run).unwrap();
    seeds.push(("rewritten".to_owned(), file()));
    store.close().unwrap();
    let mut closed = file();
    closed[0] |= 2;
    seeds.push(("closed".to_owned(), closed));
    seeds
}
