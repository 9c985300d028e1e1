//! What survives which end, in the simulated world.
#![allow(unsafe_code)] // to write segments' memory, in one thread
#![allow(clippy::unwrap_used, clippy::panic)] // all of this is test

use duramen_engine::io::sim::{Fault, Sim};
use duramen_engine::io::{Env, Fs, OpenMode, Segment};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

fn fs(sim: &Sim) -> Arc<dyn Fs> {
    sim.env().fs
}

fn put(fs: &dyn Fs, path: &str, bytes: &[u8]) {
    fs.open(Path::new(path), OpenMode::CreateNew).unwrap().write_all_at(bytes, 0).unwrap();
}

fn sync_dir(fs: &dyn Fs, path: &str) {
    fs.sync_dir(Path::new(path)).unwrap();
}

fn rename(fs: &dyn Fs, from: &str, to: &str) {
    fs.rename(Path::new(from), Path::new(to)).unwrap();
}

fn write(segment: &dyn Segment, offset: usize, bytes: &[u8]) {
    // SAFETY: the test's one thread holds no slice of the memory.
    unsafe { segment.memory().write(offset, bytes) }
}

fn content(sim: &Sim, path: &str) -> Vec<u8> {
    sim.read_file(Path::new(path)).unwrap()
}

#[test]
fn the_end_of_a_process_keeps_every_written_byte() {
    let sim = Sim::new(1);
    let old = fs(&sim);
    put(&*old, "file", b"unsynced");
    let segment = old.create_segment(Path::new("segment"), 8192).unwrap();
    write(&*segment, 5000, b"mapped");
    let apart = old.create_unmapped_segment(Path::new("apart"), 8192).unwrap();
    write(&*apart, 0, b"published only in part");
    apart.publish(0, 9).unwrap();
    sim.crash_process();
    assert_eq!(sim.files(), ["apart", "file", "segment"]);
    assert_eq!(content(&sim, "file"), b"unsynced");
    assert_eq!(content(&sim, "segment")[5000..5006], *b"mapped");
    assert_eq!(content(&sim, "apart")[..10], *b"published\0");
}

#[test]
fn what_a_process_left_unsynced_can_still_be_lost_with_the_power() {
    let sim = Sim::new(1);
    let segment = fs(&sim).create_segment(Path::new("a"), 8192).unwrap();
    sync_dir(&*fs(&sim), "/");
    segment.sync(0, 1).unwrap();
    write(&*segment, 5000, b"mapped");
    sim.crash_process();
    assert_eq!(content(&sim, "a")[5000..5006], *b"mapped");
    sim.crash_power_keeping(0);
    assert_eq!(content(&sim, "a"), [0; 8192]);
}

#[test]
fn what_a_process_left_unsynced_can_also_survive_the_loss_of_power() {
    let sim = Sim::new(1);
    let segment = fs(&sim).create_segment(Path::new("a"), 8192).unwrap();
    write(&*segment, 5000, b"mapped");
    sim.crash_process();
    sim.crash_power_keeping(100);
    assert_eq!(content(&sim, "a")[5000..5006], *b"mapped");
    assert_eq!(sim.used_bytes(), 8192);
}

#[test]
fn a_removed_file_is_freed_when_the_last_who_has_it_open_is_gone() {
    let sim = Sim::new(1);
    let fs = fs(&sim);
    let file = fs.open(Path::new("a"), OpenMode::CreateNew).unwrap();
    file.write_all_at(b"still here", 0).unwrap();
    fs.remove_file(Path::new("a")).unwrap();
    sync_dir(&*fs, "/");
    file.read_exact_at(&mut [0; 10], 0).unwrap();
    assert_eq!(sim.used_bytes(), 4096);
    drop(file);
    assert_eq!(sim.used_bytes(), 0);
}

