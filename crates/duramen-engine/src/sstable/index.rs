//! The two chunks of the table's own: the index and the properties.
//!
//! ```text
//! index       count | block * count
//! block       bytes | entries | min_key | max_key | directory | filters | handle * filters | user
//! handle      distance of its payload from the block's first frame | length of its payload
//! properties  count | (name | value) * count, names ascending
//! ```
//!
//! Numbers are varints, `filters` is a byte, keys, `user`, names and values are length-prefixed bytes.
//! Block 0 starts after the file's header, every other where the one before it ends: `bytes` is enough.
//! Filters lie in their block, or behind all blocks, those of all blocks side by side.

use super::format::{FRAME_BYTES, HEADER_BYTES};
use super::wire::{Malformed, Reader, put_bytes, put_varint};
use super::{BlockMeta, ChunkHandle};
use std::collections::BTreeMap;

/// A block in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Index {
    /// What is known of each block.
    pub(super) blocks: Vec<BlockMeta>,
    /// Where each block's last frame ends.
    pub(super) ends: Vec<u64>,
}

impl Index {
    /// Where a block's first frame starts.
    pub(super) fn start(&self, block: usize) -> u64 {
        match block.checked_sub(1) {
            Some(before) => self.ends.get(before).copied().unwrap_or(HEADER_BYTES as u64),
            None => HEADER_BYTES as u64,
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.blocks.len() as u64);
        for (i, (block, end)) in self.blocks.iter().zip(&self.ends).enumerate() {
            let start = self.start(i);
            put_varint(&mut out, end - start);
            put_varint(&mut out, block.entries);
            put_bytes(&mut out, &block.min_key);
            put_bytes(&mut out, &block.max_key);
            put_handle(&mut out, start, block.directory);
            out.push(block.filters.len() as u8);
            block.filters.iter().for_each(|&filter| put_handle(&mut out, start, filter));
            put_bytes(&mut out, &block.user);
        }
        out
    }

    /// Decodes an index whose chunks end at `chunks_end`. Whatever it accepts is consistent: blocks follow
    /// each other within the file, keys are in order, handles lie inside their blocks, those of filters there or behind.
    pub(super) fn decode(bytes: &[u8], chunks_end: u64) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let count = reader.varint()?;
        let mut index = Self { blocks: Vec::new(), ends: Vec::new() };
        let mut start = HEADER_BYTES as u64;
        for _ in 0..count {
            let end = start.checked_add(reader.varint()?).filter(|&end| end <= chunks_end);
            let end = end.ok_or("a block reaches past the chunks")?;
            let block = read_block(&mut reader, start, end, chunks_end)?;
            if index.blocks.last().is_some_and(|before: &BlockMeta| before.min_key > block.min_key) {
                return Err("blocks are not in order of their keys");
            }
            index.blocks.push(block);
            index.ends.push(end);
            start = end;
        }
        if reader.rest().is_empty() { Ok(index) } else { Err("bytes after the last block") }
    }
}

fn read_block(
    reader: &mut Reader<'_>,
    start: u64,
    end: u64,
    chunks_end: u64,
) -> Result<BlockMeta, Malformed> {
    let entries = reader.varint()?;
    let min_key = reader.bytes()?.to_vec();
    let max_key = reader.bytes()?.to_vec();
    let directory = read_handle(reader, start, end)?;
    let filters =
        (0..reader.u8()?).map(|_| read_handle(reader, start, chunks_end)).collect::<Result<_, _>>()?;
    let user = reader.bytes()?.to_vec();
    if entries == 0 || min_key > max_key {
        return Err("a block without entries, or with its keys the wrong way round");
    }
    Ok(BlockMeta { min_key, max_key, entries, directory, filters, user })
}

fn put_handle(out: &mut Vec<u8>, start: u64, handle: ChunkHandle) {
    put_varint(out, handle.offset - start);
    put_varint(out, u64::from(handle.len));
}

