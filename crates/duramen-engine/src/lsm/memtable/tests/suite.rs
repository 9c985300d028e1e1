//! What every memtable must do, one idea a test.

use super::arena::{Model, Version, Wal, at, check, check_sorted, get, rest, rest_back};
use super::*;
use crate::kv::Op;
use crate::kv::OpKind::{Delete, DeleteRange, Put};
use xxhash_rust::xxh3::xxh3_64;

/// Some hundreds of kilobytes, less where the test runs slowly.
const SMALL: usize = 256 << 10;

fn with(make: Make, segment_bytes: usize) -> (Wal, Arc<dyn Memtable>, Model) {
    let wal = Wal::sized(segment_bytes);
    let memtable = make(wal.segment());
    (wal, memtable, Model::default())
}

fn put(wal: &Wal, memtable: &dyn Memtable, model: &mut Model, key: &[u8], value: &[u8]) -> u64 {
    let seq = wal.insert(memtable, &[(Put, key, value)]);
    model.insert(seq, (Put, key, value));
    seq
}

pub(super) fn an_empty_one_has_nothing(make: Make) {
    let (wal, memtable, model) = with(make, SMALL);
    check(&memtable, &model, u64::MAX);
    check_sorted(&memtable, &model);
    assert_eq!(get(&*memtable, b"", u64::MAX), None);
    let mut cursor = Arc::clone(&memtable).cursor(u64::MAX);
    cursor.seek(b"", u64::MAX).unwrap();
    assert!(!cursor.valid());
    cursor.seek_before(b"x", 0).unwrap();
    assert!(!cursor.valid());
    assert_eq!(memtable.segment().number(), wal.segment().number());
}

pub(super) fn versions_and_deletions_are_read_at_their_seqs(make: Make) {
    let (wal, memtable, mut model) = with(make, SMALL);
    let writes: [arena::Write<'_>; 7] = [
        (Put, b"b", b"1"),
        (Put, b"a", b"2"),
        (Delete, b"b", b""),
        (Put, b"", b"the empty key"),
        (Put, b"b", b""),
        (Delete, b"never there", b""),
        (Put, b"b", b"7"),
    ];
    let first = wal.append(&writes[..1])[0];
    memtable.insert(first.0, first.1, &Op { kind: Put, key: b"b", value: b"1" });
    wal.insert(&*memtable, &writes[1..]);
    for (seq, write) in (first.0..).zip(writes) {
        model.insert(seq, write);
    }
    for seq in 0..=first.0 + 8 {
        check(&memtable, &model, seq);
        for key in [&b"a"[..], b"b", b"", b"never there", b"c", b"b\0"] {
            assert_eq!(get(&*memtable, key, seq), model.get(key, seq), "{key:?} at {seq}");
        }
    }
    check_sorted(&memtable, &model);
    // A cursor may look for other seqs than its own.
    let mut cursor = Arc::clone(&memtable).cursor(first.0 + 4);
    let all = model.seen(first.0 + 4);
    for key in [&b""[..], b"a", b"b", b"b\0", b"zz"] {
        for seq in 0..=first.0 + 8 {
            let split =
                all.partition_point(|v| (&v.0[..], std::cmp::Reverse(v.1)) < (key, std::cmp::Reverse(seq)));
            cursor.seek(key, seq).unwrap();
            assert_eq!(rest(&mut *cursor), all[split..]);
            cursor.seek_before(key, seq).unwrap();
            let expected: Vec<Version> = all[..split].iter().rev().cloned().collect();
            assert_eq!(rest_back(&mut *cursor), expected);
        }
    }
}

