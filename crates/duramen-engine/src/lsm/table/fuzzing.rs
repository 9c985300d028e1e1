//! [`crate::fuzzing`]'s way to what is private to tables.

#![allow(dead_code)] // compiled with the tests too, so that it stays right

use super::cache::BlockCache;
use super::directory::Directory;
use super::{TableOptions, TableReader, TableWriter, compress, tombstones};
use crate::io::Env;
use crate::kv::{OpKind, Run, shared_len};
use crate::lsm::cursor::{Cursor, RangeTombstone};
use crate::lsm::{Compression, LsmOptions};
use std::path::Path;
use std::sync::Arc;

/// A version of a key.
type Version = (Vec<u8>, u64, OpKind, Vec<u8>);

/// Opens a table and reads all of it, both ways, and what it says of some keys.
pub(crate) fn read_table(env: &Env, path: &Path, probe: &[u8]) {
    let cache = Arc::new(BlockCache::new(1 << 16));
    let Ok(table) = TableReader::open(env, path, &cache) else { return };
    let _any = (table.range_tombstones(), table.memory_bytes());
    let mut cursor = table.cursor(true);
    let forward = walk(&mut cursor, |cursor| cursor.seek_to_first(), |cursor| cursor.next());
    let backward = walk(&mut cursor, |cursor| cursor.seek_to_last(), |cursor| cursor.prev());
    for key in forward.iter().chain(&backward).map(|version| version.0.as_slice()).take(64).chain([probe]) {
        let hash = xxhash_rust::xxh3::xxh3_64(key);
        for seq in [0, 7, u64::MAX] {
            let _any = (table.get(key, hash, seq), table.may_contain(key, hash));
            if cursor.seek(key, seq).is_ok() && cursor.valid() {
                let _any = (cursor.prev(), cursor.valid());
            }
            if cursor.seek_before(key, seq).is_ok() && cursor.valid() {
                let _any = (cursor.next(), cursor.valid());
            }
        }
    }
    let _any = table.damage();
}

fn walk<C: Cursor>(
    cursor: &mut C,
    first: impl Fn(&mut C) -> crate::Result<()>,
    next: impl Fn(&mut C) -> crate::Result<()>,
) -> Vec<Version> {
    let mut versions = Vec::new();
    let mut went = first(cursor);
    while went.is_ok() && cursor.valid() {
        versions.push((cursor.key().to_vec(), cursor.seq(), cursor.kind(), cursor.value().to_vec()));
        went = next(cursor);
    }
    versions
}

/// Reads the payload of a data chunk, and searches it.
pub(crate) fn read_block(payload: &[u8], key: &[u8], seq: u64) {
    let Ok(block) = compress::open(payload.into(), 0..payload.len(), None) else { return };
    if let Ok(Some(found)) = block.find(key, seq) {
        assert!(block.bytes().get(found.position.value).is_some());
        assert!(block.bytes().get(found.unshared).is_some());
    }
    let mut row_key = Vec::new();
    let restarts = block.count().div_ceil(block.interval());
    for restart in 0..restarts.min(64) {
        let Ok(mut row) = block.read_restart(restart, &mut row_key) else { continue };
        for below in [None, Some(key)] {
            let (mut at, mut key, mut run) = (row.clone(), row_key.clone(), Run::default());
            block.take_run(&mut at, &mut key, seq, below, &mut run);
            while let Some(nth) = run.step() {
                if nth + 1 == run.len() {
                    assert!(run.entry(nth) == (&key, &block.bytes()[at.value.clone()]));
                }
            }
        }
        while row.n + 1 < block.count() {
            let next = block.read_row(row.n + 1, row.next_row, row.value.end, &mut row_key);
            let Ok(next) = next else { break };
            assert!(next.next_row > row.next_row && block.bytes().get(next.value.clone()).is_some());
            row = next;
        }
    }
}

/// Reads the directory of a partition, and searches it.
pub(crate) fn read_directory(bytes: &[u8], data_bytes: u64, key: &[u8], seq: u64) {
    let Ok(directory) = Directory::decode(bytes, data_bytes) else { return };
    assert!(directory.find(key, seq) <= directory.len());
    for chunk in 0..directory.len() {
        let frame = directory.frame(chunk);
        assert!(frame.is_some_and(|frame| frame.start < frame.end && u64::from(frame.end) <= data_bytes));
    }
    assert!(directory.frame(directory.len()).is_none());
}

/// Reads a chunk of deleted ranges; what makes sense comes back.
pub(crate) fn read_ranges(bytes: &[u8]) {
    if let Ok(ranges) = tombstones::decode(bytes) {
        assert_eq!(tombstones::decode(&tombstones::encode(&ranges)).as_ref(), Ok(&ranges));
    }
}

/// A data chunk's payload with this many rows.
pub(crate) fn block_seed(rows: u32, interval: u16) -> Vec<u8> {
    let mut encoder = super::block::BlockEncoder::new(interval);
    let mut before = Vec::new();
    for n in 0..rows {
        let key = format!("user:{:05}", n / 2 * 3).into_bytes();
        let shared = shared_len(&before, &key);
        let kind = if n % 5 == 3 { OpKind::Delete } else { OpKind::Put };
        encoder.add((&key, shared), (1000 - u64::from(n), kind), b"value");
        before = key;
    }
    let mut out = Vec::new();
    encoder.finish(&mut out);
    compress::end_plain(&mut out);
    out
}

/// Writes a table of several partitions with this many keys, two versions each, and deleted ranges.
pub(crate) fn write_table(env: &Env, path: &Path, keys: u32, compression: Compression) -> crate::Result<()> {
    let options = LsmOptions { compression, block_size: 256, ..LsmOptions::default() };
    let options = TableOptions { partition_bytes: 600, ..TableOptions::from(&options) };
    let mut writer = TableWriter::create(env, path, &options)?;
    for n in 0..keys {
        let key = format!("user:{n:05}").into_bytes();
        writer.add(&key, 1000 + u64::from(n), OpKind::Put, b"the newer value of this key")?;
        writer.add(&key, 10, if n % 3 == 0 { OpKind::Delete } else { OpKind::Put }, b"")?;
    }
    for seq in [5, 900] {
        let (start, end) = (b"user:00003".to_vec(), format!("user:{seq:05}").into_bytes());
        writer.add_range_tombstone(&RangeTombstone { start, end, seq })?;
    }
    writer.finish().map(drop)
}

/// The bytes of a directory of this many chunks, and of a chunk of ranges.
pub(crate) fn small_seeds(chunks: u32) -> (Vec<u8>, Vec<u8>) {
    let mut encoder = super::directory::DirectoryEncoder::default();
    for n in 1..=chunks {
        encoder.push(n * 100, format!("key {n}").as_bytes(), u64::from(n));
    }
    let mut directory = Vec::new();
    encoder.finish(&mut directory);
    let range = |seq| RangeTombstone { start: b"a".to_vec(), end: b"b".to_vec(), seq };
    (directory, tombstones::encode(&[range(1), range(300)]))
}
