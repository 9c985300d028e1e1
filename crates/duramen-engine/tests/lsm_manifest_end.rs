//! A manifest that is not as the store left it: it lost its end, or is an older copy.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen_engine::io::OpenMode;
use duramen_engine::io::sim::{Fault, Sim};
use duramen_engine::kv::{Durability, Engine, RepairOptions, RepairReport, VerifyReport, repair, verify};
use duramen_engine::lsm::{CompactionStyle, Lsm, LsmOptions};
use duramen_engine::wal::{Background, WalKind};
use std::collections::BTreeMap;
use std::path::Path;

const DIR: &str = "store";
const MANIFEST: &str = "store/MANIFEST";

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

fn options(sim: &Sim) -> LsmOptions {
    LsmOptions {
        env: sim.env(),
        background: Background::Manual,
        compaction: CompactionStyle::None,
        write_buffer_size: 256 << 10,
        ..LsmOptions::default()
    }
}

fn key(n: u32) -> Vec<u8> {
    format!("key{n:03}").into_bytes()
}

/// Three tables, of which the later ones overwrite and delete what is in the first; closed, so that there is no WAL.
fn store(sim: &Sim, options: LsmOptions) -> Entries {
    let (store, entries) = filled(options);
    store.close().unwrap();
    assert_eq!(tables(sim).len(), 3);
    entries
}

fn filled(options: LsmOptions) -> (Lsm, Entries) {
    let mut entries = Entries::new();
    let store = Lsm::open(DIR, options).unwrap();
    for round in 0..3u32 {
        for n in round * 10..round * 10 + 40 {
            store.put(&key(n), &[round as u8; 20]).unwrap();
            entries.insert(key(n), vec![round as u8; 20]);
        }
        for n in 0..round * 3 {
            store.delete(&key(n)).unwrap();
            entries.remove(&key(n));
        }
        store.flush().unwrap();
    }
    (store, entries)
}

fn tables(sim: &Sim) -> Vec<String> {
    sim.files().into_iter().filter(|path| path.starts_with("store/sst/")).collect()
}

fn kept(sim: &Sim) -> usize {
    sim.files().into_iter().filter(|path| path.starts_with("store/quarantine/sst-")).count()
}

fn cut(sim: &Sim, len: u64) {
    sim.env().fs.open(Path::new(MANIFEST), OpenMode::ReadWrite).unwrap().set_len(len).unwrap();
}

fn check(sim: &Sim) -> VerifyReport {
    verify(&sim.env(), DIR, &mut |_| {}).unwrap()
}

fn mend(sim: &Sim) -> RepairReport {
    repair(&sim.env(), DIR, RepairOptions::default(), &mut |_| {}).unwrap()
}

fn read(store: &Lsm) -> Entries {
    store.scan(..).unwrap().collect().unwrap().into_iter().collect()
}

#[test]
fn wherever_it_is_cut_no_table_is_removed_and_a_repair_brings_all_back() {
    for wal_kind in [WalKind::Mmap, WalKind::None] {
        let durability = if wal_kind == WalKind::None { Durability::None } else { Durability::Process };
        let made = |sim: &Sim| LsmOptions { wal_kind, durability, ..options(sim) };
        let sim = Sim::new(1);
        // That it is closed is one more edit, without which nothing is missing.
        let (_open, _) = filled(made(&sim));
        let len = sim.read_file(Path::new(MANIFEST)).unwrap().len() as u64;
        // The mark guards the last edit, and nothing guards the mark.
        for at in (24..len - 17).step_by(23) {
            let sim = Sim::new(1);
            let entries = store(&sim, made(&sim));
            cut(&sim, at);
            let found = check(&sim);
            assert!(!found.damage.is_empty(), "{wal_kind:?}, cut at {at} of {len}");
            if let Ok(store) = Lsm::open(DIR, made(&sim)) {
                assert!(store.recovery().removed.is_empty(), "cut at {at}: {:?}", store.recovery());
                store.close().unwrap();
                assert_eq!(tables(&sim).len() + kept(&sim), 3, "cut at {at}: a table is gone");
            }

            let sim = Sim::new(1);
            store(&sim, made(&sim));
            cut(&sim, at);
            let mended = mend(&sim);
            assert_eq!(mended.lost, [], "cut at {at}");
            assert!(check(&sim).is_whole(), "cut at {at}: {mended:?}");
            assert_eq!(read(&Lsm::open(DIR, options(&sim)).unwrap()), entries, "cut at {at}: {mended:#?}");
        }
    }
}

