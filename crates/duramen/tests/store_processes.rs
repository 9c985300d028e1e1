//! Several processes at one store: whatever they do in whatever order, every one of them sees every
//! acknowledged line once, before, during and after what the keeper does with it.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests may

use duramen::block::Block;
use duramen::column::IntText;
use duramen::{Batch, EntryBuf, Store, StoreOptions, Tail};
use duramen_engine::io::sim::{Fault, Sim, SimProcess};
use duramen_engine::io::{Env, OpenMode};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn options(env: Env) -> StoreOptions {
    StoreOptions::new().env(env).background(false).write_buffer_size(64 << 10)
}

fn open(sim: &Sim) -> Store {
    options(sim.env()).open("/logs").unwrap()
}

fn entry(n: u64) -> Vec<u8> {
    let mut entry = EntryBuf::new(["app"]);
    // Out of order, over two days.
    let time = (n % 2) as i64 * 86_400_000_000_000 + (n * 7919 % 1000) as i64;
    entry.start(time).message(&format!("{n} {}", "x".repeat(1200))).field("app", "sim");
    entry.finish().unwrap().to_vec()
}

fn number(message: &str) -> u64 {
    message.split(' ').next().unwrap().parse().unwrap()
}

/// The numbers of all lines, sorted.
fn numbers(store: &Store) -> Vec<u64> {
    let mut found = Vec::new();
    store
        .scan(i64::MIN, i64::MAX, &mut |row| {
            found.push(number(row.message()));
            ControlFlow::Continue(())
        })
        .unwrap();
    found.sort_unstable();
    found
}

fn numbers_of(blocks: &[Arc<dyn Block>]) -> Vec<u64> {
    let mut found = Vec::new();
    for block in blocks {
        let column = block.column("_msg").unwrap().unwrap();
        let mut digits = IntText::default();
        found.extend((0..block.rows()).map(|row| number(column.text(row, &mut digits).unwrap())));
    }
    found
}

fn poll(tail: &mut Tail) -> Vec<u64> {
    let mut found = numbers_of(&tail.poll(Duration::ZERO).unwrap());
    found.sort_unstable();
    found
}

fn all(range: std::ops::Range<u64>) -> Vec<u64> {
    range.collect()
}

fn tables(sim: &Sim) -> usize {
    sim.files().iter().filter(|file| file.ends_with(".sst")).count()
}

#[test]
fn merged_tables_hold_nothing_new_to_a_tail() {
    let sim = Sim::new(1);
    for n in 0..20 {
        let store = open(&sim); // each its own writer, gone again
        store.append(&entry(n)).unwrap();
        store.flush().unwrap();
        sim.crash_process(); // without the merge at close
    }
    let store = open(&sim);
    let reader = options(sim.spawn_process().env()).keeper(false).open("/logs").unwrap();
    let mut tail = reader.tail().unwrap();
    for n in 20..30 {
        store.append(&entry(n)).unwrap();
        store.flush().unwrap();
        if n % 3 == 0 {
            // Half of what is new, it sees before the merge.
            let expected = if n == 21 { all(20..22) } else { all(n - 2..n + 1) };
            assert_eq!(poll(&mut tail), expected);
        }
    }
    let before = tables(&sim);
    store.compact().unwrap();
    assert!(tables(&sim) < before, "there was something to merge");
    assert_eq!(poll(&mut tail), all(28..30), "the new ones it had not seen, none of the old");
    store.append(&entry(30)).unwrap();
    assert_eq!(poll(&mut tail), [30]);
}

#[test]
fn a_damaged_segment_of_a_living_writer_costs_no_line_of_the_others() {
    let sim = Sim::new(2);
    let keeper = open(&sim);
    let process = sim.spawn_process();
    let writer = options(process.env()).max_write_buffer_number(6).keeper(false).open("/logs").unwrap();
    let mut n = 0;
    while sim.files().iter().filter(|file| file.ends_with(".wal")).count() < 5 {
        writer.append(&entry(n)).unwrap();
        n += 1;
    }
    writer.append(&entry(n)).unwrap();
    let _not_keeper = writer.flush();
    let first = sim.files().into_iter().find(|file| file.ends_with("00000001.wal")).unwrap();
    sim.flip_bit(Path::new(&first), (4096 + 20_000) * 8).unwrap();
    keeper.flush().unwrap();
    let found = numbers(&keeper);
    let lost = (n + 1) as usize - found.len();
    assert!(lost > 0 && lost < 50, "one segment's rest is lost: {lost} lines of {}", n + 1);
    let quarantined = keeper.stats().unwrap().quarantined;
    assert_eq!(quarantined.len(), 1, "{quarantined:?}");
}

