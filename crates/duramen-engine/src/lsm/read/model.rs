//! Random histories and what readers of them must see, for tests.

use super::{Coverage, MergeCursor, RangeTombstones, VecCursor, View, scan};
use crate::Result;
use crate::kv::{OpKind, Scan};
use crate::lsm::cursor::{Cursor, RangeTombstone};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

pub(crate) type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// Something that was written.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) kind: OpKind,
    pub(crate) key: Vec<u8>,
    /// Where a deleted range ends.
    pub(crate) end: Vec<u8>,
}

/// Keys that often collide, some longer than what is compared as a number.
pub(crate) fn any_key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => prop::collection::vec(0..3u8, 0..3),
        1 => (0..2u8).prop_map(|last| [vec![b'x'; 20], vec![last]].concat()),
        1 => (0..2u8).prop_map(|last| [vec![1; 40], vec![last], vec![2; 20]].concat()),
    ]
}

/// A history: the first write has sequence number 1. `ranges` out of 10 delete a range.
pub(crate) fn any_history(ranges: u32, len: usize) -> impl Strategy<Value = Vec<Write>> {
    let kind = prop_oneof![
        7 - ranges.min(6) => Just(OpKind::Put),
        3 => Just(OpKind::Delete),
        ranges => Just(OpKind::DeleteRange),
    ];
    let write = (kind, any_key(), any_key()).prop_map(|(kind, key, end)| Write { kind, key, end });
    prop::collection::vec(write, 0..len)
}

pub(crate) fn value_of(seq: u64) -> Vec<u8> {
    format!("value {seq}").into_bytes()
}

/// What a reader at `seq` sees.
pub(crate) fn read_at(history: &[Write], seq: u64) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut entries = BTreeMap::new();
    for (write, seq) in history.iter().zip(1..=seq) {
        match write.kind {
            OpKind::Put => {
                entries.insert(write.key.clone(), value_of(seq));
            }
            OpKind::Delete => {
                entries.remove(&write.key);
            }
            OpKind::DeleteRange => entries.retain(|key, _| *key < write.key || *key >= write.end),
        }
    }
    entries
}

/// A part of a history, as a memtable or table has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    pub(crate) versions: Vec<(Vec<u8>, u64, OpKind, Vec<u8>)>,
    pub(crate) tombstones: Vec<RangeTombstone>,
}

impl Source {
    /// Of the writes that come after the first `skip`.
    pub(crate) fn new(writes: &[Write], skip: usize) -> Self {
        let mut source = Self::default();
        for (write, seq) in writes.iter().zip(skip as u64 + 1..) {
            let key = write.key.clone();
            match write.kind {
                OpKind::DeleteRange => {
                    let end = write.end.clone();
                    source.tombstones.push(RangeTombstone { start: key, end, seq });
                }
                OpKind::Put => source.versions.push((key, seq, write.kind, value_of(seq))),
                OpKind::Delete => source.versions.push((key, seq, write.kind, Vec::new())),
            }
        }
        source
    }

    pub(crate) fn cursor(&self) -> VecCursor {
        VecCursor::new(self.versions.iter().cloned())
    }

    pub(crate) fn range_tombstones(&self) -> Arc<RangeTombstones> {
        Arc::new(RangeTombstones::new(&self.tombstones))
    }
}

/// Cuts a history at these places into sources, from the newest to the oldest.
pub(crate) fn cut(history: &[Write], mut cuts: Vec<prop::sample::Index>) -> Vec<Source> {
    cuts.truncate(6);
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(history.len() + 1)).collect();
    at.extend([0, history.len()]);
    at.sort_unstable();
    at.windows(2).rev().map(|ends| Source::new(&history[ends[0]..ends[1]], ends[0])).collect()
}

/// A scan of sources.
pub(crate) fn scan_at(
    sources: &[Source],
    (start, end): (Bound<&[u8]>, Bound<&[u8]>),
    seq: u64,
    reverse: bool,
) -> Result<Entries> {
    let cursor = MergeCursor::new(sources.iter().map(Source::cursor).collect());
    let tombstones = Coverage::new(sources.iter().map(Source::range_tombstones), seq);
    Scan::new(scan(cursor, start, end, View::new(seq, tombstones, reverse))).collect()
}

/// A move of a cursor.
#[derive(Clone, Debug)]
pub(crate) enum Move {
    First,
    Last,
    Seek(Vec<u8>, u64),
    SeekBefore(Vec<u8>, u64),
    Next,
    Prev,
}

pub(crate) fn any_moves(max_seq: u64) -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        1 => Just(Move::First),
        1 => Just(Move::Last),
        3 => (any_key(), 0..=max_seq).prop_map(|(key, seq)| Move::Seek(key, seq)),
        3 => (any_key(), 0..=max_seq).prop_map(|(key, seq)| Move::SeekBefore(key, seq)),
        12 => Just(Move::Next),
        12 => Just(Move::Prev),
    ];
    prop::collection::vec(one, 0..60)
}

pub(crate) fn make(cursor: &mut impl Cursor, step: &Move) -> Result<()> {
    match step {
        Move::First => cursor.seek_to_first(),
        Move::Last => cursor.seek_to_last(),
        Move::Seek(key, seq) => cursor.seek(key, *seq),
        Move::SeekBefore(key, seq) => cursor.seek_before(key, *seq),
        Move::Next if cursor.valid() => cursor.next(),
        Move::Prev if cursor.valid() => cursor.prev(),
        Move::Next | Move::Prev => Ok(()),
    }
}

/// Where a cursor is.
pub(crate) fn present(cursor: &impl Cursor) -> Option<(Vec<u8>, u64, OpKind, Vec<u8>)> {
    let there = || (cursor.key().to_vec(), cursor.seq(), cursor.kind(), cursor.value().to_vec());
    cursor.valid().then(there)
}

/// Makes the same moves with both and expects them to be in the same places throughout, then goes through all
/// of them both ways.
pub(crate) fn assert_same(cursor: &mut impl Cursor, model: &mut impl Cursor, moves: &[Move]) {
    assert!(!cursor.valid());
    let compare = |cursor: &mut _, model: &mut _, step: &Move| {
        make(cursor, step).unwrap();
        make(model, step).unwrap();
        assert_eq!(present(cursor), present(model), "after {step:?}");
    };
    for step in moves {
        compare(cursor, model, step);
    }
    for (start, step) in [(Move::First, Move::Next), (Move::Last, Move::Prev)] {
        compare(cursor, model, &start);
        while model.valid() {
            compare(cursor, model, &step);
        }
    }
}
