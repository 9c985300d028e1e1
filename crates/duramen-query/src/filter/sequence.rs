//! `seq(error, "open file")`: words and phrases, one after another, with anything between them.

use super::phrase::Phrase;
use super::{Needs, show_list};
use std::fmt;

/// Phrases in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    phrases: Vec<Phrase>,
}

impl Sequence {
    /// These texts, each as a word or phrase; none of them is in every value.
    pub fn new<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self { phrases: texts.into_iter().map(|text| Phrase::new(text.as_ref(), false)).collect() }
    }

    /// Whether `text` holds each phrase after the end of the one before.
    pub fn matches(&self, text: &str) -> bool {
        let mut from = 0;
        self.phrases.iter().all(|phrase| match phrase.find(text.as_bytes(), from) {
            Some(at) => {
                from = at + phrase.text().len();
                true
            }
            None => false,
        })
    }

    /// The phrases.
    pub fn phrases(&self) -> &[Phrase] {
        &self.phrases
    }

    /// The words of all phrases.
    pub fn needs(&self) -> Needs {
        let words = self.phrases.iter().filter_map(|phrase| match phrase.needs() {
            Needs::Words(words) => Some(words),
            _ => None,
        });
        Needs::Words(words.flatten().collect())
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_list(f, "seq", self.phrases.iter().map(Phrase::text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_counts_and_phrases_do_not_overlap() {
        let seq = Sequence::new(["error", "open file"]);
        assert!(seq.matches("some error: cannot open file /x"));
        assert!(!seq.matches("cannot open file: error"));
        assert!(!Sequence::new(["a a", "a"]).matches("a a"));
        assert!(Sequence::new(["a", "a"]).matches("a a") && Sequence::new::<&str>([]).matches(""));
    }
}
