//! `i(word)`, `i("a phrase")`, `i(prefix*)`: a phrase without regard to case.

use super::Needs;
use super::phrase::{Phrase, sought_words};
use crate::parse::quote;
use duramen::block::Word;
use std::borrow::Cow;
use std::fmt;

/// A phrase in any case.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    original: Box<str>,
    folded: Phrase,
}

impl Fold {
    /// A phrase, or one whose last word may go on.
    pub fn new(text: &str, prefix: bool) -> Self {
        Self { original: text.into(), folded: Phrase::new(&fold(text), prefix) }
    }

    /// Whether `text` holds the phrase in any case.
    pub fn matches(&self, text: &str) -> bool {
        if self.original.is_empty() && !self.folded.is_prefix() {
            return text.is_empty();
        }
        if self.original.is_empty() {
            return !text.is_empty();
        }
        self.folded.matches(&fold(text))
    }

    /// The words, and parts of words, that a value with the phrase holds, in any case of ASCII's letters. A `k` may also be
    /// the sign of kelvin there.
    pub(crate) fn sought_words(&self) -> Vec<Word<'_>> {
        if !self.original.is_ascii() {
            return Vec::new();
        }
        let mut words = Vec::new();
        for word in sought_words(self.folded.text(), true, !self.folded.is_prefix()) {
            let is_whole = word.is_whole && !word.text.contains('k');
            let parts = word.text.split('k').filter(|part| !part.is_empty());
            words.extend(parts.map(|text| Word { text, is_whole, any_case: true }));
        }
        words
    }

    /// Filters hold words in lower case, so those of ASCII serve here, too. Others can differ in how they
    /// fold (a final sigma), and are left out.
    pub fn needs(&self) -> Needs {
        if self.original.is_ascii() { self.folded.needs() } else { Needs::Nothing }
    }
}

/// Lower case, character by character: those whose lower case is more than one character stay.
fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return if text.bytes().any(|b| b.is_ascii_uppercase()) {
            text.to_ascii_lowercase().into()
        } else {
            text.into()
        };
    }
    text.chars()
        .map(|c| {
            let mut lower = c.to_lowercase();
            match (lower.next(), lower.next()) {
                (Some(one), None) => one,
                _ => c,
            }
        })
        .collect::<String>()
        .into()
}

impl fmt::Display for Fold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "i({}{})", quote(&self.original), if self.folded.is_prefix() { "*" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_case_but_whole_words() {
        let error = Fold::new("Error", false);
        assert!(error.matches("ERROR: cannot read") && error.matches("an eRRor"));
        assert!(!error.matches("too many Errors") && Fold::new("error", true).matches("too many Errors"));
        assert!(Fold::new("ÄRGER", false).matches("großer ärger"));
        let kelvin = Fold::new("Broken link to", true);
        assert!(kelvin.matches("bro\u{212a}en LINk TOO"));
        let sought: Vec<_> = kelvin.sought_words().iter().map(|word| (word.text, word.is_whole)).collect();
        assert_eq!(sought, [("bro", false), ("en", false), ("lin", false), ("to", false)]);
        assert!(error.sought_words().iter().all(|word| word.is_whole && word.any_case));
    }
}
