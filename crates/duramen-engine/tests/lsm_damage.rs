//! An LSM tree whose files are not as it wrote them.
#![allow(clippy::unwrap_used, clippy::panic)] // the helpers of a test may fail as the test does

use duramen_engine::Error;
use duramen_engine::dump::{DumpOptions, FieldValue, dump};
use duramen_engine::io::OpenMode;
use duramen_engine::io::sim::{Fault, Sim};
use duramen_engine::kv::{Durability, Engine, RepairOptions, RepairReport, VerifyReport, repair, verify};
use duramen_engine::lsm::{CompactionStyle, Lsm, LsmOptions};
use duramen_engine::wal::{Background, Wal, WalKind, WalOptions, WriteOptions};
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
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
fn opened_with(payload: &[u8], first_seq: u64, count: u32) -> Result<Lsm, Error> {
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

/// A store whose process has died, and whose manifest is as it was before its last edits: tables that it does not name.
fn with_older_manifest(sim: &Sim, proof: &dyn Fn(&Lsm)) -> Vec<String> {
    let manifest = Path::new(DIR).join("MANIFEST");
    let store = Lsm::open(DIR, options(sim)).unwrap();
    store.put(b"a", b"1").unwrap();
    store.flush().unwrap();
    let older = sim.read_file(&manifest).unwrap().len() as u64;
    proof(&store);
    sim.crash_process();
    drop(store);
    sim.env().fs.open(&manifest, OpenMode::ReadWrite).unwrap().set_len(older).unwrap();
    sim.files().into_iter().filter(|file| file.ends_with(".sst")).collect()
}

#[test]
fn tables_that_an_older_manifest_does_not_name_are_told_and_kept() {
    let sim = Sim::new(1);
    let tables = with_older_manifest(&sim, &|store| {
        store.put(b"b", b"2").unwrap();
        store.flush().unwrap();
        store.put(b"c", b"3").unwrap();
    });
    assert_eq!(tables.len(), 2);
    let found = verify(&sim.env(), DIR, &mut |_| {}).unwrap();
    let damage = found.damage.iter().find(|damage| damage.path.ends_with("sst/00000002.sst"));
    assert!(damage.is_some_and(|damage| damage.detail.contains("MANIFEST is older")), "{found:?}");
    let store = Lsm::open(DIR, options(&sim)).unwrap();
    let recovery = store.recovery();
    assert!(recovery.removed.is_empty(), "{recovery:?}");
    let kept = recovery.quarantined.iter().find(|path| path.to_string_lossy().ends_with(".sst")).unwrap();
    assert_eq!(store.get(b"a").unwrap().unwrap(), b"1");
    assert!(store.get(b"b").unwrap().is_none());
    store.put(b"c", b"3").unwrap();
    store.flush().unwrap();
    assert!(sim.read_file(kept).unwrap().len() > 50);
    assert!(verify(&sim.env(), DIR, &mut |_| {}).unwrap().damage.is_empty());
}

#[test]
fn what_was_compacted_or_ingested_is_kept_when_a_table_that_the_manifest_names_is_gone() {
    let sim = Sim::new(1);
    let tables = with_older_manifest(&sim, &|store| {
        store.put(b"b", b"2").unwrap();
        store.flush().unwrap();
        store.compact().unwrap();
        store.ingest(&mut [Ok((b"x".to_vec(), b"4".to_vec()))].into_iter()).unwrap();
    });
    assert!(!tables.is_empty() && tables.iter().all(|path| !path.ends_with("00000001.sst")), "{tables:?}");
    assert!(tables.iter().any(|path| path.contains(".seq")), "{tables:?}");
    let found = verify(&sim.env(), DIR, &mut |_| {}).unwrap();
    let told = |name: &str| found.damage.iter().any(|damage| name.ends_with(&*damage.path.to_string_lossy()));
    assert!(tables.iter().all(|name| told(name)), "{tables:?}: {found:?}");
    let _whatever_it_says = Lsm::open(DIR, options(&sim)).map(drop);
    let kept: Vec<String> = sim.files().into_iter().filter(|file| file.contains("quarantine/sst-")).collect();
    assert_eq!(kept.len(), tables.len(), "{kept:?}");
}

#[test]
fn a_process_that_ends_before_a_table_is_in_the_manifest_leaves_nothing_in_quarantine() {
    for (wal_kind, durability) in [
        (WalKind::None, Durability::Process),
        (WalKind::Write, Durability::None),
        (WalKind::Mmap, Durability::Process),
    ] {
        let options =
            |sim: &Sim| LsmOptions { wal_kind, durability, write_buffer_size: 256 << 10, ..options(sim) };
        let run = |sim: &Sim| -> Result<(), Error> {
            let store = Lsm::open(DIR, options(sim))?;
            for n in 0..5u8 {
                store.put(&[n], b"value")?;
                store.flush()?;
            }
            Ok(())
        };
        let whole = Sim::new(1);
        run(&whole).unwrap();
        let mut removed = 0;
        for index in 0..whole.operations() {
            let sim = Sim::new(1);
            sim.fail_at(index, Fault::Crash);
            let _cut_short = run(&sim);
            sim.crash_process();
            let store = Lsm::open(DIR, options(&sim)).unwrap();
            let recovery = store.recovery();
            assert!(recovery.quarantined.is_empty(), "{wal_kind:?}, operation {index}: {recovery:?}");
            removed += recovery.removed.len();
        }
        assert!(removed > 0);
    }
}

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// A store with tables at several levels, one of them ingested, with deletions and deleted ranges, and writes that are
/// in no table yet; its process died. What is in it.
fn store(sim: &Sim) -> Entries {
    let mut entries = Entries::new();
    let options = LsmOptions {
        write_buffer_size: 64 << 10,
        block_size: 256,
        target_file_size_base: 4 << 10,
        compaction: CompactionStyle::None,
        ..options(sim)
    };
    let store = Lsm::open(DIR, options).unwrap();
    let mut put = |key: u32, value: &str| {
        let (key, value) = (format!("key {key:04}").into_bytes(), value.as_bytes().to_vec());
        store.put(&key, &value).unwrap();
        entries.insert(key, value);
    };
    (0..300).for_each(|n| put(n, &format!("the first value of {n}")));
    store.flush().unwrap();
    store.compact().unwrap();
    (0..100).for_each(|n| put(n * 3 % 200, &format!("the second value of {n}")));
    store.flush().unwrap();
    let run: Vec<_> =
        (100..160u32).map(|n| (format!("key {:04}", n * 2).into_bytes(), b"ingested".to_vec())).collect();
    store.ingest(&mut run.iter().cloned().map(Ok)).unwrap();
    entries.extend(run);
    for n in 0..20 {
        let key = format!("key {:04}", n * 7).into_bytes();
        store.delete(&key).unwrap();
        entries.remove(&key);
    }
    store.delete_range(b"key 0040", b"key 0060").unwrap();
    entries.retain(|key, _| !(b"key 0040".as_slice()..b"key 0060").contains(&key.as_slice()));
    store.flush().unwrap();
    let synced = WriteOptions { durability: Some(Durability::Sync), ..WriteOptions::default() };
    for n in [1, 50, 299, 400] {
        let key = format!("key {n:04}").into_bytes();
        store.put_with(&key, b"in the log", synced).unwrap();
        entries.insert(key, b"in the log".to_vec());
    }
    assert_eq!(read(&store), entries);
    entries
}

fn read(store: &Lsm) -> Entries {
    store.scan(..).unwrap().collect().unwrap().into_iter().collect()
}

fn reopened(sim: &Sim) -> Entries {
    let store = Lsm::open(DIR, options(sim)).unwrap();
    let entries = read(&store);
    for (key, value) in &entries {
        assert_eq!(store.get(key).unwrap().unwrap(), value);
    }
    store.close().unwrap();
    entries
}

fn check(sim: &Sim) -> VerifyReport {
    verify(&sim.env(), DIR, &mut |_| {}).unwrap()
}

fn mend(sim: &Sim, dry_run: bool) -> RepairReport {
    repair(&sim.env(), DIR, RepairOptions { dry_run }, &mut |_| {}).unwrap()
}

/// What is there is as it was, but for keys that were said to be lost.
fn assert_only_lost(found: &Entries, expected: &Entries, report: &RepairReport, what: &str) {
    for key in found.keys().chain(expected.keys()).filter(|key| found.get(*key) != expected.get(*key)) {
        let told = report.lost.iter().any(|lost| match &lost.keys {
            Some((from, to)) => from <= key && key <= to,
            None => false,
        });
        assert!(told, "{what}: key {} is {:?}: {report:#?}", key.escape_ascii(), found.get(key));
    }
}

fn files(sim: &Sim) -> Vec<String> {
    sim.files().into_iter().filter(|path| !path.ends_with("LOCK")).collect()
}

fn contents(sim: &Sim) -> BTreeMap<String, Vec<u8>> {
    files(sim).into_iter().map(|path| (path.clone(), sim.read_file(Path::new(&path)).unwrap())).collect()
}

#[test]
fn a_whole_store_is_whole_and_repair_leaves_it_alone() {
    let sim = Sim::new(1);
    let entries = store(&sim);
    let report = check(&sim);
    assert_eq!((&report.damage[..], &report.notes[..]), (&[][..], &[][..]));
    assert_eq!(report.wal_writes, 4);
    assert!(report.entries > 300 && report.files > 5 && report.bytes > 10_000, "{report:?}");
    let before = contents(&sim);
    assert!(mend(&sim, false).is_idle());
    assert_eq!(contents(&sim), before);
    assert_eq!(reopened(&sim), entries);
}

#[test]
fn a_flipped_bit_anywhere_in_a_table_is_found_and_costs_only_what_it_hits() {
    let template = Sim::new(1);
    let expected = store(&template);
    let tables: Vec<_> = contents(&template).into_iter().filter(|(path, _)| path.ends_with(".sst")).collect();
    assert!(
        tables.len() == 4 && tables.iter().any(|(path, _)| path.contains(".seq")),
        "{:?}",
        files(&template)
    );
    for (nth, (path, bytes)) in tables.iter().enumerate() {
        // More places in one table than in the others; DURAMEN_KV_WHOLE=1 has them all, in minutes.
        let step = match (std::env::var_os("DURAMEN_KV_WHOLE"), nth) {
            (Some(_), _) => 1,
            (None, 1) => 23,
            (None, _) => 97,
        };
        for byte in (nth..bytes.len()).step_by(step) {
            let what = format!("{path} byte {byte}");
            let sim = Sim::new(1);
            store(&sim);
            sim.flip_bit(Path::new(path), byte as u64 * 8 + byte as u64 % 8).unwrap();
            let report = check(&sim);
            assert!(!report.damage.is_empty(), "{what} is not found");
            assert!(report.damage.iter().all(|damage| damage.path == Path::new(path)), "{what}: {report:?}");
            let before = contents(&sim);
            let planned = mend(&sim, true);
            assert_eq!(contents(&sim), before, "{what}: a dry run changes nothing");
            let mended = mend(&sim, false);
            assert_eq!(mended.lost, planned.lost, "{what}");
            assert!(check(&sim).is_whole(), "{what}: {mended:?}");
            let kept = sim.read_file(&mended.quarantined[0]).unwrap();
            assert_eq!(kept, before[path], "{what}: the damaged file is kept");
            let found = reopened(&sim);
            assert_only_lost(&found, &expected, &mended, &what);
            let changed = found.iter().filter(|(key, value)| expected.get(*key) != Some(value)).count();
            let missing = expected.keys().filter(|key| !found.contains_key(*key)).count();
            assert!(changed + missing <= 25, "{what}: {changed} changed, {missing} missing");
        }
    }
}

/// Of each block of a table, where it lies and how many entries it has; all of them.
fn blocks(sim: &Sim, path: &str) -> Vec<(Range<usize>, u64)> {
    let mut found = Vec::new();
    dump(&sim.env(), path, DumpOptions::default(), &mut |line| {
        let number = |name| match line.get(name) {
            Some(FieldValue::Number(number)) => *number,
            other => panic!("{name} is {other:?} in {line:?}"),
        };
        if line.what == "block" {
            let start = number("offset") as usize;
            found.push((start..start + number("bytes") as usize, number("entries")));
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    found
}

#[test]
fn a_table_cut_short_or_overwritten_costs_only_what_was_there() {
    let template = Sim::new(1);
    let expected = store(&template);
    let all = contents(&template);
    let tables: Vec<_> = all.iter().filter(|(path, _)| path.ends_with(".sst")).collect();
    let entries = |sim: &Sim| -> u64 {
        let tables = files(sim).into_iter().filter(|path| path.starts_with("store/sst/"));
        tables.flat_map(|path| blocks(sim, &path)).map(|(_, entries)| entries).sum()
    };
    let whole = entries(&template);
    let step = if std::env::var_os("DURAMEN_KV_WHOLE").is_some() { 13 } else { 509 };
    for (path, bytes) in tables {
        let blocks = blocks(&template, path);
        let spread = (0..bytes.len()).step_by(step).flat_map(|at| [(at, false), (at, true)]);
        // Filter, directory, deleted ranges and index at once.
        let behind_the_blocks = (blocks.last().unwrap().0.end, false);
        // What is left of a block may be as long as the footer that was behind it.
        let like_a_footer = (blocks.last().unwrap().0.start + 56, true);
        for (at, cut) in spread.chain([like_a_footer, behind_the_blocks]) {
            let what =
                format!("{path} of {} bytes, {} at {at}", bytes.len(), if cut { "cut" } else { "zeros" });
            let end = if cut { bytes.len() } else { bytes.len().min(at + 300) };
            let mut damaged = bytes.clone();
            if cut {
                damaged.truncate(at)
            } else {
                damaged[at..end].fill(0)
            }
            let sim = Sim::new(1);
            store(&sim);
            let fs = sim.env().fs;
            fs.remove_file(Path::new(path)).unwrap();
            fs.open(Path::new(path), OpenMode::CreateNew).unwrap().write_all_at(&damaged, 0).unwrap();
            assert!(!check(&sim).is_whole(), "{what}");
            let planned = mend(&sim, true);
            let mended = mend(&sim, false);
            assert_eq!(mended.lost, planned.lost, "{what}");
            assert!(check(&sim).is_whole(), "{what}: {mended:?}");
            let hit: u64 =
                blocks.iter().filter(|(range, _)| range.start < end && at < range.end).map(|(_, n)| n).sum();
            // Zeros where there were zeros are no damage.
            let missing = whole - entries(&sim);
            assert!(missing <= hit, "{what}: {missing} of {hit} entries: {mended:#?}");
            assert!(missing == 0 || !mended.lost.is_empty(), "{what}: {mended:#?}");
            assert_only_lost(&reopened(&sim), &expected, &mended, &what);
        }
    }
}

#[test]
fn without_a_manifest_the_tables_say_what_there_is() {
    let template = Sim::new(1);
    let expected = store(&template);
    let manifest = format!("{DIR}/MANIFEST");
    let bytes = template.read_file(Path::new(&manifest)).unwrap().len();
    let damages: Vec<Option<usize>> =
        std::iter::once(None).chain((0..bytes - 17).step_by(131).map(Some)).collect();
    for damage in damages {
        let sim = Sim::new(1);
        store(&sim);
        match damage {
            None => sim.env().fs.remove_file(Path::new(&manifest)).unwrap(),
            Some(byte) => sim.flip_bit(Path::new(&manifest), byte as u64 * 8).unwrap(),
        }
        let report = check(&sim);
        assert!(report.damage.iter().all(|damage| damage.path == Path::new(&manifest)), "{report:?}");
        assert!(!report.damage.is_empty(), "{damage:?}");
        assert!(Lsm::open(DIR, options(&sim)).unwrap_err().is_corruption(), "{damage:?}");
        let mended = mend(&sim, false);
        assert_eq!(mended.lost, [], "{damage:?}");
        assert!(check(&sim).is_whole(), "{damage:?}: {mended:?}");
        assert_eq!(reopened(&sim), expected, "{damage:?}: {mended:#?}");
    }
}

#[test]
fn a_flushed_segment_that_may_have_what_is_lost_is_kept() {
    let sim = Sim::new(1);
    let store = Lsm::open(DIR, LsmOptions { block_size: 256, ..options(&sim) }).unwrap();
    for n in 0..100 {
        store.put(format!("key {n:04}").as_bytes(), &[7; 20]).unwrap();
    }
    // The process dies before the flush has removed the segment.
    let before = sim.operations();
    store.flush().unwrap();
    drop(store);
    let removed = (before..sim.operations()).find(|at| sim.trace()[*at as usize].starts_with("remove"));
    let sim = Sim::new(1);
    let store = Lsm::open(DIR, LsmOptions { block_size: 256, ..options(&sim) }).unwrap();
    for n in 0..100 {
        store.put(format!("key {n:04}").as_bytes(), &[7; 20]).unwrap();
    }
    sim.fail_at(removed.unwrap(), Fault::Crash);
    let _died = store.flush();
    drop(store);
    sim.crash_process();
    let table = files(&sim).into_iter().find(|path| path.ends_with(".sst")).unwrap();
    let segment = files(&sim).into_iter().find(|path| path.ends_with("00000001.wal")).unwrap();
    let content = sim.read_file(Path::new(&segment)).unwrap();
    sim.flip_bit(Path::new(&table), 300 * 8).unwrap();
    let mended = mend(&sim, false);
    assert!(!mended.lost.is_empty());
    let kept = mended.quarantined.iter().find(|path| path.to_string_lossy().ends_with("00000001.wal"));
    assert_eq!(sim.read_file(kept.unwrap()).unwrap(), content);
    assert!(!reopened(&sim).is_empty());
}

#[test]
fn without_a_manifest_a_store_that_compacts_all_the_time_comes_back() {
    for style in [CompactionStyle::Leveled, CompactionStyle::SizeTiered] {
        for seed in 0..6 {
            let sim = Sim::new(seed);
            let options = LsmOptions {
                write_buffer_size: 64 << 10,
                block_size: 256,
                target_file_size_base: 4 << 10,
                max_bytes_for_level_base: 64 << 10,
                max_bytes_for_level_multiplier: 2,
                level0_file_num_compaction_trigger: 2,
                compaction: style,
                ..options(&sim)
            };
            let store = Lsm::open(DIR, options).unwrap();
            let mut entries = Entries::new();
            let mut state = seed;
            for n in 0..3_000u64 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let key = format!("{:03}", (state >> 33) % 700).into_bytes();
                match (state >> 20) % 10 {
                    0 | 1 => {
                        store.delete(&key).unwrap();
                        entries.remove(&key);
                    }
                    _ => {
                        let value = vec![n as u8; (state >> 40) as usize % 60];
                        store.put(&key, &value).unwrap();
                        entries.insert(key, value);
                    }
                }
                if n % 150 == 149 {
                    store.flush().unwrap();
                    while store.background_step().unwrap() {}
                }
            }
            drop(store);
            let manifest = Path::new(DIR).join("MANIFEST");
            sim.env().fs.remove_file(&manifest).unwrap();
            let mended = mend(&sim, false);
            assert_eq!(mended.lost, []);
            assert_eq!(reopened(&sim), entries, "{style:?} {seed}: {mended:#?}");
        }
    }
}

#[test]
fn a_damaged_marker_is_written_anew() {
    for byte in 0..20 {
        let sim = Sim::new(1);
        let entries = store(&sim);
        sim.flip_bit(Path::new("store/ENGINE"), byte * 8).unwrap();
        assert!(check(&sim).damage.iter().any(|damage| damage.path.ends_with("ENGINE")));
        let mended = mend(&sim, false);
        assert_eq!((mended.actions.len(), mended.quarantined.len()), (1, 1), "{mended:?}");
        assert_eq!(reopened(&sim), entries);
    }
}

#[test]
fn a_damaged_record_of_the_log_costs_that_record() {
    let sim = Sim::new(1);
    let mut expected = store(&sim);
    let segment = files(&sim).into_iter().filter(|path| path.ends_with(".wal")).find(|path| {
        let bytes = sim.read_file(Path::new(path)).unwrap();
        bytes.windows(10).any(|window| window == b"in the log")
    });
    let segment = segment.unwrap();
    let bytes = sim.read_file(Path::new(&segment)).unwrap();
    let at = bytes.windows(8).position(|window| window == b"key 0050").unwrap();
    sim.flip_bit(Path::new(&segment), at as u64 * 8).unwrap();
    let report = check(&sim);
    assert!(report.damage.iter().any(|damage| damage.path == Path::new(&segment)), "{report:?}");
    let mended = mend(&sim, false);
    assert!(
        !mended.lost.is_empty() && mended.lost.iter().all(|lost| lost.path == Path::new(&segment)),
        "{mended:?}"
    );
    assert!(check(&sim).is_whole());
    expected.remove(b"key 0050".as_slice());
    let found = reopened(&sim);
    // It was deleted before that write.
    assert_eq!(found, expected);
    let [kept] = &mended.quarantined[..] else { panic!("{mended:?}") };
    assert_eq!(sim.read_file(kept).unwrap()[at], bytes[at] ^ 1);
}

#[test]
fn a_repair_that_is_cut_off_anywhere_is_finished_by_the_next() {
    let damage = |sim: &Sim, manifest: bool| {
        store(sim);
        let tables: Vec<String> = files(sim).into_iter().filter(|path| path.ends_with(".sst")).collect();
        sim.flip_bit(Path::new(&tables[1]), 700 * 8).unwrap();
        if manifest {
            sim.flip_bit(Path::new("store/MANIFEST"), 40 * 8).unwrap();
        }
        sim.sync_all();
        sim.operations()
    };
    for manifest in [false, true] {
        let sim = Sim::new(1);
        let first = damage(&sim, manifest);
        let mended = mend(&sim, false);
        let (expected, last) = (reopened(&sim), sim.operations());
        for index in (first..last).step_by(3) {
            let sim = Sim::new(1);
            damage(&sim, manifest);
            sim.fail_at(index, Fault::Crash);
            let cut = repair(&sim.env(), DIR, RepairOptions::default(), &mut |_| {});
            sim.crash_power();
            let again = mend(&sim, false);
            assert!(check(&sim).is_whole(), "{index}: {cut:?} {again:?}");
            assert_eq!(reopened(&sim), expected, "{index}: {mended:#?} {cut:#?} {again:#?}");
            let kept = files(&sim).into_iter().any(|path| path.starts_with("store/quarantine/"));
            assert!(kept, "{index}: the damaged file is nowhere");
        }
    }
}

#[test]
fn an_open_store_can_be_verified_and_not_repaired() {
    let sim = Sim::new(1);
    store(&sim);
    let open = Lsm::open(DIR, options(&sim)).unwrap();
    open.put(b"new", b"write").unwrap();
    let report = check(&sim);
    assert!(report.is_whole() && report.wal_writes >= 1, "{report:?}");
    for dry_run in [false, true] {
        let refused = repair(&sim.env(), DIR, RepairOptions { dry_run }, &mut |_| {});
        assert!(matches!(refused, Err(Error::Locked { .. })), "{refused:?}");
    }
    let nothing = verify(&sim.env(), "elsewhere", &mut |_| {}).unwrap_err().to_string();
    assert!(nothing.contains("no key-value store"), "{nothing}");
}

/// The process was killed, and the last record of its segment has a wrong byte: what the header counts was whole.
#[test]
fn an_acknowledged_write_at_the_end_of_the_log_is_not_undone_in_silence() {
    let damaged = || {
        let sim = Sim::new(1);
        let store = Lsm::open(DIR, options(&sim)).unwrap();
        store.put(b"a", b"first").unwrap();
        store.put(b"b", b"second").unwrap();
        sim.crash_process();
        drop(store);
        let segment = files(&sim).into_iter().find(|path| path.ends_with("00000001.wal")).unwrap();
        let bytes = sim.read_file(Path::new(&segment)).unwrap();
        let at = bytes.windows(6).position(|window| window == b"second").unwrap();
        sim.flip_bit(Path::new(&segment), at as u64 * 8).unwrap();
        (sim, segment)
    };
    let (sim, segment) = damaged();
    let content = sim.read_file(Path::new(&segment)).unwrap();
    assert!(check(&sim).damage.iter().any(|damage| damage.path == Path::new(&segment)));
    let mended = mend(&sim, false);
    assert_eq!(mended.lost.len(), 1, "{mended:?}");
    assert_eq!(sim.read_file(&mended.quarantined[0]).unwrap(), content);
    assert_eq!(reopened(&sim).len(), 1);

    let (sim, _) = damaged();
    let store = Lsm::open(DIR, options(&sim)).unwrap();
    assert_eq!((store.recovery().damage.len(), store.recovery().torn_bytes), (1, 0));
    assert_eq!(store.get(b"a").unwrap().unwrap(), b"first");
    assert!(store.get(b"b").unwrap().is_none());
    store.close().unwrap();
    let kept = files(&sim).into_iter().find(|path| path.starts_with("store/quarantine/")).unwrap();
    assert_eq!(sim.read_file(Path::new(&kept)).unwrap(), content);
}

#[test]
fn a_repair_takes_the_lock_once_and_holds_it_to_its_end() {
    let sim = Sim::new(1);
    store(&sim);
    sim.flip_bit(Path::new("store/MANIFEST"), 40 * 8).unwrap();
    let before = sim.trace().len();
    let mended = mend(&sim, false);
    assert!(mended.actions.iter().any(|action| action.contains("WAL")), "{mended:?}");
    let taken = sim.trace().into_iter().skip(before).filter(|line| line.contains("store/LOCK"));
    let taken: Vec<_> = taken.filter(|line| line.starts_with("lock ")).collect();
    assert_eq!(taken.len(), 1, "{taken:?}");
}