#[test]
fn a_damaged_segment_header_of_a_living_writer_holds_nobody_up() {
    let sim = Sim::new(5);
    let keeper = open(&sim);
    let process = sim.spawn_process();
    let writer = options(process.env()).max_write_buffer_number(6).keeper(false).open("/logs").unwrap();
    let mut n = 0;
    while sim.files().iter().filter(|file| file.ends_with(".wal")).count() < 3 {
        writer.append(&entry(n)).unwrap();
        n += 1;
    }
    let first = sim.files().into_iter().find(|file| file.ends_with("00000001.wal")).unwrap();
    sim.flip_bit(Path::new(&first), 20 * 8).unwrap();
    keeper.append(&entry(n)).unwrap();
    keeper.flush().unwrap();
    assert_eq!(tables(&sim), 1, "its own lines");
    keeper.compact().unwrap();
    assert!(keeper.incidents().messages.join("\n").contains(&first), "{:?}", keeper.incidents());
    std::mem::forget(writer);
    process.kill();
    keeper.flush().unwrap();
    assert_eq!(numbers(&keeper), all(0..n + 1), "of a dead writer the records are found without it");
}

/// The lock of the keeper and its manifest are files that may have gone elsewhere, with all that it wrote.
#[test]
fn a_store_in_the_place_of_another_is_not_that_ones_keepers() {
    let dir = tempfile::tempdir().unwrap();
    let (path, moved) = (dir.path().join("logs"), dir.path().join("moved"));
    let open = |keeper| options(Env::os()).keeper(keeper).open(&path).unwrap();
    for round in 0..2 {
        let old = open(true);
        (0..20).for_each(|n| _ = old.append(&entry(n)).unwrap());
        old.flush().unwrap();
        let reading = Store::open_read_only(&path).unwrap();
        assert_eq!(numbers(&reading), all(0..20));
        Env::os().fs.rename(&path, &moved).unwrap();
        let manifest = std::fs::read(moved.join("MANIFEST")).unwrap();
        assert!(old.flush().is_err(), "it is gone");
        assert!(!path.exists(), "nothing was made in its place");

        let new = open(false);
        (20..23 + round).for_each(|n| _ = new.append(&entry(n)).unwrap());
        let _sealed_and_nobody_flushes = new.flush();
        assert!(old.flush().is_err() && old.compact().is_err());
        assert!(reading.snapshot().is_err(), "another store's lines, or none, for those that it had");
        let keeper = open(true);
        keeper.flush().unwrap();
        assert_eq!(numbers(&keeper), all(20..23 + round));
        assert!(old.flush().is_err());
        assert_eq!(numbers(&keeper), all(20..23 + round));
        assert_eq!(std::fs::read(moved.join("MANIFEST")).unwrap(), manifest);
        assert_eq!(numbers(&Store::open_read_only(&moved).unwrap()), all(0..20));
        drop((old, new, keeper));
        std::fs::remove_dir_all(&path).unwrap();
        std::fs::remove_dir_all(&moved).unwrap();
    }
}

