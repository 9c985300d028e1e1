//! The words of a block, collected while it is encoded.

use crate::token;
use duramen_engine::kv::shared_len;
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

/// So many hashes are put into the table together: each is in a place of its own, and the processor waits for a dozen places
/// in memory as long as for one, if it knows of them.
const TOGETHER: usize = 32;
/// How many hashes are known without looking into the table: most words of a text are those that others of it have, too.
const RECENT: usize = 1 << 10;

/// A set of word hashes: open addressing over a power of two, at most half full. Reusable.
#[derive(Debug)]
pub(crate) struct Words {
    table: Vec<u64>,
    len: usize,
    /// Hashes that were added lately, each at the place that its lowest bits say.
    recent: Box<[u64; RECENT]>,
    /// Hashes that are still to be put into the table.
    to_come: Vec<u64>,
    /// Whether the hash 0 is in, which in the table means "free".
    zero: bool,
}

impl Default for Words {
    fn default() -> Self {
        let recent = Box::new([0; RECENT]);
        Self { table: Vec::new(), len: 0, recent, to_come: Vec::new(), zero: false }
    }
}

impl Words {
    pub(crate) fn clear(&mut self) {
        self.table.fill(0);
        self.recent.fill(0);
        self.to_come.clear();
        self.len = 0;
        self.zero = false;
    }

    /// All hashes, in no order.
    pub(crate) fn hashes(&mut self) -> Vec<u64> {
        self.settle();
        self.table.iter().copied().filter(|&h| h != 0).chain(self.zero.then_some(0)).collect()
    }

    fn insert(&mut self, hash: u64) {
        let recent = &mut self.recent[hash as usize % RECENT];
        if *recent == hash {
            self.zero |= hash == 0;
            return;
        }
        *recent = hash;
        self.to_come.push(hash);
        if self.to_come.len() == TOGETHER {
            self.settle();
        }
    }

    /// Puts into the table what is not yet in it.
    fn settle(&mut self) {
        if self.to_come.is_empty() {
            return;
        }
        if (self.len + self.to_come.len()) * 2 > self.table.len() {
            self.grow();
        }
        let mask = self.table.len() - 1;
        let to_come = std::mem::take(&mut self.to_come);
        // No place depends on what lies in another, so that all of them are fetched at once.
        let touched = to_come.iter().fold(0, |all, &hash| all | self.table[hash as usize & mask]);
        std::hint::black_box(touched);
        to_come.iter().for_each(|&hash| self.put(hash, mask));
        self.to_come = to_come;
        self.to_come.clear();
    }

    fn put(&mut self, hash: u64, mask: usize) {
        if hash == 0 {
            self.zero = true;
            return;
        }
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
        old.into_iter().for_each(|hash| self.put(hash, size - 1));
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
        let mut same = shared_len(last, text);
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
            let hashes = words.hashes();
            assert_eq!(hashes.len(), expected.len());
            assert_eq!(hashes.into_iter().collect::<BTreeSet<_>>(), expected);
        }
    }

    #[test]
    fn each_of_many_words_is_there_once_and_nothing_is_left_for_the_next_block() {
        let mut words = Words::default();
        for block in 0..3u64 {
            words.clear();
            assert!(words.hashes().is_empty(), "{block}");
            // Some are added again at once, some when others have taken their place among the recent ones.
            let expected: BTreeSet<u64> = (0..5_000 + block).collect();
            for word in expected.iter().flat_map(|&n| [n, n, n / 2, (n % 7) << 40]) {
                words.insert(word);
            }
            let expected: BTreeSet<u64> = expected.into_iter().chain((0..7).map(|n| n << 40)).collect();
            let hashes = words.hashes();
            assert_eq!(hashes.len(), expected.len());
            assert_eq!(hashes.into_iter().collect::<BTreeSet<_>>(), expected);
        }
    }
}
