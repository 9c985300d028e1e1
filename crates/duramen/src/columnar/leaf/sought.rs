//! A word that is looked for.

use super::super::streams::Part;
use super::find::Presence;
use crate::block::Word;
use crate::error::Result;
use crate::token::is_word_char;
use aho_corasick::AhoCorasick;
use memchr::memmem;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The most places of a word that are remembered.
pub(super) const MAX_PLACES: usize = 1 << 16;

/// A word to look for in a column.
#[derive(Debug)]
pub(crate) struct Sought<'w> {
    word: Word<'w>,
    finder: Finder<'w>,
    /// Where it is in the column's part, if that was looked up.
    places: Option<Places>,
    /// Where in other columns it is, as far as somebody asked.
    in_columns: RefCell<BTreeMap<usize, Presence>>,
    /// Which values of other columns hold it, as far as somebody asked: of a dictionary its entries, of texts the slots.
    in_values: RefCell<BTreeMap<usize, Rc<[Held]>>>,
}

/// Finds its letters.
#[derive(Debug)]
enum Finder<'w> {
    Exact(Box<memmem::Finder<'w>>),
    AnyCase(AhoCorasick),
    /// Any case, if the word is more than a library takes.
    AnyCaseOneByOne(&'w [u8]),
}

impl<'w> Finder<'w> {
    fn new(word: Word<'w>) -> Self {
        if !word.any_case {
            return Self::Exact(memmem::Finder::new(word.text).into());
        }
        let built = AhoCorasick::builder().ascii_case_insensitive(true).build([word.text]);
        built.map_or(Self::AnyCaseOneByOne(word.text.as_bytes()), Self::AnyCase)
    }

    fn find(&self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Exact(finder) => finder.find(bytes),
            Self::AnyCase(finder) => finder.find(bytes).map(|found| found.start()),
            Self::AnyCaseOneByOne(word) => {
                bytes.windows(word.len()).position(|w| w.eq_ignore_ascii_case(word))
            }
        }
    }
}

/// Whether a value holds a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Not, or in vain: no text passes because of it.
    Not,
    /// Its letters, maybe as a part of another word.
    Perhaps,
    /// It, and all else that is sought: a text with this value passes.
    Certain,
}

/// One look at all of a part, instead of one at each place of it.
#[derive(Debug)]
pub(crate) struct Places {
    pub(crate) text: Vec<u32>,
    text_len: usize,
    pub(crate) meta: Vec<u32>,
}

impl<'w> Sought<'w> {
    /// A word to look for everywhere in this part, of which nothing was read yet.
    pub(crate) fn new(word: Word<'w>, part: &Part<'_>) -> Self {
        let mut sought = Self::here_and_there(word);
        sought.look_up(part);
        sought
    }

    /// Looks the word up in all of this part, of which no text nor meta was read yet.
    pub(crate) fn look_up(&mut self, part: &Part<'_>) {
        let (text, meta) = (self.all_in(part.text.rest()), self.all_in(part.meta.rest()));
        self.places =
            text.zip(meta).map(|(text, meta)| Places { text, text_len: part.text.remaining(), meta });
    }

    /// A word to look for where others have been found: in a few places, one by one.
    pub(crate) fn here_and_there(word: Word<'w>) -> Self {
        Self {
            word,
            finder: Finder::new(word),
            places: None,
            in_columns: RefCell::default(),
            in_values: RefCell::default(),
        }
    }

