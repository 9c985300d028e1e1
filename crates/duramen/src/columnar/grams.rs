//! Whether a block may hold a text in the midst of words: a bitmap of the hashes of its texts' [grams](crate::gram).
//!
//! ```text
//! chunk   method u8 (0 stored, 1 zstd), log2 of how many bits u8, the rest: stored bytes, which give the bitmap;
//!         a gram's bit is number (hash mod how many there are), of each byte the lowest first
//! ```
//!
//! It is as short as a quarter of its bits being set allows, half of them in a small block, which is opened soon: halves are
//! laid over each other. A bitmap that is mostly set even at full length would tell little, and is not written.

use super::bytes::{Reader, bad};
use super::compress::{Zstd, expand};
use crate::error::Result;
use crate::gram::{self, GRAM_BYTES, HASH_BITS, folded, hash};
use duramen_engine::kv::shared_len;
use std::borrow::Cow;

/// The fewest bits of a bitmap, as log2.
const MIN_BITS_LOG2: u32 = 9;
const WORDS: usize = (1 << HASH_BITS) / 64;

/// ASCII in lower case; other bytes as they are.
const LOWER: [u8; 256] = {
    let mut table = [0u8; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = (i as u8).to_ascii_lowercase();
        i += 1;
    }
    table
};

/// So many bytes are looked at together: they have six grams, and where they came before, all are in.
const WINDOW_BYTES: usize = 8;
/// The grams of one window, and then of the next, whose first bytes are the last of this.
const WINDOW_GRAMS: usize = WINDOW_BYTES - GRAM_BYTES + 1;
/// How many windows are remembered, as log2: those of a log's usual lines are some thousands.
const SEEN_LOG2: u32 = 14;
/// No window of a text is that.
const NO_WINDOW: u64 = u64::MAX;

/// The grams of texts, collected. Reusable.
#[derive(Debug)]
pub(crate) struct Grams {
    bits: Box<[u64; WORDS]>,
    /// Windows whose grams are in, each at the place that its hash says: lines have much in common with others before them.
    seen: Box<[u64; 1 << SEEN_LOG2]>,
}

impl Default for Grams {
    fn default() -> Self {
        Self { bits: Box::new([0; WORDS]), seen: Box::new([NO_WINDOW; 1 << SEEN_LOG2]) }
    }
}

impl Grams {
    pub(crate) fn clear(&mut self) {
        self.bits.fill(0);
        self.seen.fill(NO_WINDOW);
    }

    /// Adds the grams of a text that comes after `last`, whose grams are in: those from where they differ.
    pub(crate) fn add_changed(&mut self, last: &[u8], text: &[u8]) {
        let same = shared_len(last, text);
        let mut rest = &text[same.saturating_sub(GRAM_BYTES - 1)..];
        let mut all = 0;
        while let Some(window) = rest.first_chunk::<WINDOW_BYTES>() {
            let bytes = u64::from_le_bytes(*window);
            all |= bytes;
            let place = bytes.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SEEN_LOG2);
            let seen = &mut self.seen[place as usize];
            if *seen != bytes {
                *seen = bytes;
                self.add(window);
            }
            rest = &rest[WINDOW_GRAMS..];
        }
        self.add(rest);
        if !(all.to_le_bytes().is_ascii() && rest.is_ascii()) {
            self.add_folded(text);
        }
    }

    /// Adds the grams of bytes as they are.
    fn add(&mut self, bytes: &[u8]) {
        let mut gram = 0u32;
        for (i, &byte) in bytes.iter().enumerate() {
            gram = (gram << 8 | u32::from(LOWER[byte as usize])) & 0xff_ffff;
            if i >= GRAM_BYTES - 1 {
                self.set(hash(gram));
            }
        }
    }

    /// Adds the grams that are not those of the bytes: where letters fold to one of ASCII.
    #[cold]
    fn add_folded(&mut self, text: &[u8]) {
        for part in text.utf8_chunks() {
            if let Cow::Owned(folded) = folded(part.valid()) {
                gram::hashes(&folded).into_iter().for_each(|hash| self.set(hash));
            }
        }
    }

    #[inline]
    fn set(&mut self, hash: u32) {
        self.bits[hash as usize / 64] |= 1 << (hash % 64);
    }

    /// Writes the bitmap into `out`, which is cleared first; leaves it empty if there are no grams, or far too many.
    pub(crate) fn write(&self, is_small: bool, zstd: &mut Zstd, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        let set = |bits: &[u64]| bits.iter().map(|word| word.count_ones() as usize).sum::<usize>();
        let count = set(&*self.bits);
        if count == 0 || count * 2 > 64 * WORDS {
            return Ok(());
        }
        let mut log2 = HASH_BITS;
        let mut bits = self.bits.to_vec();
        while log2 > MIN_BITS_LOG2 {
            let (low, high) = bits.split_at(bits.len() / 2);
            let folded: Vec<u64> = low.iter().zip(high).map(|(low, high)| low | high).collect();
            let most_set = folded.len() * if is_small { 32 } else { 16 };
            if set(&folded) > most_set {
                break;
            }
            bits = folded;
            log2 -= 1;
        }
        let plain: Vec<u8> = bits.iter().flat_map(|word| word.to_le_bytes()).collect();
        out.extend_from_slice(&[0, log2 as u8]);
        out[0] = zstd.append(&plain, out)?;
        if out[0] == 0 {
            out.extend_from_slice(&plain);
        }
        Ok(())
    }
}

