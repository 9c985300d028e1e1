//! `~"regexp"`: a regular expression matches somewhere in the value.

use crate::parse::quote_always;
use std::fmt;

/// The most bytes a compiled expression may take.
pub(crate) const MAX_COMPILED_BYTES: usize = 4 << 20;

/// A compiled regular expression.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: regex::Regex,
}

impl Pattern {
    /// Compiles an expression: it matches anywhere in a value unless anchored.
    ///
    /// # Errors
    /// What is wrong with the expression, in a few words.
    pub fn new(expression: &str) -> Result<Self, String> {
        let compiled = regex::RegexBuilder::new(expression).size_limit(MAX_COMPILED_BYTES).build();
        compiled.map(|regex| Self { regex }).map_err(|e| match e {
            regex::Error::CompiledTooBig(limit) => format!("it takes more than {limit} bytes compiled"),
            other => other.to_string().lines().last().unwrap_or("").trim_start_matches("error: ").to_string(),
        })
    }

    /// The expression.
    pub(crate) fn regex(&self) -> &regex::Regex {
        &self.regex
    }

    /// Whether it matches somewhere in `text`.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.regex.as_str() == other.regex.as_str()
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "~{}", quote_always(self.regex.as_str()))
    }
}
