//! Merging encodes small blocks again and copies large ones, and nothing changes for who reads.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests may

use duramen::block::ValueWords;
use duramen::columnar::MAX_BLOCK_ROWS;
use duramen::{Batch, EntryBuf, Store, StoreOptions, Value, token};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

fn open(dir: &Path) -> Store {
    StoreOptions::new().background(false).open(dir).unwrap()
}

/// A table of its own for lines with these times.
fn flush(store: &Store, times: impl Iterator<Item = i64>) {
    let mut entry = EntryBuf::new(["app"]);
    let mut batch = Batch::default();
    for time in times {
        entry.start(time).message(&format!("line at {time}"));
        entry.field("app", if time % 3 == 0 { "web" } else { "db" }).field("n", time % 1000);
        if time % 5 == 0 {
            entry.field("odd one", Value::Null);
        }
        batch.push(entry.finish().unwrap()).unwrap();
        if batch.len() == 1000 {
            store.append_batch(&mut batch, None).unwrap();
        }
    }
    store.append_batch(&mut batch, None).unwrap();
    store.flush().unwrap();
}

/// All there is to know of every row, in the order of a scan.
fn rows(store: &Store) -> Vec<String> {
    let mut rows = Vec::new();
    store
        .scan(i64::MIN, i64::MAX, &mut |row| {
            let mut text = format!("{} {:?} {}", row.time(), row.id(), row.message());
            row.for_each_field(&mut |name, value, kind| text += &format!(" {name}={value}:{kind:?}"));
            rows.push(text);
            ControlFlow::Continue(())
        })
        .unwrap();
    rows
}

/// How many rows each block has.
fn blocks(store: &Store) -> Vec<usize> {
    store.snapshot().unwrap().blocks(i64::MIN, i64::MAX).iter().map(|handle| handle.rows()).collect()
}

fn tables(dir: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(dir.join("tables/19700101")).unwrap();
    files.map(|file| file.unwrap().path()).collect()
}

#[test]
fn a_flush_cuts_blocks_of_about_the_same_size() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    flush(&store, 0..MAX_BLOCK_ROWS as i64 + 10);
    let half = MAX_BLOCK_ROWS / 2 + 5;
    assert_eq!(
        blocks(&store),
        [half, half],
        "and not one of 10 rows, which a merge would have to encode again"
    );
}

/// Puts lines of two programs, one of which has two replicas, into the store, so many of each stream, in turns.
fn append_programs(store: &Store, first_time: i64, lines: i64) {
    let mut entry = EntryBuf::new(["app", "host"]);
    let mut batch = Batch::default();
    for i in 0..lines {
        for (app, host) in [("web", "a"), ("db", "c"), ("web", "b")] {
            entry.start(first_time + i);
            match app {
                "web" => entry.message(&format!("GET /item/{i} answered in {} ms", i % 100)),
                _ => entry.message(&format!("checkpoint {i} complete, {} buffers", i % 300)),
            };
            entry.field("app", app).field("host", host);
            batch.push(entry.finish().unwrap()).unwrap();
        }
        if batch.len() >= 1000 {
            store.append_batch(&mut batch, None).unwrap();
        }
    }
    store.append_batch(&mut batch, None).unwrap();
    store.flush().unwrap();
}

/// How many rows each block has, and of which streams, in the order of the names of these.
fn streams(store: &Store) -> Vec<(usize, Vec<String>)> {
    let mut all = Vec::new();
    for handle in store.snapshot().unwrap().blocks(i64::MIN, i64::MAX) {
        let column = handle.open().unwrap().column("_stream").unwrap().unwrap();
        let mut digits = duramen::column::IntText::default();
        let streams = (0..handle.rows()).map(|row| column.text(row, &mut digits).unwrap().to_owned());
        let mut streams: Vec<String> = streams.collect();
        streams.sort_unstable();
        streams.dedup();
        all.push((handle.rows(), streams));
    }
    all.sort_by(|a, b| a.1.cmp(&b.1));
    all
}

