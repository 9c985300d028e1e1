//! The keys of groups: found by their bytes, numbered in the order in which they came.

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Keys and their numbers. Their bytes lie together, so that many keys are few allocations; apart from what is looked at of
/// most keys, so that much of it stays in the processor's cache.
#[derive(Debug, Default)]
pub(super) struct Keys {
    index: HashTable<u32>,
    starts: Vec<Start>,
    hashes: Vec<u64>,
    bytes: Chunks,
    /// The one found last: rows of one group often follow one another.
    last: usize,
}

/// Texts, one after another in pieces of memory that never grow: of many long ones, no more than they take is needed, and none is
/// moved.
#[derive(Debug, Default)]
struct Chunks {
    chunks: Vec<Vec<u8>>,
    places: Vec<Place>,
}

/// In which chunk, from where, and how many bytes.
#[derive(Clone, Copy, Debug)]
struct Place {
    chunk: u32,
    start: u32,
    len: u32,
}

/// How long the first chunk is; each later one is twice as long,
const FIRST_CHUNK_BYTES: usize = 4 << 10;
/// up to this, unless a single text is longer. Allocators give so long a one back to the machine at once when it is freed, and what
/// is not used of it is no memory.
const MAX_CHUNK_BYTES: usize = 32 << 20;

impl Chunks {
    /// The text of a number.
    fn get(&self, number: usize) -> &[u8] {
        self.at(self.places[number])
    }

    fn at(&self, Place { chunk, start, len }: Place) -> &[u8] {
        &self.chunks[chunk as usize][start as usize..][..len as usize]
    }

    /// Adds a text, of less than 4 GiB.
    fn push(&mut self, text: &[u8]) {
        if self.chunks.last().is_none_or(|chunk| chunk.capacity() - chunk.len() < text.len()) {
            let usual = (FIRST_CHUNK_BYTES << self.chunks.len().min(16)).min(MAX_CHUNK_BYTES);
            self.chunks.push(Vec::with_capacity(usual.max(text.len())));
        }
        let number = self.chunks.len() - 1;
        let chunk = &mut self.chunks[number];
        self.places.push(Place { chunk: number as u32, start: chunk.len() as u32, len: text.len() as u32 });
        chunk.extend_from_slice(text);
    }
}

/// What a key is found by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    hash: u64,
    start: Start,
}

/// The first bytes of a key, low to high, and at the top how many it has; `u8::MAX` if more than fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Start(u128);

/// As many fit.
const START_BYTES: usize = 15;

impl Start {
    #[inline]
    fn of(key: &[u8]) -> Self {
        let len = key.len();
        // The first and the last few bytes, which overlap.
        let bytes = if let (Some(first), Some(last)) = (key.first_chunk::<8>(), key.last_chunk::<8>())
            && len <= START_BYTES
        {
            u128::from(u64::from_le_bytes(*first)) | u128::from(u64::from_le_bytes(*last)) << ((len - 8) * 8)
        } else if let (Some(first), Some(last)) = (key.first_chunk::<4>(), key.last_chunk::<4>())
            && len < 8
        {
            u128::from(u32::from_le_bytes(*first)) | u128::from(u32::from_le_bytes(*last)) << ((len - 4) * 8)
        } else if len < 4 {
            key.iter().rev().fold(0, |bytes, &byte| bytes << 8 | u128::from(byte))
        } else {
            key.first_chunk::<16>().map_or(0, |first| u128::from_le_bytes(*first) << 8 >> 8)
        };
        Self(bytes | (if len > START_BYTES { 0xff } else { len as u128 }) << 120)
    }

    /// Whether it is all of the key.
    #[inline]
    fn is_all(self) -> bool {
        self.0 >> 120 <= START_BYTES as u128
    }
}

impl Mark {
    #[inline]
    fn of(key: &[u8]) -> Self {
        let start = Start::of(key);
        let state = FixedState::default();
        let hash = if start.is_all() { state.hash_one(start.0) } else { state.hash_one(key) };
        Self { hash, start }
    }
}

impl Keys {
    pub(super) fn len(&self) -> usize {
        self.bytes.places.len()
    }

    /// The key of a number.
    pub(super) fn get(&self, number: usize) -> &[u8] {
        self.bytes.get(number)
    }

    /// The key's number, or what to add it by.
    pub(super) fn find(&mut self, key: &[u8]) -> Result<usize, Mark> {
        let mark = Mark::of(key);
        if self.starts.get(self.last) == Some(&mark.start)
            && (mark.start.is_all() || self.get(self.last) == key)
        {
            return Ok(self.last);
        }
        self.find_by(mark, key)
    }

    /// The same of the key with this number of others.
    pub(super) fn find_other(&mut self, others: &Self, number: usize) -> Result<usize, Mark> {
        self.find_by(others.mark(number), others.get(number))
    }

