//! Facts about the whole table, by name: for tools that look into one, as text. Only where the deleted ranges lie is
//! for the reader: `range_tombstones`, offset u64 and length u32 of their chunk, little-endian.

use super::{CODEC_ID, TableOptions, TableSummary};
use crate::Result;
use crate::io::Env;
use crate::sstable::{ChunkHandle, Table, TableBuilder};
use std::collections::BTreeMap;
use std::path::Path;

pub(super) const RANGE_TOMBSTONES: &str = "range_tombstones";
/// Which table it is, whatever its file is called: 16 hexadecimal digits.
const ID: &str = "id";

pub(super) fn record(builder: &mut TableBuilder, options: &TableOptions, summary: &TableSummary) {
    let numbers = [
        ("block_restart_interval", u64::from(options.block_restart_interval)),
        ("block_size", options.block_size as u64),
        ("data_blocks", summary.blocks),
        ("deletes", summary.deletes),
        ("max_seq", summary.max_seq),
        ("min_seq", summary.min_seq),
        ("range_deletes", summary.range_deletes),
        ("raw_key_bytes", summary.raw_key_bytes),
        ("raw_value_bytes", summary.raw_value_bytes),
    ];
    for (name, number) in numbers {
        builder.set_property(name, number.to_string());
    }
    builder.set_property(ID, format!("{:016x}", summary.id));
    builder.set_property("compression", format!("{:?}", options.compression));
    builder.set_property("filter", if options.filter { "binary fuse, XXH3-64" } else { "none" });
}

/// Whether a file is a whole table, as its footer and index say; an error if that cannot be told.
///
/// # Errors
/// [`TooNew`](crate::Error::TooNew); [`Io`](crate::Error::Io).
pub(crate) fn is_whole(env: &Env, path: &Path) -> Result<bool> {
    match Table::open(env, path, CODEC_ID) {
        Ok(_) => Ok(true),
        Err(e) if e.is_corruption() || e.is_not_found() => Ok(false),
        Err(e) => Err(e),
    }
}

/// The number that no other table has; 0 if it does not say.
pub(crate) fn id_of(properties: &BTreeMap<String, Vec<u8>>) -> u64 {
    let text = properties.get(ID).and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.and_then(|text| u64::from_str_radix(text, 16).ok()).unwrap_or(0)
}

pub(super) fn encode_handle(handle: ChunkHandle) -> Vec<u8> {
    let mut bytes = handle.offset.to_le_bytes().to_vec();
    bytes.extend_from_slice(&handle.len.to_le_bytes());
    bytes
}

/// `None` if these are no handle.
pub(super) fn decode_handle(bytes: &[u8]) -> Option<ChunkHandle> {
    let (offset, len) = bytes.split_first_chunk::<8>()?;
    let len = u32::from_le_bytes(len.try_into().ok()?);
    Some(ChunkHandle { offset: u64::from_le_bytes(*offset), len })
}