/// Long common beginnings, ends in zeros, keys that begin other keys: whatever a comparison by parts can get wrong.
pub(super) fn keys_that_share_beginnings_are_in_order(make: Make) {
    let (wal, memtable, mut model) = with(make, SMALL);
    let long = [b'p'; 40];
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for prefix in [0, 1, 6, 7, 8, 13, 14, 15, 16, 21, 40] {
        for end in [
            &b""[..],
            b"\0",
            b"\0\0",
            b"\0\0\0\0\0\0\0",
            b"\0\0\0\0\0\0\0\0",
            b"a",
            b"q",
            b"\xff",
            b"pq",
            b"p\0",
        ] {
            keys.push([&long[..prefix], end].concat());
        }
    }
    let before = keys.clone();
    for (nth, key) in keys.iter().enumerate() {
        put(&wal, &*memtable, &mut model, key, &[nth as u8]);
    }
    // The same keys again in another order, so that all have two versions.
    keys.reverse();
    keys.rotate_left(17);
    for (nth, key) in keys.iter().enumerate() {
        put(&wal, &*memtable, &mut model, key, &[nth as u8]);
        if nth == 40 {
            check(&memtable, &model, u64::MAX);
        }
    }
    check(&memtable, &model, u64::MAX);
    check_sorted(&memtable, &model);
    let mut cursor = Arc::clone(&memtable).cursor(u64::MAX);
    for key in &before {
        cursor.seek(key, u64::MAX).unwrap();
        assert_eq!(at(&*cursor), model.get(key, u64::MAX));
    }
}

pub(super) fn keys_in_order_and_in_reverse(make: Make) {
    let count: u32 = if cfg!(miri) { 60 } else { 3000 };
    for reverse in [false, true] {
        for decimal in [false, true] {
            let (wal, memtable, mut model) = with(make, 512 << 10);
            for nth in 0..count {
                let n = if reverse { count - nth } else { nth };
                let key = if decimal { format!("{n:030}").into_bytes() } else { n.to_be_bytes().to_vec() };
                put(&wal, &*memtable, &mut model, &key, &nth.to_le_bytes());
                if nth == count / 2 {
                    let seq = wal.insert(&*memtable, &[(DeleteRange, b"x", b"y")]);
                    model.insert(seq, (DeleteRange, b"x", b"y"));
                }
            }
            check_sorted(&memtable, &model);
            check(&memtable, &model, u64::MAX);
            check_sorted(&memtable, &model);
            // No longer in order, at the very end.
            put(&wal, &*memtable, &mut model, b"", b"");
            check_sorted(&memtable, &model);
            check(&memtable, &model, u64::MAX);
        }
    }
}

pub(super) fn a_cursor_does_not_see_what_comes_later(make: Make) {
    let (wal, memtable, mut model) = with(make, SMALL);
    let mut last = 0;
    for nth in 0..40u8 {
        last = put(&wal, &*memtable, &mut model, &[nth % 20, nth], b"before");
    }
    let mut cursor = Arc::clone(&memtable).cursor(last);
    cursor.seek(&[10], u64::MAX).unwrap();
    let expected = model.seen(last);
    let mut later = model.clone();
    for nth in 0..60u8 {
        put(&wal, &*memtable, &mut later, &[nth % 20, nth % 45], b"later");
    }
    let from = expected.partition_point(|v| v.0[..] < [10][..]);
    assert_eq!(rest(&mut *cursor), expected[from..]);
    cursor.seek_to_first().unwrap();
    assert_eq!(rest(&mut *cursor), expected);
    cursor.seek_to_last().unwrap();
    assert_eq!(rest_back(&mut *cursor).len(), expected.len());
    check(&memtable, &later, last + 17);
}

/// Every write is followed by a scan, to and fro.
pub(super) fn scans_between_writes_see_everything(make: Make) {
    let (wal, memtable, mut model) = with(make, SMALL);
    let mut state = 7u32;
    for _ in 0..if cfg!(miri) { 25 } else { 150 } {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let key = format!("shared/{}", (state >> 16) % 90);
        let seq = put(&wal, &*memtable, &mut model, key.as_bytes(), &state.to_le_bytes());
        let expected = model.seen(seq);
        let mut cursor = Arc::clone(&memtable).cursor(seq);
        cursor.seek(key.as_bytes(), seq).unwrap();
        let mut here = expected.partition_point(|v| &v.0[..] < key.as_bytes());
        assert_eq!(at(&*cursor), expected.get(here).cloned());
        // A walk that turns around often.
        for step in 0..12 {
            if (state >> step) & 1 == 1 {
                cursor.next().unwrap();
                here += 1;
            } else {
                cursor.prev().unwrap();
                here = here.wrapping_sub(1);
            }
            assert_eq!(at(&*cursor), expected.get(here).cloned());
            if !cursor.valid() {
                break;
            }
        }
    }
    check(&memtable, &model, u64::MAX);
}