#[test]
fn old_handles_are_dead_and_old_mappings_are_cut_off() {
    let sim = Sim::new(1);
    let old = fs(&sim);
    let file = old.open(Path::new("file"), OpenMode::CreateNew).unwrap();
    let segment = old.create_segment(Path::new("segment"), 4096).unwrap();
    let lock = old.try_lock(Path::new("lock")).unwrap().unwrap();
    let operations = sim.operations();
    sim.crash_process();
    assert_eq!(sim.open_files(), 0);

    let new = fs(&sim);
    let new_lock = new.try_lock(Path::new("lock")).unwrap();
    assert!(new_lock.is_some(), "the lock fell");
    drop(lock);
    assert!(new.try_lock(Path::new("lock")).unwrap().is_none(), "a dead guard frees nobody else's lock");
    assert!(file.write_at(b"x", 0).is_err());
    assert!(file.read_at(&mut [0], 0).is_err());
    assert!(file.sync_data().is_err());
    assert!(segment.sync(0, 1).is_err());
    assert!(segment.truncate(0).is_err());
    assert!(old.exists(Path::new("file")).is_err());
    write(&*segment, 0, b"a leaked thread");
    assert_eq!(content(&sim, "segment"), [0; 4096]);
    assert_eq!(sim.operations(), operations + 2, "the dead do no operations");
}

#[test]
fn one_process_of_several_dies_alone() {
    let sim = Sim::new(1);
    let (keeper, writer) = (sim.spawn_process(), sim.spawn_process());
    let (keepers, writers) = (keeper.env().fs, writer.env().fs);
    let _lock = keepers.try_lock(Path::new("keeper")).unwrap().unwrap();
    let segment = writers.create_segment(Path::new("wal"), 4096).unwrap();
    let seen = keepers.open_segment(Path::new("wal")).unwrap();
    write(&*segment, 8, b"shared");
    // SAFETY: nothing writes meanwhile.
    assert_eq!(unsafe { seen.memory().slice(8, 6) }, b"shared");
    assert!(writers.try_lock(Path::new("keeper")).unwrap().is_none());
    keeper.kill();
    assert!(keepers.exists(Path::new("wal")).is_err());
    assert!(writers.try_lock(Path::new("keeper")).unwrap().is_some());
    segment.sync(0, 4096).unwrap();
    assert_eq!(sim.env().clock.now_unix_ns(), writer.env().clock.now_unix_ns());
}

#[test]
fn power_keeps_what_was_synced_and_nothing_else() {
    let sim = Sim::new(1);
    let fs = fs(&sim);
    let file = fs.open(Path::new("a"), OpenMode::CreateNew).unwrap();
    file.write_all_at(&[1; 10_000], 0).unwrap();
    file.sync_data().unwrap();
    sync_dir(&*fs, "/");
    file.write_all_at(&[2; 10_000], 5_000).unwrap();
    put(&*fs, "b", b"its name was never synced");
    sim.crash_power_keeping(0);
    assert_eq!(sim.files(), ["a"]);
    assert_eq!(content(&sim, "a"), [1; 10_000]);
}

#[test]
fn power_may_keep_everything() {
    let sim = Sim::new(1);
    let fs = fs(&sim);
    put(&*fs, "a", &[1; 10_000]);
    fs.create_dir_all(Path::new("x/y")).unwrap();
    rename(&*fs, "a", "x/y/b");
    fs.open(Path::new("x/y/b"), OpenMode::ReadWrite).unwrap().set_len(9_999).unwrap();
    sim.crash_power_keeping(100);
    assert_eq!(sim.files(), ["x/y/b"]);
    assert_eq!(content(&sim, "x/y/b"), [1; 9_999]);
    sim.crash_power_keeping(0);
    assert_eq!(content(&sim, "x/y/b"), [1; 9_999], "what survived once is on the device");
}

#[test]
fn a_segments_sync_covers_the_blocks_of_its_range() {
    let sim = Sim::new(1);
    let fs = fs(&sim);
    let segment = fs.create_segment(Path::new("a"), 4 * 4096).unwrap();
    sync_dir(&*fs, "/");
    write(&*segment, 0, &[1; 4 * 4096]);
    segment.sync(4096 + 4000, 200).unwrap();
    sim.crash_power_keeping(0);
    let bytes = content(&sim, "a");
    assert_eq!(bytes.len(), 4 * 4096, "and the length");
    let blocks: Vec<u8> = bytes.chunks(4096).map(|block| block[0]).collect();
    assert_eq!(blocks, [0, 1, 1, 0]);
}

#[test]
fn a_file_sync_covers_what_was_written_through_mappings() {
    let sim = Sim::new(1);
    let fs = fs(&sim);
    let segment = fs.create_segment(Path::new("a"), 8192).unwrap();
    sync_dir(&*fs, "/");
    write(&*segment, 4096, b"mapped");
    fs.open(Path::new("a"), OpenMode::Read).unwrap().sync_data().unwrap();
    sim.crash_power_keeping(0);
    assert_eq!(content(&sim, "a")[4096..4102], *b"mapped");
}

