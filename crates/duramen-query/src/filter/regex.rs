//! `~"regexp"`: a regular expression matches somewhere in the value.

use super::Needs;
use super::literals::Grams;
use super::phrase::hashes;
use crate::parse::quote_always;
use duramen::token;
use regex_syntax::hir::{Hir, HirKind};
use std::fmt;

/// The most bytes a compiled expression may take.
pub(crate) const MAX_COMPILED_BYTES: usize = 4 << 20;

/// A compiled regular expression.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: regex::Regex,
    /// Words that every value that matches holds, each whole.
    words: Vec<Box<str>>,
    grams: Grams,
}

impl Pattern {
    /// Compiles an expression: it matches anywhere in a value unless anchored.
    ///
    /// # Errors
    /// What is wrong with the expression, in a few words.
    pub fn new(expression: &str) -> Result<Self, String> {
        let compiled = regex::RegexBuilder::new(expression).size_limit(MAX_COMPILED_BYTES).build();
        let with_words = |regex| {
            let mut words = Vec::new();
            if let Ok(hir) = regex_syntax::parse(expression) {
                collect_words(&hir, &mut words);
            }
            Self { regex, words, grams: Grams::of_expression(expression) }
        };
        compiled.map(with_words).map_err(|e| match e {
            regex::Error::CompiledTooBig(limit) => format!("it takes more than {limit} bytes compiled"),
            other => other.to_string().lines().last().unwrap_or("").trim_start_matches("error: ").to_string(),
        })
    }

    /// The expression.
    pub(crate) fn regex(&self) -> &regex::Regex {
        &self.regex
    }

    /// The words that a value that matches certainly holds: those that stand whole inside a literal.
    pub fn needs(&self) -> Needs {
        if self.words.is_empty() { Needs::Nothing } else { Needs::Words(hashes(&self.whole_words())) }
    }

    /// The same words themselves.
    pub(crate) fn whole_words(&self) -> Vec<&str> {
        self.words.iter().map(|word| &**word).collect()
    }

    /// The grams that a value that matches certainly has.
    pub fn grams(&self) -> &Grams {
        &self.grams
    }

    /// Whether it matches somewhere in `text`.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// The words that lie whole inside the literals that every match has. What is at a literal's edge may go on.
fn collect_words(hir: &Hir, words: &mut Vec<Box<str>>) {
    match hir.kind() {
        HirKind::Literal(literal) => {
            let text = str::from_utf8(&literal.0).unwrap_or_default();
            let inside = text.trim_matches(token::is_word_char);
            words.extend(token::words(inside).map(Box::from));
        }
        HirKind::Capture(capture) => collect_words(&capture.sub, words),
        HirKind::Repetition(repetition) if repetition.min > 0 => collect_words(&repetition.sub, words),
        HirKind::Concat(parts) => parts.iter().for_each(|part| collect_words(part, words)),
        _ => {}
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_inside_literals_are_needed() {
        for (expression, words) in [
            ("job .* finished: 1[0-9]+ rows", &["finished"][..]),
            ("a (b) c", &[]),
            (" one (two three four)+ (x y z)? five ", &["one", "three", "five"]),
            (" a (b|c d e) f ", &["a", "f"]),
            ("(?i) error ", &[]),
            (" error", &[]),
            ("", &[]),
            ("^ error $", &["error"]),
            (" caf\u{e9} ", &["caf\u{e9}"]),
        ] {
            let pattern = Pattern::new(expression).unwrap();
            assert_eq!(pattern.whole_words(), words, "{expression}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_matches_holds_the_words(
            expression in "( ?[ab]{1,2} ?| ?\\(a b c\\)[+?]?| a\\|b |[ab]\\*|\\.){0,5}",
            text in "[ab ]{0,12}",
        ) {
            let pattern = Pattern::new(&expression).unwrap();
            if pattern.matches(&text) {
                let words: Vec<&str> = token::words(&text).collect();
                for word in pattern.whole_words() {
                    assert!(words.contains(&word), "{expression:?} matches {text:?} without {word:?}");
                }
            }
        }
    }
}
