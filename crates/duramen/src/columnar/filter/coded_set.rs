//! A Golomb-coded set: hashes brought down to a range of 16 for each, sorted, their differences in Rice's code.
//!
//! ```text
//! words varint | bits, of each byte the lowest first: for each word, ascending, what it is more than the one before
//!                (the first: than 0), by 16: so many ones and a zero; and the rest, 4 bits
//! ```
//!
//! The hash `h` of one of `n` words becomes `h * 16 n / 2^64`; earlier sets have 32 and 5 bits. A word takes 5.6 bits, an array
//! of fingerprints that is wrong as rarely 4.9 and more (F. Putze, P. Sanders, J. Singler, "Cache-, Hash- and Space-Efficient
//! Bloom Filters", 2007). It is read as a whole, for which it has no more than [`MAX_WORDS`].

use crate::columnar::bitpack::bits_at;
use crate::columnar::bytes::{Reader, bad, put_varint};
use crate::error::Result;

/// How many bits of a difference are the rest: a word that is not in the set seems to be once in 2 to this.
pub(super) const REST_BITS: u32 = 4;

/// The most words of a set.
pub(super) const MAX_WORDS: usize = 8192;

/// Where a hash lies in the range of `words` words.
fn place(hash: u64, words: u64, rest_bits: u32) -> u64 {
    ((u128::from(hash) * (u128::from(words) << rest_bits)) >> 64) as u64
}

/// Appends the set of these hashes.
pub(super) fn encode(hashes: &mut [u64], out: &mut Vec<u8>) {
    hashes.sort_unstable();
    let words = hashes.len() as u64;
    put_varint(out, words);
    let mut bits = Bits { out, free: 0 };
    let mut last = 0;
    for &hash in &*hashes {
        let place = place(hash, words, REST_BITS);
        let more = place - last;
        last = place;
        (0..more >> REST_BITS).for_each(|_| bits.push(true));
        bits.push(false);
        (0..REST_BITS).for_each(|bit| bits.push(more >> bit & 1 == 1));
    }
}

/// A set that was read: where its words lie, ascending.
#[derive(Debug)]
pub(crate) struct CodedSet {
    places: Vec<u32>,
    rest_bits: u32,
}

impl CodedSet {
    /// # Errors
    /// [`crate::Error::Decode`] if it ends too early, or too late, has no words, or more than [`MAX_WORDS`].
    pub(super) fn read(set: &[u8], rest_bits: u32) -> Result<Self> {
        let mut r = Reader::new(set);
        let words = r.count(MAX_WORDS)?;
        let mut bits = BitReader::new(r.rest());
        let mut places = Vec::with_capacity(words);
        let mut place = 0u32;
        for _ in 0..words {
            let more = bits.ones() << rest_bits | bits.take(rest_bits);
            place = u32::try_from(u64::from(place).saturating_add(more)).unwrap_or(u32::MAX);
            places.push(place);
        }
        let rest = bits.left().ok_or_else(|| bad("a set of words ends too early"))?;
        if words == 0 || rest >= 8 || bits.take(rest as u32) != 0 {
            return Err(bad("a set of words is not what it says"));
        }
        Ok(Self { places, rest_bits })
    }

    /// Whether a word is in it, or seems to be.
    pub(super) fn may_contain(&self, hash: u64) -> bool {
        let place = place(hash, self.places.len() as u64, self.rest_bits);
        u32::try_from(place).is_ok_and(|place| self.places.binary_search(&place).is_ok())
    }

    /// How many bytes it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.places[..])
    }
}

/// Bits, appended to bytes.
struct Bits<'a> {
    out: &'a mut Vec<u8>,
    /// How many bits of the last byte are free.
    free: u32,
}

impl Bits<'_> {
    fn push(&mut self, bit: bool) {
        if self.free == 0 {
            self.out.push(0);
            self.free = 8;
        }
        if let Some(last) = self.out.last_mut() {
            *last |= u8::from(bit) << (8 - self.free);
        }
        self.free -= 1;
    }
}

