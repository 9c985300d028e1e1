//! Whether a block may hold a word: a filter over the hashes of all words.
//!
//! ```text
//! chunk   kind u8   0..=2 a binary fuse filter, as the engine writes it: wrong once in 256 times
//!                   4     a Golomb-coded set (`coded_set`): wrong once in 16 times
//!                   3     the same, of earlier versions: wrong once in 32 times
//! ```
//!
//! One filter serves all columns of a block: the words of a message are mostly those of its fields, too, and
//! would otherwise be kept twice; and a hundred tiny filters would be dear. What it cannot tell (in which
//! field the word is) dictionaries and constants tell exactly.
//!
//! A small block is opened so soon that it need not be known so well whether that is worth it, and a filter is a large part of
//! it: a coded set takes fewer bits a word. Of very many words a fuse filter is made all the same.

mod coded_set;

use super::words::Words;
use coded_set::{CodedSet, MAX_WORDS, REST_BITS};
use duramen_engine::sstable::filter::{FuseFilter, FuseFilterRef};

/// The kind of a coded set.
const CODED_SET: u8 = 4;
/// That of one whose differences have 5 bits of rest.
const CODED_SET_5: u8 = 3;

/// Writes a filter over all words into `out`, which is cleared first; leaves it empty if there are none.
pub(crate) fn build(words: &mut Words, is_small: bool, out: &mut Vec<u8>) {
    out.clear();
    let mut hashes = words.hashes();
    if hashes.is_empty() {
        return;
    }
    if is_small && hashes.len() <= MAX_WORDS {
        out.push(CODED_SET);
        coded_set::encode(&mut hashes, out);
    } else {
        out.extend_from_slice(&FuseFilter::build(&mut hashes).encode());
    }
}

/// A filter that was read.
#[derive(Debug)]
pub(crate) enum WordFilter {
    Fuse(Vec<u8>),
    Coded(CodedSet),
    /// Bytes that are none. It says yes.
    Unknown,
}

impl WordFilter {
    pub(crate) fn read(chunk: Vec<u8>) -> Self {
        match &chunk[..] {
            [CODED_SET, set @ ..] => CodedSet::read(set, REST_BITS).map_or(Self::Unknown, Self::Coded),
            [CODED_SET_5, set @ ..] => CodedSet::read(set, 5).map_or(Self::Unknown, Self::Coded),
            _ => Self::Fuse(chunk),
        }
    }

    /// Whether it has seen all these hashes, or seems to.
    pub(crate) fn may_contain(&self, hashes: &[u64]) -> bool {
        match self {
            Self::Fuse(chunk) => FuseFilterRef::parse(chunk)
                .map_or(true, |filter| hashes.iter().all(|&hash| filter.contains(hash))),
            Self::Coded(set) => hashes.iter().all(|&hash| set.may_contain(hash)),
            Self::Unknown => true,
        }
    }

    /// How many bytes it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Fuse(chunk) => chunk.len(),
            Self::Coded(set) => set.bytes(),
            Self::Unknown => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token;

    #[test]
    fn small_blocks_have_a_coded_set_unless_there_are_very_many_words() {
        for (count, is_small, is_coded) in
            [(1, true, true), (3000, true, true), (3000, false, false), (MAX_WORDS + 1, true, false)]
        {
            let mut words = Words::default();
            (0..count).for_each(|n| words.add(format!("word{n}").as_bytes()));
            let mut chunk = Vec::new();
            build(&mut words, is_small, &mut chunk);
            assert_eq!(chunk[0] == CODED_SET, is_coded, "{count}");
            let filter = WordFilter::read(chunk);
            assert!((0..count).all(|n| filter.may_contain(&[token::hash(&format!("word{n}"))])));
            let others =
                (0..1000).filter(|n| filter.may_contain(&[token::hash(&format!("other{n}"))])).count();
            assert!(others < if is_coded { 100 } else { 20 }, "{count} {others}");
        }
        // The hashes 0 and 2^63 of two words: the places 0 and 32 of 64, so that the second is one time 32 and 0 more.
        let earlier = WordFilter::read(vec![CODED_SET_5, 2, 0b0100_0000, 0]);
        assert!(
            earlier.may_contain(&[0]) && earlier.may_contain(&[1 << 63]) && !earlier.may_contain(&[1 << 60])
        );
        assert!(WordFilter::read(vec![CODED_SET, 0]).may_contain(&[7]), "no filter at all");
    }
}
