//! A table's file under another table's name is not that table, even if it is as long.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen::{EntryBuf, Store, StoreOptions};
use duramen_engine::io::OpenMode;
use duramen_engine::io::sim::Sim;
use std::collections::BTreeMap;
use std::path::Path;

const DAY_NS: i64 = 86_400_000_000_000;
const LINES: u64 = 50;
/// Too few to be merged.
const DAYS: i64 = 7;

fn options(sim: &Sim) -> StoreOptions {
    StoreOptions::new().env(sim.env()).background(false).flush_threads(1)
}

/// Days that are as like each other as lines of a program that does the same every day.
fn filled(sim: &Sim) -> Store {
    let store = options(sim).open("/logs").unwrap();
    for day in 0..DAYS {
        for n in 0..LINES as i64 {
            let mut entry = EntryBuf::new(["app"]);
            entry.start((20_000 + day) * DAY_NS + n).message(&format!("line {n}")).field("app", "x");
            store.append(entry.finish().unwrap()).unwrap();
        }
        store.flush().unwrap();
    }
    store.close().unwrap();
    options(sim).open("/logs").unwrap()
}

fn tables(sim: &Sim) -> Vec<String> {
    sim.files().into_iter().filter(|file| file.ends_with(".sst")).collect()
}

fn put(sim: &Sim, path: &str, bytes: &[u8]) {
    let (fs, path) = (sim.env().fs, Path::new(path));
    fs.remove_file(path).unwrap();
    let file = fs.open(path, OpenMode::CreateNew).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file.sync_data().unwrap();
}

#[test]
fn it_is_told_by_who_reads_it_and_by_verify_and_nothing_of_it_is_served() {
    let sim = Sim::new(1);
    drop(filled(&sim));
    let mut of_length: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for file in tables(&sim) {
        of_length.entry(sim.read_file(Path::new(&file)).unwrap().len()).or_default().push(file);
    }
    let alike = of_length.into_values().find(|files| files.len() > 1).expect("some are of one length");
    put(&sim, &alike[1], &sim.read_file(Path::new(&alike[0])).unwrap());

    let store = options(&sim).open("/logs").unwrap();
    let report = store.verify(&mut |_| {}).unwrap();
    assert_eq!((report.damage.len(), report.lines), (1, (DAYS as u64 - 1) * LINES), "{:?}", report.damage);
    let damage = &report.damage[0];
    assert!(damage.path.ends_with(&alike[1]) && damage.lines == Some(LINES), "{damage:?}");
    assert!(damage.detail.contains("another table"), "{damage:?}");
    let blocks = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
    let opened: Vec<_> = blocks.iter().map(|block| block.open()).collect();
    let refused: Vec<_> = opened.iter().filter_map(|block| block.as_ref().err()).collect();
    assert_eq!((opened.len(), refused.len()), (DAYS as usize, 1));
    assert!(refused[0].is_corruption() && refused[0].to_string().contains("another table"), "{}", refused[0]);
    // No line of the other is deleted in its place, or counted as such.
    let report = store
        .delete(i64::MIN..=i64::MAX, &mut |block| Ok(vec![true; block.rows()]), &|| false)
        .unwrap()
        .unwrap();
    assert_eq!((report.lines, report.damaged.len()), ((DAYS as u64 - 1) * LINES, 1), "{report:?}");
}

#[test]
fn the_same_file_put_back_is_the_table_again() {
    let sim = Sim::new(2);
    drop(filled(&sim));
    let files = tables(&sim);
    let bytes: Vec<_> = files[..2].iter().map(|file| sim.read_file(Path::new(file)).unwrap()).collect();
    put(&sim, &files[0], &bytes[1]);
    let store = options(&sim).open("/logs").unwrap();
    assert_eq!(store.verify(&mut |_| {}).unwrap().damage.len(), 1);
    put(&sim, &files[0], &bytes[0]);
    let report = store.verify(&mut |_| {}).unwrap();
    assert!(report.damage.is_empty() && report.lines == DAYS as u64 * LINES, "{:?}", report.damage);
}
