//! `contains_all(a, "b c")`, `contains_any(a, "b c")`: all, or one, of several words and phrases.

use super::phrase::Phrase;
use super::{Needs, show_list};
use std::fmt;

/// The most phrases of which each is looked for on its own. Of more, every value is looked at once.
const MAX_ALTERNATIVES: usize = 8;

/// Several phrases, all or one of which a value must hold. Of none, all are in every value, and one in no value.
#[derive(Clone, Debug, PartialEq)]
pub struct Contains {
    all: bool,
    phrases: Vec<Phrase>,
}

impl Contains {
    /// All of these texts, each as a word or phrase of its own, or with `all` off, one of them.
    pub fn new<T: AsRef<str>>(all: bool, texts: impl IntoIterator<Item = T>) -> Self {
        Self { all, phrases: texts.into_iter().map(|text| Phrase::new(text.as_ref(), false)).collect() }
    }

    /// Whether `text` holds them.
    pub fn matches(&self, text: &str) -> bool {
        if self.all {
            self.phrases.iter().all(|p| p.matches(text))
        } else {
            self.phrases.iter().any(|p| p.matches(text))
        }
    }

    /// Whether a value must hold all of the phrases.
    pub fn is_all(&self) -> bool {
        self.all
    }

    /// The phrases, if a value must hold one of them, and they are so few that it is worth looking for each.
    pub(crate) fn few_alternatives(&self) -> Option<&[Phrase]> {
        (!self.all && self.phrases.len() <= MAX_ALTERNATIVES).then_some(&*self.phrases)
    }

    /// The phrases.
    pub fn phrases(&self) -> &[Phrase] {
        &self.phrases
    }

    /// The words of all phrases, or of one of them.
    pub fn needs(&self) -> Needs {
        let words = |phrase: &Phrase| match phrase.needs() {
            Needs::Words(words) => words,
            _ => Vec::new(),
        };
        if self.all {
            Needs::Words(self.phrases.iter().flat_map(words).collect())
        } else {
            Needs::OneOf(self.phrases.iter().map(words).collect())
        }
    }
}

impl fmt::Display for Contains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.all { "contains_all" } else { "contains_any" };
        show_list(f, name, self.phrases.iter().map(Phrase::text))
    }
}
