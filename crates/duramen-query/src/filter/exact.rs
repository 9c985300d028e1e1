//! `="text"`, `="text"*`, and the empty value `""`: the whole value, letter by letter.

use super::Needs;
use super::phrase::{hashes, sought_words};
use crate::parse::quote;
use std::fmt;

/// The whole value, or its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exact {
    text: Box<str>,
    prefix: bool,
    int: Option<i64>,
}

impl Exact {
    /// A value, or with `prefix` the beginning of one.
    pub fn new(text: &str, prefix: bool) -> Self {
        let int = if prefix { None } else { duramen::entry::plain_integer(text) };
        Self { text: text.into(), prefix, int }
    }

    /// The value, or its beginning.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is only the beginning.
    pub fn is_prefix(&self) -> bool {
        self.prefix
    }

    /// Whether the value must be the empty text.
    pub(crate) fn is_of_empty(&self) -> bool {
        self.text.is_empty() && !self.prefix
    }

    /// Whether `text` is the value.
    pub fn matches(&self, text: &str) -> bool {
        if self.prefix { text.starts_with(&*self.text) } else { *text == *self.text }
    }

    /// Whether the integer's text is the value.
    pub fn matches_int(&self, n: i64) -> Option<bool> {
        (!self.prefix).then_some(self.int == Some(n))
    }

    /// The integer that the value must be, if it must be one.
    pub fn int(&self) -> Option<i64> {
        self.int
    }

    /// The words of the value.
    pub fn needs(&self) -> Needs {
        Needs::Words(hashes(&sought_words(&self.text, true, !self.prefix)))
    }
}

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_of_empty() {
            return f.write_str("\"\"");
        }
        write!(f, "={}{}", quote(&self.text), if self.prefix { "*" } else { "" })
    }
}
