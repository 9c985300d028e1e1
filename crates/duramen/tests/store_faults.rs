//! What a store does when the disk is full or damaged: a clear error, nothing lost, and everything else
//! still served.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests may

use duramen::{EntryBuf, Error, Retention, Store, StoreOptions};
use duramen_engine::Error as EngineError;
use duramen_engine::io::OpenMode;
use duramen_engine::io::sim::Sim;
use std::ops::ControlFlow;
use std::path::Path;

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
