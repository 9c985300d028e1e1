//! A log whose file is not as the engine wrote it: what verification finds, and what a repair keeps.
#![allow(clippy::unwrap_used, clippy::panic)] // the helpers of a test may fail as the test does

use duramen_engine::Error;
use duramen_engine::io::OpenMode;
use duramen_engine::io::sim::{Fault, Sim};
use duramen_engine::kv::{Durability, Engine, RepairOptions, RepairReport, VerifyReport, repair, verify};
use duramen_engine::log::{Log, LogOptions};
use duramen_engine::wal::Background;
use std::collections::BTreeMap;
use std::path::Path;

const DIR: &str = "store";
const FILE: &str = "store/LOG";
/// What the file begins with that is under a checksum.
const HEADER: usize = 48;

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

fn open(sim: &Sim) -> Log {
    let background = Background::Manual;
    Log::open(
        DIR,
        LogOptions { env: sim.env(), background, durability: Durability::Sync, ..LogOptions::default() },
    )
    .unwrap()
}

/// Ten entries that a compaction has written anew, and ten after it. No key is written twice, so that what is lost
/// brings nothing back to light.
fn store(sim: &Sim) -> Entries {
    let store = open(sim);
    let mut entries = Entries::new();
    for n in 0..20 {
        let (key, value) = (format!("key {n:02}").into_bytes(), vec![n; 30]);
        store.put(&key, &value).unwrap();
        entries.insert(key, value);
        if n == 9 {
            store.compact().unwrap();
        }
    }
    store.close().unwrap();
    entries
}

fn content(sim: &Sim) -> Entries {
    open(sim).scan(..).unwrap().collect().unwrap().into_iter().collect()
}

fn check(sim: &Sim) -> VerifyReport {
    verify(&sim.env(), DIR, &mut |_| {}).unwrap()
}

fn mend(sim: &Sim, dry_run: bool) -> RepairReport {
    repair(&sim.env(), DIR, RepairOptions { dry_run }, &mut |_| {}).unwrap()
}

fn bytes(sim: &Sim) -> Vec<u8> {
    sim.read_file(Path::new(FILE)).unwrap()
}

fn replace(sim: &Sim, bytes: &[u8]) {
    let fs = sim.env().fs;
    fs.remove_file(Path::new(FILE)).unwrap();
    fs.open(Path::new(FILE), OpenMode::CreateNew).unwrap().write_all_at(bytes, 0).unwrap();
}

#[test]
fn a_whole_log_is_whole_and_repair_leaves_it_alone() {
    let sim = Sim::new(1);
    let entries = store(&sim);
    let before = bytes(&sim);
    let report = check(&sim);
    assert_eq!((&report.damage[..], &report.notes[..], report.entries), (&[][..], &[][..], 20));
    assert!(mend(&sim, false).is_idle());
    assert_eq!(bytes(&sim), before);
    assert_eq!(content(&sim), entries);
}

#[test]
fn a_flipped_bit_anywhere_is_found_and_costs_only_the_frame_it_hits() {
    let template = Sim::new(1);
    let entries = store(&template);
    let whole = bytes(&template);
    let mark = whole.len() - 21;
    let step = if std::env::var_os("DURAMEN_KV_WHOLE").is_some() { 1 } else { 7 };
    for at in (0..HEADER).chain((64..mark).step_by(step)) {
        let sim = Sim::new(1);
        store(&sim);
        sim.flip_bit(Path::new(FILE), at as u64 * 8 + at as u64 % 8).unwrap();
        let damaged = bytes(&sim);
        let report = check(&sim);
        assert!(!report.is_whole(), "byte {at} is not noticed");
        let planned = mend(&sim, true);
        assert_eq!(bytes(&sim), damaged, "byte {at}: a dry run changes nothing");
        let mended = mend(&sim, false);
        assert_eq!((&mended.lost, &mended.actions), (&planned.lost, &planned.actions), "byte {at}");
        let [kept] = &mended.quarantined[..] else { panic!("byte {at}: {mended:?}") };
        assert_eq!(sim.read_file(kept).unwrap(), damaged, "byte {at}");
        assert!(check(&sim).is_whole(), "byte {at}: {mended:?}");
        let found = content(&sim);
        assert!(found.iter().all(|(key, value)| entries.get(key) == Some(value)), "byte {at}: {found:?}");
        let missing = entries.len() - found.len();
        // A compaction puts several entries into one frame.
        let at_most = if at < HEADER {
            0
        } else if at < whole.len() / 2 {
            10
        } else {
            1
        };
        assert!(missing <= at_most, "byte {at}: {missing} are missing: {mended:?}");
        assert_eq!(missing > 0, !mended.lost.is_empty(), "byte {at}: {mended:?}");
        for lost in &mended.lost {
            let range = lost.offset.unwrap()..lost.offset.unwrap() + lost.bytes.unwrap();
            assert!(range.contains(&(at as u64)), "byte {at}: {lost:?}");
        }
    }
}

#[test]
fn whatever_is_wrong_with_the_header_costs_no_write() {
    let bytes_of_it = (0..HEADER).chain(56..64);
    let turned = bytes_of_it.flat_map(|at| [0xff, 0x03].map(|bits| Some((at, bits))));
    for edit in turned.chain([None]) {
        let sim = Sim::new(1);
        let entries = store(&sim);
        let mut damaged = bytes(&sim);
        match edit {
            Some((at, bits)) => damaged[at] ^= bits,
            None => damaged[..64].fill(0),
        }
        replace(&sim, &damaged);
        let header = &damaged[..64];
        // Another version's frames may be anything.
        if damaged[8..12] != [1, 0, 0, 0] && damaged[..8] == *b"DURALOG\0" {
            continue;
        }
        let report = check(&sim);
        assert!(!report.is_whole() && report.entries == 20, "{header:?}: {report:?}");
        let mended = mend(&sim, false);
        assert_eq!(mended.lost, [], "{header:?}");
        assert_eq!(sim.read_file(&mended.quarantined[0]).unwrap(), damaged);
        assert!(check(&sim).is_whole(), "{header:?}");
        assert_eq!(content(&sim), entries, "{header:?}");
    }
}

