//! Whether a block may hold a word.
//!
//! ```text
//! chunk: method u8 (0 Bloom), bits_per_key u8, then the bits
//! ```
//!
//! One filter serves all columns of a block: the words of a message are mostly those of its fields, too, and
//! would otherwise be kept twice; and a hundred tiny filters would be dear. What it cannot tell — in which
//! field the word is — dictionaries and constants tell exactly.

use super::words::Words;

const BLOOM: u8 = 0;
const BITS_PER_KEY: usize = 10;
const PROBES: u64 = 6;

/// Writes a filter over all words into `out`, which is cleared first; leaves it empty if there are none.
pub(crate) fn build(words: &Words, out: &mut Vec<u8>) {
    out.clear();
    if words.len() == 0 {
        return;
    }
    out.extend_from_slice(&[BLOOM, BITS_PER_KEY as u8]);
    out.resize(2 + (words.len() * BITS_PER_KEY).div_ceil(8), 0);
    let bits = &mut out[2..];
    let len = bits.len() as u64 * 8;
    for hash in words.hashes() {
        for bit in probes(hash, len) {
            bits[(bit / 8) as usize] |= 1 << (bit % 8);
        }
    }
}

fn probes(hash: u64, len: u64) -> impl Iterator<Item = u64> {
    let step = hash.rotate_left(32) | 1;
    (0..PROBES)
        .map(move |i| ((u128::from(hash.wrapping_add(step.wrapping_mul(i))) * u128::from(len)) >> 64) as u64)
}

/// Whether the filter has seen all these hashes, or seems to. Bytes that are no filter say yes.
pub(crate) fn may_contain(chunk: &[u8], hashes: &[u64]) -> bool {
    let Some((&[BLOOM, _], bits)) = chunk.split_first_chunk::<2>() else { return true };
    let len = bits.len() as u64 * 8;
    len == 0
        || hashes
            .iter()
            .all(|&hash| probes(hash, len).all(|bit| bits[(bit / 8) as usize] >> (bit % 8) & 1 == 1))
}
