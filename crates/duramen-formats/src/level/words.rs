//! Where words begin and end: with a letter they begin, and go on with letters, digits and `_`. For every line without a level
//! of its own is looked at for one, and most have none.

use super::LEVEL_WITHIN_BYTES;
use std::ops::Range;

/// Where words are, one bit each byte.
pub(super) struct Words {
    letters: u128,
    all: u128,
}

const _: () = assert!(LEVEL_WITHIN_BYTES < u128::BITS as usize);

impl Words {
    /// Of a text of up to [`LEVEL_WITHIN_BYTES`].
    pub(super) fn of(s: &[u8]) -> Self {
        let mut bytes = [0u8; u128::BITS as usize];
        bytes[..s.len()].copy_from_slice(s);
        let is_letter = |c: u8| (c | 0x20).wrapping_sub(b'a') < 26;
        let is_in_word = |c: u8| is_letter(c) | (c.wrapping_sub(b'0') < 10) | (c == b'_');
        Self { letters: bits(&bytes.map(is_letter)), all: bits(&bytes.map(is_in_word)) }
    }

    /// The next word from there on.
    #[inline]
    pub(super) fn next(&self, at: usize) -> Option<Range<usize>> {
        let letters = self.letters >> at;
        let start = at + letters.trailing_zeros() as usize;
        (letters != 0).then(|| start..start + (self.all >> start).trailing_ones() as usize)
    }
}

/// One bit each.
fn bits(are: &[bool; u128::BITS as usize]) -> u128 {
    let (eights, _) = are.as_chunks::<8>();
    // The product has the eight lowest bits of the bytes side by side in its highest byte.
    let bits =
        |eight: &[bool; 8]| u64::from_le_bytes(eight.map(u8::from)).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    eights.iter().rev().fold(0, |all, eight| all << 8 | u128::from(bits(eight)))
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn words_begin_with_a_letter_and_go_on_to_their_end(text in "[a-zA-Z0-9_ %é\\[@`{/:]{0,100}") {
            let bytes = &text.as_bytes()[..text.len().min(LEVEL_WITHIN_BYTES)];
            let words = Words::of(bytes);
            let (mut at, mut i) = (0, 0);
            while i < bytes.len() {
                let start = i;
                if bytes[i].is_ascii_alphabetic() {
                    while i < bytes.len() && (bytes[i].is_ascii_alphanumeric() || bytes[i] == b'_') {
                        i += 1;
                    }
                    assert_eq!(words.next(at), Some(start..i), "{text}");
                    at = i;
                } else {
                    i += 1;
                }
            }
            assert_eq!(words.next(at), None, "{text}");
        }
    }
}
