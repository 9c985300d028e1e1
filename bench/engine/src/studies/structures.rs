//! The structures that a memtable can be made of, alone: inserting, and sorting where they are not sorted.

use super::{figures, ns_each};
use crate::Result;
use crate::case::Case;
use crate::data::{ENTRY_BYTES, Entries, KEY_BYTES};
use crossbeam_skiplist::SkipMap;
use shared::case::Figures;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// In the order of the table.
pub(crate) const NAMES: [&str; 4] = ["vec-push", "arena-append", "skipmap", "btreemap"];

pub(super) fn run(case: &Case) -> Result<Figures> {
    let mut entries = Entries::new(case.order, case.entries);
    let (insert, sort) = match &*case.system {
        "vec-push" => vec_push(&mut entries),
        "arena-append" => arena_append(&mut entries)?,
        "skipmap" => skipmap(&mut entries),
        "btreemap" => btreemap(&mut entries),
        other => return Err(format!("there is no structure {other}").into()),
    };
    let mut figures = figures([("insert_ns", ns_each(insert, case.entries))]);
    if let Some(sort) = sort {
        figures.insert("sort_ns".to_owned(), ns_each(sort, case.entries));
    }
    Ok(figures)
}

/// Two allocations per entry.
fn vec_push(entries: &mut Entries) -> (Duration, Option<Duration>) {
    let begin = Instant::now();
    let mut pairs = Vec::new();
    while let Some((key, value)) = entries.next() {
        pairs.push((key.to_vec(), value.to_vec()));
    }
    let inserted = begin.elapsed();
    pairs.sort_unstable();
    let sorted = begin.elapsed() - inserted;
    black_box(&pairs);
    (inserted, Some(sorted))
}

/// One stretch of memory, and an index: the start of the key, and where the entry lies.
fn arena_append(entries: &mut Entries) -> Result<(Duration, Option<Duration>)> {
    let begin = Instant::now();
    let mut arena: Vec<u8> = Vec::new();
    let mut index: Vec<(u64, u32)> = Vec::new();
    let mut number = 0;
    while let Some((key, value)) = entries.next() {
        let start = key.first_chunk().map_or(0, |start| u64::from_be_bytes(*start));
        index.push((start, number));
        arena.extend_from_slice(key);
        arena.extend_from_slice(value);
        number += 1;
    }
    let inserted = begin.elapsed();
    let key =
        |n: u32| arena.get(n as usize * ENTRY_BYTES..).and_then(|entry| entry.first_chunk::<KEY_BYTES>());
    index.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| key(a.1).cmp(&key(b.1))));
    let sorted = begin.elapsed() - inserted;
    if !index.is_sorted_by_key(|(_, n)| key(*n)) {
        return Err("not sorted".into());
    }
    Ok((inserted, Some(sorted)))
}

fn skipmap(entries: &mut Entries) -> (Duration, Option<Duration>) {
    let begin = Instant::now();
    let map = SkipMap::new();
    while let Some((key, value)) = entries.next() {
        map.insert(key.to_vec(), value.to_vec());
    }
    let inserted = begin.elapsed();
    std::mem::forget(black_box(map)); // the process ends here: taking it apart would be waiting for nothing
    (inserted, None)
}

fn btreemap(entries: &mut Entries) -> (Duration, Option<Duration>) {
    let begin = Instant::now();
    let mut map = BTreeMap::new();
    while let Some((key, value)) = entries.next() {
        map.insert(key.to_vec(), value.to_vec());
    }
    let inserted = begin.elapsed();
    std::mem::forget(black_box(map));
    (inserted, None)
}
