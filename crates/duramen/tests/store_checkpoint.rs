//! A copy of a store, made while it lives: all that was there, a store of its own, whole or not there at all.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests may

use duramen::{Batch, EntryBuf, Error, Level, Retention, RetentionRule, SourcePosition, Store, StoreOptions};
use duramen_engine::io::sim::{Fault, Sim};
use duramen_engine::io::{Clock, Env};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn options(env: Env) -> StoreOptions {
    StoreOptions::new().env(env).background(false).write_buffer_size(64 << 10).flush_threads(1)
}

fn entry(n: u64) -> Vec<u8> {
    let mut entry = EntryBuf::new(["app"]);
    entry.start((n % 3) as i64 * 86_400_000_000_000 + n as i64).message(&n.to_string());
    entry.level(if n.is_multiple_of(2) { Level::Info } else { Level::Error }).field("app", "x");
    entry.finish().unwrap().to_vec()
}

fn append(store: &Store, n: u64) {
    store.append(&entry(n)).unwrap();
}

fn numbers(store: &Store) -> Vec<u64> {
    let mut found = Vec::new();
    let mut add = |row: &duramen::store::ScanRow<'_>| {
        found.push(row.message().parse().unwrap());
        ControlFlow::Continue(())
    };
    store.scan(i64::MIN, i64::MAX, &mut add).unwrap();
    found.sort_unstable();
    found
}

fn source(read_bytes: u64) -> SourcePosition {
    SourcePosition {
        name: "s".into(),
        head_bytes: 1,
        head_hash: 1,
        read_bytes,
        read_hash: 0,
        entries: read_bytes,
    }
}

/// Twenty lines in tables, twenty in the WALs of two processes; a source that is read up to the last of them; rules.
fn filled(sim: &Sim) -> duramen::Result<Store> {
    let store = options(sim.env()).open("/logs")?;
    let rules = vec![RetentionRule::level(Level::Error, None)];
    let century = Some(std::time::Duration::from_secs(100 * 365 * 86_400));
    store.set_retention(&Retention { max_age: century, rules, ..Retention::default() })?;
    for (from, to, read_bytes) in [(0, 20, 5), (20, 30, 9)] {
        let mut batch = Batch::new();
        for n in from..to {
            batch.push(&entry(n))?;
        }
        store.append_batch(&mut batch, Some(&source(read_bytes)))?;
        if to == 20 {
            store.flush()?;
        }
    }
    let other = options(sim.spawn_process().env()).keeper(false).open("/logs")?;
    for n in 30..40 {
        other.append(&entry(n))?;
    }
    std::mem::forget(other); // it goes on living
    store.sync()?;
    Ok(store)
}