#[test]
fn a_table_that_a_dead_keeper_left_does_not_stop_the_next_while_somebody_reads() {
    let sim = Sim::new(3);
    for n in 0..3 {
        let process = sim.spawn_process();
        let store = options(process.env()).open("/logs").unwrap();
        store.append(&entry(n)).unwrap();
        std::mem::forget(store); // as kill -9 would: nothing is closed
        process.kill();
    }
    let reader = sim.spawn_process();
    let reading = options(reader.env()).keeper(false).open("/logs").unwrap();
    let snapshot = reading.snapshot().unwrap();
    // The keeper dies between the table and the manifest's edit that names it.
    let dies = sim.spawn_process();
    let orphan = Path::new("/logs/tables/19700101");
    dies.env().fs.create_dir_all(orphan).unwrap();
    dies.env().fs.open(&orphan.join("00000000.sst"), OpenMode::CreateNew).unwrap();
    dies.kill();
    let store = open(&sim);
    store.flush().unwrap();
    assert_eq!(numbers(&store), all(0..3));
    assert_eq!(snapshot.rows(), 3);
    drop(store);
    assert_eq!(numbers(&reading), all(0..3));
}

#[test]
fn replaced_tables_go_when_nobody_reads_them_any_more() {
    let sim = Sim::new(4);
    let store = open(&sim);
    for n in 0..20 {
        store.append(&entry(n)).unwrap();
        store.flush().unwrap();
    }
    let reader = sim.spawn_process();
    let reading = options(reader.env()).keeper(false).open("/logs").unwrap();
    let snapshot = reading.snapshot().unwrap();
    numbers(&store);
    store.compact().unwrap();
    assert_eq!(tables(&sim), 22);
    drop(snapshot);
    store.flush().unwrap();
    assert_eq!(tables(&sim), 2);
    // Nor does anybody keep their space by an open descriptor.
    assert_eq!(numbers(&store), all(0..20));
    assert_eq!(numbers(&reading), all(0..20));
    let visible =
        |file: &String| (sim.read_file(Path::new(file)).unwrap().len() as u64).next_multiple_of(4096);
    assert_eq!(sim.used_bytes(), sim.files().iter().map(visible).sum::<u64>());
}

#[test]
fn who_cannot_become_keeper_says_so_to_those_who_wait_for_it() {
    let sim = Sim::new(5);
    let process = sim.spawn_process();
    let keeper = options(process.env()).open("/logs").unwrap();
    let (told, wait) = std::sync::mpsc::channel();
    let store = Arc::new(options(sim.env()).background(true).open("/logs").unwrap());
    assert!(!store.is_keeper());
    store.append(&entry(0)).unwrap();
    sim.flip_bit(Path::new("/logs/MANIFEST"), 30 * 8).unwrap();
    std::mem::forget(keeper);
    process.kill();
    let appends = store.clone();
    let thread = std::thread::spawn(move || {
        let failed = (1..1000).find_map(|n| appends.append(&entry(n)).err());
        told.send(failed.map(|e| e.to_string())).unwrap();
    });
    let error = wait.recv_timeout(Duration::from_secs(20)).expect("an append must not wait for ever");
    assert!(error.unwrap().contains("MANIFEST"));
    assert!(store.incidents().messages.iter().any(|m| m.contains("MANIFEST")));
    thread.join().unwrap();
}

#[test]
fn what_is_not_ours_in_a_writers_directory_stops_nobody() {
    let sim = Sim::new(7);
    let process = sim.spawn_process();
    let lost = options(process.env()).open("/logs").unwrap();
    lost.append(&entry(0)).unwrap();
    std::mem::forget(lost);
    process.kill();
    let segment = sim.files().into_iter().find(|file| file.ends_with(".wal")).unwrap();
    let dir = Path::new("/").join(Path::new(&segment).parent().unwrap());
    sim.env().fs.create_dir_all(&dir.join("notes")).unwrap();
    sim.env().fs.open(&dir.join("notes/mine"), OpenMode::CreateNew).unwrap();
    sim.env().fs.open(&dir.join("00000001.wal.bak"), OpenMode::CreateNew).unwrap();
    let store = open(&sim);
    for n in 1..3 {
        store.append(&entry(n)).unwrap();
        store.flush().unwrap();
        assert_eq!(numbers(&store), all(0..n + 1));
    }
    assert!(sim.files().iter().any(|file| file.ends_with("notes/mine")));
    assert!(sim.files().iter().any(|file| file.ends_with(".bak")), "not ours to remove");
}