fn read_handle(reader: &mut Reader<'_>, start: u64, end: u64) -> Result<ChunkHandle, Malformed> {
    let offset = start.checked_add(reader.varint()?).ok_or("an offset over 64 bits")?;
    let handle = ChunkHandle { offset, len: reader.varint_u32()? };
    if offset >= start + FRAME_BYTES as u64 && handle.end().is_some_and(|e| e <= end) {
        Ok(handle)
    } else {
        Err("a chunk outside its block")
    }
}

/// Encodes the properties.
pub(super) fn encode_properties(properties: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, properties.len() as u64);
    for (name, value) in properties {
        put_bytes(&mut out, name.as_bytes());
        put_bytes(&mut out, value);
    }
    out
}

/// Decodes the properties.
pub(super) fn decode_properties(bytes: &[u8]) -> Result<BTreeMap<String, Vec<u8>>, Malformed> {
    let mut reader = Reader::new(bytes);
    let mut properties = BTreeMap::new();
    for _ in 0..reader.varint()? {
        let name = str::from_utf8(reader.bytes()?).map_err(|_| "a name that is not UTF-8")?;
        let value = reader.bytes()?;
        if properties.last_key_value().is_some_and(|(last, _): (&String, _)| last.as_str() >= name) {
            return Err("properties are not in order of their names");
        }
        properties.insert(name.to_owned(), value.to_vec());
    }
    if reader.rest().is_empty() { Ok(properties) } else { Err("bytes after the last property") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some_index() -> Index {
        let block = |min: &[u8], max: &[u8], offset, filters| BlockMeta {
            min_key: min.to_vec(),
            max_key: max.to_vec(),
            entries: 3,
            directory: ChunkHandle { offset, len: 5 },
            filters,
            user: b"user".to_vec(),
        };
        let filters = vec![ChunkHandle { offset: 118, len: 3 }, ChunkHandle { offset: 129, len: 4 }];
        Index {
            blocks: vec![block(b"a", b"c", 40, vec![]), block(b"c", b"d", 110, filters)],
            ends: vec![90, 140],
        }
    }

    #[test]
    fn an_index_comes_back_as_it_went() {
        let index = some_index();
        assert_eq!(Index::decode(&index.encode(), 140).unwrap(), index);
        assert!(Index::decode(&index.encode(), 139).is_err(), "the last block does not fit");
    }

    #[test]
    fn filters_may_lie_behind_their_block_and_before_the_index_alone() {
        let with = |filter, directory| {
            let mut index = some_index();
            index.blocks[0].filters = vec![filter];
            index.blocks[0].directory = directory;
            Index::decode(&index.encode(), 200).is_ok_and(|read| read == index)
        };
        let (inside, behind) = (ChunkHandle { offset: 40, len: 5 }, ChunkHandle { offset: 190, len: 10 });
        assert!(with(inside, inside) && with(behind, inside));
        assert!(!with(ChunkHandle { len: 11, ..behind }, inside), "in the index");
        assert!(!with(ChunkHandle { offset: 27, ..inside }, inside), "its frame begins before the block");
        assert!(!with(inside, behind), "no directory does");
    }

    proptest! {
        #[test]
        fn decoding_is_total(mut bytes in prop::collection::vec(any::<u8>(), 0..200), at in any::<usize>(), flip in 1u8..) {
            let _ = Index::decode(&bytes, 1000);
            let _ = decode_properties(&bytes);
            bytes = some_index().encode();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            if let Ok(index) = Index::decode(&bytes, 140) {
                prop_assert_eq!(index.encode().len(), bytes.len());
            }
        }

        #[test]
        fn properties_come_back(properties in prop::collection::btree_map(".{0,8}", prop::collection::vec(any::<u8>(), 0..20), 0..8)) {
            prop_assert_eq!(decode_properties(&encode_properties(&properties)), Ok(properties));
        }
    }
}
