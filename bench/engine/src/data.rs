//! The entries: 16-byte keys, 100-byte values that do not compress, the same in every run and for every system.
//!
//! ```text
//! key     random: mix(n) u64 | mix(~n) u64      sequential: n u64 | "00000000"      big endian
//! value   mix(tag + 1), mix(tag + 2), ... little endian, 92 bytes of it | tag(n, version) u64 little endian
//! ```
//!
//! Both are computed when they are needed, in registers (the row `generator` of the load study says how long that takes), so
//! that the memory and the caches that are measured are the system's. The tag tells on every read, at the price of looking at
//! the value, whether it is the right one.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

pub(crate) const KEY_BYTES: usize = 16;
pub(crate) const VALUE_BYTES: usize = 100;
/// Key and value.
pub(crate) const ENTRY_BYTES: usize = KEY_BYTES + VALUE_BYTES;

const TAG_AT: usize = VALUE_BYTES - 8;

/// How keys come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Order {
    Random,
    Sequential,
}

impl Order {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Sequential => "sequential",
        }
    }
}

/// A bijection that looks random (the finalizer of SplitMix64).
#[inline]
pub(crate) fn mix(n: u64) -> u64 {
    let mut z = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A few random numbers, fast.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(mix(seed) | 1)
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Below `n`.
    #[inline]
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

#[inline]
pub(crate) fn key(order: Order, n: u64) -> [u8; KEY_BYTES] {
    let mut key = [b'0'; KEY_BYTES];
    match order {
        Order::Random => {
            key[..8].copy_from_slice(&mix(n).to_be_bytes());
            key[8..].copy_from_slice(&mix(!n).to_be_bytes());
        }
        Order::Sequential => key[..8].copy_from_slice(&n.to_be_bytes()),
    }
    key
}

/// What the value of entry `n` ends with after it was written for the `version`-th time.
#[inline]
pub(crate) fn tag(n: u64, version: u64) -> u64 {
    mix(n ^ version.rotate_left(40) ^ 0x7461_6700)
}

/// Makes the value of entry `n` when it is written for the `version`-th time.
#[inline]
pub(crate) fn fill(n: u64, version: u64, value: &mut [u8; VALUE_BYTES]) {
    let tag = tag(n, version);
    let (noise, end) = value.split_at_mut(TAG_AT);
    for (at, part) in (1..).zip(noise.chunks_mut(8)) {
        part.copy_from_slice(&mix(tag.wrapping_add(at)).to_le_bytes()[..part.len()]);
    }
    end.copy_from_slice(&tag.to_le_bytes());
}

/// The tag that a value which was read ends with.
#[inline]
pub(crate) fn tag_of(value: &[u8]) -> u64 {
    value.last_chunk().map_or(value.len() as u64, |tag| u64::from_le_bytes(*tag))
}

/// What a scan saw: enough to tell one set of entries from another, in whatever order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fold {
    pub(crate) count: u64,
    sum: u64,
}

impl Fold {
    #[inline]
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        let key = key.first_chunk().map_or(key.len() as u64, |k| u64::from_le_bytes(*k));
        self.count += 1;
        self.sum = self.sum.wrapping_add(key.wrapping_mul(31) ^ tag_of(value));
    }

    /// Adds what another saw.
    pub(crate) fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
    }

    pub(crate) fn of(entries: &mut Entries) -> Self {
        let mut fold = Self::default();
        while let Some((key, value)) = entries.next() {
            fold.add(key, value);
        }
        fold
    }
}

/// The entries of a load, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Entries {
    order: Order,
    numbers: std::ops::Range<u64>,
    /// Set by `sort`: the start of each key, and its number.
    sorted: Option<Vec<(u64, u32)>>,
    key: [u8; KEY_BYTES],
    value: [u8; VALUE_BYTES],
}

impl Entries {
    pub(crate) fn new(order: Order, count: u64) -> Self {
        Self::of(order, 0..count)
    }

    /// Those with these numbers.
    pub(crate) fn of(order: Order, numbers: std::ops::Range<u64>) -> Self {
        Self { order, numbers, sorted: None, key: [0; KEY_BYTES], value: [0; VALUE_BYTES] }
    }

    /// Brings what is left into the order of the keys, as a bulk load wants it.
    pub(crate) fn sort(&mut self) {
        if self.order == Order::Random {
            let mut sorted: Vec<_> = self.numbers.clone().map(|n| (mix(n), n as u32)).collect();
            sorted.sort_unstable();
            self.numbers = 0..sorted.len() as u64;
            self.sorted = Some(sorted);
        }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Option<(&[u8; KEY_BYTES], &[u8; VALUE_BYTES])> {
        let at = self.numbers.next()?;
        let n = match &self.sorted {
            None => at,
            Some(sorted) => u64::from(sorted[at as usize].1),
        };
        self.key = key(self.order, n);
        fill(n, 0, &mut self.value);
        Some((&self.key, &self.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sorted_load_is_the_same_entries_in_the_order_of_their_keys() {
        for order in [Order::Random, Order::Sequential] {
            let mut entries = Entries::new(order, 5_000);
            let mut sorted = entries.clone();
            sorted.sort();
            assert_eq!(Fold::of(&mut entries.clone()), Fold::of(&mut sorted.clone()));
            let mut last = [0; KEY_BYTES];
            while let Some((key, value)) = sorted.next() {
                assert!(*key > last);
                last = *key;
                assert_eq!(tag_of(value), u64::from_le_bytes(value[TAG_AT..].try_into().unwrap()));
            }
            let (first, _) = entries.next().unwrap();
            assert_eq!(*first, key(order, 0));
        }
    }

    #[test]
    fn another_entry_less_or_more_is_noticed() {
        let fold = |range| Fold::of(&mut Entries::of(Order::Random, range));
        assert_ne!(fold(0..100), fold(0..99));
        assert_ne!(fold(0..100), fold(1..101));
    }
}
