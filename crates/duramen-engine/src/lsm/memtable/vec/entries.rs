//! The entries of a `VecMemtable`, by number, in the order in which they came.
//!
//! ```text
//! entry  offset of its op in the segment          31 bits   segments have at most 2 GiB
//!        whether it deletes a range                1 bit
//!        number + 1 of the newest one before it   32 bits   whose key has the same fingerprint; 0: none, or it still waits
//! ```

use crate::lsm::memtable::append_list::AppendList;

const RANGE: u64 = 1 << 31;

/// An entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry(u64);

impl Entry {
    #[inline]
    pub(super) fn new(offset: u32) -> Self {
        Self(u64::from(offset))
    }

    pub(super) fn deleted_range(offset: u32) -> Self {
        Self(u64::from(offset) | RANGE)
    }

    #[inline]
    pub(super) fn offset(self) -> u32 {
        (self.0 & (RANGE - 1)) as u32
    }

    #[inline]
    pub(super) fn deletes_range(self) -> bool {
        self.0 & RANGE != 0
    }

    /// The newest entry before it with the same fingerprint.
    #[inline]
    pub(super) fn before(self) -> Option<u32> {
        ((self.0 >> 32) as u32).checked_sub(1)
    }
}

/// All of them. One caller adds at a time.
#[derive(Debug)]
pub(super) struct Entries(AppendList);

impl Entries {
    pub(super) fn new(most: usize) -> Self {
        Self(AppendList::new(most))
    }

    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.0.len() as u32
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// The entry with this number, which the caller has seen.
    #[inline]
    pub(super) fn get(&self, number: u32) -> Entry {
        Entry(self.0.get(number as usize))
    }

    #[inline]
    pub(super) fn push(&self, entry: Entry) {
        self.0.push(entry.0);
    }

    /// Says which is the newest one before it with the same fingerprint.
    #[inline]
    pub(super) fn set_before(&self, number: u32, before: Option<u32>) {
        if let Some(before) = before {
            let word = self.get(number).0 | u64::from(before + 1) << 32;
            self.0.set(number as usize, word);
        }
    }
}