#[test]
fn a_cut_that_was_not_synced_can_come_undone() {
    let sim = Sim::new(1);
    let fs = fs(&sim);
    let file = fs.open(Path::new("a"), OpenMode::CreateNew).unwrap();
    file.write_all_at(&[1; 10_000], 0).unwrap();
    sim.sync_all();
    file.set_len(100).unwrap();
    file.set_len(10_000).unwrap();
    let mut expected = vec![1; 10_000];
    sim.crash_power_keeping(0);
    assert_eq!(content(&sim, "a"), expected);

    let file = sim.env().fs.open(Path::new("a"), OpenMode::ReadWrite).unwrap();
    file.set_len(100).unwrap();
    file.set_len(10_000).unwrap();
    file.sync_data().unwrap();
    sim.crash_power_keeping(0);
    expected[100..].fill(0);
    assert_eq!(content(&sim, "a"), expected);
}

#[test]
fn names_survive_by_the_sync_of_their_own_directory() {
    let sim = Sim::new(1);
    let fs = fs(&sim);
    fs.create_dir_all(Path::new("x/y")).unwrap();
    put(&*fs, "x/y/a", b"");
    sync_dir(&*fs, "x/y");
    sync_dir(&*fs, "/");
    sim.crash_power_keeping(0);
    assert!(sim.files().is_empty(), "y was not durable in x");

    let fs = sim.env().fs;
    fs.create_dir_all(Path::new("x/y")).unwrap();
    put(&*fs, "x/y/a", b"");
    for path in ["x/y", "x", "/"] {
        sync_dir(&*fs, path);
    }
    fs.remove_file(Path::new("x/y/a")).unwrap();
    sim.crash_power_keeping(0);
    assert_eq!(sim.files(), ["x/y/a"], "the removal was not synced");
    let fs = sim.env().fs;
    fs.remove_file(Path::new("x/y/a")).unwrap();
    sync_dir(&*fs, "x/y");
    sim.crash_power_keeping(0);
    assert!(sim.files().is_empty());
}

#[test]
fn a_rename_between_directories_is_durable_with_its_new_name() {
    let prepared = || {
        let sim = Sim::new(1);
        let fs = fs(&sim);
        fs.create_dir_all(Path::new("x")).unwrap();
        fs.create_dir_all(Path::new("y")).unwrap();
        put(&*fs, "x/a", b"");
        sim.sync_all();
        rename(&*fs, "x/a", "y/b");
        (sim, fs)
    };
    let (sim, fs) = prepared();
    sync_dir(&*fs, "x");
    sim.crash_power_keeping(0);
    assert_eq!(sim.files(), ["x/a"]);

    let (sim, fs) = prepared();
    sync_dir(&*fs, "y");
    sim.crash_power_keeping(0);
    assert_eq!(sim.files(), ["y/b"]);

    let (sim, fs) = prepared();
    put(&*fs, "x/a", b"another");
    sync_dir(&*fs, "x");
    sync_dir(&*fs, "y");
    sim.crash_power_keeping(0);
    assert_eq!(sim.files(), ["x/a", "y/b"], "the older rename does not take the newer file's name");
}

#[test]
fn an_unsynced_rename_happens_or_not() {
    let mut seen = BTreeSet::new();
    for seed in 0..50 {
        let sim = Sim::new(seed);
        let fs = fs(&sim);
        put(&*fs, "a", b"new");
        put(&*fs, "b", b"old");
        sim.sync_all();
        rename(&*fs, "a", "b");
        sim.crash_power_keeping(50);
        seen.insert((sim.files(), content(&sim, "b")));
    }
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let expected = [(names(&["a", "b"]), b"old".to_vec()), (names(&["b"]), b"new".to_vec())];
    assert_eq!(seen, BTreeSet::from(expected));
}

#[test]
fn unsynced_blocks_are_old_or_new_or_torn_at_a_sector() {
    let mut kinds = BTreeSet::new();
    for seed in 0..20 {
        let sim = Sim::new(seed);
        put(&*fs(&sim), "a", &[1; 10 * 4096]);
        sim.sync_all();
        let file = fs(&sim).open(Path::new("a"), OpenMode::ReadWrite).unwrap();
        file.write_all_at(&[2; 10 * 4096], 0).unwrap();
        sim.crash_power_keeping(50);
        for block in content(&sim, "a").chunks(4096) {
            for sector in block.chunks(512) {
                assert!(sector.iter().all(|byte| *byte == sector[0]));
            }
            let both = block.contains(&1) && block.contains(&2);
            kinds.insert(if both { 0 } else { block[0] });
        }
    }
    assert_eq!(kinds, BTreeSet::from([0, 1, 2]));
}

