//! The words of a block, collected while it is encoded.

use crate::token;
use xxhash_rust::xxh3::xxh3_64;

/// For each byte: what it is in lower case if it belongs to words, 0 if it does not, 1 if it is not ASCII.
const LOWER: [u8; 256] = {
    let mut table = [0u8; 256];
    let mut i = 0;
    while i < 256 {
        let c = i as u8;
        table[i] = if c >= 0x80 {
            1
        } else if c.is_ascii_alphanumeric() || c == b'_' {
            c.to_ascii_lowercase()
        } else {
            0
        };
        i += 1;
    }
    table
};

/// A set of word hashes: open addressing over a power of two, at most half full. Reusable.
#[derive(Debug, Default)]
pub(crate) struct Words {
    table: Vec<u64>,
    len: usize,
    /// Whether the hash 0 is in, which in the table means "free".
    zero: bool,
}

impl Words {
    pub(crate) fn clear(&mut self) {
        self.table.fill(0);
        self.len = 0;
        self.zero = false;
    }

    pub(crate) fn len(&self) -> usize {
        self.len + usize::from(self.zero)
    }

    /// All hashes, in no order.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = u64> {
        self.table.iter().copied().filter(|&h| h != 0).chain(self.zero.then_some(0))
    }

    fn insert(&mut self, hash: u64) {
        if hash == 0 {
            self.zero = true;
            return;
        }
        if self.len * 2 >= self.table.len() {
            self.grow();
        }
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.table[at] {
                0 => break,
                h if h == hash => return,
                _ => at = (at + 1) & mask,
            }
        }
        self.table[at] = hash;
        self.len += 1;
    }

    fn grow(&mut self) {
        let old: Vec<u64> = self.table.iter().copied().filter(|&h| h != 0).collect();
        // Written over, not taken from the system as zeros: such pages would be read first, and each mapped a second
        // time when it is written to, for which every thread of the process is interrupted.
        let size = (self.table.len() * 2).max(1024);
        self.table.fill(0);
        self.table.resize(size, 0);
        self.len = 0;
        old.into_iter().for_each(|hash| self.insert(hash));
    }

    /// Adds every word of a text.
    pub(crate) fn add(&mut self, text: &[u8]) {
        let mut lower = [0u8; 64];
        let mut len = 0;
        for (i, &byte) in text.iter().enumerate() {
            match LOWER[byte as usize] {
                0 => {
                    if len > 0 {
                        self.insert(xxh3_64(&lower[..len]));
                        len = 0;
                    }
                }
                c if c > 1 && len < lower.len() => {
                    lower[len] = c;
                    len += 1;
                }
                // Not ASCII, or a very long word: from this word on, the slow and exact way.
                _ => return self.add_any(&text[i - len..]),
            }
        }
        if len > 0 {
            self.insert(xxh3_64(&lower[..len]));
        }
    }

    /// Adds the words of a text that comes after `last`, whose words are in: those from where they differ.
    pub(crate) fn add_changed(&mut self, last: &[u8], text: &[u8]) {
        let mut same = last.iter().zip(text).take_while(|(a, b)| a == b).count();
        if same == text.len() && same == last.len() {
            return;
        }
        while same > 0 && LOWER[text[same - 1] as usize] != 0 {
            same -= 1;
        }
        self.add(&text[same..]);
    }

    #[cold]
    fn add_any(&mut self, text: &[u8]) {
        for word in token::words(&String::from_utf8_lossy(text)) {
            self.insert(token::hash(word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    proptest::proptest! {
        #[test]
        fn the_words_are_those_that_a_query_hashes(text in r#"([a-zA-Z0-9_]{0,3}|[ .:/-]|[äßΩİ☃😀]|\PC|[xX]{60,70}){0,30}"#) {
            let mut words = Words::default();
            words.add(text.as_bytes());
            let expected: BTreeSet<u64> = token::words(&text).map(token::hash).collect();
            assert_eq!(words.hashes().collect::<BTreeSet<_>>(), expected);
            assert_eq!(words.len(), expected.len());
        }
    }
}
