//! The keys of groups: found by their bytes, numbered in the order in which they came.

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Keys and their numbers. All bytes lie together, so that many keys are few allocations.
#[derive(Debug, Default)]
pub(super) struct Keys {
    index: HashTable<u32>,
    hashes: Vec<u64>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The one found last: rows of one group often follow one another.
    last: usize,
}

/// Where a key that is not there belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hash(u64);

impl Keys {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The key of a number; none has no bytes.
    pub(super) fn get(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }

    /// The key's number, or where it belongs.
    pub(super) fn find(&mut self, key: &[u8]) -> Result<usize, Hash> {
        if self.last < self.len() && self.get(self.last) == key {
            return Ok(self.last);
        }
        self.find_by(Hash(FixedState::default().hash_one(key)), key)
    }

    /// The same of the key with this number of others.
    pub(super) fn find_other(&mut self, others: &Self, number: usize) -> Result<usize, Hash> {
        self.find_by(Hash(others.hashes[number]), others.get(number))
    }

    fn find_by(&mut self, hash: Hash, key: &[u8]) -> Result<usize, Hash> {
        let is_it =
            |&number: &u32| self.hashes[number as usize] == hash.0 && self.get(number as usize) == key;
        let found = self.index.find(hash.0, is_it).copied().ok_or(hash)?;
        self.last = found as usize;
        Ok(self.last)
    }

    /// Adds a key that is not there, and gives its number. There are less than 2^32: each takes memory that a query is
    /// charged for.
    pub(super) fn add(&mut self, key: &[u8], hash: Hash) -> usize {
        let number = self.len();
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        self.hashes.push(hash.0);
        self.index.insert_unique(hash.0, number as u32, |&number| self.hashes[number as usize]);
        self.last = number;
        number
    }

    /// Those of these numbers, in this order.
    pub(super) fn only(&self, numbers: &[u32]) -> Self {
        let mut only = Self::default();
        for &number in numbers {
            only.add(self.get(number as usize), Hash(self.hashes[number as usize]));
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
        fn keys_have_their_numbers(keys in proptest::collection::vec("[ab]{0,4}", 0..200), kept in 0..40usize) {
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
        }
    }
}
