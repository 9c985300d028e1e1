//! What the parts of a memtable's life cost.
//! `cargo test --release -p duramen-engine --lib lsm::memtable::measure -- --ignored --nocapture --test-threads 1`

use super::tests::arena::Wal;
use super::*;
use crate::kv::{Op, OpKind};
use crossbeam_skiplist::SkipMap;
use std::hint::black_box;
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// With keys of 16 and values of 100 bytes, what fills 64 MiB.
const ENTRIES: usize = 480_000;
const SEGMENT_BYTES: usize = 68 << 20;
const VALUE: [u8; 100] = [b'v'; 100];
const ROUNDS: usize = 6;

/// Time that this thread was running: on a busy machine the clock on the wall tells about others.
struct Cpu;

impl Cpu {
    fn monotonic(&self) -> Duration {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
    }
}

fn mixed(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// `shape`: random bytes; a random number in decimal; a rising number in decimal.
fn keys(shape: &str) -> Vec<[u8; 16]> {
    let all = 0..ENTRIES as u64;
    let decimal = |n: u64| -> [u8; 16] { format!("{n:016}").into_bytes().try_into().unwrap() };
    match shape {
        "random" => all.map(|n| (u128::from(mixed(n)) << 64 | u128::from(mixed(!n))).to_be_bytes()).collect(),
        "random decimal" => all.map(|n| decimal(mixed(n) % 100_000_000)).collect(),
        _ => all.map(decimal).collect(),
    }
}

/// Best of some rounds, each part of them on its own.
#[derive(Default)]
struct Best(Vec<(&'static str, f64)>);

impl Best {
    fn take(&mut self, name: &'static str, took: Duration, entries: usize) {
        let ns = took.as_nanos() as f64 / entries as f64;
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some((_, best)) => *best = best.min(ns),
            None => self.0.push((name, ns)),
        }
    }

    fn print(&self, of: &str) {
        println!("{of}, ns per entry:");
        for (name, ns) in &self.0 {
            println!("  {name:32} {ns:7.1}");
        }
    }
}

fn life(kind: MemtableKind, shape: &str, hint: usize) {
    let clock = Cpu;
    let keys = keys(shape);
    let hashes: Vec<u64> = keys.iter().map(|k| xxh3_64(k)).collect();
    let any = |nth: usize| mixed(nth as u64) as usize % ENTRIES;
    let sought: Vec<_> = (0..ENTRIES).map(any).map(|nth| (keys[nth], hashes[nth])).collect();
    let mut best = Best::default();
    let mut index_bytes = 0;
    for _ in 0..ROUNDS {
        let wal = Wal::sized(SEGMENT_BYTES);
        let places: Vec<(u64, u32)> =
            keys.iter().map(|key| wal.append(&[(OpKind::Put, key, &VALUE)])[0]).collect();
        let memtable = new_memtable(kind, wal.segment(), hint);
        let insert = |nth: usize| {
            let (seq, offset) = places[nth];
            let op = Op { kind: OpKind::Put, key: &keys[nth], value: &VALUE };
            memtable.insert_hashed(seq, offset, &op, hashes[nth]);
        };
        let start = clock.monotonic();
        for nth in 0..ENTRIES {
            insert(nth);
        }
        best.take("insert", clock.monotonic() - start, ENTRIES);
        index_bytes = memtable.index_bytes();

        let start = clock.monotonic();
        for (key, hash) in &sought {
            let found = memtable.get(key, *hash, u64::MAX).unwrap();
            assert_eq!(black_box(found.value(memtable.segment())[90]), b'v');
        }
        best.take("get hit", clock.monotonic() - start, ENTRIES);
        let start = clock.monotonic();
        for nth in 0..ENTRIES as u64 {
            let key = mixed(mixed(nth)).to_be_bytes();
            assert!(memtable.get(&key, xxh3_64(&key), u64::MAX).is_none());
        }
        best.take("get miss, with its hash", clock.monotonic() - start, ENTRIES);

        let start = clock.monotonic();
        let sorted = Arc::clone(&memtable).sorted();
        best.take("sort", clock.monotonic() - start, ENTRIES);
        let start = clock.monotonic();
        let mut sum = 0u64;
        for entry in sorted.iter() {
            sum += u64::from(entry.key[15]) + u64::from(entry.value[99]) + entry.seq;
        }
        black_box(sum);
        best.take("iterate, touching", clock.monotonic() - start, ENTRIES);
        let mut block = vec![0u8; 4096];
        let start = clock.monotonic();
        let mut at = 0;
        for entry in sorted.iter() {
            at = if at > 3800 { 0 } else { at };
            block[at..at + 16].copy_from_slice(entry.key);
            block[at + 16..at + 116].copy_from_slice(entry.value);
            at += 116;
        }
        black_box(&block);
        best.take("iterate, copying into a block", clock.monotonic() - start, ENTRIES);
        drop(sorted);

        let mut cursor = Arc::clone(&memtable).cursor(u64::MAX);
        let start = clock.monotonic();
        cursor.seek_to_first().unwrap();
        best.take("scan: first seek, of all", clock.monotonic() - start, ENTRIES);
        let start = clock.monotonic();
        let mut sum = 0u64;
        while cursor.valid() {
            sum += u64::from(cursor.key()[15]) + u64::from(cursor.value()[99]);
            cursor.next().unwrap();
        }
        black_box(sum);
        best.take("scan: next", clock.monotonic() - start, ENTRIES);
        const SEEKS: usize = 20_000;
        let start = clock.monotonic();
        for (key, _) in &sought[..SEEKS] {
            let mut cursor = Arc::clone(&memtable).cursor(u64::MAX);
            cursor.seek(key, u64::MAX).unwrap();
            assert!(cursor.valid());
        }
        best.take("scan: new cursor and seek", clock.monotonic() - start, SEEKS);
    }
    best.print(&format!(
        "{kind:?}, {shape}, hint {hint}, index {:.1} bytes per entry",
        index_bytes as f64 / ENTRIES as f64
    ));
}

#[test]
#[ignore = "a measurement"]
fn vec() {
    for shape in ["random", "random decimal", "rising decimal"] {
        life(MemtableKind::Vec, shape, 0);
    }
    life(MemtableKind::Vec, "random", ENTRIES);
}

#[test]
#[ignore = "a measurement"]
fn skiplist() {
    let clock = Cpu;
    for shape in ["random", "random decimal", "rising decimal"] {
        let keys = keys(shape);
        let mut best = Best::default();
        for _ in 0..ROUNDS {
            let start = clock.monotonic();
            let naive: SkipMap<Vec<u8>, Vec<u8>> = SkipMap::new();
            for key in &keys {
                naive.insert(key.to_vec(), VALUE.to_vec());
            }
            best.take("insert", clock.monotonic() - start, ENTRIES);
        }
        best.print(&format!("SkipMap<Vec<u8>, Vec<u8>>, {shape}"));
        life(MemtableKind::Skiplist, shape, 0);
    }
}

/// As a load writes: hash, append to the log, insert; and what scans between writes cost.
#[test]
#[ignore = "a measurement"]
fn with_the_log() {
    let clock = Cpu;
    let keys = keys("random");
    let mut best = Best::default();
    for _ in 0..ROUNDS {
        for kind in [None, Some(MemtableKind::Vec), Some(MemtableKind::Skiplist)] {
            let wal = Wal::sized(SEGMENT_BYTES);
            let memtable = kind.map(|kind| new_memtable(kind, wal.segment(), 0));
            let mut bytes = Vec::new();
            let start = clock.monotonic();
            for key in &keys {
                let hash = xxh3_64(key);
                bytes.clear();
                crate::kv::put_op(&mut bytes, OpKind::Put, key, &VALUE);
                let (seq, offset) = wal.append_bytes(1, &bytes);
                if let Some(memtable) = &memtable {
                    memtable.insert_hashed(seq, offset, &Op { kind: OpKind::Put, key, value: &VALUE }, hash);
                }
            }
            let name = match kind {
                None => "append alone",
                Some(MemtableKind::Vec) => "append and insert, vec",
                Some(MemtableKind::Skiplist) => "append and insert, skiplist",
            };
            best.take(name, clock.monotonic() - start, ENTRIES);
        }
        let wal = Wal::sized(SEGMENT_BYTES);
        let memtable = new_memtable(MemtableKind::Vec, wal.segment(), 0);
        let start = clock.monotonic();
        const PAIRS: usize = 100_000;
        for key in &keys[..PAIRS] {
            wal.insert(&*memtable, &[(OpKind::Put, key, &VALUE)]);
            let mut cursor = Arc::clone(&memtable).cursor(u64::MAX);
            cursor.seek(key, u64::MAX).unwrap();
            assert_eq!(cursor.key(), key);
        }
        best.take("a put and a scan by turns, vec", clock.monotonic() - start, PAIRS);
    }
    best.print("With a log without a file");
}
