//! What the writers of an LSM tree left in the WAL: recovered, read, flushed to tables, and read again.
//!
//! The input is that of [`wal`](super::wal); its flags bit 4 chooses the other memtable.

use super::{Seed, wal};
use crate::input::flags;
use duramen_engine::io::sim::Sim;
use duramen_engine::kv::{Engine, WriteBatch};
use duramen_engine::lsm::{CompactionStyle, Lsm, LsmOptions, MemtableKind};
use duramen_engine::wal::{Background, WalRecoveryMode, writers};
use std::path::Path;

const DIR: &str = "store";

fn options(sim: &Sim, flags: u8) -> LsmOptions {
    LsmOptions {
        env: sim.env(),
        memtable: if flags & 16 == 0 { MemtableKind::Vec } else { MemtableKind::Skiplist },
        wal_recovery_mode: WalRecoveryMode::SkipAnyCorrupted,
        write_buffer_size: 64 << 10,
        background: Background::Manual,
        compaction: CompactionStyle::None,
        ..LsmOptions::default()
    }
}

/// Tries an input.
pub fn run(input: &[u8]) {
    let (flags, parts) = flags(input);
    let sim = Sim::new(1);
    Lsm::open(DIR, options(&sim, flags)).unwrap().close().unwrap();
    wal::write_segments(&sim.env(), &Path::new(DIR).join("wal"), flags, parts);
    let Ok(store) = Lsm::open(DIR, options(&sim, flags)) else { return };
    let all = |store: &Lsm| store.scan(..).unwrap().collect().unwrap();
    let recovered = all(&store);
    assert!(recovered.is_sorted_by(|a, b| a.0 < b.0));
    for (key, value) in recovered.iter().take(16) {
        assert_eq!(store.get(key).unwrap().unwrap(), value);
    }
    // What could be opened can be flushed, and nothing of it changes.
    store.flush().unwrap();
    assert_eq!(all(&store), recovered);
    store.put(b"written", b"after").unwrap();
    store.close().unwrap();
    drop(store);
    let store = Lsm::open(DIR, options(&sim, flags)).unwrap();
    let mut expected = recovered;
    match expected.binary_search_by(|entry| entry.0.as_slice().cmp(b"written")) {
        Ok(at) => expected[at].1 = b"after".to_vec(),
        Err(at) => expected.insert(at, (b"written".to_vec(), b"after".to_vec())),
    }
    assert_eq!(all(&store), expected);
}

/// Writes of every kind, in a store that was left alive.
pub fn seeds() -> Vec<Seed> {
    let sim = Sim::new(2);
    let store = Lsm::open(DIR, options(&sim, 0)).unwrap();
    for n in 0..6 {
        store.put(format!("key {}", n % 4).as_bytes(), format!("value {n}").as_bytes()).unwrap();
    }
    store.delete(b"key 1").unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"a", b"").unwrap();
    batch.delete_range(b"key 2", b"key 9").unwrap();
    batch.put(&[b'k'; 300], &[7; 200]).unwrap();
    store.write(&batch, Default::default()).unwrap();
    let env = sim.env();
    let dir = writers(&env, Path::new("store/wal")).unwrap().remove(0).path;
    let mut input = wal::seed(&sim, &env, &dir);
    input[0] |= 2;
    vec![("vec".into(), input.clone()), ("skiplist".into(), [&[input[0] | 16], &input[1..]].concat())]
}
