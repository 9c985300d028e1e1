//! Whether a block may hold a word: a binary fuse filter, as the engine writes it, over the hashes of all words.
//!
//! One filter serves all columns of a block: the words of a message are mostly those of its fields, too, and
//! would otherwise be kept twice; and a hundred tiny filters would be dear. What it cannot tell (in which
//! field the word is) dictionaries and constants tell exactly.

use super::words::Words;
use duramen_engine::sstable::filter::{FuseFilter, FuseFilterRef};

/// Writes a filter over all words into `out`, which is cleared first; leaves it empty if there are none.
pub(crate) fn build(words: &Words, out: &mut Vec<u8>) {
    out.clear();
    if words.len() > 0 {
        let mut hashes: Vec<u64> = words.hashes().collect();
        out.extend_from_slice(&FuseFilter::build(&mut hashes).encode());
    }
}

/// Whether the filter has seen all these hashes, or seems to. Bytes that are no filter say yes.
pub(crate) fn may_contain(chunk: &[u8], hashes: &[u64]) -> bool {
    FuseFilterRef::parse(chunk).map_or(true, |filter| hashes.iter().all(|&h| filter.contains(h)))
}