    fn mark(&self, number: usize) -> Mark {
        Mark { hash: self.hashes[number], start: self.starts[number] }
    }

    fn find_by(&mut self, mark: Mark, key: &[u8]) -> Result<usize, Mark> {
        self.last = self.number_of(mark, key).ok_or(mark)? as usize;
        Ok(self.last)
    }

    fn number_of(&self, mark: Mark, key: &[u8]) -> Option<u32> {
        let is_it = |&number: &u32| {
            let number = number as usize;
            self.starts[number] == mark.start
                && (mark.start.is_all() || self.hashes[number] == mark.hash && self.get(number) == key)
        };
        self.index.find(mark.hash, is_it).copied()
    }

    /// Adds a key that is not there, and gives its number. There are less than 2^32: each takes memory that a query is
    /// charged for.
    pub(super) fn add(&mut self, key: &[u8], mark: Mark) -> usize {
        self.bytes.push(key);
        self.mark_last(mark);
        self.last = self.len() - 1;
        self.last
    }

    /// Sees to it that the last key is found.
    fn mark_last(&mut self, mark: Mark) {
        self.starts.push(mark.start);
        self.hashes.push(mark.hash);
        let number = self.starts.len() - 1;
        self.index.insert_unique(mark.hash, number as u32, |&number| self.hashes[number as usize]);
    }

    /// Adds others, with all their bytes, those of keys that were there before, too: none is moved. Gives for each of them the number
    /// that it had here; those that had none get the next ones.
    pub(super) fn absorb(&mut self, others: Self) -> Vec<Option<u32>> {
        let first_chunk = self.bytes.chunks.len() as u32;
        self.bytes.chunks.extend(others.bytes.chunks);
        let marks = others.starts.into_iter().zip(others.hashes).map(|(start, hash)| Mark { hash, start });
        let places = others.bytes.places.into_iter();
        let places = places.map(|place| Place { chunk: first_chunk + place.chunk, ..place });
        let found = marks.zip(places).map(|(mark, place)| {
            let found = self.number_of(mark, self.bytes.at(place));
            if found.is_none() {
                self.bytes.places.push(place);
                self.mark_last(mark);
            }
            found
        });
        found.collect()
    }

    /// Those of these numbers, in this order.
    pub(super) fn only(&self, numbers: &[u32]) -> Self {
        let mut only = Self::default();
        for &number in numbers {
            only.add(self.get(number as usize), self.mark(number as usize));
        }
        only
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    proptest::proptest! {
        #[test]
        fn keys_have_their_numbers(keys in proptest::collection::vec("[ab]{0,4}|[ab]{7,8}|a{13,16}[ab]{0,4}", 0..200), kept in 0..40usize) {
            // So that some are in later chunks, and one is longer than any.
            let long = |key: &String| if key.len() == 3 { key.repeat(2000) } else { key.clone() };
            let mut keys: Vec<String> = keys.iter().map(long).collect();
            keys.insert(keys.len() / 2, "b".repeat(100 * FIRST_CHUNK_BYTES));
            let (mut all, mut expected) = (Keys::default(), BTreeMap::new());
            for key in &keys {
                let next = expected.len();
                let number = *expected.entry(key.clone()).or_insert(next);
                let found = all.find(key.as_bytes());
                assert_eq!(found.is_ok(), number < next);
                assert_eq!(found.unwrap_or_else(|hash| all.add(key.as_bytes(), hash)), number);
            }
            assert_eq!(all.len(), expected.len());
            assert!(expected.iter().all(|(key, &number)| all.get(number) == key.as_bytes()));
            let numbers: Vec<u32> = (0..all.len() as u32).rev().take(kept).collect();
            let mut only = all.only(&numbers);
            assert_eq!(only.len(), numbers.len());
            for number in 0..all.len() {
                let place = numbers.iter().position(|&n| n as usize == number);
                assert_eq!(only.find_other(&all, number).ok(), place);
            }
            let (before, mut next) = (only.len(), only.len() as u32);
            let keys: Vec<Vec<u8>> = (0..all.len()).map(|number| all.get(number).to_vec()).collect();
            for (number, found) in only.absorb(all).into_iter().enumerate() {
                let place = numbers.iter().position(|&n| n as usize == number);
                assert_eq!(found.map(|found| found as usize), place);
                let now = found.unwrap_or_else(|| {
                    next += 1;
                    next - 1
                });
                assert_eq!(only.get(now as usize), keys[number]);
                assert_eq!(only.find(&keys[number]).ok(), Some(now as usize));
            }
            assert_eq!((before, only.len()), (numbers.len(), keys.len()));
        }
    }
}