#[test]
fn without_header_and_first_frames_what_follows_is_kept() {
    let sim = Sim::new(1);
    let entries = store(&sim);
    let mut damaged = bytes(&sim);
    let middle = damaged.len() - 400;
    damaged[..middle].fill(0);
    replace(&sim, &damaged);
    let mended = mend(&sim, false);
    assert_eq!(mended.lost.len(), 1, "{mended:?}");
    let found = content(&sim);
    assert!(
        found.len() >= 4 && found.iter().all(|(key, value)| entries.get(key) == Some(value)),
        "{found:?}"
    );
    assert!(check(&sim).is_whole());
}

#[test]
fn a_stretch_of_rubbish_costs_what_lay_there_and_no_more() {
    let sim = Sim::new(1);
    let entries = store(&sim);
    let mut damaged = bytes(&sim);
    let middle = damaged.len() - 400;
    damaged[middle..middle + 150].iter_mut().zip(0u8..).for_each(|(byte, n)| *byte = n.wrapping_mul(37) | 1);
    replace(&sim, &damaged);
    let mended = mend(&sim, false);
    let found = content(&sim);
    assert!(found.iter().all(|(key, value)| entries.get(key) == Some(value)));
    assert!(
        (entries.len() - 4..entries.len()).contains(&found.len()),
        "{} of {}",
        found.len(),
        entries.len()
    );
    assert_eq!(mended.lost.len(), 1, "{mended:?}");
    assert!(check(&sim).is_whole());
}

#[test]
fn a_file_of_which_nothing_can_be_believed_is_put_aside() {
    for rubbish in [&b""[..], b"DURALOG\0", &[0x5a; 5000]] {
        let sim = Sim::new(1);
        store(&sim);
        replace(&sim, rubbish);
        assert!(!check(&sim).is_whole());
        let mended = mend(&sim, false);
        assert!(!mended.lost.is_empty(), "{mended:?}");
        assert_eq!(sim.read_file(&mended.quarantined[0]).unwrap(), rubbish);
        assert_eq!(check(&sim).damage, [], "an empty store is whole");
        assert_eq!(content(&sim), Entries::new(), "and can be used");
        assert!(mend(&sim, false).is_idle());
    }
}

#[test]
fn a_missing_file_is_lost_and_the_store_can_be_used_again() {
    let sim = Sim::new(1);
    store(&sim);
    sim.env().fs.remove_file(Path::new("store/LOG")).unwrap();
    assert!(!check(&sim).is_whole());
    assert_eq!(mend(&sim, true).lost.len(), 1);
    assert_eq!(mend(&sim, false).lost.len(), 1);
    assert!(check(&sim).is_whole());
    assert_eq!(content(&sim), Entries::new());
}

#[test]
fn an_unfinished_write_is_no_damage() {
    let sim = Sim::new(1);
    let entries = store(&sim);
    let mut torn = bytes(&sim);
    let mark = torn.len() - 21;
    torn[mark..].fill(7);
    replace(&sim, &torn);
    let report = check(&sim);
    assert!(report.is_whole() && report.notes.len() == 1, "{report:?}");
    assert!(mend(&sim, false).is_idle());
    assert_eq!(content(&sim), entries);
}

#[test]
fn a_repair_that_is_cut_off_anywhere_is_finished_by_the_next() {
    let damage = |sim: &Sim| {
        store(sim);
        let at = bytes(sim).len() as u64 - 300;
        sim.flip_bit(Path::new(FILE), at * 8).unwrap();
        sim.sync_all();
        sim.operations()
    };
    let sim = Sim::new(1);
    let first = damage(&sim);
    let damaged = bytes(&sim);
    mend(&sim, false);
    let (last, expected) = (sim.operations(), content(&sim));
    assert!(last - first > 10);
    for index in first..last {
        let sim = Sim::new(1);
        damage(&sim);
        sim.fail_at(index, Fault::Crash);
        let cut = repair(&sim.env(), DIR, RepairOptions::default(), &mut |_| {});
        sim.crash_power();
        let again = mend(&sim, false);
        assert!(check(&sim).is_whole(), "{index}: {cut:?} {again:?}");
        assert_eq!(content(&sim), expected, "{index}: {cut:?} {again:?}");
        let kept = sim.files().into_iter().filter(|path| path.starts_with("store/quarantine/"));
        let mut kept = kept.map(|path| sim.read_file(Path::new(&path)).unwrap());
        assert!(kept.any(|bytes| bytes == damaged), "{index}: the damaged file is nowhere");
    }
}

#[test]
fn an_open_log_can_be_verified_and_not_repaired() {
    let sim = Sim::new(1);
    let entries = store(&sim);
    let store = open(&sim);
    assert_eq!(check(&sim).entries as usize, entries.len());
    for dry_run in [false, true] {
        let refused = repair(&sim.env(), DIR, RepairOptions { dry_run }, &mut |_| {});
        assert!(matches!(refused, Err(Error::Locked { .. })), "{refused:?}");
    }
    store.close().unwrap();
}
