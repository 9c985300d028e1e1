//! The log engine's own: what it does about damage, torn tails and holes; when it compacts; how it syncs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod kv_common;

use duramen_engine::Error;
use duramen_engine::io::sim::{Fault, OperationKind, Sim};
use duramen_engine::kv::{Durability, Engine, ReadOptions, WriteOptions};
use duramen_engine::log::{Log, LogOptions};
use duramen_engine::wal::Background;
use std::path::Path;
use std::time::Duration;

const DIR: &str = "store";
const FILE: &str = "store/LOG";

fn options(sim: &Sim, durability: Durability) -> LogOptions {
    LogOptions { env: sim.env(), durability, background: Background::Manual, ..LogOptions::default() }
}

fn open(sim: &Sim, durability: Durability) -> Log {
    Log::open(DIR, options(sim, durability)).unwrap()
}

fn key(n: u32) -> Vec<u8> {
    format!("key {n:04}").into_bytes()
}

/// How many of the keys from 0 on are there, without a gap.
fn count(store: &Log) -> usize {
    let all = store.scan(..).unwrap().collect().unwrap();
    for (n, (found, _)) in all.iter().enumerate() {
        assert_eq!(*found, key(n as u32));
    }
    all.len()
}

#[test]
fn a_flipped_bit_is_an_error_that_says_where_wherever_it_is() {
    let sim = Sim::new(1);
    let store = open(&sim, Durability::Sync);
    for n in 0..10 {
        store.put(&key(n), b"value").unwrap();
    }
    store.compact().unwrap();
    for n in 10..20 {
        store.put(&key(n), b"value").unwrap();
    }
    drop(store);
    sim.crash_power_keeping(100);
    let content = sim.read_file(Path::new(FILE)).unwrap();
    let mark = content.len() - 21;
    // Behind the header's checksum lie the boot and zeros, which do not matter.
    for byte in (0..48).chain(64..mark) {
        sim.flip_bit(Path::new(FILE), byte as u64 * 8 + 3).unwrap();
        for error in [
            Log::open(DIR, options(&sim, Durability::Sync)).unwrap_err(),
            Log::open_read_only(DIR, options(&sim, Durability::Sync)).unwrap_err(),
        ] {
            match error {
                Error::Corruption { path, offset, .. } => {
                    assert_eq!(path, Path::new(FILE));
                    assert!(offset <= byte as u64, "{offset} for byte {byte}");
                }
                // The version may be any number, as long as the checksum holds.
                other => panic!("byte {byte}: {other}"),
            }
        }
        sim.flip_bit(Path::new(FILE), byte as u64 * 8 + 3).unwrap();
        assert_eq!(sim.read_file(Path::new(FILE)).unwrap()[byte], content[byte], "nothing was changed");
    }
    // The mark itself protects, and holds nothing.
    for byte in mark..content.len() {
        sim.flip_bit(Path::new(FILE), byte as u64 * 8).unwrap();
        assert_eq!(count(&open(&sim, Durability::Sync)), 20);
        assert_eq!(sim.read_file(Path::new(FILE)).unwrap().len(), mark);
        open(&sim, Durability::Sync).put(&key(0), b"again").unwrap();
        open(&sim, Durability::Sync).compact().unwrap();
        drop(open(&sim, Durability::Sync));
        if sim.read_file(Path::new(FILE)).unwrap().len() != content.len() {
            break; // compacted, it is another file; one byte has shown it
        }
    }
}

#[test]
fn an_open_store_finds_damage_when_it_reads_there_and_goes_on() {
    let sim = Sim::new(1);
    let store = open(&sim, Durability::Sync);
    store.put(b"a", b"1").unwrap();
    let before = store.snapshot();
    store.put(b"b", b"2").unwrap();
    sim.flip_bit(Path::new(FILE), sim.read_file(Path::new(FILE)).unwrap().len() as u64 * 8 - 21 * 8 - 1)
        .unwrap();
    assert!(store.get(b"a").unwrap_err().is_corruption());
    assert!(store.compact().unwrap_err().is_corruption());
    let old = ReadOptions { snapshot: Some(before), ..ReadOptions::default() };
    assert_eq!(store.get_with(b"a", &old).unwrap().unwrap(), b"1", "what is before the damage");
    store.put(b"c", b"3").unwrap();
}