    /// The word.
    pub(crate) fn word(&self) -> Word<'w> {
        self.word
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.word.text.as_bytes()
    }

    /// Its places in the part's streams, counted from where those began when it was looked up, if it was.
    pub(crate) fn places(&self) -> Option<&Places> {
        self.places.as_ref()
    }

    /// Where in some bytes it is first.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<usize> {
        self.finder.find(bytes)
    }

    /// Where it is next, from a place on.
    pub(crate) fn find_from(&self, bytes: &[u8], from: usize) -> Option<usize> {
        self.find(bytes.get(from..)?).map(|at| from + at)
    }

    /// Whether a text, cut out between two words, has it: a whole word not as a part of another.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let mut from = 0;
        while let Some(start) = self.find_from(bytes, from) {
            let end = start + self.bytes().len();
            // What is found are whole characters.
            let (before, after) =
                (text.get(..start).unwrap_or_default(), text.get(end..).unwrap_or_default());
            if !self.word.is_whole || !(before.ends_with(is_word_char) || after.starts_with(is_word_char)) {
                return true;
            }
            from = end;
        }
        false
    }

    /// Where in some bytes it is; nothing if it is in more than [`MAX_PLACES`].
    fn all_in(&self, bytes: &[u8]) -> Option<Vec<u32>> {
        let mut places = Vec::new();
        let mut from = 0;
        while let Some(at) = self.find_from(bytes, from) {
            if places.len() == MAX_PLACES {
                return None;
            }
            places.push(at as u32);
            // Two may overlap: one across the edge of two areas, and one at the beginning of the second.
            from = at + 1;
        }
        Some(places)
    }

    /// Where in another column it is: `tell` says so, once.
    pub(crate) fn in_column(&self, of: usize, tell: impl FnOnce() -> Result<Presence>) -> Result<Presence> {
        if let Some(&known) = self.in_columns.borrow().get(&of) {
            return Ok(known);
        }
        let presence = tell()?;
        self.in_columns.borrow_mut().insert(of, presence);
        Ok(presence)
    }

    /// Which of another column's values hold it: `tell` says so, once.
    pub(crate) fn in_values(&self, of: usize, tell: impl FnOnce() -> Rc<[Held]>) -> Rc<[Held]> {
        self.in_values.borrow_mut().entry(of).or_insert_with(tell).clone()
    }

    /// Whether it is in the next `len` bytes of the part's text.
    pub(crate) fn is_next(&self, part: &Part<'_>, len: usize) -> bool {
        let text = part.text.rest();
        let text = text.get(..len).unwrap_or(text);
        let found = self.first_in(text, part.text.remaining(), 0);
        found.is_some_and(|at| at + self.bytes().len() <= text.len())
    }

    /// Where it is first, from `from` on, in an area of the part's text, which still had so many bytes there. Without the
    /// look at all of the text it is the place of the whole word in the area; with it the word may reach over its end.
    pub(super) fn first_in(&self, area: &[u8], remaining: usize, from: usize) -> Option<usize> {
        let Some(Places { text: at, text_len, .. }) = &self.places else {
            return self.find_from(area, from);
        };
        let start = text_len.saturating_sub(remaining);
        let next = at.get(at.partition_point(|&at| (at as usize) < start + from));
        next.map(|&at| at as usize - start).filter(|&at| at < area.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_told_from_parts_of_others() {
        let is_in = |text, word, is_whole, any_case| {
            Sought::here_and_there(Word { text: word, is_whole, any_case }).is_in(text)
        };
        for (text, word, as_whole, as_part) in [
            ("a Mobile/1", "Mobile", true, true),
            ("MobileMobile Mobile", "Mobile", true, true),
            ("IEMobile Mobiles", "Mobile", false, true),
            ("Mobile_", "Mobile", false, true),
            ("éMobile", "Mobile", false, true),
            ("Mobileé", "Mobile", false, true),
            ("«Mobile»", "Mobile", true, true),
            ("mobile", "Mobile", false, false),
            ("", "Mobile", false, false),
        ] {
            assert_eq!(is_in(text, word, true, false), as_whole, "{text}");
            assert_eq!(is_in(text, word, false, false), as_part, "{text}");
        }
        assert!(is_in("a mobile", "MOBILE", true, true) && !is_in("a mobiles", "MOBILE", true, true));
    }
}
