//! Facts about the whole table, by name: for tools that look into one, as text. Only where the deleted ranges lie is
//! for the reader: `range_tombstones`, offset u64 and length u32 of their chunk, little-endian.

use super::{CODEC_ID, TableOptions, TableSummary};
use crate::Result;
use crate::io::Env;
use crate::sstable::{ChunkHandle, Table, TableBuilder};
use std::collections::BTreeMap;
use std::path::Path;

pub(super) const RANGE_TOMBSTONES: &str = "range_tombstones";
/// The WAL segment that it was made of, as its path below `wal/`, but for the name's zeros; `none` if that had no file.
pub(super) const WAL_SEGMENT: &str = "wal_segment";
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

/// What a table was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MadeOf {
    /// A WAL segment: writer and number.
    Segment(u64, u64),
    /// Writes that were in no file.
    NoFile,
    /// Tables, or entries that came sorted.
    Other,
}

impl MadeOf {
    /// What is recorded of it, if anything is.
    pub(super) fn text(self) -> Option<String> {
        match self {
            Self::Segment(writer, number) => Some(format!("{writer:016x}/{number}")),
            Self::NoFile => Some("none".into()),
            Self::Other => None,
        }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        if text == "none" {
            return Some(Self::NoFile);
        }
        let (writer, number) = text.split_once('/')?;
        Some(Self::Segment(u64::from_str_radix(writer, 16).ok()?, number.parse().ok()?))
    }
}

/// Where the rows of a table come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// The largest sequence number in it.
    pub(crate) last_seq: Option<u64>,
    pub(crate) made_of: MadeOf,
    /// The number that no other table has; 0 if it does not say.
    pub(crate) id: u64,
}

/// What a whole table says of where it comes from; `None` if its footer and index are not whole, an error if that cannot
/// be told.
///
/// # Errors
/// [`TooNew`](crate::Error::TooNew); [`Io`](crate::Error::Io).
pub(crate) fn origin_of(env: &Env, path: &Path) -> Result<Option<Origin>> {
    let table = match Table::open(env, path, CODEC_ID) {
        Ok(table) => table,
        Err(e) if e.is_corruption() || e.is_not_found() => return Ok(None),
        Err(e) => return Err(e),
    };
    let last_seq = table.property("max_seq").and_then(|bytes| std::str::from_utf8(bytes).ok()?.parse().ok());
    let made_of = table.property(WAL_SEGMENT).and_then(MadeOf::parse).unwrap_or(MadeOf::Other);
    let id = table.property(ID).map_or(0, parse_id);
    Ok(Some(Origin { last_seq, made_of, id }))
}

/// The number that no other table has; 0 if it does not say.
pub(crate) fn id_of(properties: &BTreeMap<String, Vec<u8>>) -> u64 {
    properties.get(ID).map_or(0, |bytes| parse_id(bytes))
}

fn parse_id(bytes: &[u8]) -> u64 {
    std::str::from_utf8(bytes).ok().and_then(|text| u64::from_str_radix(text, 16).ok()).unwrap_or(0)
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
