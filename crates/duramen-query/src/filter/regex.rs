//! `~"regexp"`: a regular expression matches somewhere in the value.

use super::Needs;
use super::literals::{Grams, Literals};
use super::phrase::hashes;
use super::re2::translate;
use crate::parse::quote_always;
use duramen::block::Word;
use regex_syntax::hir::{Hir, HirKind};
use std::fmt;

/// The most bytes a compiled expression may take.
pub(crate) const MAX_COMPILED_BYTES: usize = 4 << 20;

/// A user's expression, in the crate's syntax, and compiled; `.` is a line feed, too, if `across_lines`.
///
/// # Errors
/// What is wrong with the expression, in a few words.
pub fn compile(expression: &str, across_lines: bool) -> Result<regex::Regex, String> {
    build(&translate(expression)?, across_lines)
}

/// The same of one that must match the whole of a text, of which `.` is any character.
///
/// # Errors
/// As [`compile`].
pub fn compile_whole(expression: &str) -> Result<regex::Regex, String> {
    // Compiled alone first, so that `)(` cannot break out of the group.
    build(&whole(compile(expression, true)?.as_str()), true)
}

fn whole(expression: &str) -> String {
    format!("^(?s:{expression})$")
}

fn build(translated: &str, across_lines: bool) -> Result<regex::Regex, String> {
    let mut builder = regex::RegexBuilder::new(translated);
    let compiled = builder.size_limit(MAX_COMPILED_BYTES).dot_matches_new_line(across_lines).build();
    // Of what the crate says, the last line has no part of the expression in it, which is not the user's.
    compiled.map_err(|e| match e {
        regex::Error::CompiledTooBig(limit) => format!("it takes more than {limit} bytes compiled"),
        other => other.to_string().lines().last().unwrap_or("").trim_start_matches("error: ").to_string(),
    })
}

/// A compiled regular expression.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// As the user wrote it.
    source: Box<str>,
    regex: regex::Regex,
    /// What is in every value that matches.
    literals: Literals,
    /// Whether it looks at what stands beside a match: at the edges of a value or of a word.
    looks_around: bool,
    /// What every match begins with.
    start: Box<str>,
}

impl Pattern {
    /// Compiles an expression: it matches anywhere in a value unless anchored. `.` is no line feed.
    ///
    /// # Errors
    /// What is wrong with the expression, in a few words.
    pub fn new(expression: &str) -> Result<Self, String> {
        compile(expression, false).map(|regex| Self::of(expression.into(), regex, false))
    }

    /// The same, but `.` is a line feed, too: messages of many lines match as others do.
    ///
    /// # Errors
    /// As [`Pattern::new`].
    pub fn across_lines(expression: &str) -> Result<Self, String> {
        compile(expression, true).map(|regex| Self::of(expression.into(), regex, true))
    }

    fn of(source: Box<str>, regex: regex::Regex, across_lines: bool) -> Self {
        let mut parser = regex_syntax::ParserBuilder::new().dot_matches_new_line(across_lines).build();
        let hir = parser.parse(regex.as_str()).ok();
        let looks_around = hir.as_ref().is_none_or(|hir| !hir.properties().look_set().is_empty());
        let start = hir.as_ref().map_or("", start).into();
        Self {
            source,
            literals: hir.as_ref().map(Literals::of).unwrap_or_default(),
            looks_around,
            start,
            regex,
        }
    }

    /// Of an expression that must match the whole value, as [`compile_whole`] has it.
    ///
    /// # Errors
    /// As [`Pattern::new`].
    pub fn whole(expression: &str) -> Result<Self, String> {
        compile_whole(expression).map(|regex| Self::of(whole(expression).into(), regex, true))
    }

    /// The expression, as the user wrote it.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// What it was compiled to.
    pub(crate) fn regex(&self) -> &regex::Regex {
        &self.regex
    }

    /// The words that a value that matches certainly holds: those that stand whole inside a literal.
    pub fn needs(&self) -> Needs {
        let whole = hashes(&self.sought_words());
        if whole.is_empty() { Needs::Nothing } else { Needs::Words(whole) }
    }

    /// The words, and parts of words, that a value that matches holds.
    pub(crate) fn sought_words(&self) -> Vec<Word<'_>> {
        self.literals.sought_words()
    }

    /// The grams that a value that matches certainly has.
    pub fn grams(&self) -> &Grams {
        &self.literals.grams
    }

    /// What every match begins with, whatever stands before it.
    pub(crate) fn start(&self) -> &str {
        &self.start
    }

    /// Whether any text with this part matches because of it.
    pub(crate) fn matches_by_part(&self, part: &str) -> bool {
        !self.looks_around && self.matches(part)
    }

    /// Whether it matches somewhere in `text`.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// The literal that every match begins with; empty, if there is none.