#[test]
fn whatever_of_the_last_write_is_missing_it_is_cut_off_and_the_rest_is_there() {
    let sim = Sim::new(1);
    let store = open(&sim, Durability::Process);
    store.put(&key(0), b"first").unwrap();
    store.put(&key(1), b"second").unwrap();
    let before = sim.read_file(Path::new(FILE)).unwrap().len();
    store.put(&key(2), &[7; 100]).unwrap();
    let len = sim.read_file(Path::new(FILE)).unwrap().len();
    drop(store);
    for cut in (before..len).rev() {
        sim.env()
            .fs
            .open(Path::new(FILE), duramen_engine::io::OpenMode::ReadWrite)
            .unwrap()
            .set_len(cut as u64)
            .unwrap();
        let read_only = Log::open_read_only(DIR, options(&sim, Durability::Process)).unwrap();
        assert_eq!(count(&read_only), 2);
        if cut == before {
            assert_eq!(count(&open(&sim, Durability::Process)), 2);
        }
    }
}

#[test]
fn in_the_same_run_of_the_machine_nothing_can_be_missing_in_the_middle() {
    let damage = |sim: &Sim| {
        let store = open(sim, Durability::Process);
        let mut ends = vec![];
        for n in 0..5 {
            store.put(&key(n), &[n as u8; 50]).unwrap();
            ends.push(sim.read_file(Path::new(FILE)).unwrap().len() as u64);
        }
        drop(store);
        sim.flip_bit(Path::new(FILE), (ends[1] + 30) * 8).unwrap();
        ends
    };
    let sim = Sim::new(1);
    let ends = damage(&sim);
    sim.crash_process();
    let error = Log::open(DIR, options(&sim, Durability::Process)).unwrap_err();
    assert!(matches!(error, Error::Corruption { offset, .. } if offset == ends[1]), "{error}");
    // After a loss of power, the device may not have come to writing it.
    let sim = Sim::new(1);
    let _ends = damage(&sim);
    sim.crash_power_keeping(100);
    let store = open(&sim, Durability::Process);
    assert_eq!(count(&store), 2);
    store.put(&key(2), b"").unwrap();
    drop(store);
    assert_eq!(count(&open(&sim, Durability::Process)), 3);
}

#[test]
fn a_failed_sync_poisons_and_what_the_kernel_believes_synced_is_written_again() {
    let sim = Sim::new(1);
    let store = open(&sim, Durability::Sync);
    store.put(&key(0), b"").unwrap();
    sim.fail_at(sim.operations() + 1, Fault::SyncFailed);
    assert!(matches!(store.put(&key(1), b""), Err(Error::Io { operation: "sync", .. })));
    assert!(matches!(store.put(&key(2), b""), Err(Error::Poisoned { .. })));
    assert!(matches!(store.flush(), Err(Error::Poisoned { .. })));
    assert!(matches!(store.compact(), Err(Error::Poisoned { .. })));
    assert_eq!(store.get(&key(0)).unwrap().unwrap(), b"");
    assert!(matches!(store.close(), Err(Error::Poisoned { .. })));
    // In the kernel's memory it is still there. What is built upon it must not lose its ground.
    let store = open(&sim, Durability::Sync);
    let found = count(&store);
    store.put(&key(found as u32), b"").unwrap();
    sim.crash_power_keeping(0);
    assert_eq!(count(&open(&sim, Durability::Sync)), found + 1);
}

#[test]
fn it_compacts_itself_when_half_of_it_is_garbage_and_not_before() {
    let sim = Sim::new(1);
    let limits = LogOptions { compaction_min_bytes: 16 << 10, ..options(&sim, Durability::Process) };
    let store = Log::open(DIR, limits).unwrap();
    let value = vec![1; 200];
    let mut largest = 0;
    for n in 0..200 {
        store.put(&key(n), &value).unwrap();
        store.background_step().unwrap();
    }
    assert_eq!(store.metrics().compactions, 0, "there is no garbage");
    for round in 0..10 {
        for n in 0..200 {
            store.put(&key(n), &value).unwrap();
            store.background_step().unwrap();
            largest = largest.max(store.metrics().file_bytes);
        }
        assert_eq!(count(&store), 200, "round {round}");
    }
    assert!(largest < 2 * 200 * 240 + 500, "{largest}");
    assert!(store.metrics().compactions >= 8, "{:?}", store.metrics());
    let never = LogOptions { compaction_garbage_percent: 0, ..options(&sim, Durability::Process) };
    drop(store);
    let store = Log::open(DIR, LogOptions { compaction_min_bytes: 0, ..never }).unwrap();
    for n in (0..200).cycle().take(1000) {
        store.put(&key(n), &value).unwrap();
        store.background_step().unwrap();
    }
    assert_eq!(store.metrics().compactions, 0);
    assert!(
        Log::open("other", LogOptions { compaction_garbage_percent: 100, ..options(&sim, Durability::None) })
            .is_err()
    );
}

