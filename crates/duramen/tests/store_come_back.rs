//! WAL segments that come back after their lines were put into tables, and their writer was forgotten.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen::{EntryBuf, Store, StoreOptions};
use duramen_engine::io::sim::Sim;
use duramen_engine::io::{Env, OpenMode};
use std::ops::ControlFlow;
use std::path::Path;

fn options(env: Env) -> StoreOptions {
    StoreOptions::new().env(env).background(false).write_buffer_size(64 << 10).flush_threads(1)
}

fn append(store: &Store, n: u64) {
    let mut entry = EntryBuf::new(["app"]);
    entry.start(n as i64).message(&n.to_string()).field("app", "x");
    store.append(entry.finish().unwrap()).unwrap();
}

fn numbers(store: &Store) -> Vec<u64> {
    let mut found = Vec::new();
    let mut add = |row: &duramen::store::ScanRow<'_>| {
        found.push(row.message().parse().unwrap());
        ControlFlow::Continue(())
    };
    store.scan(i64::MIN, i64::MAX, &mut add).unwrap();
    found
}

fn put(sim: &Sim, path: &Path, bytes: &[u8]) {
    let fs = sim.env().fs;
    fs.create_dir_all(path.parent().unwrap()).unwrap();
    let file = fs.open(path, OpenMode::CreateNew).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file.sync_data().unwrap();
}

/// The segment of a writer that was killed after lines 0 to 60, none of which is in a table.
fn killed(sim: &Sim) -> (String, Vec<u8>) {
    let process = sim.spawn_process();
    let store = options(process.env()).open("/logs").unwrap();
    (0..60).for_each(|n| append(&store, n));
    process.kill();
    drop(store);
    let segment = sim.files().into_iter().find(|file| file.ends_with("1.wal")).unwrap();
    let bytes = sim.read_file(Path::new(&segment)).unwrap();
    (segment, bytes)
}

fn flushed(sim: &Sim) -> Store {
    let store = options(sim.env()).open("/logs").unwrap();
    store.flush().unwrap();
    store
}

#[test]
fn its_lines_are_not_taken_again_and_it_is_kept() {
    let sim = Sim::new(1);
    let (segment, bytes) = killed(&sim);
    let store = flushed(&sim);
    let delete = |store: &Store, line: i64| {
        let report = store.delete(line..=line, &mut |block| Ok(vec![true; block.rows()]), &|| false);
        assert_eq!(report.unwrap().unwrap().lines, 1);
    };
    delete(&store, 7);
    let there: Vec<u64> = (0..60).filter(|n| *n != 7).collect();
    assert_eq!(numbers(&store), there);
    store.close().unwrap();
    assert!(!sim.files().contains(&segment));

    put(&sim, Path::new(&segment), &bytes);
    let store = flushed(&sim);
    assert_eq!(numbers(&store), there);
    assert!(store.incidents().messages.iter().any(|told| told.contains("came back")));
    let kept = store.stats().unwrap().quarantined;
    assert_eq!(kept.len(), 1);
    assert_eq!(sim.read_file(&Path::new("/logs/quarantine").join(&kept[0])).unwrap(), bytes);
    assert!(!sim.files().contains(&segment));
    // Nor when it comes a second time, and what is kept is kept once.
    store.close().unwrap();
    put(&sim, Path::new(&segment), &bytes);
    let store = flushed(&sim);
    assert_eq!(numbers(&store), there);
    assert_eq!(store.stats().unwrap().quarantined, kept);
}

#[test]
fn lines_of_a_writer_that_no_table_knows_are_taken() {
    let sim = Sim::new(2);
    let (segment, bytes) = killed(&sim);
    let store = flushed(&sim);
    store.close().unwrap();
    // Into another store, as who looks into what was set aside does.
    let other = options(sim.env()).open("/other").unwrap();
    append(&other, 100);
    other.close().unwrap();
    put(&sim, Path::new(&segment.replace("logs", "other")), &bytes);
    let other = options(sim.env()).open("/other").unwrap();
    other.flush().unwrap();
    assert_eq!(numbers(&other), (0..60).chain([100]).collect::<Vec<_>>());
    assert_eq!(other.stats().unwrap().quarantined.len(), 0);
}
