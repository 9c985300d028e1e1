//! A segment without a file, and what is written into it.

use super::super::*;
use crate::io::sim::Sim;
use crate::kv::{Op, OpKind, Ops, put_op};
use crate::wal::{self, Background, Durability, WalKind, WalOptions, WriteOptions};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

pub(in crate::lsm::memtable) type Write<'a> = (OpKind, &'a [u8], &'a [u8]);

/// A log in memory: its first segment is the arena.
pub(in crate::lsm::memtable) struct Wal {
    wal: wal::Wal,
}

impl Wal {
    pub(in crate::lsm::memtable) fn sized(bytes: usize) -> Self {
        let bytes = if cfg!(miri) { bytes.min(128 << 10) } else { bytes };
        let options = WalOptions {
            wal_kind: WalKind::None,
            durability: Durability::None,
            background: Background::Manual,
            write_buffer_size: bytes.max(64 << 10),
            first_segment_bytes: bytes,
            idle_segment_bytes: bytes,
            ..WalOptions::default()
        };
        Self { wal: wal::Wal::create(&Sim::new(1).env(), Path::new("/wal"), options).unwrap() }
    }

    pub(in crate::lsm::memtable) fn segment(&self) -> Arc<SegmentReader> {
        Arc::clone(&self.wal.live_segments()[0])
    }

    /// Appends a record of encoded ops: its sequence number, and where its payload is.
    pub(in crate::lsm::memtable) fn append_bytes(&self, count: u32, bytes: &[u8]) -> (u64, u32) {
        let at = self.wal.append_located(0, count, bytes, WriteOptions::default()).unwrap();
        assert_eq!(at.segment, 1, "the test's segment is full");
        (at.first_seq, at.payload_offset)
    }

    /// Appends a batch: each write's sequence number and offset.
    pub(in crate::lsm::memtable) fn append(&self, writes: &[Write<'_>]) -> Vec<(u64, u32)> {
        let mut bytes = Vec::new();
        writes.iter().for_each(|(kind, key, value)| put_op(&mut bytes, *kind, key, value));
        let (first_seq, offset) = self.append_bytes(writes.len() as u32, &bytes);
        let ops = Ops::new(&bytes);
        (first_seq..).zip(ops).map(|(seq, (at, _))| (seq, offset + at as u32)).collect()
    }

    /// Appends a batch, and inserts it. The last sequence number.
    pub(in crate::lsm::memtable) fn insert(&self, memtable: &dyn Memtable, writes: &[Write<'_>]) -> u64 {
        let places = self.append(writes);
        for ((seq, offset), (kind, key, value)) in places.iter().zip(writes) {
            memtable.insert(*seq, *offset, &Op { kind: *kind, key, value });
        }
        places.last().unwrap().0
    }
}

/// A version: key, sequence number, kind, value.
pub(super) type Version = (Vec<u8>, u64, OpKind, Vec<u8>);

type At = (Vec<u8>, Reverse<u64>);
type What = (OpKind, Vec<u8>);

/// What a memtable is to be.
#[derive(Clone, Default)]
pub(super) struct Model {
    versions: BTreeMap<At, What>,
    pub(super) ranges: Vec<RangeTombstone>,
}

impl Model {
    pub(super) fn insert(&mut self, seq: u64, (kind, key, value): Write<'_>) {
        if kind == OpKind::DeleteRange {
            self.ranges.push(RangeTombstone { start: key.to_vec(), end: value.to_vec(), seq });
        } else {
            self.versions.insert((key.to_vec(), Reverse(seq)), (kind, value.to_vec()));
        }
    }

    pub(super) fn get(&self, key: &[u8], seq: u64) -> Option<Version> {
        let mut found = self.versions.range((key.to_vec(), Reverse(seq))..);
        found.next().filter(|((k, _), _)| k == key).map(version)
    }

    /// All that is not newer than `seq`.
    pub(super) fn seen(&self, seq: u64) -> Vec<Version> {
        self.versions.iter().filter(|((_, Reverse(s)), _)| *s <= seq).map(version).collect()
    }
}

fn version(((key, Reverse(seq)), (kind, value)): (&At, &What)) -> Version {
    (key.clone(), *seq, *kind, value.clone())
}

/// What the cursor is at.
pub(super) fn at(cursor: &dyn Cursor) -> Option<Version> {
    cursor.valid().then(|| (cursor.key().to_vec(), cursor.seq(), cursor.kind(), cursor.value().to_vec()))
}

/// All from where the cursor is, on.
pub(super) fn rest(cursor: &mut dyn Cursor) -> Vec<Version> {
    let mut all = Vec::new();
    while let Some(version) = at(cursor) {
        all.push(version);
        cursor.next().unwrap();
    }
    all
}

/// All from where the cursor is, back.
pub(super) fn rest_back(cursor: &mut dyn Cursor) -> Vec<Version> {
    let mut all = Vec::new();
    while let Some(version) = at(cursor) {
        all.push(version);
        cursor.prev().unwrap();
    }
    all
}

pub(super) fn get(memtable: &dyn Memtable, key: &[u8], seq: u64) -> Option<Version> {
    let found = memtable.get(key, xxh3_64(key), seq)?;
    Some((key.to_vec(), found.seq, found.kind, found.value(memtable.segment()).to_vec()))
}

/// Everything that a memtable says, against the model: at `seq`, and for the flush.
pub(super) fn check(memtable: &Arc<dyn Memtable>, model: &Model, seq: u64) {
    let expected = model.seen(seq);
    let mut cursor = Arc::clone(memtable).cursor(seq);
    assert!(!cursor.valid());
    cursor.seek_to_first().unwrap();
    assert_eq!(rest(&mut *cursor), expected, "forward");
    cursor.seek_to_last().unwrap();
    let mut backward = rest_back(&mut *cursor);
    backward.reverse();
    assert_eq!(backward, expected, "backward");
    assert_eq!(*memtable.range_tombstones(), *model.ranges);
    assert_eq!(memtable.range_tombstone_count(), model.ranges.len());
    assert_eq!(memtable.len(), model.versions.len() + model.ranges.len());
}

pub(super) fn check_sorted(memtable: &Arc<dyn Memtable>, model: &Model) {
    let sorted = Arc::clone(memtable).sorted();
    let all: Vec<Version> =
        sorted.iter().map(|e| (e.key.to_vec(), e.seq, e.kind, e.value.to_vec())).collect();
    assert_eq!(all, model.seen(u64::MAX), "sorted");
    assert_eq!(sorted.iter().count(), all.len());
}
