//! Figures of the filters: bits a key, false positives, time to build and to ask. Run with
//! `cargo test --release -p duramen-engine --test sstable_filter_measure -- --ignored --nocapture`.
#![allow(clippy::unwrap_used, clippy::panic)] // the helpers of a test may fail as the test does

use duramen_engine::io::Env;
use duramen_engine::sstable::filter::{FuseFilter, FuseFilterRef};
use xxhash_rust::xxh3::xxh3_64;

#[test]
#[ignore = "measures; prints a table"]
fn figures() {
    let clock = Env::os().clock;
    println!("{:>9} {:>8} {:>8} {:>10} {:>8}", "keys", "bits/key", "fp %", "build ns", "ask ns");
    for keys in [1u64, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000] {
        let sets = (300_000 / keys).clamp(1, 500);
        let (mut build_ns, mut ask_ns, mut bytes, mut wrong) = (0, 0, 0, 0u64);
        let asked = (1_000_000 / sets).min(200_000);
        let strange: Vec<u64> = (0..asked).map(|i| xxh3_64(&(1 << 50 | i).to_le_bytes())).collect();
        for set in 0..sets {
            let mut hashes: Vec<u64> = (0..keys).map(|i| xxh3_64(&(set << 32 | i).to_le_bytes())).collect();
            let start = clock.monotonic();
            let encoded = FuseFilter::build(&mut hashes).encode();
            build_ns += (clock.monotonic() - start).as_nanos();
            bytes += encoded.len() as u64;
            let filter = FuseFilterRef::parse(&encoded).unwrap();
            assert!(hashes.iter().all(|&hash| filter.contains(hash)));
            let start = clock.monotonic();
            wrong += strange.iter().filter(|&&hash| filter.contains(hash)).count() as u64;
            ask_ns += (clock.monotonic() - start).as_nanos();
        }
        let (all_keys, all_asked) = ((sets * keys) as f64, (sets * asked) as f64);
        println!(
            "{keys:>9} {:>8.2} {:>8.3} {:>10.1} {:>8.1}",
            bytes as f64 * 8.0 / all_keys,
            wrong as f64 * 100.0 / all_asked,
            build_ns as f64 / all_keys,
            ask_ns as f64 / all_asked,
        );
    }
}
