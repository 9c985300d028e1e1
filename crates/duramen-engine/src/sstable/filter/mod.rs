//! Whether a set of 64-bit hashes may have one: static filters with 8-bit fingerprints.
//!
//! A filter is an array of bytes. Each key has three positions in it, which follow from its hash, and the
//! bytes at the three are chosen such that their XOR is the key's fingerprint. For any other hash that
//! holds by chance, once in 256. The array needs little more than one byte a key.
//!
//! Two layouts say where the three positions are, and the smaller one for the number of keys is taken:
//!
//! - *Binary fuse* (Graf and Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor Filters", 2022): three
//!   neighbouring segments out of many. About 9 bits a key for large sets.
//! - *Three blocks* (the same authors' xor filter, 2020): one position in each third. Better for small
//!   sets, since it has no segments at the ends that are used less; several seeds are tried so that the
//!   array can be smaller than what is enough for any one seed.
//!
//! The hashes must be good already (XXH3 is); no key that was put in is ever denied.

mod build;
mod layout;

pub use build::FilterBuilder;

use super::wire::{Malformed, Reader};
use crate::memory::prefetch;
use layout::{Layout, mix};

/// A filter. See the module for what it can and cannot tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuseFilter {
    layout: Layout,
    seed: u8,
    bytes: Vec<u8>,
}

/// A filter in bytes that belong to somebody else: parsing copies nothing.
#[derive(Clone, Copy, Debug)]
pub struct FuseFilterRef<'a> {
    layout: Layout,
    seed: u8,
    bytes: &'a [u8],
}

impl FuseFilter {
    /// Builds the filter of a set of hashes: [`FilterBuilder::build`], for a single filter.
    pub fn build(hashes: &mut Vec<u64>) -> Self {
        FilterBuilder::default().build(hashes)
    }

    /// Whether the set may have a hash: `false` is certain, `true` is wrong once in 256 times.
    #[inline]
    pub fn contains(&self, hash: u64) -> bool {
        self.borrow().contains(hash)
    }

    /// Asks the processor for what [`FuseFilter::contains`] of this hash will look at.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        let positions = self.layout.positions(mix(hash, self.seed));
        positions.iter().for_each(|&at| prefetch(self.bytes.as_ptr().wrapping_add(at)));
    }

    /// How much memory its fingerprints take, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The filter as a view.
    #[inline]
    pub fn borrow(&self) -> FuseFilterRef<'_> {
        FuseFilterRef { layout: self.layout, seed: self.seed, bytes: &self.bytes }
    }

    /// The filter as bytes; `layout` draws them.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len() + 8);
        self.layout.encode(self.seed, &mut out);
        out.extend_from_slice(&self.bytes);
        out
    }

    /// Decodes a filter.
    ///
    /// # Errors
    /// What is wrong with the bytes, if they are no filter.
    pub fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        let FuseFilterRef { layout, seed, bytes } = FuseFilterRef::parse(bytes)?;
        Ok(Self { layout, seed, bytes: bytes.to_vec() })
    }
}

impl<'a> FuseFilterRef<'a> {
    /// Reads what [`FuseFilter::encode`] wrote, without copying it.
    ///
    /// # Errors
    /// What is wrong with the bytes, if they are no filter.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, &'static str> {
        let mut reader = Reader::new(bytes);
        let (layout, seed): (Layout, u8) = Layout::decode(&mut reader)?;
        let bytes = reader.rest();
        if layout.len() != bytes.len() as u64 {
            let wrong: Malformed = "a filter whose length is not what its layout says";
            return Err(wrong);
        }
        Ok(Self { layout, seed, bytes })
    }

    /// Whether the set may have a hash: `false` is certain, `true` is wrong once in 256 times.
    #[inline]
    pub fn contains(&self, hash: u64) -> bool {
        if self.bytes.is_empty() {
            return false;
        }
        let hash = mix(hash, self.seed);
        let [a, b, c] = self.layout.positions(hash);
        // The positions are below the layout's length, which `parse` and `build` hold against the bytes.
        self.bytes[a] ^ self.bytes[b] ^ self.bytes[c] == layout::fingerprint(hash)
    }
}

#[cfg(test)]
mod tests;