#[test]
fn a_crash_amid_the_recovery_after_a_power_loss_brings_back_no_line_behind_a_gap() {
    let lost = |seed: u64| {
        let sim = Sim::new(seed);
        let store = options(sim.env()).max_write_buffer_number(6).open("/logs").unwrap();
        for n in 0..150 {
            store.append(&entry(n)).unwrap();
        }
        sim.crash_power_keeping(70);
        std::mem::forget(store);
        sim
    };
    for seed in 0..12 {
        let sim = lost(seed);
        let before = sim.operations();
        let store = open(&sim);
        let expected = numbers(&store).len();
        store.flush().unwrap();
        let recovered = numbers(&store);
        assert_eq!(recovered, all(0..recovered.len() as u64));
        assert!(recovered.len() >= expected);
        let operations = sim.operations() - before;
        for index in 0..operations {
            let sim = lost(seed);
            sim.fail_at(sim.operations() + index, Fault::Crash);
            if let Ok(store) = options(sim.env()).open("/logs") {
                let _cut_short = store.flush();
            }
            sim.crash_process();
            let store = open(&sim);
            let found = numbers(&store);
            assert_eq!(found, all(0..found.len() as u64), "seed {seed}, operation {index}, before the flush");
            store.flush().unwrap();
            assert_eq!(numbers(&store), recovered, "seed {seed}, operation {index}");
        }
    }
}

#[test]
fn a_merge_lets_flushes_through() {
    let sim = Sim::new(8);
    let store = StoreOptions::new().env(sim.env()).background(false).open("/logs").unwrap();
    let mut entry = EntryBuf::new(["app"]);
    for table in 0..9i64 {
        let mut batch = Batch::new();
        for n in 0..8_000 {
            entry.start(n * 10 + table).message("short");
            batch.push(entry.finish().unwrap()).unwrap();
        }
        store.append_batch(&mut batch, None).unwrap();
        store.flush().unwrap();
    }
    let process = sim.spawn_process();
    let other = options(process.env()).open("/logs").unwrap();
    other.append(entry.start(5).message("meanwhile").finish().unwrap()).unwrap();
    other.flush().unwrap();
    assert_eq!(store.stats().unwrap().wal.lines, 1, "sealed, and the keeper has not looked yet");
    let (merged, ticking) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !merged.load(Ordering::SeqCst) {
                sim.clock().advance(Duration::from_secs(1));
                ticking.store(true, Ordering::SeqCst);
                std::thread::yield_now();
            }
        });
        while !ticking.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        let outcome = store.compact();
        merged.store(true, Ordering::SeqCst);
        outcome.unwrap();
    });
    let stats = store.stats().unwrap();
    assert_eq!(stats.wal.lines, 0, "the keeper has looked while it merged");
    let day = &stats.days["19700101"];
    assert_eq!((day.lines, day.tables), (72_001, 2));
    assert!(store.incidents().messages.is_empty(), "{:?}", store.incidents());
}

/// One of the processes, and what it holds.
struct Process {
    sim: SimProcess,
    store: Option<Store>,
    tail: Option<Following>,
}

/// A tail, and the lines that it has still to give.
struct Following {
    tail: Tail,
    due: BTreeSet<u64>,
}

/// What is known of the store from outside: every line whose append was acknowledged, and the next.
#[derive(Default)]
struct Model {
    acknowledged: BTreeSet<u64>,
    next: u64,
}

impl Process {
    fn start(sim: &Sim) -> Self {
        Self { sim: sim.spawn_process(), store: None, tail: None }
    }

    /// As `kill -9` would.
    fn kill(&mut self, sim: &Sim) {
        std::mem::forget((self.store.take(), self.tail.take()));
        std::mem::replace(&mut self.sim, sim.spawn_process()).kill();
    }

    fn check(&mut self, model: &Model, context: &str) {
        let Some(store) = &self.store else { return };
        let expected: Vec<u64> = model.acknowledged.iter().copied().collect();
        assert_eq!(numbers(store), expected, "{context}");
        assert!(store.incidents().messages.is_empty(), "{context}: {:?}", store.incidents());
        if let Some(Following { tail, due }) = &mut self.tail {
            // What is given is taken from what is due: once, and nothing else.
            for n in poll(tail) {
                assert!(due.remove(&n), "{context}: the tail gave {n} without need");
            }
            assert!(due.is_empty(), "{context}: the tail did not give {due:?}");
        }
    }
}