#[test]
fn an_unsynced_length_is_one_it_has_had_or_stops_at_a_block() {
    let mut seen = BTreeSet::new();
    for seed in 0..200 {
        let sim = Sim::new(seed);
        let file = fs(&sim).open(Path::new("a"), OpenMode::CreateNew).unwrap();
        file.write_all_at(&[1; 100], 0).unwrap();
        sim.sync_all();
        for end in [200, 5_000, 9_000] {
            file.set_len(end).unwrap();
        }
        sim.crash_power_keeping(50);
        seen.insert(content(&sim, "a").len());
    }
    assert_eq!(seen, BTreeSet::from([100, 200, 4_096, 5_000, 8_192, 9_000]));
}

#[test]
fn the_default_crash_covers_all_from_nothing_to_everything() {
    let mut seen = BTreeSet::new();
    for seed in 0..40 {
        let sim = Sim::new(seed);
        for name in ["a", "b", "c"] {
            put(&*fs(&sim), name, b"x");
        }
        sim.crash_power();
        seen.insert(sim.files().len());
    }
    assert_eq!(seen, BTreeSet::from([0, 1, 2, 3]));
}

/// Replaces a file as it should be done, but for the operations left out.
fn replace(fs: &dyn Fs, bytes: &[u8], sync: bool) -> io::Result<()> {
    let tmp = Path::new("d/tmp");
    if fs.exists(tmp)? {
        fs.remove_file(tmp)?;
    }
    let file = fs.open(tmp, OpenMode::CreateNew)?;
    file.write_all_at(bytes, 0)?;
    if sync {
        file.sync_data()?;
    }
    fs.rename(tmp, Path::new("d/current"))?;
    fs.sync_dir(Path::new("d"))
}

/// Replaces a file, crashes at each operation, and says how often neither the old nor the new file is
/// there afterwards, or the old one although the replacing succeeded.
fn failures_of_replacing(sync: bool) -> usize {
    let versions = [vec![1; 9_000], vec![2; 12_000]];
    let run = |seed: u64, crash_at: Option<u64>| {
        let sim = Sim::new(seed);
        let fs = fs(&sim);
        fs.create_dir_all(Path::new("d")).unwrap();
        replace(&*fs, &versions[0], true).unwrap();
        sim.sync_all();
        let start = sim.operations();
        if let Some(at) = crash_at {
            sim.fail_at(start + at, if seed.is_multiple_of(2) { Fault::Crash } else { Fault::TornWrite });
        }
        let done = replace(&*fs, &versions[1], sync).is_ok();
        let operations = sim.operations() - start;
        assert_eq!(sim.is_halted(), !done);
        sim.crash_power();
        let found = content(&sim, "d/current");
        let good = if done { found == versions[1] } else { versions.contains(&found) };
        (operations, good)
    };
    let (operations, _) = run(0, None);
    let cases = (0..20).flat_map(|seed| (0..=operations).map(move |at| (seed, at)));
    cases.filter(|(seed, at)| !run(*seed, Some(*at)).1).count()
}

#[test]
fn a_careful_replacement_survives_a_crash_at_every_operation_and_a_careless_one_is_caught() {
    assert_eq!(failures_of_replacing(true), 0);
    assert!(failures_of_replacing(false) > 0);
}

#[test]
fn faults_and_halts_end_with_the_crash_and_conditions_stay() {
    let sim = Sim::new(1);
    let old = fs(&sim);
    sim.fail_at(1, Fault::Crash);
    sim.fail_at(2, Fault::NoSpace);
    sim.set_max_open_files(Some(1));
    let file = old.open(Path::new("a"), OpenMode::CreateNew).unwrap();
    assert!(file.write_at(b"x", 0).is_err());
    assert!(sim.is_halted());
    assert!(file.len().is_err(), "nothing works after a crash");
    sim.crash_process();
    assert!(!sim.is_halted());
    let new = fs(&sim);
    let file = new.open(Path::new("b"), OpenMode::CreateNew).unwrap();
    file.write_all_at(b"x", 0).unwrap();
    assert!(new.open(Path::new("b"), OpenMode::Read).is_err());
    assert_eq!(sim.faults_struck(), [1]);
}

