//! A memtable over a segment that was recovered: its sequence numbers begin anywhere, and where bytes were damaged, ops
//! are missing.

use super::arena::{Model, Write, check, check_sorted, get};
use super::*;
use crate::io::sim::Sim;
use crate::kv::{OpKind, Ops, put_op};
use crate::wal::{Background, Wal, WalOptions, WalRecoveryMode, WriteOptions, recover};
use std::path::Path;

const RECORDS: u64 = if cfg!(miri) { 12 } else { 200 };

/// Record `nth`: two puts, a deletion, a deleted range.
fn ops_of(nth: u64) -> Vec<(OpKind, Vec<u8>, Vec<u8>)> {
    let key = |n: u64| format!("key/{:03}", n % 61).into_bytes();
    vec![
        (OpKind::Put, key(nth * 7), nth.to_le_bytes().to_vec()),
        (OpKind::Put, key(nth * 11 + 3), b"second".to_vec()),
        (OpKind::Delete, key(nth * 13), vec![]),
        (OpKind::DeleteRange, key(nth), key(nth + 5)),
    ]
}

pub(super) fn what_was_recovered_around_damage_is_indexed(make: Make) {
    let sim = Sim::new(3);
    let env = sim.env();
    let options = WalOptions { background: Background::Manual, first_seq: 1000, ..WalOptions::default() };
    let wal = Wal::create(&env, Path::new("/wal"), options).unwrap();
    let mut places = Vec::new();
    for nth in 0..RECORDS {
        let mut bytes = Vec::new();
        ops_of(nth).iter().for_each(|(kind, key, value)| put_op(&mut bytes, *kind, key, value));
        places.push(wal.append_located(0, 4, &bytes, WriteOptions::default()).unwrap().payload_offset);
    }
    wal.sync().unwrap();
    let dir = wal.writer_dir().unwrap().to_path_buf();
    let path = wal.live_segments()[0].path().unwrap().to_path_buf();
    drop(wal);
    sim.crash_process();
    let damaged = [RECORDS / 4, RECORDS / 4 + 1, RECORDS / 2];
    for nth in damaged {
        sim.flip_bit(&path, (u64::from(places[nth as usize]) + 2) * 8).unwrap();
    }

    let recovered = recover(&sim.env(), &dir, WalRecoveryMode::SkipAnyCorrupted).unwrap();
    assert!(!recovered.damage.is_empty());
    let [segment] = &recovered.segments[..] else { panic!("one segment") };
    let memtable = make(Arc::clone(&segment.reader));
    for record in segment.records() {
        for (seq, (at, op)) in (record.seq..).zip(Ops::new(record.payload)) {
            memtable.insert(seq, record.payload_offset + at as u32, &op);
        }
    }

    let mut model = Model::default();
    for nth in (0..RECORDS).filter(|nth| !damaged.contains(nth)) {
        for (seq, (kind, key, value)) in (1000 + nth * 4..).zip(&ops_of(nth)) {
            let write: Write<'_> = (*kind, key, value);
            model.insert(seq, write);
        }
    }
    check_sorted(&memtable, &model);
    for nth in [0, 1, RECORDS / 4, RECORDS / 4 + 2, RECORDS / 2 + 1, RECORDS] {
        for seq in 998 + nth * 4..1003 + nth * 4 {
            // Deleted ranges are listed whatever the sequence number is.
            check(&memtable, &model, seq);
            let key = b"key/021";
            assert_eq!(get(&*memtable, key, seq), model.get(key, seq));
        }
    }
}