#[test]
fn what_programs_write_lies_in_blocks_of_their_own_if_it_is_enough() {
    let db = || vec![r#"{app="db",host="c"}"#.to_owned()];
    let web = || ["a", "b"].map(|host| format!(r#"{{app="web",host="{host}"}}"#)).to_vec();
    let all = || [db(), web()].concat();
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    append_programs(&store, 0, 5_000);
    assert_eq!(streams(&store), [(5_000, db()), (10_000, web())], "replicas stay together");
    drop(store);
    // Too little at first, and then together.
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    (0..10).for_each(|i| append_programs(&store, i * 1_000, 1_000));
    assert_eq!(streams(&store), vec![(3_000, all()); 10]);
    let before = rows(&store);
    store.compact().unwrap();
    assert!(rows(&store) == before, "rows have changed");
    assert_eq!(streams(&store), [(10_000, db()), (20_000, web())]);
}

#[test]
fn what_threads_have_shared_out_is_not_cut_again() {
    let db = || vec![r#"{app="db",host="c"}"#.to_owned()];
    let web = || ["a", "b"].map(|host| format!(r#"{{app="web",host="{host}"}}"#)).to_vec();
    let dir = tempfile::tempdir().unwrap();
    let store = StoreOptions::new().background(false).flush_threads(2).open(dir.path()).unwrap();
    (0..4).for_each(|i| append_programs(&store, i * 5_000, 5_000));
    assert_eq!(tables(dir.path()).len(), 8, "one a thread");
    let before = rows(&store);
    store.compact().unwrap();
    assert_eq!(store.stats().unwrap().days["19700101"].tables, 1);
    assert!(rows(&store) == before, "rows have changed");
    let expected = [vec![(5_000, db()); 4], vec![(10_000, web()); 4]].concat();
    assert_eq!(streams(&store), expected, "a table alone would have too little to be cut well");
}

#[test]
fn large_blocks_are_copied_and_small_ones_become_large() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    flush(&store, 0..20_000);
    // Too few to be a block of their own: what follows is decoded, and is of one time with a third table.
    flush(&store, 20_000..20_050);
    flush(&store, 20_050..20_100);
    flush(&store, 20_100..40_100);
    flush(&store, 30_000..50_000);
    for i in 0..4 {
        flush(&store, (0..50).map(|n| 50_000 + n * 4 + i));
    }
    let (before, stats) = (rows(&store), store.stats().unwrap());
    assert_eq!((before.len(), tables(dir.path()).len()), (60_300, 9));
    store.compact().unwrap();
    assert!(rows(&store) == before, "rows have changed");
    let merged = store.stats().unwrap();
    assert_eq!(merged.fields, stats.fields);
    assert_eq!(merged.days["19700101"].raw_bytes, stats.days["19700101"].raw_bytes);
    assert_eq!(merged.days["19700101"].tables, 1);
    let nowhere = ValueWords { field: "_msg", hashes: &[token::hash("nowhere")], may_be_integer: false };
    // The small ones begin before the large ones that lie between them.
    assert_eq!(blocks(&store), [20_000, 300, 20_000, 20_000]);
    for handle in store.snapshot().unwrap().blocks(i64::MIN, i64::MAX) {
        let told = handle.values("odd one").unwrap();
        assert_eq!(told, [("".into(), handle.rows() as u64 / 5)], "copied or not");
        assert_eq!(handle.values("app"), None, "a label");
        let counts = handle.time_counts().unwrap();
        assert_eq!(counts.rows.iter().flat_map(|(_, rows)| rows).sum::<u64>(), handle.rows() as u64);
        assert!(!handle.may_have_words(&nowhere, true), "its filter tells");
        assert_eq!((handle.values("n"), handle.values("none")), (None, Some(Vec::new())));
    }
    let checked = store.verify(&mut |_| {}).unwrap();
    assert!(checked.damage.is_empty() && checked.lines == 60_300, "{checked:?}");
    store.close().unwrap();
    assert!(rows(&open(dir.path())) == before, "rows have changed");
}

#[test]
fn a_damaged_block_is_not_copied_and_costs_nothing_but_itself() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    (0..8).for_each(|i| flush(&store, i * 16_384..(i + 1) * 16_384));
    let mut files = tables(dir.path());
    files.sort();
    let mut bytes = std::fs::read(&files[3]).unwrap();
    bytes[40] ^= 1; // of its first column: a damaged filter is only made anew
    std::fs::write(&files[3], bytes).unwrap();
    store.compact().unwrap();
    let damage = store.verify(&mut |_| {}).unwrap().damage;
    assert!(!damage.is_empty() && damage.iter().all(|damage| damage.path == files[3]), "{damage:?}");
    assert_eq!(blocks(&store).len(), 8, "all are still there");
    assert!(tables(dir.path()).contains(&files[3]));
}

/// Deletes lines, and compares what is left with what should be; the store is whole.
fn delete(store: &Store, goes: impl Fn(i64) -> bool) {
    let mut left = rows(store);
    left.retain(|row| !goes(row.split(' ').next().unwrap().parse().unwrap()));
    let matches = &mut |block: &std::sync::Arc<dyn duramen::block::Block>| {
        Ok(block.times()?.iter().map(|&time| goes(time)).collect())
    };
    let report = store.delete(i64::MIN..=i64::MAX, matches, &|| false).unwrap().unwrap();
    assert!(report.damaged.is_empty(), "{report:?}");
    assert!(rows(store) == left, "other rows have gone, or have not");
    let checked = store.verify(&mut |_| {}).unwrap();
    assert!(checked.damage.is_empty() && checked.lines == left.len() as u64, "{checked:?}");
}

#[test]
fn lines_are_deleted_from_blocks_that_lie_side_by_side() {
    const ROWS: i64 = MAX_BLOCK_ROWS as i64 / 2;
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    // More than are open at once.
    let tables = 20;
    for i in 0..tables {
        flush(&store, (0..ROWS).map(|n| n * tables + i));
    }
    store.compact().unwrap();
    assert_eq!(blocks(&store), [ROWS as usize; 20], "copied");
    // One line of the first block; then the first lines of most, and of some the second ones, too.
    delete(&store, |time| time == tables * 7);
    delete(&store, |time| time % 4 > 0 && time < 60);
    delete(&store, |time| time % 10 == 3);
    store.close().unwrap();
    assert_eq!(rows(&open(dir.path())).len(), blocks(&open(dir.path())).iter().sum::<usize>());
}
