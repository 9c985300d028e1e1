//! What a store says of its size is what its statistics say, and does not have to read it.
#![allow(clippy::unwrap_used)] // helpers of tests may

use duramen::{Batch, EntryBuf, Store, StoreOptions, StoreSize};
use duramen_engine::io::sim::Sim;
use proptest::prelude::*;
use std::path::Path;

fn open(sim: &Sim, keeper: bool) -> Store {
    let options = StoreOptions::new().env(sim.spawn_process().env()).background(false).keeper(keeper);
    options.max_write_buffer_number(6).write_buffer_size(64 << 10).open("/logs").unwrap()
}

fn append(store: &Store, lines: usize) {
    let (mut entry, mut batch) = (EntryBuf::default(), Batch::new());
    for n in 0..lines {
        batch.push(entry.start(n as i64).message(&"x".repeat(900)).finish().unwrap()).unwrap();
    }
    store.append_batch(&mut batch, None).unwrap();
}

/// The same by reading everything.
fn read(store: &Store) -> StoreSize {
    let stats = store.stats().unwrap();
    let mut size =
        StoreSize { wal_lines: stats.wal.lines, wal_bytes: stats.wal.bytes, ..StoreSize::default() };
    for day in stats.days.values() {
        size.table_lines += day.lines;
        size.tables += day.tables;
        size.table_bytes += day.stored_bytes;
    }
    size
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn it_is_what_statistics_say(
        acts in prop::collection::vec((0usize..4, 1usize..40), 1..20),
    ) {
        let sim = Sim::new(1);
        let stores = [open(&sim, true), open(&sim, false)];
        let mut lines = 0;
        for (act, n) in acts {
            match act {
                0 | 1 => {
                    append(&stores[act], n);
                    lines += n as u64;
                }
                2 => stores[0].flush().unwrap(),
                _ => stores[0].compact().unwrap(),
            }
            for store in &stores {
                let size = store.size().unwrap();
                prop_assert_eq!(size, read(store));
                prop_assert_eq!(size.table_lines + size.wal_lines, lines);
            }
        }
    }
}

#[test]
fn segments_are_not_read_for_it() {
    let sim = Sim::new(2);
    let store = open(&sim, false);
    for _ in 0..3 {
        append(&store, 60);
    }
    let size = store.size().unwrap();
    assert_eq!(size.wal_lines, 180);
    let segments: Vec<_> = sim.files().into_iter().filter(|file| file.ends_with(".wal")).collect();
    assert!(segments.len() >= 3, "{segments:?}");
    // In the midst of the first, and in what was read already of the others.
    for segment in segments.iter().take(3) {
        sim.flip_bit(Path::new(segment), (4096 + 20_000) * 8).unwrap();
    }
    let other = open(&sim, false);
    assert_eq!(store.size().unwrap(), size);
    assert_eq!(store.size().unwrap(), size);
    assert!(store.incidents().messages.is_empty());
    assert!(other.stats().unwrap().wal.lines < 180, "who reads them sees the damage");
}