/// A bitmap that was written.
#[derive(Debug)]
pub(crate) struct GramFilter(Vec<u8>);

impl GramFilter {
    /// The bitmap in a chunk.
    ///
    /// # Errors
    /// [`crate::Error::Decode`] if there is none.
    pub(crate) fn read(chunk: &[u8]) -> Result<Self> {
        let mut r = Reader::new(chunk);
        let method = r.u8()?;
        let log2 = u32::from(r.u8()?);
        if !(MIN_BITS_LOG2..=HASH_BITS).contains(&log2) {
            return Err(bad("a bitmap of grams has an unknown length"));
        }
        let bitmap = expand(method, r.take(r.remaining())?, (1 << log2) / 8)?;
        Ok(Self(bitmap))
    }

    /// Whether a text with all these grams may be in the block; `false` is certain.
    pub(crate) fn may_contain(&self, grams: &[u32]) -> bool {
        let mask = self.0.len() * 8 - 1;
        grams.iter().map(|&gram| gram as usize & mask).all(|bit| self.0[bit / 8] >> (bit % 8) & 1 == 1)
    }

    /// How many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter_of(texts: &[&str]) -> Option<GramFilter> {
        let mut grams = Grams::default();
        let mut last = "";
        for text in texts {
            grams.add_changed(last.as_bytes(), text.as_bytes());
            last = text;
        }
        let mut chunk = Vec::new();
        grams.write(false, &mut Zstd::of_level(3), &mut chunk).unwrap();
        (!chunk.is_empty()).then(|| GramFilter::read(&chunk).unwrap())
    }

    #[test]
    fn what_is_in_no_text_is_not_found() {
        let filter = filter_of(&["checkout of a cart", "checkout of a card at ExampleShop"]).unwrap();
        for held in ["heck", "a cart", "art", "ard", "rd ", "xamples", "XAMPLESHOP", "t e"] {
            assert!(filter.may_contain(&gram::hashes(held)), "{held}");
        }
        for not in ["xylophone", "cartoon", "zzz"] {
            assert!(!filter.may_contain(&gram::hashes(not)), "{not}");
        }
        assert!(filter.may_contain(&gram::hashes("zz")), "too short to tell");
        assert!(filter.bytes() <= 128);
    }

    proptest::proptest! {
        #[test]
        fn the_grams_are_those_that_a_query_hashes(
            texts in proptest::collection::vec(r"([a-cA-C]{0,9}|[ .:/-]|\PC|\u{212a}|\u{17f}|checkout of a cart){0,12}", 0..12)
        ) {
            let mut grams = Grams::default();
            for round in 0..2 {
                let mut last = "";
                for text in &texts {
                    grams.add_changed(last.as_bytes(), text.as_bytes());
                    last = text;
                }
                let mut expected = Grams::default();
                let plain = |text: &String| text.to_ascii_lowercase();
                let hashes = texts.iter().flat_map(|text| [gram::hashes(text), of_bytes(&plain(text))]).flatten();
                hashes.for_each(|hash| expected.set(hash));
                proptest::prop_assert!(grams.bits == expected.bits, "{round}");
                grams.clear();
            }
        }
    }

    /// The hashes of the grams of bytes as they are.
    fn of_bytes(text: &str) -> Vec<u32> {
        let of = |w: &[u8]| w.iter().fold(0, |gram, &byte| gram << 8 | u32::from(byte));
        text.as_bytes().windows(GRAM_BYTES).map(|w| hash(of(w))).collect()
    }

    #[test]
    fn no_bitmap_is_written_of_nothing_and_of_everything() {
        assert!(filter_of(&[]).is_none() && filter_of(&["ab"]).is_none());
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b'!' + (state >> 16) as u8 % 94)
        };
        let text: String = (0..400_000).map(|_| next()).collect();
        assert!(filter_of(&[&text]).is_none());
    }

    #[test]
    fn bytes_that_are_no_bitmap_are_refused() {
        for bytes in [&[][..], &[0], &[0, 9], &[0, 8, 0], &[0, 18, 0], &[2, 9], &[1, 9, 1, 2, 3]] {
            assert!(GramFilter::read(bytes).is_err(), "{bytes:?}");
        }
        assert!(GramFilter::read(&[[0, 9].as_slice(), &[0; 64]].concat()).is_ok());
        assert!(GramFilter::read(&[[0, 9].as_slice(), &[0; 65]].concat()).is_err());
    }

    proptest::proptest! {
        #[test]
        fn every_part_of_a_text_is_found_in_any_case(
            texts in proptest::collection::vec(r"([a-c ]{0,4}|[kKsSſ\u{212a}äÄ]|\PC){0,12}", 1..5),
            from in 0usize..20, len in 0usize..12, which in 0usize..5,
        ) {
            let held: Vec<&str> = texts.iter().map(String::as_str).collect();
            if let Some(filter) = filter_of(&held) {
                let part: String = held[which % held.len()].chars().skip(from).take(len).collect();
                for part in [part.to_ascii_uppercase(), part.replace('k', "\u{212a}"), part] {
                    proptest::prop_assert!(filter.may_contain(&gram::hashes(&part)), "{part:?}");
                }
            }
        }
    }
}
