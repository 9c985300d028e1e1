//! Readers and writers at the same time, in real threads. The writer tells what is there as an engine does: by a
//! sequence number that it raises after the insert.

use super::arena::{Wal, get};
use super::*;
use crate::kv::OpKind::{self, DeleteRange, Put};
use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const READERS: usize = 3;

fn mixed(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    n ^ (n >> 27)
}

/// How many writes: enough for the hash to grow several times under its readers.
fn writes() -> u64 {
    if cfg!(miri) { 700 } else { 40_000 }
}

/// Write `seq` puts this key; a third of the writes goes to few keys.
fn key_of(seq: u64) -> [u8; 16] {
    let n = if seq.is_multiple_of(3) { mixed(seq) % 50 } else { mixed(seq) };
    let mut key = *b"key:0000........";
    key[8..].copy_from_slice(&n.to_be_bytes());
    key
}

fn while_writing(make: Make, read: impl Fn(&Arc<dyn Memtable>, u64, u64) + Sync) {
    let wal = Wal::sized(writes() as usize * 64 + (64 << 10));
    let memtable = make(wal.segment());
    let visible = AtomicU64::new(0);
    let start = Barrier::new(READERS + 1);
    thread::scope(|scope| {
        for reader in 0..READERS as u64 {
            let (memtable, visible, start, read) = (&memtable, &visible, &start, &read);
            scope.spawn(move || {
                start.wait();
                let mut turn = reader;
                loop {
                    let seq = visible.load(Ordering::Acquire);
                    read(memtable, seq, turn);
                    turn += READERS as u64;
                    if seq == writes() {
                        break;
                    }
                    if cfg!(miri) {
                        thread::yield_now();
                    }
                }
            });
        }
        start.wait();
        for seq in 1..=writes() {
            let key = key_of(seq);
            let inserted = wal.insert(&*memtable, &[(Put, &key, &seq.to_le_bytes())]);
            assert_eq!(inserted, seq);
            visible.store(seq, Ordering::Release);
        }
    });
    assert_eq!(memtable.len() as u64, writes());
}

pub(super) fn readers_see_what_was_written_before_they_began(make: Make) {
    while_writing(make, |memtable, seq, turn| {
        for nth in 0..20u64 {
            let Some(of) = mixed(turn * 20 + nth).checked_rem(seq).map(|n| n + 1) else { return };
            let key = key_of(of);
            // The newest one, and the one that was the newest when `of` was written.
            let (_, found, kind, value) = get(&**memtable, &key, seq).unwrap();
            assert!(found >= of && found <= seq && key_of(found) == key);
            assert_eq!((kind, value), (Put, found.to_le_bytes().to_vec()));
            let (_, found, _, value) = get(&**memtable, &key, of).unwrap();
            assert_eq!((found, value), (of, of.to_le_bytes().to_vec()));
            let absent = [&key[..], b"?"].concat();
            assert_eq!(get(&**memtable, &absent, u64::MAX), None);
        }
    });
}

pub(super) fn scans_are_whole_while_a_writer_goes_on(make: Make) {
    let model: BTreeMap<([u8; 16], std::cmp::Reverse<u64>), ()> =
        (1..=writes()).map(|seq| ((key_of(seq), std::cmp::Reverse(seq)), ())).collect();
    while_writing(make, |memtable, seq, turn| {
        let from = key_of(turn % writes() + 1);
        let mut cursor = Arc::clone(memtable).cursor(seq);
        let is_seen = |at: &&([u8; 16], std::cmp::Reverse<u64>)| at.1.0 <= seq;
        let most = if cfg!(miri) { 20 } else { 300 };
        cursor.seek(&from, u64::MAX).unwrap();
        for (key, std::cmp::Reverse(seq)) in
            model.range((from, std::cmp::Reverse(u64::MAX))..).map(|(at, ())| at).filter(is_seen).take(most)
        {
            assert_eq!(
                (cursor.key(), cursor.seq(), cursor.value()),
                (&key[..], *seq, &seq.to_le_bytes()[..])
            );
            cursor.next().unwrap();
        }
        cursor.seek_before(&from, u64::MAX).unwrap();
        for (key, std::cmp::Reverse(seq)) in model
            .range(..(from, std::cmp::Reverse(u64::MAX)))
            .rev()
            .map(|(at, ())| at)
            .filter(is_seen)
            .take(most)
        {
            assert_eq!((cursor.key(), cursor.seq()), (&key[..], *seq));
            cursor.prev().unwrap();
        }
    });
}

pub(super) fn deleted_ranges_are_seen_once_they_are_there(make: Make) {
    let wal = Wal::sized(128 << 10);
    let memtable = make(wal.segment());
    let visible = AtomicU64::new(0);
    let count = if cfg!(miri) { 40 } else { 400 };
    thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                loop {
                    let seq = visible.load(Ordering::Acquire);
                    let listed = memtable.range_tombstones();
                    assert!(listed.len() as u64 >= seq && memtable.range_tombstone_count() as u64 >= seq);
                    for (nth, range) in (1u64..).zip(listed.iter()) {
                        assert_eq!(
                            (range.seq, &range.start[..], &range.end[..]),
                            (nth, &nth.to_be_bytes()[..], &b"~"[..])
                        );
                    }
                    if seq == count {
                        break;
                    }
                    thread::yield_now();
                }
            });
        }
        for seq in 1..=count {
            assert_eq!(wal.insert(&*memtable, &[(DeleteRange, &seq.to_be_bytes(), b"~")]), seq);
            visible.store(seq, Ordering::Release);
        }
    });
}

/// For memtables that allow it: each thread appends and inserts, and reads its own writes at once.
pub(super) fn threads_insert_at_the_same_time(make: Make) {
    const WRITERS: u64 = 4;
    let each = if cfg!(miri) { 60 } else { 5000 };
    let wal = Wal::sized(4 << 20);
    let memtable = make(wal.segment());
    assert!(memtable.allows_concurrent_insert());
    let start = Barrier::new(WRITERS as usize);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (wal, memtable, start) = (&wal, &memtable, &start);
            scope.spawn(move || {
                start.wait();
                for nth in 0..each {
                    let key = mixed(nth).to_be_bytes();
                    let (kind, end) = if nth % 100 == 99 { (DeleteRange, [255; 9]) } else { (Put, [0; 9]) };
                    let seq = wal.insert(&**memtable, &[(kind, &key, &end)]);
                    if kind == OpKind::Put {
                        let (_, found, _, value) = get(&**memtable, &key, seq).unwrap();
                        assert_eq!((found, value), (seq, end.to_vec()), "writer {writer}");
                    }
                }
            });
        }
    });
    let total = (WRITERS * each) as usize;
    let ranges = total / 100;
    let ranges = if cfg!(miri) { 0 } else { ranges };
    assert_eq!((memtable.len(), memtable.range_tombstones().len()), (total, ranges));
    assert!(memtable.range_tombstones().is_sorted_by_key(|range| range.seq));
    let mut cursor = Arc::clone(&memtable).cursor(u64::MAX);
    cursor.seek_to_first().unwrap();
    let all = super::arena::rest(&mut *cursor);
    assert_eq!(all.len(), total - ranges);
    assert!(all.is_sorted_by_key(|v| (v.0.clone(), std::cmp::Reverse(v.1))));
    assert_eq!(Arc::clone(&memtable).sorted().iter().count(), all.len());
}
