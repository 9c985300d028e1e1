//! `in(a, "b c")`: the whole value is one of a list.

use super::Needs;
use super::phrase::{hashes, sought_words};
use crate::parse::quote;
use std::collections::BTreeSet;
use std::fmt;

/// One of a list of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct In {
    values: BTreeSet<Box<str>>,
}

impl In {
    /// One of these; of none, nothing matches.
    pub fn new(values: impl IntoIterator<Item = Box<str>>) -> Self {
        Self { values: values.into_iter().collect() }
    }

    /// The values.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|value| &**value)
    }

    /// Whether `text` is one of the values.
    pub fn matches(&self, text: &str) -> bool {
        self.values.contains(text)
    }

    /// For one of the values, all its words.
    pub fn needs(&self) -> Needs {
        Needs::OneOf(self.values.iter().map(|v| hashes(&sought_words(v, true, true))).collect())
    }
}

impl fmt::Display for In {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("in(")?;
        for (i, value) in self.values.iter().enumerate() {
            write!(f, "{}{}", if i > 0 { ", " } else { "" }, quote(value))?;
        }
        f.write_str(")")
    }
}