pub(super) fn deleted_ranges_are_listed(make: Make) {
    let (wal, memtable, mut model) = with(make, SMALL);
    let batch: [arena::Write<'_>; 4] =
        [(Put, b"m", b"1"), (DeleteRange, b"a", b"z"), (Put, b"n", b"2"), (DeleteRange, b"", b"b")];
    for _ in 0..3 {
        let last = wal.insert(&*memtable, &batch);
        for (seq, write) in (last - 3..).zip(batch) {
            model.insert(seq, write);
        }
        check(&memtable, &model, u64::MAX);
    }
    // A range is no version of the key that it begins with.
    assert_eq!(get(&*memtable, b"a", u64::MAX), None);
    assert_eq!(memtable.len(), 12);
    check_sorted(&memtable, &model);
}

pub(super) fn values_outlive_the_memtable(make: Make) {
    let (wal, memtable, mut model) = with(make, SMALL);
    put(&wal, &*memtable, &mut model, b"key", b"value");
    let found = memtable.get(b"key", xxh3_64(b"key"), u64::MAX).unwrap().value(memtable.segment());
    let mut cursor = Arc::clone(&memtable).cursor(u64::MAX);
    cursor.seek_to_first().unwrap();
    let segment = Arc::downgrade(memtable.segment());
    drop(memtable);
    drop(wal);
    assert_eq!(found, b"value");
    assert_eq!((cursor.key(), cursor.value()), (&b"key"[..], &b"value"[..]));
    drop(cursor);
    let again = found.clone();
    drop(found);
    assert_eq!(again, b"value");
    assert_eq!((segment.strong_count(), again.into_vec()), (1, b"value".to_vec()));
    assert_eq!(segment.strong_count(), 0);
}

/// As what was recovered past damage has them.
pub(super) fn seqs_may_start_anywhere_and_have_gaps(make: Make) {
    let (wal, memtable, mut model) = with(make, SMALL);
    let mut seq = 1 << 40;
    for nth in 0..60u64 {
        let key = [b'k', (nth * 7 % 10) as u8];
        let value = nth.to_le_bytes();
        let (_, offset) = wal.append(&[(Put, &key, &value)])[0];
        memtable.insert(seq, offset, &Op { kind: Put, key: &key, value: &value });
        model.insert(seq, (Put, &key, &value));
        if nth % 8 == 0 {
            check(&memtable, &model, seq);
        }
        seq += if nth % 9 == 8 { nth * 1000 } else { 1 };
    }
    let seqs: Vec<u64> = model.seen(u64::MAX).iter().map(|v| v.1).collect();
    let around = seqs.iter().flat_map(|seq| [seq - 1, *seq, seq + 1, seq + 500]);
    for seq in around.chain([0, 1, u64::MAX]).step_by(if cfg!(miri) { 41 } else { 1 }) {
        check(&memtable, &model, seq);
        for key in 0..10 {
            let key = [b'k', key];
            assert_eq!(get(&*memtable, &key, seq), model.get(&key, seq));
        }
    }
    check_sorted(&memtable, &model);
}

pub(super) fn the_index_says_how_large_it_is(make: Make) {
    let (wal, memtable, mut model) = with(make, 1 << 20);
    let empty = memtable.index_bytes();
    assert!(empty < 16 << 10, "{empty}");
    let count: usize = if cfg!(miri) { 100 } else { 8000 };
    for nth in 0..count as u64 {
        let key = nth.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        put(&wal, &*memtable, &mut model, &key, &[1; 90]);
    }
    let filled = memtable.index_bytes();
    assert!(filled > empty + count * 8 && filled < empty + count * 100, "{filled} bytes for {count}");
    if !memtable.allows_concurrent_insert() && !cfg!(miri) {
        assert!(filled < count * 26, "{filled} bytes for {count}");
    }
    check(&memtable, &model, u64::MAX);
    assert!(memtable.index_bytes() >= filled);
}
