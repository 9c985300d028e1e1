//! What the cache keeps, and what it lets go of.

use super::*;
use crate::io::sim::{OperationKind, Sim};

fn read_all(reader: &TableReader, versions: &[Version]) {
    for (key, seq, ..) in versions {
        assert_eq!(reader.get(key, hash(key), u64::MAX).unwrap().unwrap().seq, *seq);
    }
}

#[test]
fn a_block_is_read_once_while_it_is_kept() {
    let versions = plain_versions(500);
    let sim = Sim::new(5);
    let env = sim.env();
    let blocks = write(&env, &small(), &versions).blocks;
    let cache = Arc::new(BlockCache::new(1 << 20));
    let reader = TableReader::open(&env, Path::new(PATH), &cache).unwrap();
    read_all(&reader, &versions);
    let metrics = cache.metrics();
    assert_eq!((metrics.misses, metrics.hits), (blocks, 500 - blocks));
    let reads = sim.indices_of(OperationKind::Read).len();
    read_all(&reader, &versions);
    assert_eq!(sim.indices_of(OperationKind::Read).len(), reads);
    assert!(metrics.bytes > blocks * 200);
    drop(reader);
    assert_eq!(cache.metrics().bytes, 0, "blocks go with their table");
}

#[test]
fn the_cache_stays_within_its_bytes_and_keeps_what_is_used() {
    let versions = plain_versions(2000);
    let env = Sim::new(5).env();
    write(&env, &small(), &versions);
    for capacity in [0, 100, 1000, 20_000] {
        let cache = Arc::new(BlockCache::new(capacity));
        let reader = TableReader::open(&env, Path::new(PATH), &cache).unwrap();
        read_all(&reader, &versions);
        assert!(cache.metrics().bytes <= capacity as u64);
    }
    let cache = Arc::new(BlockCache::new(40_000));
    let reader = TableReader::open(&env, Path::new(PATH), &cache).unwrap();
    let (hot, cold) = versions.split_at(150);
    for _ in 0..2 {
        read_all(&reader, hot);
    }
    let mut cursor = reader.cursor(true);
    cursor.seek(&cold[0].0, u64::MAX).unwrap();
    while cursor.valid() {
        cursor.next().unwrap();
    }
    let before = cache.metrics();
    read_all(&reader, hot);
    let after = cache.metrics();
    let lost = after.misses - before.misses;
    assert!(lost <= 5, "a scan pushed out {lost} of the blocks that are used");
    assert!(after.bytes <= 40_000 && after.bytes > 30_000);
}

#[test]
fn a_scan_fills_the_cache_only_if_asked() {
    let versions = plain_versions(500);
    let env = Sim::new(5).env();
    let blocks = write(&env, &small(), &versions).blocks;
    for fill_cache in [false, true] {
        let cache = Arc::new(BlockCache::new(1 << 20));
        let reader = TableReader::open(&env, Path::new(PATH), &cache).unwrap();
        let mut cursor = reader.cursor(fill_cache);
        cursor.seek_to_first().unwrap();
        while cursor.valid() {
            cursor.next().unwrap();
        }
        assert_eq!(cache.metrics().bytes > 0, fill_cache);
        cursor.seek_to_last().unwrap();
        while cursor.valid() {
            cursor.prev().unwrap();
        }
        assert_eq!(cache.metrics().misses, if fill_cache { blocks } else { 2 * blocks });
    }
}

#[test]
fn tables_that_come_and_go_leave_nothing_in_the_cache() {
    let versions = plain_versions(100);
    let env = Sim::new(5).env();
    write(&env, &small(), &versions);
    let cache = Arc::new(BlockCache::new(1 << 20));
    for _ in 0..100 {
        read_all(&TableReader::open(&env, Path::new(PATH), &cache).unwrap(), &versions);
    }
    assert_eq!(cache.metrics().bytes, 0);
    assert!(cache.queued() < 2000, "{} places in the queues", cache.queued());
}

#[test]
fn threads_share_a_small_cache() {
    let versions = plain_versions(400);
    let env = Sim::new(5).env();
    write(&env, &small(), &versions);
    let cache = Arc::new(BlockCache::new(8_000));
    let reader = TableReader::open(&env, Path::new(PATH), &cache).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (reader, versions, cache) = (&reader, &versions, &cache);
            scope.spawn(move || {
                for i in 0..800 {
                    let (key, seq, _, value) = &versions[(i * 31 + thread * 97) % versions.len()];
                    let found = reader.get(key, hash(key), u64::MAX).unwrap().unwrap();
                    assert!(found.seq == *seq && found.value == *value);
                }
                assert!(cache.metrics().bytes <= 8_000 + 4 * 2000);
            });
        }
    });
    assert!(cache.metrics().bytes <= 8_000);
    drop(reader);
    assert_eq!(cache.metrics().bytes, 0);
}