#[test]
fn a_compaction_in_the_background_that_fails_is_tried_again_later() {
    let sim = Sim::new(1);
    let store =
        Log::open(DIR, LogOptions { compaction_min_bytes: 1, ..options(&sim, Durability::Process) }).unwrap();
    for _ in 0..5 {
        store.put(b"k", &[0; 1000]).unwrap();
    }
    sim.set_max_open_files(Some(sim.open_files()));
    let failed = (0..40).find_map(|_| {
        store.put(b"k", &[1; 1000]).unwrap();
        store.background_step().err()
    });
    sim.set_max_open_files(None);
    assert!(matches!(failed, Some(Error::Io { .. })), "{failed:?}");
    assert_eq!(store.metrics().compaction_failures, 1);
    assert_eq!(sim.files(), ["store/ENGINE", "store/LOCK", "store/LOG"]);
    for _ in 0..100 {
        store.put(b"k", &[2; 1000]).unwrap();
        store.background_step().unwrap();
    }
    assert!(store.metrics().compactions >= 1);
    assert_eq!(store.get(b"k").unwrap().unwrap(), [2; 1000]);
}

#[test]
fn interval_syncs_come_when_they_are_due() {
    let sim = Sim::new(1);
    let store = open(&sim, Durability::IntervalMs(50));
    store.put(&key(0), b"").unwrap();
    store.background_step().unwrap();
    assert_eq!(store.metrics().syncs, 0);
    sim.clock().advance(Duration::from_millis(30));
    store
        .put_with(
            &key(1),
            b"",
            WriteOptions { durability: Some(Durability::IntervalMs(1000)), ..WriteOptions::default() },
        )
        .unwrap();
    sim.clock().advance(Duration::from_millis(20));
    store.background_step().unwrap();
    assert_eq!(store.metrics().syncs, 1);
    store.background_step().unwrap();
    store.put(&key(2), b"").unwrap();
    drop(store);
    sim.crash_power_keeping(0);
    assert_eq!(count(&open(&sim, Durability::Process)), 3, "dropping it keeps the promise at once");
}

#[test]
fn writers_share_syncs_and_a_synced_write_is_one_system_call_more() {
    let sim = Sim::new(1);
    let store = open(&sim, Durability::Sync);
    let before = sim.operations() as usize;
    store.put(b"k", b"v").unwrap();
    let words: Vec<String> =
        sim.trace()[before..].iter().map(|op| op.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(words, ["write", "sync", "write"], "the frame, the sync, the mark");
    let syncs = sim.indices_of(OperationKind::Sync).len();
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let store = &store;
            scope.spawn(move || (0..50).for_each(|n| store.put(&key(thread * 50 + n), b"v").unwrap()));
        }
    });
    assert!(sim.indices_of(OperationKind::Sync).len() - syncs <= 200);
    sim.crash_power_keeping(0);
    let store = open(&sim, Durability::Sync);
    store.delete(b"k").unwrap();
    assert_eq!(count(&store), 200);
}

#[test]
fn who_reads_keeps_the_file_that_a_compaction_replaces() {
    let sim = Sim::new(1);
    let store = open(&sim, Durability::Process);
    for n in 0..50 {
        store.put(&key(n), &[1; 100]).unwrap();
    }
    let reader = Log::open_read_only(DIR, options(&sim, Durability::Process)).unwrap();
    let mut scan = store.scan(..).unwrap();
    store.delete_range(b"key 0010", b"key 9").unwrap();
    store.compact().unwrap();
    assert_eq!((count(&store), count(&reader)), (10, 50));
    let mut seen = 0;
    while scan.next().unwrap().is_some() {
        seen += 1;
    }
    assert_eq!(seen, 50);
    assert!(matches!(reader.put(b"", b""), Err(Error::InvalidArgument(_))));
    assert!(matches!(reader.compact(), Err(Error::InvalidArgument(_))));
    drop(reader);
    assert_eq!(store.metrics().file_bytes + 21, sim.read_file(Path::new(FILE)).unwrap().len() as u64);
}

