//! Whether a block may hold a word: a filter over the hashes of all words.
//!
//! ```text
//! chunk   kind u8   0..=2 a binary fuse filter, as the engine writes it: wrong once in 256 times
//!                   3     a Golomb-coded set (`coded_set`): wrong once in 32 times
//! ```
//!
//! One filter serves all columns of a block: the words of a message are mostly those of its fields, too, and
//! would otherwise be kept twice; and a hundred tiny filters would be dear. What it cannot tell (in which
//! field the word is) dictionaries and constants tell exactly.
//!
//! A small block is opened so soon that it need not be known so well whether that is worth it: a coded set takes
//! two thirds of the bytes, which were a fifth of such a block's.

mod coded_set;

use super::words::Words;
use duramen_engine::sstable::filter::{FuseFilter, FuseFilterRef};

/// The kind of a coded set.
const CODED_SET: u8 = 3;

/// Writes a filter over all words into `out`, which is cleared first; leaves it empty if there are none.
pub(crate) fn build(words: &Words, is_small: bool, out: &mut Vec<u8>) {
    out.clear();
    if words.len() == 0 {
        return;
    }
    let mut hashes: Vec<u64> = words.hashes().collect();
    if is_small {
        out.push(CODED_SET);
        coded_set::encode(&mut hashes, out);
    } else {
        out.extend_from_slice(&FuseFilter::build(&mut hashes).encode());
    }
}

/// Whether the filter has seen all these hashes, or seems to. Bytes that are no filter say yes.
pub(crate) fn may_contain(chunk: &[u8], hashes: &[u64]) -> bool {
    match chunk {
        [CODED_SET, set @ ..] => coded_set::may_contain(set, hashes).unwrap_or(true),
        _ => FuseFilterRef::parse(chunk).map_or(true, |filter| hashes.iter().all(|&h| filter.contains(h))),
    }
}
