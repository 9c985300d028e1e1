//! An LSM tree whose files are not as it wrote them.
#![allow(clippy::unwrap_used, clippy::panic)] // the helpers of a test may fail as the test does

use duramen_engine::io::sim::Sim;
use duramen_engine::kv::Engine;
use duramen_engine::lsm::{Lsm, LsmOptions};
use duramen_engine::wal::{Background, Wal, WalOptions, WriteOptions};
use std::path::Path;

const DIR: &str = "store";

fn options(sim: &Sim) -> LsmOptions {
    LsmOptions { env: sim.env(), background: Background::Manual, ..LsmOptions::default() }
}

/// A put as a batch has it.
fn put(key: &[u8], value: &[u8]) -> Vec<u8> {
    let varint = |n: usize| [n as u8 | 0x80, (n >> 7) as u8 | 0x80, (n >> 14) as u8];
    [&[1], &varint(key.len())[..], &varint(value.len()), key, value].concat()
}

/// A store in whose WAL somebody has written this record, with these sequence numbers, and the error of opening it.
fn opened_with(payload: &[u8], first_seq: u64, count: u32) -> Result<Lsm, duramen_engine::Error> {
    let sim = Sim::new(1);
    Lsm::open(DIR, options(&sim)).unwrap().close().unwrap();
    let wal_options = WalOptions {
        first_seq,
        background: Background::Manual,
        write_buffer_size: 256 << 10,
        ..Default::default()
    };
    let wal = Wal::create(&sim.env(), &Path::new(DIR).join("wal"), wal_options).unwrap();
    wal.append(0, count, payload, WriteOptions::default()).unwrap();
    drop(wal);
    Lsm::open(DIR, options(&sim))
}

#[test]
fn records_that_could_never_be_flushed_are_refused() {
    let good = opened_with(&put(b"k", b"v"), 1, 1).unwrap();
    assert_eq!(good.get(b"k").unwrap().unwrap(), b"v");
    good.flush().unwrap();
    let range =
        |start: &[u8], end: &[u8]| [&[2], &[start.len() as u8, end.len() as u8][..], start, end].concat();
    let cases = [
        ("a key over the limit", put(&vec![0; 65_537], b""), 1, 1),
        ("a range that ends before it begins", range(b"b", b"a"), 1, 1),
        ("fewer writes than it says", put(b"k", b"v"), 1, 2),
        ("more writes than it says", [put(b"k", b"v"), put(b"l", b"v")].concat(), 1, 1),
        ("sequence numbers past the last", put(b"k", b"v"), u64::MAX >> 1, 1),
    ];
    for (what, payload, first_seq, count) in cases {
        let error = opened_with(&payload, first_seq, count).map(|_| what).unwrap_err();
        assert!(error.is_corruption(), "{what}: {error}");
    }
}

#[test]
fn tables_without_a_manifest_are_not_taken_for_orphans() {
    let sim = Sim::new(1);
    let store = Lsm::open(DIR, options(&sim)).unwrap();
    store.put(b"k", b"v").unwrap();
    store.close().unwrap();
    let (manifest, aside) = (Path::new(DIR).join("MANIFEST"), Path::new(DIR).join("aside"));
    sim.env().fs.rename(&manifest, &aside).unwrap();
    let error = Lsm::open(DIR, options(&sim)).unwrap_err();
    assert!(error.is_corruption() && error.to_string().contains("MANIFEST"), "{error}");
    sim.env().fs.rename(&aside, &manifest).unwrap();
    assert_eq!(Lsm::open(DIR, options(&sim)).unwrap().get(b"k").unwrap().unwrap(), b"v");
}