fn check_copy(env: Env, dir: &str, context: &str) -> Store {
    let copy = options(env).open(dir).unwrap_or_else(|e| panic!("{context}: {e}"));
    assert_eq!(numbers(&copy), (0..40).collect::<Vec<_>>(), "{context}");
    assert_eq!(copy.source_positions().unwrap(), [source(9)], "{context}");
    assert_eq!(copy.retention().unwrap().rules.len(), 1, "{context}");
    let report = copy.verify(&mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{context}: {:?}", report.damage);
    let stats = copy.stats().unwrap();
    assert_eq!((stats.unsorted.lines, stats.classes[0].lines), (0, 20), "{context}: classes are known");
    copy
}

#[test]
fn a_copy_has_everything_and_is_a_store_of_its_own() {
    let sim = Sim::new(1);
    let store = filled(&sim).unwrap();
    let report = store.checkpoint("/copy").unwrap();
    assert_eq!(report.lines, 40);
    append(&store, 40);
    let copy = check_copy(sim.spawn_process().env(), "/copy", "beside the original");
    assert_eq!(sim.files().iter().filter(|f| f.starts_with("copy/wal")).count(), 0, "nothing to recover");
    // Neither sees what becomes of the other.
    append(&copy, 41);
    copy.flush().unwrap();
    (0..10).for_each(|_| store.compact().unwrap());
    let all = i64::MIN..=i64::MAX;
    store.delete(all, &mut |block| Ok(vec![true; block.rows()]), &|| false).unwrap();
    assert_eq!(numbers(&copy).len(), 41);
    assert!(numbers(&store).len() <= 10, "what another process has not sealed");
    // Nor does a loss of power take anything from it.
    drop((store, copy));
    sim.crash_power_keeping(0);
    assert!(numbers(&options(sim.env()).open("/copy").unwrap()).len() >= 40);
}

#[test]
fn a_reader_may_make_it_and_names_that_are_taken_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let store = Store::open(path("logs")).unwrap();
    (0..5).for_each(|n| append(&store, n));
    let reader = Store::open_read_only(path("logs")).unwrap();
    assert_eq!(reader.checkpoint(path("copy")).unwrap().lines, 5);
    assert_eq!(numbers(&Store::open(path("copy")).unwrap()).len(), 5);
    let exists = |name: &str| match reader.checkpoint(path(name)) {
        Err(Error::Invalid(text)) => text,
        other => panic!("{other:?}"),
    };
    assert!(exists("copy").contains("exists"));
    std::fs::create_dir_all(path("mine.tmp/tables")).unwrap();
    assert!(exists("mine").contains("something else"));
    assert!(path("mine.tmp/tables").exists());
    // From an empty store, too.
    let empty = Store::open(path("empty")).unwrap();
    assert_eq!(empty.checkpoint(path("none")).unwrap().lines, 0);
    assert_eq!(numbers(&Store::open(path("none")).unwrap()).len(), 0);
}

/// The clock of a program, which is asked for the time in the middle of a copy: what happens then.
struct Meanwhile {
    clock: Arc<dyn Clock>,
    happens: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl std::fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.clock.fmt(f)
    }
}

impl Clock for Meanwhile {
    fn now_unix_ns(&self) -> i64 {
        let happens = self.happens.lock().unwrap().take();
        if let Some(happens) = happens {
            happens();
        }
        self.clock.now_unix_ns()
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }

    fn boot_id(&self) -> u64 {
        self.clock.boot_id()
    }
}

#[test]
fn of_two_to_the_same_place_at_once_the_second_is_refused() {
    let sim = Sim::new(1);
    let store = filled(&sim).unwrap();
    let process = sim.spawn_process();
    let clock = Arc::new(Meanwhile { clock: process.env().clock, happens: Mutex::default() });
    let env = Env { clock: clock.clone(), ..process.env() };
    let first = options(env).open_read_only("/logs").unwrap();
    let second = options(sim.spawn_process().env()).open_read_only("/logs").unwrap();
    let (told, hears) = std::sync::mpsc::channel();
    *clock.happens.lock().unwrap() = Some(Box::new(move || told.send(second.checkpoint("/copy")).unwrap()));
    assert_eq!(first.checkpoint("/copy").unwrap().lines, 40);
    match hears.try_recv().unwrap() {
        Err(Error::Invalid(text)) => assert!(text.contains("another snapshot"), "{text}"),
        other => panic!("{other:?}"),
    }
    drop((first, store));
    check_copy(sim.env(), "/copy", "the first");
    assert!(!sim.files().iter().any(|file| file.contains("tmp")), "{:?}", sim.files());
}

