//! What a store does when the disk is full or damaged: a clear error, nothing lost, and everything else
//! still served.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests may

use duramen::{Batch, EntryBuf, Error, Retention, Store, StoreOptions};
use duramen_engine::Error as EngineError;
use duramen_engine::io::OpenMode;
use duramen_engine::io::sim::{Fault, Sim};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

fn open(sim: &Sim) -> Store {
    StoreOptions::new().env(sim.env()).write_buffer_size(64 << 10).open("/logs").unwrap()
}

fn entry(n: u64) -> Vec<u8> {
    let mut entry = EntryBuf::new(["app"]);
    // Text that does not compress, so that tables take room.
    let noise: String =
        (0..90).map(|i| format!("{:x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (i * i * n))).collect();
    entry.start(n as i64).message(&format!("{n} {noise}"));
    entry.finish().unwrap().to_vec()
}

fn numbers(store: &Store) -> Vec<u64> {
    let mut found = Vec::new();
    store
        .scan(i64::MIN, i64::MAX, &mut |row| {
            found.push(row.message().split(' ').next().unwrap().parse().unwrap());
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

#[test]
fn a_full_disk_is_told_and_the_store_goes_on_when_there_is_room() {
    let sim = Sim::new(1);
    let store = open(&sim);
    sim.set_capacity_bytes(Some(400 << 10));
    let mut written = 0;
    let error = loop {
        match store.append(&entry(written)) {
            Ok(_) => written += 1,
            Err(e) => break e,
        }
        assert!(written < 10_000, "400 KiB hold no more than this");
    };
    let told = error.to_string();
    assert!(
        matches!(error, Error::Engine(EngineError::FlushFails { .. } | EngineError::Io { .. })),
        "neither waits for ever nor gives up: {told}"
    );
    assert!(told.contains("space") || told.contains("full"), "{told}");
    let all: Vec<u64> = (0..written).collect();
    assert_eq!(numbers(&store), all, "what was acknowledged is there to be read");
    sim.set_capacity_bytes(None);
    store.flush().unwrap();
    store.append(&entry(written)).unwrap();
    assert_eq!(numbers(&store).len() as u64, written + 1);
    store.close().unwrap();
    assert_eq!(numbers(&open(&sim)).len() as u64, written + 1);
}

#[test]
fn who_can_wait_fills_a_disk_that_has_room_for_the_tables_alone() {
    const LINES: u64 = 10_000;
    for most in [Duration::ZERO, Duration::from_secs(60)] {
        let sim = Sim::new(3);
        let process = sim.spawn_process();
        let keeper = StoreOptions::new().env(process.env()).background(false).open("/logs").unwrap();
        let options = StoreOptions::new().env(sim.env()).keeper(false).write_buffer_size(64 << 10);
        let store = options.max_write_buffer_number(100).open("/logs").unwrap();
        sim.set_capacity_bytes(Some(700 << 10));
        let append_all = || {
            let mut batch = Batch::new();
            for n in 0..LINES {
                let mut entry = EntryBuf::new(["app"]);
                let words = "the same words in every line, which tables have once ".repeat(2);
                entry.start(n as i64).message(&format!("{n} {words}"));
                batch.push(entry.finish()?)?;
                store.append_batch_patiently(&mut batch, None, most)?;
            }
            Ok::<(), Error>(())
        };
        if most.is_zero() {
            let refused = append_all().unwrap_err();
            assert!(refused.is_full(), "{refused}");
            continue;
        }
        std::thread::scope(|scope| {
            let appending = scope.spawn(append_all);
            while !appending.is_finished() {
                keeper.flush().unwrap();
                std::thread::park_timeout(Duration::from_millis(1));
            }
            appending.join().unwrap().unwrap();
        });
        store.close().unwrap();
        keeper.flush().unwrap();
        assert_eq!(numbers(&keeper), (0..LINES).collect::<Vec<_>>());
    }
}

#[test]
fn without_descriptors_writing_goes_on_later() {
    let sim = Sim::new(2);
    let store = open(&sim);
    store.append(&entry(0)).unwrap();
    sim.set_max_open_files(Some(sim.open_files()));
    let mut written = 1;
    for _ in 0..2_000 {
        match store.append(&entry(written)) {
            Ok(_) => written += 1,
            Err(e) => {
                let told = e.to_string();
                assert!(told.contains("files") || told.contains("full"), "{told}");
                break;
            }
        }
    }
    sim.set_max_open_files(None);
    store.flush().unwrap();
    store.append(&entry(written)).unwrap();
    assert_eq!(numbers(&store), (0..=written).collect::<Vec<_>>());
}

/// A store with two tables of one block each, and some lines in a segment.
fn store_with_tables(sim: &Sim) -> (Vec<String>, Store) {
    let store = StoreOptions::new().env(sim.env()).background(false).open("/logs").unwrap();
    for n in 0..300 {
        store.append(&entry(n)).unwrap();
        if n == 99 || n == 199 {
            store.flush().unwrap();
        }
    }
    let tables = sim.files().into_iter().filter(|f| f.ends_with(".sst")).collect();
    (tables, store)
}

#[test]
fn without_descriptors_a_reader_says_so_and_reads_nothing_that_may_go() {
    let sim = Sim::new(4);
    let (_, store) = store_with_tables(&sim);
    sim.set_max_open_files(Some(sim.open_files()));
    let error = store.snapshot().unwrap_err().to_string();
    assert!(error.contains("READERS") && error.contains("files"), "{error}");
    sim.set_max_open_files(None);
    assert_eq!(numbers(&store), (0..300).collect::<Vec<_>>());
}

#[test]
fn a_flipped_bit_is_found_named_and_costs_its_block() {
    let sim = Sim::new(3);
    let (tables, store) = store_with_tables(&sim);
    assert_eq!(tables.len(), 2);
    drop(store);
    let bits = sim.read_file(Path::new(&tables[0])).unwrap().len() as u64 * 8;
    for bit in (0..bits).step_by(bits as usize / 97) {
        sim.flip_bit(Path::new(&tables[0]), bit).unwrap();
        let store = StoreOptions::new().env(sim.env()).background(false).open("/logs").unwrap();
        let report = store.verify(&mut |_| {}).unwrap();
        assert!(!report.damage.is_empty(), "bit {bit} is not noticed");
        assert!(
            report.damage.iter().all(|d| d.path.ends_with(tables[0].trim_start_matches("logs/"))),
            "{report:?}"
        );
        assert!(report.lines >= 200, "bit {bit} costs more than its block: {} lines left", report.lines);
        let others = store.snapshot().unwrap().blocks(100, i64::MAX);
        let rows: usize = others.iter().map(|handle| handle.open().unwrap().rows()).sum();
        assert_eq!(rows, 200, "the rest is served");
        drop(store);
        sim.flip_bit(Path::new(&tables[0]), bit).unwrap();
    }
}

#[test]
fn a_scan_gives_all_that_lies_before_the_damage() {
    let sim = Sim::new(5);
    let store = StoreOptions::new().env(sim.env()).background(false).open("/logs").unwrap();
    for n in 0..350 {
        store.append(&entry(n)).unwrap();
        if n % 50 == 49 {
            store.flush().unwrap();
        }
    }
    drop(store);
    let tables: Vec<String> = sim.files().into_iter().filter(|f| f.ends_with(".sst")).collect();
    assert_eq!(tables.len(), 7);
    for (i, table) in tables.iter().enumerate() {
        let bits = sim.read_file(Path::new(table)).unwrap().len() as u64 * 8;
        sim.flip_bit(Path::new(table), bits / 2).unwrap();
        let store = StoreOptions::new().env(sim.env()).background(false).open("/logs").unwrap();
        let mut found = 0;
        let scanned = store.scan(i64::MIN, i64::MAX, &mut |row| {
            assert_eq!(row.time(), found);
            found += 1;
            ControlFlow::Continue(())
        });
        assert!(scanned.is_err());
        assert_eq!(found, 50 * i as i64, "blocks are opened ahead, but errors are told when they are due");
        drop(store);
        sim.flip_bit(Path::new(table), bits / 2).unwrap();
    }
}

#[test]
fn a_damaged_segment_is_set_aside_and_what_can_be_read_of_it_is_kept() {
    let sim = Sim::new(4);
    let (_, store) = store_with_tables(&sim);
    store.sync().unwrap();
    store.append(&entry(300)).unwrap();
    sim.crash_process();
    drop(store);
    let segment = sim.files().into_iter().find(|f| f.ends_with(".wal")).unwrap();
    sim.flip_bit(Path::new(&segment), (4096 + 20_000) * 8).unwrap();
    let store = StoreOptions::new().env(sim.env()).background(false).open("/logs").unwrap();
    store.flush().unwrap();
    let found = numbers(&store);
    assert!(found.windows(2).all(|n| n[0] < n[1]), "each once, in order");
    assert!(found.len() >= 299, "one record is damaged, and costs itself: {} of 301 lines", found.len());
    let incidents = store.incidents().messages.join("\n");
    assert!(incidents.contains(".wal") && incidents.contains("quarantine"), "{incidents}");
    assert_eq!(store.stats().unwrap().quarantined.len(), 1);
    assert!(
        sim.files().iter().any(|f| f.starts_with("logs/quarantine/")),
        "it is kept for a person to look at"
    );
}

#[test]
fn a_segment_whose_header_is_damaged_is_told() {
    let sim = Sim::new(8);
    let (_, store) = store_with_tables(&sim);
    sim.crash_process();
    drop(store);
    let segment = sim.files().into_iter().find(|f| f.ends_with(".wal")).unwrap();
    sim.flip_bit(Path::new(&segment), 20 * 8).unwrap();
    let store = StoreOptions::new().env(sim.env()).background(false).open("/logs").unwrap();
    let report = store.verify(&mut |_| {}).unwrap();
    assert!(report.damage.iter().any(|d| d.path.ends_with(&segment)), "{report:?}");
    assert_eq!(numbers(&store).len(), 200, "what is in tables is served");
    assert!(store.incidents().messages.join("\n").contains(&segment));
    store.flush().unwrap();
    assert!(sim.files().iter().any(|f| f.starts_with("logs/quarantine/")), "{:?}", sim.files());
}

#[test]
fn a_segment_that_is_gone_between_others_is_told_with_what_it_held() {
    let sim = Sim::new(9);
    let options = StoreOptions::new().env(sim.env()).write_buffer_size(64 << 10).background(false);
    let store = options.max_write_buffer_number(8).open("/logs").unwrap();
    let ids: Vec<_> = (0..300).map_while(|n| store.append(&entry(n)).ok()).collect();
    assert!(store.verify(&mut |_| {}).unwrap().damage.is_empty(), "of a living writer");
    let segments: Vec<String> = sim.files().into_iter().filter(|file| file.ends_with(".wal")).collect();
    assert!(segments.len() >= 3, "{segments:?}");
    sim.crash_process();
    std::mem::forget(store);
    let reader = |env| StoreOptions::new().env(env).background(false).keeper(false).open("/logs").unwrap();
    assert!(reader(sim.env()).verify(&mut |_| {}).unwrap().damage.is_empty());

    let gone = Path::new("/").join(&segments[1]);
    sim.env().fs.remove_file(&gone).unwrap();
    let store = reader(sim.env());
    let report = store.verify(&mut |_| {}).unwrap();
    let [damage] = &report.damage[..] else { panic!("{:?}", report.damage) };
    assert!(damage.path.ends_with(&segments[2]) && damage.detail.contains("are nowhere"), "{damage:?}");
    let shown = numbers(&store).len() as u64;
    let missing = damage.lines.unwrap();
    let told = format!("the lines {} to {} of writer {:016x}", shown + 1, shown + missing, ids[0].writer);
    assert!(damage.detail.starts_with(&told), "{told}: {damage:?}");
    assert_eq!(report.lines + missing, ids.len() as u64);
    let incidents = store.incidents().messages.join("\n");
    assert!(
        incidents.contains(&segments[2]) && incidents.contains("missing"),
        "who asked is told: {incidents}"
    );
}

#[test]
fn gaps_of_several_writers_are_told_once_each_however_often_somebody_looks() {
    let sim = Sim::new(9);
    for _ in 0..2 {
        let process = sim.spawn_process();
        let options = StoreOptions::new().env(process.env()).write_buffer_size(64 << 10).background(false);
        let store = options.keeper(false).max_write_buffer_number(8).open("/logs").unwrap();
        let _some = (0..300).map_while(|n| store.append(&entry(n)).ok()).count();
        process.kill();
        std::mem::forget(store);
    }
    let seconds: Vec<String> =
        sim.files().into_iter().filter(|file| file.ends_with("00000002.wal")).collect();
    assert_eq!(seconds.len(), 2);
    for second in &seconds {
        sim.env().fs.remove_file(&Path::new("/").join(second)).unwrap();
    }
    let store = StoreOptions::new().env(sim.env()).background(false).keeper(false).open("/logs").unwrap();
    for _ in 0..120 {
        assert!(!numbers(&store).is_empty());
    }
    let told = store.incidents();
    assert_eq!((told.messages.len(), told.dropped), (2, 0), "{told:?}");
    for second in seconds {
        let third = second.replace("00000002.wal", "00000003.wal");
        assert!(told.messages.iter().any(|message| message.contains(&third)), "{told:?}");
    }
}

#[test]
fn a_first_segment_whose_counters_are_lost_is_told() {
    let sim = Sim::new(9);
    let options = StoreOptions::new().env(sim.env()).write_buffer_size(64 << 10).background(false);
    let store = options.max_write_buffer_number(8).open("/logs").unwrap();
    let written = (0..300).map_while(|n| store.append(&entry(n)).ok()).count();
    let segments: Vec<String> = sim.files().into_iter().filter(|file| file.ends_with(".wal")).collect();
    sim.crash_process();
    std::mem::forget(store);
    // Those of a living writer are no damage, so no checksum covers them.
    let file = sim.env().fs.open(&Path::new("/").join(&segments[0]), OpenMode::ReadWrite).unwrap();
    file.write_all_at(&[0; 512], 64).unwrap();

    let store = StoreOptions::new().env(sim.env()).background(false).keeper(false).open("/logs").unwrap();
    assert_eq!(numbers(&store), [] as [u64; 0], "what follows a gap is left out");
    let incidents = store.incidents().messages.join("\n");
    assert!(incidents.contains(&segments[1]) && incidents.contains("missing"), "{incidents}");
    let report = store.verify(&mut |_| {}).unwrap();
    assert!(report.damage.iter().any(|damage| damage.path.ends_with(&segments[1])), "{report:?}");
    drop(store);
    // The keeper goes by the records.
    let store = StoreOptions::new().env(sim.env()).background(false).open("/logs").unwrap();
    store.flush().unwrap();
    assert_eq!(numbers(&store).len(), written);
}

#[test]
fn a_lost_manifest_is_no_reason_to_remove_tables() {
    let sim = Sim::new(5);
    let (tables, store) = store_with_tables(&sim);
    drop(store);
    sim.env().fs.remove_file(Path::new("/logs/MANIFEST")).unwrap();
    let refused = StoreOptions::new().env(sim.env()).open("/logs").unwrap_err().to_string();
    assert!(refused.contains("MANIFEST") && refused.contains("missing"), "{refused}");
    assert!(tables.iter().all(|t| sim.files().contains(t)));
}

#[test]
fn clock_steps_change_nothing() {
    let sim = Sim::new(7);
    let store = open(&sim);
    for n in 0..200 {
        match n % 3 {
            0 => sim.clock().step_back(std::time::Duration::from_secs(86_400 * 400)),
            1 => sim.clock().set(i64::MAX - 5),
            _ => sim.clock().set(0),
        }
        store.append(&entry(n)).unwrap();
    }
    store.close().unwrap();
    assert_eq!(numbers(&open(&sim)), (0..200).collect::<Vec<_>>());
}

#[test]
fn tables_that_an_older_manifest_does_not_name_are_told_and_kept() {
    let sim = Sim::new(9);
    let fs = sim.env().fs;
    let manifest = Path::new("/logs/MANIFEST");
    let store = StoreOptions::new().env(sim.env()).background(false).open("/logs").unwrap();
    for n in 0..10 {
        store.append(&entry(n)).unwrap();
    }
    store.flush().unwrap();
    let older = sim.read_file(manifest).unwrap().len() as u64;
    for n in 10..30 {
        store.append(&entry(n)).unwrap();
    }
    store.flush().unwrap();
    store.close().unwrap();
    let tables = |sim: &Sim| sim.files().into_iter().filter(|f| f.ends_with(".sst")).collect::<Vec<_>>();
    let before = tables(&sim);
    assert_eq!(before.len(), 2);
    fs.open(manifest, OpenMode::ReadWrite).unwrap().set_len(older).unwrap();

    let reader = StoreOptions::new().env(sim.env()).open_read_only("/logs").unwrap();
    let report = reader.verify(&mut |_| {}).unwrap();
    assert_eq!((report.damage.len(), report.lines), (1, 10), "{:?}", report.damage);
    let damage = &report.damage[0];
    assert!(damage.path.ends_with(&before[1]) && damage.lines == Some(20), "{damage:?}");
    assert!(damage.detail.contains("MANIFEST is older"), "{}", damage.detail);

    let store = StoreOptions::new().env(sim.env()).background(false).open("/logs").unwrap();
    store.append(&entry(30)).unwrap();
    store.close().unwrap();
    let store = StoreOptions::new().env(sim.env()).background(false).open("/logs").unwrap();
    assert_eq!(numbers(&store), (0..10).chain([30]).collect::<Vec<_>>());
    assert!(store.verify(&mut |_| {}).unwrap().damage.is_empty());
    let kept = store.stats().unwrap().quarantined;
    assert_eq!(kept.len(), 1);
    assert!(
        kept[0].starts_with("tables-") && before[1].ends_with(&kept[0][7..].replace('-', "/")),
        "{kept:?}"
    );
}

/// Appends lines and puts them into tables.
fn append_and_flush(store: &Store, numbers: std::ops::Range<u64>) {
    for n in numbers {
        store.append(&entry(n)).unwrap();
    }
    store.flush().unwrap();
}

fn files_of(sim: &Sim, part: &str) -> Vec<String> {
    sim.files().into_iter().filter(|file| file.contains(part) && file.contains(".sst")).collect()
}

fn cut_manifest(sim: &Sim, len: u64) {
    let manifest = sim.env().fs.open(Path::new("/logs/MANIFEST"), OpenMode::ReadWrite).unwrap();
    manifest.set_len(len).unwrap();
}

fn manifest_len(sim: &Sim) -> u64 {
    sim.read_file(Path::new("/logs/MANIFEST")).unwrap().len() as u64
}

fn manual(sim: &Sim) -> StoreOptions {
    StoreOptions::new().env(sim.env()).background(false).write_buffer_size(64 << 10).flush_threads(1)
}

/// A store whose process has died after it had flushed twice, and the last flush is in no manifest. What is in quarantine with the
/// name of its table is kept, too.
#[test]
fn a_flushed_table_is_kept_when_its_writer_has_logged_nothing_since() {
    let sim = Sim::new(11);
    let store = manual(&sim).open("/logs").unwrap();
    append_and_flush(&store, 0..10);
    let older = manifest_len(&sim);
    append_and_flush(&store, 10..30);
    sim.crash_process();
    drop(store);
    cut_manifest(&sim, older);
    let lost = files_of(&sim, "/tables/").pop().unwrap();
    let name = lost[lost.find("tables/").unwrap()..].replace('/', "-");
    sim.env().fs.create_dir_all(Path::new("/logs/quarantine")).unwrap();
    let before = Path::new("/logs/quarantine").join(&name);
    let file = sim.env().fs.open(&before, OpenMode::CreateNew).unwrap();
    file.write_all_at(b"set aside before", 0).unwrap();
    file.sync_data().unwrap();
    let damage = manual(&sim).open_read_only("/logs").unwrap().verify(&mut |_| {}).unwrap().damage;
    assert!(damage.len() == 1 && damage[0].path.ends_with(&lost), "{damage:?}");

    let store = manual(&sim).open("/logs").unwrap();
    assert_eq!(sim.read_file(&before).unwrap(), b"set aside before");
    assert_eq!(store.stats().unwrap().quarantined.len(), 2);
    // The number of what was set aside is no other table's, so that it can be put back.
    append_and_flush(&store, 30..31);
    assert!(!files_of(&sim, "/tables/").contains(&lost));
    assert_eq!(numbers(&store), (0..10).chain([30]).collect::<Vec<_>>());
}

#[test]
fn a_merged_table_is_kept_wherever_the_manifest_ends() {
    let run = |cut: Option<u64>| {
        let sim = Sim::new(12);
        let store = manual(&sim).open("/logs").unwrap();
        (0..12).for_each(|n| append_and_flush(&store, n * 5..n * 5 + 5));
        let from = manifest_len(&sim);
        store.compact().unwrap();
        let to = manifest_len(&sim);
        store.append(&entry(100)).unwrap();
        sim.crash_process();
        drop(store);
        let merged = files_of(&sim, "/tables/");
        assert!(merged.len() < 12, "{merged:?}");
        cut_manifest(&sim, cut.unwrap_or(to));
        (sim, merged, from..to)
    };
    let (_, _, cuts) = run(None);
    assert!(cuts.end > cuts.start + 20, "{cuts:?}");
    for cut in cuts.clone().step_by(5) {
        let (sim, merged, _) = run(Some(cut));
        let reader = manual(&sim).open_read_only("/logs").unwrap();
        let report = reader.verify(&mut |_| {}).unwrap();
        if report.damage.is_empty() {
            // The edit is whole; what followed it is not.
            assert_eq!(numbers(&reader).len(), 61, "cut at {cut} of {cuts:?}");
            assert!(cut > cuts.start + 20);
            break;
        }
        let told = |name: &String| report.damage.iter().any(|d| d.path.ends_with(name) && d.lines.is_some());
        assert!(merged.iter().all(told), "cut at {cut} of {cuts:?}: {:?}", report.damage);
        drop(manual(&sim).open("/logs").unwrap());
        assert_eq!(files_of(&sim, "/quarantine/").len(), merged.len(), "cut at {cut} of {cuts:?}");
    }
}

/// A table beside those of the store that is neither a leftover of a flush nor replaced.
fn add_foreign_table(sim: &Sim) -> std::path::PathBuf {
    let known = files_of(sim, "/tables/").remove(0);
    let path = Path::new(&known).with_file_name("00000077.sst");
    let bytes = sim.read_file(Path::new(&known)).unwrap();
    let file = sim.env().fs.open(&path, OpenMode::CreateNew).unwrap();
    file.write_all_at(&bytes, 0).unwrap();
    file.sync_data().unwrap();
    path
}

#[test]
fn verify_does_not_judge_tables_while_a_keeper_may_be_about_to_name_them() {
    let sim = Sim::new(13);
    let keeper = sim.spawn_process();
    let store = manual(&sim).env(keeper.env()).open("/logs").unwrap();
    append_and_flush(&store, 0..10);
    assert!(store.is_keeper());
    let path = add_foreign_table(&sim);
    let verify = || manual(&sim).open_read_only("/logs").unwrap().verify(&mut |_| {}).unwrap().damage;
    assert!(verify().is_empty(), "{:?}", verify());
    keeper.kill();
    drop(store);
    assert!(verify().iter().any(|damage| damage.path.ends_with(&path)), "{:?}", verify());
}

#[test]
fn a_table_that_cannot_be_read_is_set_aside_and_keeps_no_store_from_opening() {
    let lay = || {
        let sim = Sim::new(14);
        let store = manual(&sim).open("/logs").unwrap();
        append_and_flush(&store, 0..10);
        store.close().unwrap();
        (add_foreign_table(&sim), sim.operations(), sim)
    };
    let reading = |trace: &[String], from: u64| {
        let is_it = |line: &String| line.contains("00000077.sst");
        trace.iter().skip(from as usize).position(is_it).unwrap() as u64 + from
    };
    let (path, before, sim) = lay();
    drop(manual(&sim).open_read_only("/logs").unwrap().verify(&mut |_| {}).unwrap());
    let at = reading(&sim.trace(), before);
    let (_, _, sim) = lay();
    sim.fail_at(at, Fault::TooManyFiles);
    let damage = manual(&sim).open_read_only("/logs").unwrap().verify(&mut |_| {}).unwrap().damage;
    assert!(damage.len() == 1 && damage[0].path.ends_with(&path) && damage[0].lines.is_none(), "{damage:?}");

    let (_, before, sim) = lay();
    drop(manual(&sim).open("/logs").unwrap());
    let at = reading(&sim.trace(), before);
    let (_, _, sim) = lay();
    sim.fail_at(at, Fault::TooManyFiles);
    let store = manual(&sim).open("/logs").unwrap();
    assert!(!sim.faults_struck().is_empty());
    assert_eq!(numbers(&store), (0..10).collect::<Vec<_>>());
    assert_eq!(store.stats().unwrap().quarantined.len(), 1);
    assert!(
        store.incidents().messages.iter().any(|told| told.contains("cannot be told")),
        "{:?}",
        store.incidents()
    );
}

#[test]
fn a_store_whose_manifest_is_gone_says_so_to_readers_too() {
    let sim = Sim::new(10);
    let (_, store) = store_with_tables(&sim);
    store.set_retention(&Retention { max_bytes: Some(1 << 30), ..Retention::default() }).unwrap();
    store.close().unwrap();
    sim.env().fs.remove_file(Path::new("/logs/MANIFEST")).unwrap();
    let options = || StoreOptions::new().env(sim.env()).background(false);
    for error in [options().open("/logs").unwrap_err(), options().open_read_only("/logs").unwrap_err()] {
        assert!(error.is_corruption() && error.to_string().contains("there are tables"), "{error}");
    }
}
