//! How long writing and reading take: processor time of the thread, so that other work on the machine counts less.
//! `cargo test --release -p duramen-engine --lib lsm::table::measure -- --ignored --nocapture --test-threads 1`

use super::block::BlockEncoder;
use super::cache::BlockCache;
use super::{TableOptions, TableReader, TableWriter};
use crate::io::Env;
use crate::kv::{OpKind, shared_len};
use crate::lsm::LsmOptions;
use crate::lsm::cursor::Cursor;
use crate::sstable::filter::FilterBuilder;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

const TABLE_ENTRIES: usize = 480_000;
const VALUE: [u8; 100] = [b'v'; 100];

/// Random 16-byte keys and their sequence numbers, sorted by key.
fn entries(n: usize, seed: u64) -> Vec<([u8; 16], u64)> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        xxh3_64(&state.to_le_bytes())
    };
    let mut entries: Vec<_> = (0..n as u64)
        .map(|seq| {
            let mut key = [0; 16];
            key[..8].copy_from_slice(&next().to_be_bytes());
            key[8..].copy_from_slice(&next().to_be_bytes());
            (key, seq)
        })
        .collect();
    entries.sort_unstable();
    entries
}

fn write(env: &Env, path: &Path, entries: &[([u8; 16], u64)]) -> super::PendingSync {
    let options = TableOptions::from(&LsmOptions::default());
    let mut writer = TableWriter::create(env, path, &options).unwrap();
    for (key, seq) in entries {
        writer.add(key, *seq, OpKind::Put, &VALUE).unwrap();
    }
    writer.finish_unsynced().unwrap()
}

/// Processor time of this thread, in nanoseconds.
fn cpu_ns() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// The best of several runs, in nanoseconds for each of `n`.
fn best<T>(runs: usize, n: usize, mut run: impl FnMut() -> T) -> f64 {
    (0..runs)
        .map(|_| {
            let start = cpu_ns();
            black_box(run());
            (cpu_ns() - start) / n as f64
        })
        .fold(f64::MAX, f64::min)
}

/// The best and the median of short batches, of which some run undisturbed.
fn batches<T>(all: &[T], mut each: impl FnMut(&T)) -> (f64, f64) {
    let mut took: Vec<f64> = all
        .chunks_exact(5000)
        .map(|batch| best(1, batch.len(), || batch.iter().for_each(&mut each)))
        .collect();
    took.sort_by(f64::total_cmp);
    (took[0], took[took.len() / 2])
}

#[test]
#[ignore = "a measurement"]
fn ns_per_written_entry() {
    let env = Env::os();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.sst");
    let entries = entries(TABLE_ENTRIES, 1);
    let n = entries.len();

    let mut pending = None;
    let whole = best(9, n, || {
        pending = None;
        pending = Some(write(&env, &path, &entries));
    });
    let file_bytes = pending.as_ref().unwrap().summary().file_bytes;
    let start = env.clock.monotonic();
    pending.unwrap().sync().unwrap();
    let sync = (env.clock.monotonic() - start).as_millis();
    println!(
        "table of {n}: {whole:.1} ns per entry; {:.1} bytes; sync {sync} ms",
        file_bytes as f64 / n as f64
    );

    let mut bytes = Vec::with_capacity(8192);
    let encode = best(5, n, || {
        let mut block = BlockEncoder::new(16);
        let mut last = [0; 16];
        for (key, seq) in &entries {
            if block.len() > 4000 {
                block.finish(&mut bytes);
                bytes.clear();
            }
            block.add((key, shared_len(&last, key)), (*seq, OpKind::Put), &VALUE);
            last = *key;
        }
        bytes.clear();
    });
    let hash = best(5, n, || entries.iter().fold(0, |sum, (key, _)| sum ^ xxh3_64(key)));
    let hashes: Vec<u64> = entries.iter().map(|(key, _)| xxh3_64(key)).collect();
    let (mut part, mut filters) = (Vec::new(), FilterBuilder::default());
    let [filter_8k, filter] = [8_000, 16_000].map(|keys| {
        best(5, n, || {
            for hashes in hashes.chunks(keys) {
                part.clear();
                part.extend_from_slice(hashes);
                black_box(filters.build(&mut part).encode());
            }
        })
    });
    let block = vec![7u8; 4096];
    let crc = best(5, n, || (0..n / 31).fold(0, |sum, _| sum ^ crc32c::crc32c(black_box(&block))));
    print!(
        "  encode {encode:.1}, crc {crc:.1}, hash {hash:.1}, filter {filter:.1} ({filter_8k:.1} at 8k keys), write"
    );
    for kib in [64, 256, 1024] {
        let piece = vec![7u8; kib << 10];
        let to = dir.path().join("raw");
        let write = best(5, n, || {
            let _ = env.fs.remove_file(&to);
            let file = env.fs.open(&to, crate::io::OpenMode::CreateNew).unwrap();
            let mut at = 0;
            while at < file_bytes {
                file.write_all_at(&piece, at).unwrap();
                at += piece.len() as u64;
            }
        });
        print!(" {write:.1} ({kib} KiB)");
    }
    println!();
}

