//! What only the `vec` memtable has: collisions, growth, order that is noticed.

use super::arena::{Model, Wal, check, check_sorted};
use super::*;
use crate::kv::Op;
use crate::kv::OpKind::Put;

/// Hashes that look the same, as far as slots tell, of different keys.
#[test]
fn keys_with_equal_fingerprints_are_told_apart() {
    type HashOf = fn(u64) -> u64;
    let hashes: [HashOf; 5] = [|_| 0, |n| n, |n| n << 62, |n| (u64::MAX - n % 2) << 32, |n| (n % 7) << 32];
    for hash_of in hashes {
        let wal = Wal::sized(256 << 10);
        let memtable = VecMemtable::new(wal.segment(), 0);
        let count: u64 = if cfg!(miri) { 60 } else { 1200 };
        for nth in 0..count {
            let key = (nth / 2).to_be_bytes();
            let (seq, offset) = wal.append(&[(Put, &key, b"v")])[0];
            memtable.insert_hashed(seq, offset, &Op { kind: Put, key: &key, value: b"v" }, hash_of(nth / 2));
        }
        for nth in 0..count / 2 {
            let seqs = [nth * 2 + 1, nth * 2 + 2];
            let found = |seq| memtable.get(&nth.to_be_bytes(), hash_of(nth), seq).map(|found| found.seq);
            assert_eq!(found(u64::MAX), Some(seqs[1]));
            assert_eq!(found(seqs[0]), Some(seqs[0]));
            assert_eq!(found(seqs[0] - 1), None);
        }
        assert!(memtable.get(&count.to_be_bytes(), hash_of(count), u64::MAX).is_none());
    }
}

#[test]
fn a_hint_of_any_size_changes_nothing_but_memory() {
    for hint in [0, 1, 100, 5000, usize::MAX] {
        let wal = Wal::sized(128 << 10);
        let memtable: Arc<dyn Memtable> = Arc::new(VecMemtable::new(wal.segment(), hint));
        let mut model = Model::default();
        for nth in 0..if cfg!(miri) { 30 } else { 2000u32 } {
            let key = nth.wrapping_mul(0x9e37_79b9).to_be_bytes();
            model.insert(wal.insert(&*memtable, &[(Put, &key, b"")]), (Put, &key, b""));
        }
        check(&memtable, &model, u64::MAX);
        check_sorted(&memtable, &model);
    }
}

/// Long keys that differ late, each a little later than the one before: a sort that recurses per difference would
/// not come back.
#[test]
fn keys_that_agree_for_long_are_sorted() {
    let wal = Wal::sized(16 << 20);
    let memtable: Arc<dyn Memtable> = Arc::new(VecMemtable::new(wal.segment(), 0));
    let mut model = Model::default();
    let count = if cfg!(miri) { 8 } else { 800 };
    for nth in 0..count {
        let nth = nth * 7 % count;
        let mut key = vec![b'a'; nth * 16];
        key.push(if nth % 2 == 0 { b'b' } else { b'A' });
        model.insert(wal.insert(&*memtable, &[(Put, &key, b"")]), (Put, &key, b""));
    }
    check_sorted(&memtable, &model);
    check(&memtable, &model, u64::MAX);
}

#[test]
fn scans_share_what_they_sort() {
    let wal = Wal::sized(1 << 20);
    let memtable = Arc::new(VecMemtable::new(wal.segment(), 0));
    let count = 3000u32;
    for nth in 0..count {
        wal.insert(&*memtable, &[(Put, &nth.wrapping_mul(0x9e37_79b9).to_be_bytes(), b"")]);
    }
    let before = memtable.index_bytes();
    for _ in 0..3 {
        let mut cursor = Arc::clone(&memtable).cursor(u64::MAX);
        cursor.seek_to_first().unwrap();
        assert_eq!(memtable.index_bytes() - before, count as usize * 16);
    }
    // One write more, and the scan after it sorts one.
    wal.insert(&*memtable, &[(Put, b"one", b"")]);
    let _cursor = Arc::clone(&memtable).cursor(u64::MAX);
    assert_eq!(memtable.index_bytes() - before, count as usize * 16 + 16);
}
