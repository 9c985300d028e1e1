//! Stores whose manifest has lost its end, so that an opening puts tables in quarantine.

use duramen::store::Aside;
use duramen::{EntryBuf, Store, StoreOptions};
use duramen_engine::io::sim::Sim;
use duramen_engine::io::{Env, OpenMode};
use std::ops::{ControlFlow, Range};
use std::path::Path;

pub const DAY_NS: i64 = 86_400_000_000_000;

pub fn options(env: Env) -> StoreOptions {
    StoreOptions::new().env(env).background(false).write_buffer_size(64 << 10).flush_threads(1)
}

pub fn open(sim: &Sim) -> Store {
    options(sim.env()).open("/logs").unwrap()
}

/// Appends lines, each on the day, of 1970, that its hundreds say.
pub fn append(store: &Store, numbers: Range<u64>) -> duramen::Result<()> {
    for n in numbers {
        let mut entry = EntryBuf::new(["app"]);
        let time = (n / 100) as i64 * DAY_NS + n as i64;
        entry.start(time).message(&format!("{n}")).field("app", "sim").field("odd", (n % 2) as i64);
        store.append(entry.finish()?)?;
    }
    Ok(())
}

pub fn append_and_flush(store: &Store, numbers: Range<u64>) {
    append(store, numbers).unwrap();
    store.flush().unwrap();
}

pub fn numbers(store: &Store) -> Vec<u64> {
    let mut found = Vec::new();
    store
        .scan(i64::MIN, i64::MAX, &mut |row| {
            found.push(row.message().parse().unwrap());
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

/// Deletes what matches, of all times or some.
pub fn delete(store: &Store, times: std::ops::RangeInclusive<i64>, is_wrong: &dyn Fn(u64) -> bool) -> u64 {
    let matches = &mut |block: &std::sync::Arc<dyn duramen::block::Block>| {
        let column = block.column("_msg")?.unwrap();
        let mut digits = duramen::column::IntText::default();
        Ok((0..block.rows())
            .map(|row| is_wrong(column.text(row, &mut digits).unwrap().parse().unwrap()))
            .collect())
    };
    store.delete(times, matches, &|| false).unwrap().unwrap().lines
}

pub fn manifest_len(sim: &Sim) -> u64 {
    sim.read_file(Path::new("/logs/MANIFEST")).unwrap().len() as u64
}

pub fn cut_manifest(sim: &Sim, len: u64) {
    let manifest = sim.env().fs.open(Path::new("/logs/MANIFEST"), OpenMode::ReadWrite).unwrap();
    manifest.set_len(len).unwrap();
}

/// A store with lines 0 to 9 in a table, and of which the manifest has forgotten what happened since.
pub fn lose_end(sim: &Sim, happens: impl FnOnce(&Store)) {
    let store = open(sim);
    append_and_flush(&store, 0..10);
    let older = manifest_len(sim);
    happens(&store);
    sim.crash_process();
    drop(store);
    cut_manifest(sim, older);
}

/// The files in quarantine.
pub fn quarantine(sim: &Sim) -> Vec<String> {
    let names = sim.files().into_iter();
    names.filter_map(|file| Some(file.split_once("quarantine/")?.1.to_owned())).collect()
}

/// Of each file, the lines that came back, or why none did.
pub fn put_back(store: &Store) -> Vec<Result<u64, String>> {
    let report = store.put_back(false).unwrap();
    let became = |(_, became)| match became {
        Aside::PutBack { lines } => Ok(lines),
        Aside::Stays { why } => Err(why),
    };
    report.files.into_iter().map(became).collect()
}

/// The one file stays, for such a reason.
pub fn stays(store: &Store, because: &str) {
    let became = put_back(store);
    assert!(matches!(&became[..], [Err(why)] if why.contains(because)), "{because}: {became:?}");
}
