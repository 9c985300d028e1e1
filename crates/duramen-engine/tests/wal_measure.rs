//! How long an append takes. `cargo test --release -p duramen-engine --test wal_measure -- --ignored --nocapture`
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen_engine::io::Env;
use duramen_engine::memtable::{Location, VecMemtable};
use duramen_engine::wal::{Durability, Wal, WalKind, WalOptions, WriteOptions};

/// With its header of 20 bytes, a record of 116.
const PAYLOAD: [u8; 96] = [b'x'; 96];

#[test]
#[ignore = "a measurement"]
fn ns_per_append() {
    let env = Env::os();
    for wal_kind in [WalKind::Mmap, WalKind::None] {
        let dir = tempfile::tempdir().unwrap();
        let options = WalOptions {
            wal_kind,
            first_segment_bytes: 64 << 20,
            idle_segment_bytes: 64 << 20,
            max_write_buffer_number: 64,
            sync_on_seal: false,
            durability: Durability::Process,
            ..WalOptions::default()
        };
        let wal = Wal::create(&env, dir.path(), options).unwrap();
        // Short batches: on a busy machine some of them run undisturbed.
        const RECORDS: u32 = 10_000;
        const BATCHES: u32 = 400;
        let mut took = vec![];
        for batch in 0..BATCHES {
            let start = env.clock.monotonic();
            for _ in 0..RECORDS {
                wal.append(0, 1, &PAYLOAD, WriteOptions::default()).unwrap();
            }
            took.push((env.clock.monotonic() - start).as_nanos() as f64 / f64::from(RECORDS));
            if batch % 50 != 49 {
                continue;
            }
            wal.rotate().unwrap();
            for segment in wal.live_segments().iter().filter(|s| s.is_sealed()) {
                wal.release(segment.number());
                if let Some(path) = segment.path() {
                    env.fs.remove_file(path).unwrap();
                }
            }
        }
        let metrics = wal.metrics();
        took.sort_by(f64::total_cmp);
        let (best, median) = (took[0], took[took.len() / 2]);
        println!(
            "append, {wal_kind:?}, 116 bytes, 1 thread: best {best:.1} ns, median {median:.1} ns; {metrics:?}"
        );
        assert_eq!(metrics.records, u64::from(RECORDS * BATCHES));
        wal.close().unwrap();
    }
}

#[test]
#[ignore = "a measurement"]
fn ns_per_memtable_entry() {
    let clock = Env::os().clock;
    const ENTRIES: u32 = 550_000;
    for (order, spread) in [("in order", 0), ("nearly in order", 1000), ("at random", u64::MAX)] {
        let mut state = 1u64;
        let keys: Vec<(i64, u64)> = (0..ENTRIES)
            .map(|nth| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let late = if spread == 0 { 0 } else { (state >> 20) % spread };
                (i64::from(nth) * 100 - late as i64, u64::from(nth))
            })
            .collect();
        let start = clock.monotonic();
        let mut memtable = VecMemtable::new();
        for (nth, key) in (0u32..).zip(&keys) {
            memtable.push(*key, Location { offset: nth, len: 96 });
        }
        let pushed = clock.monotonic();
        let scanned = memtable.iter_sorted(..).count();
        let merged = clock.monotonic();
        let frozen = memtable.freeze();
        let done = clock.monotonic();
        assert_eq!((scanned, frozen.len()), (ENTRIES as usize, ENTRIES as usize));
        let each = |took: std::time::Duration| took.as_nanos() as f64 / f64::from(ENTRIES);
        println!(
            "memtable, {order}: push {:.1} ns, iter_sorted {:.1} ns, freeze {:.1} ns per entry",
            each(pushed - start),
            each(merged - pushed),
            each(done - merged),
        );
    }
}
