//! The directory of a partition: where its data chunks lie and which keys are in which.
//!
//! ```text
//! directory   n u32 | (chunk end u32 | key end u32) * n | keys          little-endian
//! chunk end   where the frame of a data chunk ends, from where the first one's frame starts
//! key         at or after the last key of the chunk, before the first of the next one; as short as can be
//! ```
//!
//! Where versions of one key lie on both sides, the key is that one, the top bit of its end is set, and its last eight
//! bytes are the sequence number of the last version before the next chunk.

use super::keys::{KeyIndex, Keys};
use crate::sstable::wire::Malformed;
use crate::sstable::{ChunkHandle, FRAME_BYTES};
use std::ops::Range;

/// Where the data chunks of a partition end: at its directory, or at its filter, which earlier builds wrote before that.
pub(super) fn data_end(directory: ChunkHandle, filter: Option<ChunkHandle>) -> u64 {
    let first = filter.map_or(directory.offset, |filter| filter.offset.min(directory.offset));
    first.saturating_sub(FRAME_BYTES as u64)
}

/// Takes the chunks of a partition as they are written.
#[derive(Debug, Default)]
pub(super) struct DirectoryEncoder {
    chunk_ends: Vec<u32>,
    keys: Keys,
}

impl DirectoryEncoder {
    pub(super) fn push(&mut self, chunk_end: u32, key: &[u8], seq: u64) {
        self.chunk_ends.push(chunk_end);
        self.keys.push(key, seq);
    }

    /// Appends the directory, and begins the next.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        let (bytes, key_ends) = self.keys.parts();
        out.extend_from_slice(&(key_ends.len() as u32).to_le_bytes());
        for (chunk_end, key_end) in self.chunk_ends.iter().zip(key_ends) {
            out.extend_from_slice(&chunk_end.to_le_bytes());
            out.extend_from_slice(&key_end.to_le_bytes());
        }
        out.extend_from_slice(bytes);
        self.chunk_ends.clear();
        self.keys.clear();
    }
}

/// A directory in memory.
#[derive(Debug)]
pub(super) struct Directory {
    chunk_ends: Box<[u32]>,
    keys: KeyIndex,
}

impl Directory {
    /// Of a partition whose data chunks fill at most `data_bytes`.
    pub(super) fn decode(bytes: &[u8], data_bytes: u64) -> Result<Self, Malformed> {
        let short = "a directory too short for its chunks";
        let (count, rest) = bytes.split_first_chunk::<4>().ok_or(short)?;
        let count = u32::from_le_bytes(*count) as usize;
        let entries = count.checked_mul(8).and_then(|len| rest.get(..len)).ok_or(short)?;
        let mut chunk_ends = Vec::with_capacity(count);
        let mut key_ends = Vec::with_capacity(count);
        let mut before = 0;
        for entry in entries.as_chunks::<8>().0 {
            let [c0, c1, c2, c3, k0, k1, k2, k3] = *entry;
            let end = u32::from_le_bytes([c0, c1, c2, c3]);
            if u64::from(end) <= before + FRAME_BYTES as u64 {
                return Err("a directory with a chunk that ends before it begins");
            }
            before = u64::from(end);
            chunk_ends.push(end);
            key_ends.push(u32::from_le_bytes([k0, k1, k2, k3]));
        }
        if count == 0 || before > data_bytes {
            return Err("a directory without chunks, or with chunks outside its partition");
        }
        let keys = KeyIndex::new(key_ends.into(), rest.get(entries.len()..).unwrap_or_default().into())?;
        Ok(Self { chunk_ends: chunk_ends.into(), keys })
    }

    /// How many data chunks there are: at least 1.
    pub(super) fn len(&self) -> usize {
        self.chunk_ends.len()
    }

    /// The chunk to look in for the first row at or after `key` in its version `seq`. If all its rows are before, that
    /// row is the next chunk's first. [`Directory::len`] if there is none.
    #[inline]
    pub(super) fn find(&self, key: &[u8], seq: u64) -> usize {
        self.keys.find(key, seq)
    }

    /// The same, and tells `near` beforehand about which chunk that may be.
    #[inline]
    pub(super) fn find_near(&self, key: &[u8], seq: u64, near: impl FnOnce(usize)) -> usize {
        self.keys.find_near(key, seq, near)
    }

    /// About how many 256ths into a chunk a key lies, if keys are spread evenly.
    #[inline]
    pub(super) fn part(&self, chunk: usize, key: &[u8]) -> u8 {
        self.keys.part(chunk, key)
    }

    /// Where the frame of a chunk lies, from where the first one's starts.
    #[inline]
    pub(super) fn frame(&self, chunk: usize) -> Option<Range<u32>> {
        let start = if chunk == 0 { 0 } else { *self.chunk_ends.get(chunk - 1)? };
        Some(start..*self.chunk_ends.get(chunk)?)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.chunk_ends.len() * 4 + self.keys.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
        #[test]
        fn a_directory_comes_back_and_damage_is_no_panic(
            keys in prop::collection::btree_set(prop::collection::vec(0u8..3, 0..4), 1..12), seq in 0u64..2,
            at in any::<prop::sample::Index>(), flip in 1u8.., random in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let mut encoder = DirectoryEncoder::default();
            for (i, key) in (1..).zip(&keys) {
                encoder.push(i * 100, key, seq);
            }
            let mut bytes = Vec::new();
            encoder.finish(&mut bytes);
            let end = keys.len() as u64 * 100;
            let directory = Directory::decode(&bytes, end).unwrap();
            prop_assert_eq!(directory.len(), keys.len());
            for (i, key) in keys.iter().enumerate() {
                prop_assert_eq!(directory.find(key, seq), i);
                prop_assert_eq!(directory.frame(i), Some(i as u32 * 100..i as u32 * 100 + 100));
            }
            prop_assert!(Directory::decode(&bytes, end - 1).is_err());
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            for bytes in [bytes, random] {
                if let Ok(directory) = Directory::decode(&bytes, end) {
                    let chunk = directory.find(&[1, 2], 1);
                    prop_assert_eq!(directory.frame(chunk).is_some(), chunk < directory.len());
                }
            }
        }
    }
}