fn start(hir: &Hir) -> &str {
    match hir.kind() {
        HirKind::Literal(literal) => str::from_utf8(&literal.0).unwrap_or_default(),
        HirKind::Capture(capture) => start(&capture.sub),
        HirKind::Concat(parts) => parts.first().map_or("", start),
        _ => "",
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "~{}", quote_always(&self.source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use duramen::token;

    #[test]
    fn a_dot_is_a_line_feed_where_lines_are_crossed() {
        let matches =
            |pattern: Result<Pattern, String>| pattern.unwrap().matches("job failed\nTraceback: refused");
        assert!(matches(Pattern::across_lines("failed.*refused")));
        assert!(!matches(Pattern::new("failed.*refused")));
        assert!(!matches(Pattern::across_lines("(?-s:failed.*refused)")));
    }

    #[test]
    fn what_matches_begin_with_is_told() {
        for (expression, start) in [
            ("took (?P<ms>[0-9]+)", "took "),
            ("(?P<all>(ab)c+)d", "ab"),
            ("ab?", "a"),
            ("(?i)took", ""),
            ("a|b", ""),
            ("ab|ac", ""),
            ("(ab)?c", ""),
            ("^a", ""),
            (r"\ba", ""),
            ("", ""),
        ] {
            assert_eq!(Pattern::new(expression).unwrap().start(), start, "{expression}");
        }
    }

    #[test]
    fn words_in_literals_are_sought() {
        for (expression, words) in [
            ("job .* finished: 1[0-9]+ rows", &["job+", "finished", "1+", "rows+"][..]),
            ("a (b) c", &["a+", "b", "c+"]),
            (" one (two three four)+ (x y z)? five ", &["one", "two+", "three", "four+", "five"]),
            (" a (b|c d e) f ", &["a", "f"]),
            ("(?i) error ", &["error i"]),
            ("fail(ed|ure)", &["fail+"]),
            ("(?i)out of disk", &["out+ i", "of i", "di+ i"]),
            ("[Ww]arning", &["warning+ i"]),
            (" error", &["error+"]),
            ("", &[]),
            ("^ error $", &["error"]),
            (" caf\u{e9} ", &["caf\u{e9}"]),
        ] {
            let pattern = Pattern::new(expression).unwrap();
            let told = pattern.sought_words().into_iter().map(|word| {
                let part = if word.is_whole { "" } else { "+" };
                format!("{}{part}{}", word.text, if word.any_case { " i" } else { "" })
            });
            assert_eq!(told.collect::<Vec<_>>(), words, "{expression}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_matches_holds_the_words(
            expression in "(\\(\\?i\\))?( ?[abkS]{1,2} ?| ?\\(a b c\\)[+?]?| a\\|b |[ab]\\*|\\.|\\[aA\\]|\\\\bk|\\\\Qa b\\\\E|\\\\w|\\\\x6b){0,5}",
            text in "[abAkKS\u{212a}ſ ]{0,12}",
        ) {
            let pattern = Pattern::new(&expression).unwrap();
            let behind = text.find(pattern.start()).map_or("", |at| &text[at..]);
            let found = |text: &'_ str| pattern.regex.find(text).map(|found| text[found.start()..].to_string());
            if !pattern.start().is_empty() {
                assert_eq!(found(behind), found(&text), "{expression:?} begins with {:?}", pattern.start());
            }
            if pattern.matches(&text) {
                for word in pattern.sought_words() {
                    let is = |text: &str, of: &str| if word.any_case { text.eq_ignore_ascii_case(of) } else { text == of };
                    let holds = |of: &str| match word.is_whole {
                        true => is(of, word.text),
                        false => (0..of.len()).any(|at| of.get(at..at + word.text.len()).is_some_and(|part| is(part, word.text))),
                    };
                    assert!(token::words(&text).any(holds), "{expression:?} matches {text:?} without {word:?}");
                }
                for (start, end) in (0..text.len()).flat_map(|start| (start..=text.len()).map(move |end| (start, end))) {
                    let Some(part) = text.get(start..end) else { continue };
                    assert!(!pattern.matches_by_part(part) || pattern.matches(&text));
                }
            } else {
                let parts = text.split(' ');
                assert!(!{ parts }.any(|part| pattern.matches_by_part(part)), "{expression:?} does not match {text:?}");
            }
        }
    }
}