#[test]
fn an_ingest_is_there_in_whole_or_not_at_all() {
    let run = |from: u32, to: u32| (from..to).map(|n| Ok((key(n), vec![n as u8; 10_000])));
    let sim = Sim::new(1);
    let store = open(&sim, Durability::Process);
    store.ingest(&mut run(0, 300)).unwrap();
    let sync = sim.operations();
    drop(store);
    for torn in 0.. {
        let sim = Sim::new(torn);
        let store = open(&sim, Durability::Process);
        store.put(&key(0), b"before").unwrap();
        let first = sim.operations();
        sim.fail_at(first + torn, Fault::TornWrite);
        let ingested = store.ingest(&mut run(0, 300));
        sim.crash_process();
        let store = open(&sim, Durability::Process);
        let found = count(&store);
        assert!(found == 300 || (found == 1 && ingested.is_err()), "{found} after {ingested:?}");
        assert_eq!(sim.files(), ["store/ENGINE", "store/LOCK", "store/LOG"]);
        store.put(&key(0), b"after").unwrap();
        store.compact().unwrap();
        assert_eq!(count(&store), found);
        if ingested.is_ok() {
            assert!(torn > 5 && torn < sync);
            break;
        }
    }
}

/// A file with a base, batches, parts, deletions, and a tail that nobody has synced.
fn varied(sim: &Sim) -> Vec<u8> {
    let store = open(sim, Durability::Process);
    for n in 0..8 {
        store.put(&key(n), &[n as u8; 20]).unwrap();
    }
    store.compact().unwrap();
    store.delete_range(&key(7), &key(9)).unwrap();
    store.ingest(&mut (7..9).map(|n| Ok((key(n), vec![5; 700_000])))).unwrap();
    store.put(&key(9), b"last").unwrap();
    drop(store);
    sim.read_file(Path::new(FILE)).unwrap()
}

#[test]
fn any_damage_is_an_error_or_costs_only_the_end() {
    let sim = Sim::new(1);
    let good = varied(&sim);
    let mut dice = kv_common::dice::Dice(7);
    for _ in 0..150 {
        let mut bytes = good.clone();
        for _ in 0..1 + dice.below(3) {
            // Mostly where frames begin and end: the ingested values fill the rest.
            let from = if dice.percent(80) { dice.below(600) } else { dice.below(bytes.len()) };
            let at = if dice.percent(50) { from } else { bytes.len().saturating_sub(1 + from) };
            match dice.below(5) {
                0 => bytes.truncate(at),
                1 => bytes.extend((0..dice.below(200)).map(|n| n as u8)),
                2 => bytes[at..].iter_mut().take(30).for_each(|byte| *byte = 0),
                3 => bytes[at] = dice.next() as u8,
                _ => bytes[at] ^= 1 << dice.below(8),
            }
            if bytes.is_empty() {
                break;
            }
        }
        let sim = Sim::new(2);
        drop(open(&sim, Durability::Process));
        let fs = sim.env().fs;
        fs.remove_file(Path::new(FILE)).unwrap();
        let file = fs.open(Path::new(FILE), duramen_engine::io::OpenMode::CreateNew).unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        let read_only =
            Log::open_read_only(DIR, options(&sim, Durability::Process)).map(|store| count(&store));
        match Log::open(DIR, options(&sim, Durability::Process)) {
            Ok(store) => {
                // The ingest was synced, and said so; what came last was not.
                assert!(bytes.len() < good.len() || count(&store) >= 9);
                assert_eq!(read_only.unwrap(), count(&store));
                store.put(&key(0), b"goes on").unwrap();
                drop(store);
                assert_eq!(open(&sim, Durability::Process).get(&key(0)).unwrap().unwrap(), b"goes on");
            }
            Err(Error::Corruption { path, offset, .. }) => {
                assert!(path == Path::new(FILE) && offset <= good.len() as u64);
                assert!(read_only.is_err());
                assert!(sim.read_file(Path::new(FILE)).unwrap() == bytes, "nothing was changed");
            }
            Err(other) => panic!("{other}"),
        }
    }
}
