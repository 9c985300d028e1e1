//! `word`, `"a phrase"`, `prefix*`, `*part*`: a run of text, between word boundaries or not.

use super::Needs;
use super::literals::Grams;
use crate::parse::{quote, quote_always};
use crate::pipe::registry::is_pipe;
use duramen::block::{Run, Word};
use duramen::token::{self, is_word_char};
use memchr::memmem::{self, Finder};
use std::cmp::Reverse;
use std::fmt;

/// At most so long are phrases that are looked at in two parts, at each place.
const MAX_SPLIT_BYTES: usize = 256;

/// A text to find inside a value. Where the phrase itself begins (or, unless it is a prefix, ends) with a
/// word character, a word must begin (end) there in the value, too. Case matters.
#[derive(Clone, Debug)]
pub struct Phrase {
    text: Box<str>,
    prefix: bool,
    substring: bool,
    grams: Grams,
    finder: Box<Finder<'static>>,
    starts_word: bool,
    ends_word: bool,
    /// Where edges of parts may be in it; of long phrases nobody asks.
    cuts: Box<[usize]>,
}

impl Phrase {
    /// A phrase, or a phrase whose last word may go on. The empty phrase is in every text.
    pub fn new(text: &str, prefix: bool) -> Self {
        Self {
            finder: Box::new(Finder::new(text).into_owned()),
            starts_word: text.starts_with(is_word_char),
            ends_word: !prefix && text.ends_with(is_word_char),
            cuts: if text.len() > MAX_SPLIT_BYTES { Box::default() } else { token::cuts(text).collect() },
            text: text.into(),
            prefix,
            substring: false,
            grams: Grams::default(),
        }
    }

    /// A text to find anywhere, also in the midst of words.
    pub fn substring(text: &str) -> Self {
        Self { substring: true, starts_word: false, grams: Grams::of_text(text), ..Self::new(text, true) }
    }

    /// The text to find.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the last word may go on.
    pub fn is_prefix(&self) -> bool {
        self.prefix
    }

    /// Whether `text` holds the phrase.
    pub fn matches(&self, text: &str) -> bool {
        self.find(text.as_bytes(), 0).is_some()
    }

    /// Where the phrase is next at or after `from`, seen as one text from the first byte to the last.
    pub fn find(&self, bytes: &[u8], mut from: usize) -> Option<usize> {
        while let Some(at) = self.find_raw(bytes, from) {
            if self.bounded(bytes, at) {
                return Some(at);
            }
            from = self.next_after(bytes, at);
        }
        None
    }

    /// Where to look on when an occurrence at `at` was not within its boundaries: one that begins a word does not begin
    /// further on in the word that was met. So a run of one letter is gone through once, not once for each of its places.
    pub(crate) fn next_after(&self, bytes: &[u8], at: usize) -> usize {
        // Of other characters than ASCII's the next occurrence may be the start.
        let is_word = |b: &&u8| b.is_ascii() && is_word_char(char::from(**b));
        let word = if self.starts_word { bytes[at..].iter().take_while(is_word).count() } else { 0 };
        at + word.max(1)
    }

    /// As [`Phrase::find`], without regard to boundaries.
    pub fn find_raw(&self, bytes: &[u8], from: usize) -> Option<usize> {
        Some(from + self.finder.find(bytes.get(from..)?)?)
    }

    /// Whether an occurrence at `at` in a whole value lies on word boundaries.
    pub fn bounded(&self, value: &[u8], at: usize) -> bool {
        (!self.starts_word || !ends_in_word(&value[..at]))
            && (!self.ends_word || !starts_with_word(&value[at + self.text.len()..]))
    }

    /// The grams that a value with the phrase certainly has, where they say more than its words do.
    pub fn grams(&self) -> &Grams {
        &self.grams
    }

    /// Whether the phrase may lie across an edge of this part of a value; of long phrases nobody looks.
    pub(crate) fn reaches_beyond(&self, part: &str) -> bool {
        // No word lies across an edge.
        if self.text.chars().all(is_word_char) {
            return false;
        }
        let (phrase, part) = (self.text.as_bytes(), part.as_bytes());
        let split = |&at: &usize| part.ends_with(&phrase[..at]) || part.starts_with(&phrase[at..]);
        let is_within = || part.len() <= phrase.len() && memmem::find(phrase, part).is_some();
        phrase.len() > MAX_SPLIT_BYTES || is_within() || self.cuts.iter().any(split)
    }

    /// The same as a run of text.
    pub(crate) fn run(&self) -> Run<'_> {
        Run { text: &self.text, starts_word: self.starts_word, ends_word: self.ends_word }
    }

    /// The words that a value with the phrase holds.
    pub fn needs(&self) -> Needs {
        Needs::Words(hashes(&self.sought_words()))
    }

    /// The words, and parts of words, that a value with the phrase holds.
    pub(crate) fn sought_words(&self) -> Vec<Word<'_>> {
        sought_words(&self.text, !self.substring, !self.prefix)
    }
}

/// A text's words; of the first or the last one only a part is known, unless it begins or ends there.
pub fn sought_words(text: &str, begins: bool, ends: bool) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = token::words(text).map(Word::from).collect();
    if let Some(first) = words.first_mut().filter(|_| !begins && text.starts_with(is_word_char)) {
        first.is_whole = false;
    }
    if let Some(last) = words.last_mut().filter(|_| !ends && text.ends_with(is_word_char)) {
        last.is_whole = false;
    }
    words
}

