//! What an opening after a crash owes to what was acknowledged before it.
#![allow(clippy::unwrap_used)] // this is a test

use duramen_engine::io::sim::{Fault, Sim};
use duramen_engine::kv::{Durability, Engine, WriteOptions};
use duramen_engine::lsm::{Lsm, LsmOptions};
use duramen_engine::wal::Background;

const DIR: &str = "store";

fn open(sim: &Sim) -> Lsm {
    let options = LsmOptions {
        env: sim.env(),
        background: Background::Manual,
        write_buffer_size: 256 << 10,
        ..LsmOptions::default()
    };
    Lsm::open(DIR, options).unwrap()
}

fn ingest(store: &Lsm, key: &[u8]) {
    store.ingest(&mut [Ok((key.to_vec(), b"ingested".to_vec()))].into_iter()).unwrap();
}

fn kill(sim: &Sim, store: Lsm) {
    sim.crash_process();
    drop(store);
}

/// The second opening recovers nothing but the mark of the first ingestion.
#[test]
fn writes_after_ingestions_across_openings_are_there() {
    let sim = Sim::new(1);
    let store = open(&sim);
    ingest(&store, b"a");
    kill(&sim, store);
    let store = open(&sim);
    ingest(&store, b"b");
    store.flush().unwrap();
    store.put(b"c", b"written").unwrap();
    kill(&sim, store);
    let store = open(&sim);
    assert!(store.recovery().damage.is_empty(), "{:?}", store.recovery());
    for (key, value) in [(b"a", &b"ingested"[..]), (b"b", b"ingested"), (b"c", b"written")] {
        assert_eq!(store.get(key).unwrap().as_deref(), Some(value), "{}", key.escape_ascii());
    }
}

/// A sync that fails leaves pages that the kernel counts as clean: no later sync of that file writes them.
#[test]
fn what_a_dead_process_failed_to_sync_is_durable_before_anything_that_follows() {
    for failing in 0..40 {
        let sim = Sim::new(failing);
        let store = open(&sim);
        store.put(b"a", b"before").unwrap();
        sim.fail_at(sim.operations() + failing, Fault::SyncFailed);
        let sync = WriteOptions { durability: Some(Durability::Sync), ..WriteOptions::default() };
        let _may_fail = store.put_with(b"b", b"synced", sync);
        kill(&sim, store);
        let store = open(&sim);
        store.put_with(b"c", b"synced", sync).unwrap();
        drop(store);
        sim.crash_power_keeping(0);
        let store = open(&sim);
        assert_eq!(store.get(b"c").unwrap().as_deref(), Some(&b"synced"[..]), "failing {failing}");
        assert_eq!(store.get(b"a").unwrap().as_deref(), Some(&b"before"[..]), "failing {failing}");
    }
}
