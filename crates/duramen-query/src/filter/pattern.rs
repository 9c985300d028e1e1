//! `pattern_match("user_id=<N>, ip=<IP4>")`: text with places for numbers, addresses, times and words, as the pipe
//! `collapse_nums` writes them.

use super::literals::{Grams, Literals};
use crate::parse::quote_always;
use duramen::block::Word;
use std::fmt;

/// What stands for what.
const PLACES: &[(&str, &str)] = &[
    ("<N>", r"(?:[0-9A-Fa-f]{4,}|[0-9]+)"),
    ("<UUID>", r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"),
    ("<IP4>", r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}"),
    ("<TIME>", r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?"),
    ("<DATE>", r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}"),
    (
        "<DATETIME>",
        r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?:Z|[-+][0-9]{2}:?[0-9]{2})?",
    ),
    ("<W>", r#"(?:[\p{Alphabetic}\p{N}_]+|"[^"]*"|'[^']*'|`[^`]*`)"#),
];

/// A text with places.
#[derive(Clone, Debug)]
pub struct PlacePattern {
    pattern: Box<str>,
    whole: bool,
    regex: regex::Regex,
    literals: Literals,
}

impl PlacePattern {
    /// A pattern to find somewhere in a value, or with `whole`, to be the value.
    ///
    /// # Errors
    /// The pattern is too long, in words.
    pub fn new(pattern: &str, whole: bool) -> Result<Self, String> {
        let mut expression = String::from(if whole { "^" } else { "" });
        let mut rest = pattern;
        while !rest.is_empty() {
            let place = PLACES.iter().find_map(|(name, regex)| Some((rest.strip_prefix(name)?, *regex)));
            if let Some((after, regex)) = place {
                expression.push_str(regex);
                rest = after;
                continue;
            }
            // Up to the next `<`, which may begin a place; this one does not.
            let after_first = rest.chars().next().map_or(0, char::len_utf8);
            let len = rest[after_first..].find('<').map_or(rest.len(), |i| after_first + i);
            expression.push_str(&regex::escape(&rest[..len]));
            rest = &rest[len..];
        }
        if whole {
            expression.push('$');
        }
        let built =
            regex::RegexBuilder::new(&expression).size_limit(super::regex::MAX_COMPILED_BYTES).build();
        let regex = built.map_err(|_| "the pattern is too long".to_string())?;
        Ok(Self { pattern: pattern.into(), whole, regex, literals: Literals::of_expression(&expression) })
    }

    /// The grams that such a value certainly has.
    pub fn grams(&self) -> &Grams {
        &self.literals.grams
    }

    /// The words, and parts of words, that such a value holds.
    pub(crate) fn sought_words(&self) -> Vec<Word<'_>> {
        self.literals.sought_words()
    }

    /// Whether `text` holds, or is, what the pattern describes.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

impl PartialEq for PlacePattern {
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern && self.whole == other.whole
    }
}

impl fmt::Display for PlacePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.whole { "pattern_match_full" } else { "pattern_match" };
        write!(f, "{name}({})", quote_always(&self.pattern))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_take_what_they_name() {
        let pattern = PlacePattern::new("user_id=<N>, ip=<IP4>, time=<DATETIME>", false).unwrap();
        assert!(pattern.matches("x user_id=123, ip=45.67.89.12, time=2025-10-20T23:32:12Z y"));
        assert!(!pattern.matches("user_id=x, ip=45.67.89.12, time=2025-10-20T23:32:12Z"));
        let whole = |p: &str, text: &str| PlacePattern::new(p, true).unwrap().matches(text);
        assert!(
            whole("<N>", "123") && whole("<N>", "12abcdEF") && !whole("<N>", "abc") && !whole("<N>", "1.5")
        );
        assert!(
            whole("é<é <W>=<W>", "é<é word=\"a b\"")
                && whole("<TIME>", "10:20:30,123")
                && whole("<DATE>", "2025/10/20")
        );
        assert!(whole("<UUID>", "2edfed59-3e98-4073-bbb2-28d321ca71a7") && !whole("a", "ab"));
    }
}
