//! Words: what a filter remembers of a text, and what a query asks for.
//!
//! A word is a longest run of letters, digits (Unicode's) and `_`, as LogsQL defines it. Filters hold the
//! hash of each word in lower case, so that one filter serves queries with and without regard to case.

use xxhash_rust::xxh3::xxh3_64;

/// Whether a character belongs to words.
pub fn is_word_char(c: char) -> bool {
    if c.is_ascii() { WORD_BYTE[c as usize] } else { c.is_alphanumeric() }
}

/// For each byte of ASCII: whether it belongs to words.
const WORD_BYTE: [bool; 256] = {
    let mut table = [false; 256];
    let mut i = 0;
    while i < 128 {
        let c = i as u8;
        table[i] = c.is_ascii_alphanumeric() || c == b'_';
        i += 1;
    }
    table
};

/// The words of a text, in order.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word_char(c)).filter(|w| !w.is_empty())
}

/// Where a text can be cut in two so that no word is: byte offsets, ascending, without both ends.
pub fn cuts(text: &str) -> impl Iterator<Item = usize> {
    let is_cut = |&at: &usize| {
        let (start, end) = text.split_at(at);
        at > 0 && !(start.ends_with(is_word_char) && end.starts_with(is_word_char))
    };
    text.char_indices().map(|(at, _)| at).filter(is_cut)
}

/// The hash under which filters know a word: XXH3-64 of it in lower case.
pub fn hash(word: &str) -> u64 {
    if word.is_ascii() {
        let mut lower = [0u8; 64];
        if let Some(lower) = lower.get_mut(..word.len()) {
            lower.copy_from_slice(word.as_bytes());
            lower.make_ascii_lowercase();
            return xxh3_64(lower);
        }
    }
    xxh3_64(word.to_lowercase().as_bytes())
}