#[test]
fn an_older_copy_of_it_removes_no_table() {
    let sim = Sim::new(1);
    let store = Lsm::open(DIR, options(&sim)).unwrap();
    store.put(b"a", b"1").unwrap();
    store.flush().unwrap();
    let older = sim.read_file(Path::new(MANIFEST)).unwrap();
    store.put(b"a", b"2").unwrap();
    store.delete(b"b").unwrap();
    store.flush().unwrap();
    store.close().unwrap();
    sim.env().fs.remove_file(Path::new(MANIFEST)).unwrap();
    sim.env().fs.open(Path::new(MANIFEST), OpenMode::CreateNew).unwrap().write_all_at(&older, 0).unwrap();
    assert!(check(&sim).damage.iter().any(|damage| damage.path.ends_with("sst/00000002.sst")));
    // Whether the machine was started anew since does not matter.
    sim.sync_all();
    sim.crash_power();
    assert!(!check(&sim).is_whole());
    assert_eq!(mend(&sim).lost, []);
    let store = Lsm::open(DIR, options(&sim)).unwrap();
    assert_eq!(store.get(b"a").unwrap().unwrap(), b"2");
}

#[test]
fn what_was_ingested_last_is_kept_when_the_end_is_lost() {
    let sim = Sim::new(1);
    let store = Lsm::open(DIR, options(&sim)).unwrap();
    store.put(b"a", b"1").unwrap();
    store.flush().unwrap();
    let before = sim.read_file(Path::new(MANIFEST)).unwrap().len() as u64;
    store.ingest(&mut [Ok((b"a".to_vec(), b"2".to_vec()))].into_iter()).unwrap();
    sim.crash_process();
    drop(store);
    cut(&sim, before);
    assert!(!check(&sim).is_whole());
    let mended = mend(&sim);
    assert_eq!(mended.lost, []);
    let store = Lsm::open(DIR, options(&sim)).unwrap();
    assert_eq!(store.get(b"a").unwrap().unwrap(), b"2", "{mended:?}");
}

/// Whenever power is lost: what was promised is there, and quarantine holds no more than what was being flushed.
#[test]
fn a_loss_of_power_leaves_little_in_quarantine() {
    let run = |sim: &Sim| -> Result<(), duramen_engine::Error> {
        let store = Lsm::open(DIR, options(sim))?;
        for n in 0..4u32 {
            store.put(&key(n), b"value")?;
            store.flush()?;
        }
        store.compact()
    };
    let whole = Sim::new(1);
    run(&whole).unwrap();
    for index in 0..whole.operations() {
        let sim = Sim::new(index);
        sim.fail_at(index, Fault::Crash);
        let _cut_short = run(&sim);
        sim.crash_power();
        let store = Lsm::open(DIR, options(&sim)).unwrap();
        assert!(store.recovery().quarantined.len() <= 1, "operation {index}: {:?}", store.recovery());
        store.close().unwrap();
        assert!(check(&sim).is_whole());
    }
}

/// What nobody can read, or is another store's, shows nothing of the manifest.
#[test]
fn a_table_that_is_none_of_ours_is_no_reason_to_make_it_anew() {
    let sim = Sim::new(1);
    let entries = store(&sim, options(&sim));
    let mut newer = sim.read_file(Path::new(&tables(&sim)[0])).unwrap();
    newer[8] = 99;
    let crc = crc32c::crc32c(&newer[..16]);
    newer[16..20].copy_from_slice(&crc.to_le_bytes());
    let path = Path::new("store/sst/00000077.sst");
    sim.env().fs.open(path, OpenMode::CreateNew).unwrap().write_all_at(&newer, 0).unwrap();
    assert!(check(&sim).damage.iter().any(|damage| damage.path == path));
    assert!(mend(&sim).is_idle());
    let store = Lsm::open(DIR, options(&sim)).unwrap();
    assert_eq!((store.recovery().quarantined.len(), store.recovery().removed.len()), (1, 0));
    assert_eq!(read(&store), entries);
}

#[test]
fn a_table_that_is_lost_is_told_though_the_manifest_is_made_anew() {
    let sim = Sim::new(1);
    let all = store(&sim, options(&sim));
    let store = Lsm::open(DIR, options(&sim)).unwrap();
    store.put(b"last", b"1").unwrap();
    let before = sim.read_file(Path::new(MANIFEST)).unwrap().len() as u64;
    store.flush().unwrap();
    store.close().unwrap();
    cut(&sim, before);
    sim.env().fs.remove_file(Path::new("store/sst/00000003.sst")).unwrap();
    let mended = mend(&sim);
    assert!(mended.lost.iter().any(|lost| lost.path.ends_with("sst/00000003.sst")), "{mended:?}");
    let found = read(&Lsm::open(DIR, options(&sim)).unwrap());
    assert!(found.contains_key(b"last".as_slice()) && found.len() <= all.len() + 1);
}
