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
//! A filter of many words is cut into parts by the highest bits of their hashes, each a chunk and a filter: whoever looks for a
//! word reads the part in which it would be.
//!
//! A small block is opened so soon that it need not be known so well whether that is worth it, and a filter is a large part of
//! it: a coded set takes fewer bits a word. Of very many words a fuse filter is made all the same, and of more than a few in a
//! block that lies with many others: one in 16 of all would be opened in vain, and each set be decoded for that.

mod coded_set;

use super::words::Words;
use coded_set::{CodedSet, MAX_WORDS, REST_BITS};
use duramen_engine::sstable::filter::{FuseFilter, FuseFilterRef};

/// The kind of a coded set.
const CODED_SET: u8 = 4;
/// That of one whose differences have 5 bits of rest.
const CODED_SET_5: u8 = 3;

/// The most parts of a filter.
pub(crate) const MAX_PARTS: usize = 16;
/// About so many words a part has at least: of fewer, a filter takes more bits each, and is hardly read sooner.
const PART_WORDS: usize = 4096;

/// A block of so few words is opened at once, however many others there are.
const FEW_WORDS: usize = 1024;

/// In which of so many parts the word with this hash is.
pub(crate) fn part_of(hash: u64, parts: usize) -> usize {
    (hash >> 60) as usize * parts / MAX_PARTS
}

/// The hash of a word of each part that a filter may have.
pub(crate) fn one_of_each_part() -> impl Iterator<Item = u64> {
    (0..MAX_PARTS as u64).map(|bits| bits << 60)
}

/// The parts, of so many, that words have whose hashes begin with four bits that are among these ([`Looks`]), ascending.
///
/// [`Looks`]: crate::block::Looks
pub(crate) fn parts_of(at_words: u16, parts: usize) -> impl Iterator<Item = usize> {
    let is_sought = move |&hash: &u64| at_words >> (hash >> 60) & 1 == 1;
    let mut last = None;
    one_of_each_part()
        .filter(is_sought)
        .map(move |hash| part_of(hash, parts))
        .filter(move |&part| last.replace(part) != Some(part))
}

/// A filter over all words, in its parts; none if there are no words.
pub(crate) fn build(words: &mut Words, is_small: bool, of_many: bool) -> Vec<Vec<u8>> {
    let mut hashes = words.hashes();
    if hashes.is_empty() {
        return Vec::new();
    }
    let most = if of_many { FEW_WORDS } else { MAX_WORDS };
    if is_small && hashes.len() <= most {
        let mut set = vec![CODED_SET];
        coded_set::encode(&mut hashes, &mut set);
        return vec![set];
    }
    let parts = (hashes.len() / PART_WORDS).clamp(1, MAX_PARTS);
    let parts = 1 << parts.ilog2();
    let mut of_parts: Vec<Vec<u64>> =
        (0..parts).map(|_| Vec::with_capacity(hashes.len() * 9 / (parts * 8))).collect();
    hashes.into_iter().for_each(|hash| of_parts[part_of(hash, parts)].push(hash));
    of_parts.iter_mut().map(|hashes| FuseFilter::build(hashes).encode()).collect()
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

    /// Whether it has seen this hash, or seems to.
    pub(crate) fn may_contain(&self, hash: u64) -> bool {
        match self {
            Self::Fuse(chunk) => FuseFilterRef::parse(chunk).map_or(true, |filter| filter.contains(hash)),
            Self::Coded(set) => set.may_contain(hash),
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
        for (count, is_small, of_many, is_coded) in [
            (1, true, false, true),
            (3000, true, false, true),
            (3000, false, false, false),
            (MAX_WORDS + 1, true, false, false),
            (FEW_WORDS, true, true, true),
            (FEW_WORDS + 1, true, true, false),
        ] {
            let mut words = Words::default();
            (0..count).for_each(|n| words.add(format!("word{n}").as_bytes()));
            let parts = build(&mut words, is_small, of_many);
            assert!(parts.iter().all(|part| (part[0] == CODED_SET) == is_coded), "{count}");
            let parts: Vec<_> = parts.into_iter().map(WordFilter::read).collect();
            let may_contain = |word: &str| {
                let hash = token::hash(word);
                parts[part_of(hash, parts.len())].may_contain(hash)
            };
            assert!((0..count).all(|n| may_contain(&format!("word{n}"))));
            let others = (0..1000).filter(|n| may_contain(&format!("other{n}"))).count();
            assert!(others < if is_coded { 100 } else { 20 }, "{count} {others}");
        }
        // The hashes 0 and 2^63 of two words: the places 0 and 32 of 64, so that the second is one time 32 and 0 more.
        let earlier = WordFilter::read(vec![CODED_SET_5, 2, 0b0100_0000, 0]);
        assert!(earlier.may_contain(0) && earlier.may_contain(1 << 63) && !earlier.may_contain(1 << 60));
        assert!(WordFilter::read(vec![CODED_SET, 0]).may_contain(7), "no filter at all");
    }

    #[test]
    fn of_many_words_each_is_in_the_part_that_its_hash_tells() {
        for (count, parts) in
            [(0, 0), (8191, 1), (8192, 2), (16_384, 4), (40_000, 8), (65_536, 16), (300_000, 16)]
        {
            let mut words = Words::default();
            (0..count).for_each(|n| words.add(format!("word{n}").as_bytes()));
            let filters: Vec<_> = build(&mut words, false, false).into_iter().map(WordFilter::read).collect();
            assert_eq!(filters.len(), parts, "{count}");
            for n in 0..count {
                let hash = token::hash(&format!("word{n}"));
                let part = part_of(hash, parts);
                assert!(filters[part].may_contain(hash));
                assert!(parts_of(1 << (hash >> 60), parts).eq([part]), "what is fetched is what is read");
            }
        }
        assert!(parts_of(0, 4).eq([]) && parts_of(u16::MAX, 4).eq(0..4) && parts_of(0x8003, 8).eq([0, 7]));
    }
}
