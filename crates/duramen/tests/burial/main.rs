//! What becomes of what a killed writer left.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod beside;
mod come_back;
mod damage;
mod few_files;
mod many;

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
