//! What the fuzz targets need of what is private. Only with the feature `fuzzing`, and no part of the API.

#![allow(dead_code)] // compiled with the tests too, so that it stays right

use crate::io::Env;
use crate::kv::{Ops, WriteBatch};
use crate::lsm::{Compression, table_fuzzing};
use std::path::Path;

/// One write of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchOp {
    /// 0 a deletion, 1 a put, 2 the deletion of a range.
    pub kind: u8,
    /// The key, or where the range starts.
    pub key: Vec<u8>,
    /// The value, or where the range ends.
    pub value: Vec<u8>,
}

/// The ops in the payload of a WAL record, as far as it makes sense.
pub fn batch_ops(payload: &[u8]) -> Vec<BatchOp> {
    let ops = Ops::new(payload);
    ops.map(|(_, op)| BatchOp { kind: op.kind as u8, key: op.key.to_vec(), value: op.value.to_vec() })
        .collect()
}

/// The payload of the WAL record that a batch becomes.
pub fn batch_bytes(batch: &WriteBatch) -> &[u8] {
    batch.encoded()
}

/// Opens a table of the LSM tree, and reads all of it both ways.
pub fn read_lsm_table(env: &Env, path: &Path, probe: &[u8]) {
    table_fuzzing::read_table(env, path, probe);
}

/// Writes such a table.
///
/// # Errors
/// [`crate::Error::Io`].
pub fn write_lsm_table(env: &Env, path: &Path, keys: u32, compression: Compression) -> crate::Result<()> {
    table_fuzzing::write_table(env, path, keys, compression)
}

/// Reads and searches the payload of a data chunk of such a table.
pub fn read_lsm_block(payload: &[u8], key: &[u8], seq: u64) {
    table_fuzzing::read_block(payload, key, seq);
}

/// The payload of a data chunk.
pub fn lsm_block_seed(rows: u32, interval: u16) -> Vec<u8> {
    table_fuzzing::block_seed(rows, interval)
}

/// Reads and searches the directory of a partition whose data chunks take `data_bytes`.
pub fn read_lsm_directory(bytes: &[u8], data_bytes: u64, key: &[u8], seq: u64) {
    table_fuzzing::read_directory(bytes, data_bytes, key, seq);
}

/// Reads a chunk of deleted ranges.
pub fn read_lsm_ranges(bytes: &[u8]) {
    table_fuzzing::read_ranges(bytes);
}

/// The bytes of a directory of this many chunks of 100 bytes, and of a chunk of deleted ranges.
pub fn lsm_directory_and_ranges_seeds(chunks: u32) -> (Vec<u8>, Vec<u8>) {
    table_fuzzing::small_seeds(chunks)
}