#[test]
fn a_crash_leaves_a_whole_copy_or_none_and_the_original_as_it_was() {
    let sim = Sim::new(1);
    let store = filled(&sim).unwrap();
    let before = sim.operations();
    store.checkpoint("/copy").unwrap();
    let operations = before..sim.operations();
    assert!(operations.end - operations.start > 30);
    for (fault, keep_percent) in [
        (Fault::Crash, None),
        (Fault::Crash, Some(0)),
        (Fault::Crash, Some(50)),
        (Fault::NoSpace, None),
        (Fault::SyncFailed, Some(0)),
    ] {
        let stride = if keep_percent.is_none() && fault == Fault::Crash { 1 } else { 4 };
        for index in operations.clone().step_by(stride) {
            let sim = Sim::new(index);
            let store = filled(&sim).unwrap();
            // What was appended before is there, whatever becomes of the copy.
            sim.sync_all();
            sim.fail_at(index, fault);
            let made = store.checkpoint("/copy");
            let context =
                format!("{fault:?} at operation {index}, {keep_percent:?}: {:?}", made.as_ref().err());
            let was_made = made.is_ok();
            std::mem::forget(store);
            match keep_percent {
                None => sim.crash_process(),
                Some(keep_percent) => sim.crash_power_keeping(keep_percent),
            }
            let exists = sim.env().fs.exists(Path::new("/copy")).unwrap();
            assert!(exists || !was_made, "{context}: the copy is gone");
            if exists {
                drop(check_copy(sim.env(), "/copy", &context));
            }
            let store = options(sim.env()).open("/logs").unwrap();
            store.flush().unwrap();
            assert_eq!(numbers(&store), (0..40).collect::<Vec<_>>(), "{context}");
            if !exists {
                store.checkpoint("/copy").unwrap_or_else(|e| panic!("{context}: not again: {e}"));
                assert!(!sim.files().iter().any(|file| file.contains("tmp")), "{context}: {:?}", sim.files());
            }
        }
    }
}

/// With real threads: a program writes meanwhile; every line that was there when the copy began is in it.
#[test]
fn it_may_be_made_while_a_program_writes() {
    let dir = tempfile::tempdir().unwrap();
    let store = StoreOptions::new().write_buffer_size(64 << 10).open(dir.path().join("logs")).unwrap();
    let written = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for n in 0..20_000 {
                append(&store, n);
                written.store(n + 1, std::sync::atomic::Ordering::SeqCst);
            }
        });
        for copy in 0..4 {
            let least = written.load(std::sync::atomic::Ordering::SeqCst);
            let path = dir.path().join(format!("copy-{copy}"));
            store.checkpoint(&path).unwrap();
            let found = numbers(&Store::open(&path).unwrap());
            assert!(found.len() as u64 >= least, "{} of {least}", found.len());
            assert_eq!(found, (0..found.len() as u64).collect::<Vec<_>>(), "each once, without a gap");
        }
        writing.join().unwrap();
    });
}

#[test]
fn a_table_that_is_missing_is_missing_from_the_copy_and_told() {
    let sim = Sim::new(31);
    let store = filled(&sim).unwrap();
    let table = sim.files().into_iter().find(|file| file.ends_with(".sst")).unwrap();
    let lines = store.verify(&mut |_| {}).unwrap().lines;
    sim.env().fs.remove_file(Path::new(&table)).unwrap();
    let lost = lines - store.verify(&mut |_| {}).unwrap().lines;
    assert!(lost > 0 && lost < lines);
    let report = store.checkpoint("/copy").unwrap();
    assert_eq!((report.lines, report.missing_tables), (lines - lost, 1));
    assert!(store.incidents().messages.iter().any(|told| told.contains("missing from the copy")));
    let copy = options(sim.spawn_process().env()).open("/copy").unwrap();
    let verified = copy.verify(&mut |_| {}).unwrap();
    assert_eq!((verified.damage.len(), verified.lines), (1, lines - lost), "{:?}", verified.damage);
}

/// A table that was moved to another disk has a link in its place, which leads nowhere from the copy's directory.
#[cfg(unix)]
#[test]
fn of_a_table_that_is_linked_the_copy_has_what_the_link_leads_to() {
    let dir = tempfile::tempdir().unwrap();
    let store = options(Env::os()).open(dir.path().join("store")).unwrap();
    (0..10).for_each(|n| append(&store, 3 * n));
    store.flush().unwrap();
    let mut tables = std::fs::read_dir(dir.path().join("store/tables/19700101")).unwrap();
    let table = tables.next().unwrap().unwrap().path();
    Env::os().fs.rename(&table, &dir.path().join("store/elsewhere")).unwrap();
    std::os::unix::fs::symlink("../../elsewhere", &table).unwrap();
    store.checkpoint(dir.path().join("copy")).unwrap();
    let copy = Store::open_read_only(dir.path().join("copy")).unwrap();
    assert_eq!(numbers(&copy), (0..10).map(|n| 3 * n).collect::<Vec<_>>());
}
