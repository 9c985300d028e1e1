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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_come_back_and_damage_is_no_panic(
            ends in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..6), prop::collection::vec(any::<u8>(), 0..6), any::<u64>()), 0..8),
            at in any::<prop::sample::Index>(), flip in 1u8.., random in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let ranges: Vec<_> = ends
                .into_iter()
                .filter(|(start, end, _)| start < end)
                .map(|(start, end, seq)| RangeTombstone { start, end, seq })
                .collect();
            let mut bytes = encode(&ranges);
            prop_assert_eq!(decode(&bytes), Ok(ranges));
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            let _ = decode(&bytes);
            let _ = decode(&random);
        }
    }
}