fn acknowledge(n: u64, model: &mut Model, processes: &mut [Process]) {
    model.acknowledged.insert(n);
    for following in processes.iter_mut().filter_map(|process| process.tail.as_mut()) {
        following.due.insert(n);
    }
}

/// Runs random steps of three processes; what they do depends on the seed only.
fn run_model(seed: u64) {
    let sim = Sim::new(seed);
    let mut dice = Dice(seed);
    let mut model = Model::default();
    let mut processes: Vec<Process> = (0..3).map(|_| Process::start(&sim)).collect();
    for step in 0..90 {
        let which = dice.below(3) as usize;
        let action = dice.below(100);
        let context = format!("seed {seed}, step {step}, process {which}, action {action}");
        let lines = if action < 15 { 1 + dice.below(60) } else { 1 + dice.below(4) };
        if processes[which].store.is_none() {
            let opened = options(processes[which].sim.env()).max_write_buffer_number(3).open("/logs");
            processes[which].store = Some(opened.unwrap_or_else(|e| panic!("{context}: {e}")));
        }
        let store = processes[which].store.as_ref().unwrap();
        match action {
            0..35 => {
                for _ in 0..lines {
                    let n = model.next;
                    let store = processes[which].store.as_ref().unwrap();
                    match store.append(&entry(n)) {
                        Ok(_) => acknowledge(n, &mut model, &mut processes),
                        // No threads, and the keeper is another process: nothing was appended.
                        Err(duramen::Error::Engine(duramen_engine::Error::Stalled { .. })) => {}
                        Err(e) => panic!("{context}: {e}"),
                    }
                    model.next += 1;
                }
            }
            35..50 => {
                let mut batch = Batch::new();
                let numbers = model.next..model.next + lines;
                numbers.clone().for_each(|n| batch.push(&entry(n)).unwrap());
                model.next += lines;
                match store.append_batch(&mut batch, None) {
                    Ok(()) => numbers.for_each(|n| acknowledge(n, &mut model, &mut processes)),
                    Err(duramen::Error::Engine(duramen_engine::Error::Stalled { .. })) => {}
                    Err(e) => panic!("{context}: {e}"),
                }
            }
            50..70 => match store.flush() {
                Err(duramen::Error::Engine(duramen_engine::Error::Stalled { .. })) if !store.is_keeper() => {}
                other => other.unwrap_or_else(|e| panic!("{context}: {e}")),
            },
            70..78 => store.compact().unwrap_or_else(|e| panic!("{context}: {e}")),
            78..84 => processes[which].tail = None,
            84..90 => {
                let tail = store.tail().unwrap();
                processes[which].tail = Some(Following { tail, due: BTreeSet::new() });
            }
            90..94 => {
                processes[which].tail = None;
                processes[which].store.take().unwrap().close().unwrap_or_else(|e| panic!("{context}: {e}"));
            }
            94..97 => processes[which].kill(&sim),
            _ => {
                // All die, in the midst of a flush or a merge: what was acknowledged has to be there.
                sim.fail_at(sim.operations() + dice.below(60), Fault::Crash);
                let _cut_short = store.flush().and_then(|()| store.compact());
                sim.crash_process();
                processes.iter_mut().for_each(|process| process.kill(&sim));
            }
        }
        // Not always all of them, so that much may happen between two looks.
        for process in &mut processes {
            if dice.below(2) == 0 {
                process.check(&model, &context);
            }
        }
    }
    processes.iter_mut().for_each(|process| process.check(&model, &format!("seed {seed}, end")));
    processes.iter_mut().for_each(|process| process.kill(&sim));
    let store = open(&sim);
    store.flush().unwrap();
    assert_eq!(numbers(&store), model.acknowledged.iter().copied().collect::<Vec<_>>(), "seed {seed}");
    assert!(store.verify(&mut |_| {}).unwrap().damage.is_empty());
}

/// Chance from a seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit
    }
}

#[test]
fn every_process_sees_every_acknowledged_line_once_whatever_they_do() {
    (0..12).for_each(run_model);
}
