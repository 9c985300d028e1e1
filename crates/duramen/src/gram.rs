//! Grams: runs of three bytes, by which blocks know what may be in the midst of their texts' words.
//!
//! Words are looked up whole; a substring, or a literal of a regular expression, need not begin or end with one. But
//! every three bytes of it in a row are somewhere in a text that holds it. Case does not count, so that the same grams
//! serve searches with and without regard to it: letters of ASCII are put into lower case, and so are the two others
//! that fold to one (`K`, U+212A, and `ſ`, U+017F).

use std::borrow::Cow;

/// How many bytes a gram has.
pub const GRAM_BYTES: usize = 3;
/// How many bits a gram's hash has.
pub const HASH_BITS: u32 = 17;

/// The text with letters as grams have them.
pub(crate) fn folded(text: &str) -> Cow<'_, str> {
    let text: Cow<'_, str> = match text.contains(['\u{212a}', '\u{17f}']) {
        true => text.replace('\u{212a}', "k").replace('\u{17f}', "s").into(),
        false => text.into(),
    };
    if text.bytes().any(|b| b.is_ascii_uppercase()) { text.to_ascii_lowercase().into() } else { text }
}

/// The hash of a gram, its bytes in the lowest 24 bits.
#[inline]
pub(crate) const fn hash(gram: u32) -> u32 {
    gram.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)
}

/// The hashes of the grams of a text, ascending, each once. A text of less than three bytes has none.
///
/// ```
/// use duramen::gram::hashes;
/// let some = hashes("Example");
/// assert_eq!(some.len(), 5);
/// assert!(hashes("XAMPL").iter().all(|gram| some.contains(gram)));
/// ```
pub fn hashes(text: &str) -> Vec<u32> {
    let text = folded(text);
    let of = |w: &[u8]| w.iter().fold(0, |gram, &byte| gram << 8 | u32::from(byte));
    let mut hashes: Vec<u32> = text.as_bytes().windows(GRAM_BYTES).map(|w| hash(of(w))).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}
