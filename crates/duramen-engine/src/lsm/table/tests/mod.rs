//! Tables against a sorted list of versions.

mod caching;
mod damage;
mod faults;
mod layout;
mod model;
mod opening;

use super::cache::BlockCache;
use super::{TableOptions, TableReader, TableWriter};
use crate::io::Env;
use crate::kv::OpKind;
use crate::lsm::cursor::Cursor;
use crate::lsm::{Compression, LsmOptions};
use std::path::Path;
use std::sync::Arc;

/// A version: key, sequence number, kind, value.
type Version = (Vec<u8>, u64, OpKind, Vec<u8>);

const PATH: &str = "t.sst";

fn small() -> TableOptions {
    let options = TableOptions::from(&LsmOptions::default());
    TableOptions { block_size: 256, partition_bytes: 2048, compression: NO_COMPRESSION, ..options }
}

fn write(env: &Env, options: &TableOptions, versions: &[Version]) -> super::TableSummary {
    let mut writer = TableWriter::create(env, Path::new(PATH), options).unwrap();
    for (key, seq, kind, value) in versions {
        writer.add(key, *seq, *kind, value).unwrap();
    }
    writer.finish().unwrap()
}

fn open(env: &Env, cache_bytes: usize) -> Arc<TableReader> {
    let cache = Arc::new(BlockCache::new(cache_bytes));
    TableReader::open(env, Path::new(PATH), &cache).unwrap()
}

fn hash(key: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(key)
}

fn at(cursor: &impl Cursor) -> Option<Version> {
    cursor.valid().then(|| (cursor.key().to_vec(), cursor.seq(), cursor.kind(), cursor.value().to_vec()))
}

/// Many keys that look like those of users.
fn plain_versions(n: u64) -> Vec<Version> {
    (0..n)
        .map(|i| {
            let value = format!("value {i} ").repeat(1 + (i % 3) as usize).into_bytes();
            (format!("user:{:08}", i * 7).into_bytes(), 1000 + (i * 37) % 5000, OpKind::Put, value)
        })
        .collect()
}

const NO_COMPRESSION: Compression = Compression::None;
