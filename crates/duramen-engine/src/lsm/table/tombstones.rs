//! The chunk of a table's deleted ranges.
//!
//! ```text
//! ranges   n | (seq | start | end) * n            numbers are varints, start and end length-prefixed bytes
//! ```

use crate::lsm::cursor::RangeTombstone;
use crate::sstable::wire::{Malformed, Reader, put_bytes, put_varint};

pub(super) fn encode(ranges: &[RangeTombstone]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, ranges.len() as u64);
    for range in ranges {
        put_varint(&mut out, range.seq);
        put_bytes(&mut out, &range.start);
        put_bytes(&mut out, &range.end);
    }
    out
}

pub(super) fn decode(bytes: &[u8]) -> Result<Vec<RangeTombstone>, Malformed> {
    let mut reader = Reader::new(bytes);
    let mut ranges = Vec::new();
    for _ in 0..reader.varint()? {
        let seq = reader.varint()?;
        let (start, end) = (reader.bytes()?.to_vec(), reader.bytes()?.to_vec());
        if start >= end {
            return Err("a deleted range that ends before it begins");
        }
        ranges.push(RangeTombstone { start, end, seq });
    }
    if reader.rest().is_empty() { Ok(ranges) } else { Err("bytes after the last deleted range") }
}