/// The hashes by which filters know those of these words that are whole, the longest first: it is the rarest, most likely, and
/// where it is missing nobody asks for another.
pub fn hashes(words: &[Word<'_>]) -> Vec<u64> {
    let mut whole: Vec<&str> = words.iter().filter(|word| word.is_whole).map(|word| word.text).collect();
    whole.sort_by_key(|word| Reverse(word.len()));
    whole.into_iter().map(token::hash).collect()
}

/// Whether bytes that are the front of a valid UTF-8 text, up to a character boundary, end in a word.
fn ends_in_word(bytes: &[u8]) -> bool {
    match bytes.last() {
        None => false,
        Some(&b) if b < 128 => is_word_char(b as char),
        Some(_) => {
            let start = bytes.iter().rposition(|b| b & 0xC0 != 0x80).unwrap_or(0);
            std::str::from_utf8(&bytes[start..]).is_ok_and(|s| s.ends_with(is_word_char))
        }
    }
}

/// Whether bytes that are the rest of a valid UTF-8 text, from a character boundary, begin with a word.
fn starts_with_word(bytes: &[u8]) -> bool {
    match bytes.first() {
        None => false,
        Some(&b) if b < 128 => is_word_char(b as char),
        Some(_) => {
            let len = 1 + bytes[1..].iter().take_while(|b| **b & 0xC0 == 0x80).count();
            std::str::from_utf8(&bytes[..len]).is_ok_and(|s| s.starts_with(is_word_char))
        }
    }
}

impl PartialEq for Phrase {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.prefix == other.prefix && self.substring == other.substring
    }
}

impl fmt::Display for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = (if self.substring { "*" } else { "" }, if self.prefix { "*" } else { "" });
        // A filter does not begin with the bare name of a pipe.
        let text = if is_pipe(&self.text) { quote_always(&self.text).into() } else { quote(&self.text) };
        write!(f, "{before}{text}{after}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_tells_whether_a_phrase_may_lie_across_its_edges() {
        let phrase = Phrase::new("login from 10.0.0.1", false);
        for (part, reaches) in [
            ("a login", true),
            ("from", true),
            ("1 again", true),
            ("x l", false),
            (".1", true),
            ("no login from here", false),
            ("from 10.0.0.2", false),
        ] {
            assert_eq!(phrase.reaches_beyond(part), reaches, "{part}");
        }
        assert!(Phrase::new(&"long ".repeat(100), false).reaches_beyond("x"));
        for word in [Phrase::new("word", false), Phrase::new("word", true), Phrase::substring("word")] {
            for part in ["a swordfish", "it ends in w", "d begins", "or"] {
                assert!(!word.reaches_beyond(part), "{part}: no word lies across an edge");
            }
        }
    }

    #[test]
    fn a_word_that_was_met_is_not_gone_through_again() {
        let phrase = Phrase::new("aaa", false);
        assert_eq!(phrase.next_after(b"aaaaaa aaa", 1), 6);
        assert_eq!(phrase.find(b"aaaaaa aaa", 0), Some(7));
        assert_eq!(Phrase::new("a=a", false).find(b"a=aa=a=a", 0), Some(5));
        assert_eq!(Phrase::new("–a", false).find("x–aa–a".as_bytes(), 0), Some(6));
        assert_eq!(Phrase::new("éa", false).find("aéa–éa".as_bytes(), 0), Some(7));
        assert_eq!(Phrase::new("-a", false).find(b"-ab-a", 0), Some(3));
    }

    #[test]
    fn boundaries_count_where_the_phrase_has_words() {
        for (phrase, prefix, text, found) in [
            ("error", false, "an error.", true),
            ("error", false, "errors", false),
            ("error", false, "myerror error", true),
            ("Error", false, "error", false),
            ("err", true, "cannot: error", true),
            ("err", true, "fooerror", false),
            ("ssh: login fail", false, "ERROR: ssh: login fail!", true),
            ("ssh: login fail", false, "ssh: login failed", false),
            ("ssh: login fail", true, "ssh: login failed", true),
            ("=5", false, "a=5", true),
            ("5", false, "é5", false),
            ("5", false, "5é", false),
            ("5", false, "–5–", true),
            ("[", false, "a[b", true),
        ] {
            assert_eq!(Phrase::new(phrase, prefix).matches(text), found, "{phrase} {prefix} in {text}");
        }
        let sought = |phrase: &Phrase| -> Vec<(String, bool)> {
            phrase.sought_words().into_iter().map(|word| (word.text.to_owned(), word.is_whole)).collect()
        };
        let is = |words: &[(&str, bool)]| {
            words.iter().map(|&(text, is)| (text.to_owned(), is)).collect::<Vec<_>>()
        };
        assert_eq!(sought(&Phrase::new("a b c", false)), is(&[("a", true), ("b", true), ("c", true)]));
        assert_eq!(sought(&Phrase::new("a b c", true)), is(&[("a", true), ("b", true), ("c", false)]));
        assert_eq!(sought(&Phrase::substring("a b c")), is(&[("a", false), ("b", true), ("c", false)]));
        assert_eq!(sought(&Phrase::substring(".a b.")), is(&[("a", true), ("b", true)]));
        assert_eq!(sought(&Phrase::substring("abc")), is(&[("abc", false)]));
        let part = Phrase::substring("ampl a b");
        assert!(!part.matches("example a bc") && part.matches("xampl a bc"));
        assert_eq!(part.needs(), Needs::Words(vec![token::hash("a")]));
    }
}