/// Takes bits of bytes, of each the lowest first. Behind the end they are zeros.
struct BitReader<'a> {
    bytes: &'a [u8],
    at: u64,
}

impl<'a> BitReader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bits are left; `None` if more were taken than there are.
    fn left(&self) -> Option<u64> {
        (self.bytes.len() as u64 * 8).checked_sub(self.at)
    }

    /// Takes ones and the zero behind them; how many ones.
    fn ones(&mut self) -> u64 {
        let start = self.at;
        loop {
            let ones = bits_at(self.bytes, self.at).trailing_ones();
            self.at += u64::from(ones);
            if ones < u64::BITS {
                self.at += 1;
                return self.at - 1 - start;
            }
        }
    }

    /// Takes so many bits, less than 64.
    fn take(&mut self, count: u32) -> u64 {
        let bits = bits_at(self.bytes, self.at) & ((1 << count) - 1);
        self.at += u64::from(count);
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token;
    use proptest::prelude::*;

    fn encoded(hashes: &[u64]) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&mut hashes.to_vec(), &mut out);
        out
    }

    #[test]
    fn words_that_are_not_in_it_are_seldom_found_and_few_bits_tell() {
        let hashes: Vec<u64> = (0..3000).map(|n| token::hash(&format!("word{n}"))).collect();
        let bytes = encoded(&hashes);
        assert!(bytes.len() * 8 < 3000 * 57 / 10, "{}", bytes.len());
        let set = CodedSet::read(&bytes, REST_BITS).unwrap();
        assert!(hashes.iter().all(|&h| set.may_contain(h)));
        let others = (0..10_000).filter(|n| set.may_contain(token::hash(&format!("other{n}"))));
        assert!((500..750).contains(&others.count()), "one in 16");
    }

    #[test]
    fn a_set_that_ends_too_early_is_an_error() {
        let hashes: Vec<u64> = (0..100).map(|n| token::hash(&n.to_string())).collect();
        let set = encoded(&hashes);
        for len in 0..set.len() {
            assert!(CodedSet::read(&set[..len], REST_BITS).is_err(), "{len}");
        }
        assert!(CodedSet::read(&[&set[..], &[0]].concat(), REST_BITS).is_err(), "or too late");
        assert!(
            CodedSet::read(&[5, 255, 255], REST_BITS).is_err() && CodedSet::read(&[0], REST_BITS).is_err()
        );
    }

    #[test]
    fn many_ones_in_a_row_are_counted() {
        for ones in [0, 1, 7, 8, 55, 56, 57, 58, 63, 64, 113, 114, 115, 300] {
            for before in 0..9 {
                let (mut bytes, mut out) = (Vec::new(), Bits { out: &mut Vec::new(), free: 0 });
                let bits = (0..before).map(|_| false).chain((0..ones).map(|_| true)).chain([false, true]);
                bits.for_each(|bit| out.push(bit));
                bytes.append(out.out);
                let mut reader = BitReader::new(&bytes);
                assert_eq!(reader.take(before), 0);
                assert_eq!(reader.ones(), ones);
                assert_eq!(reader.take(1), 1, "{ones} {before}");
                assert_eq!(reader.left(), Some(bytes.len() as u64 * 8 - u64::from(before) - ones - 2));
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_in_is_found(hashes in proptest::collection::vec(any::<u64>(), 1..200)) {
            let set = CodedSet::read(&encoded(&hashes), REST_BITS).unwrap();
            for &hash in &hashes {
                prop_assert!(set.may_contain(hash));
            }
        }

        #[test]
        fn any_bytes_can_be_read(set in proptest::collection::vec(any::<u8>(), 0..40), hash in any::<u64>()) {
            if let Ok(set) = CodedSet::read(&set, REST_BITS) {
                let _whatever = set.may_contain(hash);
            }
        }
    }
}