/// One step of a random workload.
#[derive(Clone, Debug)]
enum Step {
    Create(u8),
    Write(u8, u16, u8),
    SetLen(u8, u16),
    Sync(u8),
    Rename(u8, u8),
    Remove(u8),
    Link(u8, u8),
    SyncDir,
    Crash(Option<u8>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = 0..4u8;
    let step = prop_oneof![
        name.clone().prop_map(Step::Create),
        (name.clone(), 0..20_000u16, any::<u8>()).prop_map(|(n, at, byte)| Step::Write(n, at, byte)),
        (name.clone(), 0..20_000u16).prop_map(|(n, len)| Step::SetLen(n, len)),
        name.clone().prop_map(Step::Sync),
        (name.clone(), name.clone()).prop_map(|(a, b)| Step::Rename(a, b)),
        name.clone().prop_map(Step::Remove),
        (name.clone(), name).prop_map(|(a, b)| Step::Link(a, b)),
        Just(Step::SyncDir),
        proptest::option::of(0..=100u8).prop_map(Step::Crash),
    ];
    proptest::collection::vec(step, 1..60)
}

/// Takes the step in a directory of either file system.
fn take(fs: &dyn Fs, dir: &Path, sim: &Sim, step: &Step) -> io::Result<()> {
    let name = |n: u8| dir.join(format!("f{n}"));
    let open = |n: u8| fs.open(&name(n), OpenMode::ReadWrite);
    match *step {
        Step::Create(n) => fs.open(&name(n), OpenMode::CreateNew).map(drop),
        Step::Write(n, at, byte) => open(n)?.write_all_at(&[byte; 3_000], at.into()),
        Step::SetLen(n, len) => open(n)?.set_len(len.into()),
        Step::Sync(n) => open(n)?.sync_data(),
        Step::Rename(a, b) => fs.rename(&name(a), &name(b)),
        Step::Remove(n) => fs.remove_file(&name(n)),
        Step::Link(a, b) => fs.hard_link(&name(a), &name(b)),
        Step::SyncDir => fs.sync_dir(dir),
        Step::Crash(keep) => {
            match keep {
                Some(percent) => sim.crash_power_keeping(percent),
                None => sim.crash_power(),
            }
            Ok(())
        }
    }
}

fn contents(sim: &Sim) -> Vec<(String, Vec<u8>)> {
    sim.files().into_iter().map(|name| (name.clone(), content(sim, &name))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_seed_gives_the_same_world(seed: u64, steps in steps()) {
        let run = || {
            let sim = Sim::new(seed);
            for step in &steps {
                let _some_fail = take(&*sim.env().fs, Path::new("/"), &sim, step);
            }
            let Env { random, clock, .. } = sim.env();
            (sim.trace(), contents(&sim), random.next_u64(), clock.now_unix_ns())
        };
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn everything_is_durable_after_a_full_sync_and_after_a_crash(seed: u64, steps in steps()) {
        let sim = Sim::new(seed);
        for step in &steps {
            let _some_fail = take(&*sim.env().fs, Path::new("/"), &sim, step);
            if matches!(step, Step::Crash(_)) {
                let survived = contents(&sim);
                sim.crash_power_keeping(0);
                prop_assert_eq!(&survived, &contents(&sim));
            }
        }
        sim.sync_all();
        let before = contents(&sim);
        sim.crash_power();
        prop_assert_eq!(before, contents(&sim));
    }

    #[test]
    fn any_steps_end_alike_on_the_real_file_system(steps in steps()) {
        let sim = Sim::new(0);
        let dir = tempfile::tempdir().unwrap();
        let real = Env::os().fs;
        for step in steps.iter().filter(|step| !matches!(step, Step::Crash(_))) {
            let simulated = take(&*sim.env().fs, Path::new("/"), &sim, step).map_err(|e| e.kind());
            let expected = take(&*real, dir.path(), &sim, step).map_err(|e| e.kind());
            prop_assert_eq!(simulated, expected, "{:?}", step);
            sim.crash_process();
        }
        for (name, bytes) in contents(&sim) {
            prop_assert!(bytes == std::fs::read(dir.path().join(name)).unwrap());
        }
    }
}