/// How long the processor waits for a place of 375 MB that depends on the place before it: what the machine has to offer.
fn memory_ns() -> f64 {
    const PAGES: usize = 90_000;
    let mut order: Vec<u32> = (0..PAGES as u32).collect();
    order.sort_by_key(|page| xxh3_64(&page.to_le_bytes()));
    let mut next = vec![0u32; PAGES * 1024];
    for (i, &page) in order.iter().enumerate() {
        next[page as usize * 1024] = order[(i + 1) % PAGES] * 1024;
    }
    let mut at = 0;
    best(20, 5000, || (0..5000).for_each(|_| at = next[at as usize]))
}

#[test]
#[ignore = "a measurement"]
fn ns_per_read() {
    println!("one place of memory after another: {:.0} ns", memory_ns());
    let env = Env::os();
    let dir = tempfile::tempdir().unwrap();
    let all = entries(3_000_000, 7);
    for tables in [1usize, 7] {
        let cache = Arc::new(BlockCache::new(1 << 30));
        let readers: Vec<Arc<TableReader>> = (0..tables)
            .map(|table| {
                let path = dir.path().join(format!("{tables}-{table}.sst"));
                let part: Vec<_> = all.iter().copied().skip(table).step_by(tables).collect();
                write(&env, &path, &part).sync().unwrap();
                TableReader::open(&env, &path, &cache).unwrap()
            })
            .collect();
        let get = |key: &[u8; 16]| {
            let hash = xxh3_64(key);
            readers.iter().find_map(|reader| reader.get(key, hash, u64::MAX).unwrap())
        };
        for (key, _) in &all {
            assert!(get(key).is_some());
        }
        const GETS: usize = 500_000;
        let mut order: Vec<usize> =
            (0..GETS).map(|i| xxh3_64(&i.to_le_bytes()) as usize % all.len()).collect();
        let keys: Vec<[u8; 16]> = order.drain(..).map(|i| all[i].0).collect();
        let misses: Vec<[u8; 16]> = entries(GETS, 99).into_iter().map(|(key, _)| key).collect();
        let mut shuffled = misses.clone();
        shuffled.sort_by_key(|key| xxh3_64(key));
        let (hit, hit_median) = batches(&keys, |key| assert!(get(key).is_some()));
        let (miss, miss_median) = batches(&shuffled, |key| assert!(get(key).is_none()));
        let metrics = cache.metrics();
        println!(
            "{tables} tables of {}: get hit {hit:.0} ns (median {hit_median:.0}), miss {miss:.0} ns ({miss_median:.0})",
            all.len() / tables
        );
        println!("  {metrics:?}");
        let mut next = f64::MAX;
        for (name, step) in [("next", true), ("prev", false)] {
            next = best(3, all.len() / tables, || {
                let mut cursor = readers[0].cursor(true);
                if step { cursor.seek_to_first() } else { cursor.seek_to_last() }.unwrap();
                let mut sum = 0;
                while cursor.valid() {
                    sum += cursor.key().len() + cursor.value().len();
                    if step { cursor.next() } else { cursor.prev() }.unwrap();
                }
                sum
            });
            println!("  cursor.{name} {next:.1} ns");
        }
        assert!(next < f64::MAX);
        let cold = Arc::new(BlockCache::new(0));
        let path = dir.path().join(format!("{tables}-0.sst"));
        let reader = TableReader::open(&env, &path, &cold).unwrap();
        let next = best(3, all.len() / tables, || {
            let mut cursor = reader.cursor(false);
            cursor.seek_to_first().unwrap();
            while cursor.valid() {
                cursor.next().unwrap();
            }
        });
        let memory = reader.memory_bytes() as f64 / (all.len() / tables) as f64;
        println!("  cursor.next from the file {next:.1} ns; {memory:.2} bytes of memory per entry");
    }
}
