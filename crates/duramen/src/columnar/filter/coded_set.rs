//! A Golomb-coded set: hashes brought down to a range of 32 for each, sorted, their differences in Rice's code.
//!
//! ```text
//! words varint | bits, of each byte the lowest first: for each word, ascending, what it is more than the one before
//!                (the first: than 0), by 32: so many ones and a zero; and the rest, 5 bits
//! ```
//!
//! The hash `h` of one of `n` words becomes `h * 32 n / 2^64`. A word takes 6.6 bits, an array of fingerprints that is
//! wrong as rarely 6.15 and more (F. Putze, P. Sanders, J. Singler, "Cache-, Hash- and Space-Efficient Bloom Filters",
//! 2007). All of it is read to find a word; it is for sets of some thousand.

use crate::columnar::bytes::{Reader, put_varint};
use crate::error::Result;

/// How many bits of a difference are the rest: a word that is not in the set seems to be once in 2 to this.
const REST_BITS: u32 = 5;

/// Where a hash lies in the range of `words` words.
fn place(hash: u64, words: u64) -> u64 {
    // The range is at most 2^37: a set has no more words than its bytes have bits, and those are counted in a u32.
    ((u128::from(hash) * (u128::from(words) << REST_BITS)) >> 64) as u64
}

/// Appends the set of these hashes.
pub(super) fn encode(hashes: &mut [u64], out: &mut Vec<u8>) {
    hashes.sort_unstable();
    let words = hashes.len() as u64;
    put_varint(out, words);
    let mut bits = Bits { out, free: 0 };
    let mut last = 0;
    for &hash in &*hashes {
        let place = place(hash, words);
        let more = place - last;
        last = place;
        (0..more >> REST_BITS).for_each(|_| bits.push(true));
        bits.push(false);
        (0..REST_BITS).for_each(|bit| bits.push(more >> bit & 1 == 1));
    }
}

/// Whether the set has all these hashes, or seems to.
///
/// # Errors
/// [`crate::Error::Decode`] if it ends too early.
pub(super) fn may_contain(set: &[u8], hashes: &[u64]) -> Result<bool> {
    let mut r = Reader::new(set);
    let words = r.count(set.len() * 8)? as u64;
    let mut wanted: Vec<u64> = hashes.iter().map(|&hash| place(hash, words)).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut wanted = wanted.into_iter().peekable();
    let mut bits = r.rest().iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1));
    let mut place = 0u64;
    for _ in 0..words {
        let Some(&next) = wanted.peek() else { return Ok(true) };
        let ends_early = || crate::columnar::bytes::bad("a set of words ends too early");
        loop {
            if bits.next().ok_or_else(ends_early)? == 0 {
                break;
            }
            place += 1 << REST_BITS;
        }
        for bit in 0..REST_BITS {
            place += u64::from(bits.next().ok_or_else(ends_early)?) << bit;
        }
        if place == next {
            wanted.next();
        } else if place > next {
            return Ok(false);
        }
    }
    Ok(wanted.peek().is_none())
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
        let set = encoded(&hashes);
        assert!(set.len() * 8 < 3000 * 67 / 10, "{}", set.len());
        assert!(hashes.iter().all(|&h| may_contain(&set, &[h]).unwrap()));
        assert!(may_contain(&set, &hashes).unwrap() && may_contain(&set, &[]).unwrap());
        let others = (0..10_000).filter(|n| may_contain(&set, &[token::hash(&format!("other{n}"))]).unwrap());
        assert!((200..450).contains(&others.count()), "one in 32");
        // One that is in it, and one that is not.
        let absent =
            (0..).map(|n| token::hash(&format!("other{n}"))).find(|&h| !may_contain(&set, &[h]).unwrap());
        assert!(!may_contain(&set, &[hashes[7], absent.unwrap()]).unwrap());
    }

    #[test]
    fn a_set_that_ends_too_early_is_an_error() {
        let hashes: Vec<u64> = (0..100).map(|n| token::hash(&n.to_string())).collect();
        let set = encoded(&hashes);
        let last = [u64::MAX];
        for len in 0..set.len() - 1 {
            assert!(may_contain(&set[..len], &last).is_err(), "{len}");
        }
        assert!(may_contain(&[5, 255, 255], &[1]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_in_is_found(hashes in proptest::collection::vec(any::<u64>(), 1..200)) {
            let set = encoded(&hashes);
            for &hash in &hashes {
                prop_assert!(may_contain(&set, &[hash]).unwrap());
            }
            prop_assert!(may_contain(&set, &hashes).unwrap());
        }

        #[test]
        fn any_bytes_can_be_asked(
            set in proptest::collection::vec(any::<u8>(), 0..40),
            hashes in proptest::collection::vec(any::<u64>(), 0..4),
        ) {
            let _whatever = may_contain(&set, &hashes);
        }
    }
}
