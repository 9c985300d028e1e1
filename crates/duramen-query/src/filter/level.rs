//! `level:error`, `level:>=warn`: the level, in whatever spelling the sender used.

use crate::filter::phrase::Phrase;
use crate::parse::quote;
use duramen::Level;
use std::fmt;

/// How a row's level stands to the one in the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The same.
    Is,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`; a level that is none is below no level.
    Below,
    /// `<=`
    AtMost,
}

/// A test of the level.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelTest {
    relation: Relation,
    level: Level,
    word: Phrase,
}

impl LevelTest {
    /// The test of a word; `None` if the word is no level.
    pub fn new(relation: Relation, word: &str) -> Option<Self> {
        Some(Self { relation, level: Level::parse(word)?, word: Phrase::new(word, false) })
    }

    /// Whether `text` is such a level; for equality, also if it holds the very word (`error: disk`).
    pub fn matches(&self, text: &str) -> bool {
        let level = Level::of_value(text);
        match self.relation {
            Relation::Is => level == Some(self.level) || self.word.matches(text),
            Relation::Above => level.is_some_and(|l| l > self.level),
            Relation::AtLeast => level.is_some_and(|l| l >= self.level),
            Relation::Below => level.is_some_and(|l| l < self.level),
            Relation::AtMost => level.is_some_and(|l| l <= self.level),
        }
    }
}

impl fmt::Display for LevelTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = match self.relation {
            Relation::Is => "",
            Relation::Above => ">",
            Relation::AtLeast => ">=",
            Relation::Below => "<",
            Relation::AtMost => "<=",
        };
        write!(f, "{operator}{}", quote(self.word.text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_found() {
        let error = LevelTest::new(Relation::Is, "error").unwrap();
        for text in ["error", "ERR", "Error", "severe", "error: disk"] {
            assert!(error.matches(text), "{text}");
        }
        assert!(!error.matches("warn") && !error.matches(""));
        assert!(error.matches("ERROR+2") && !error.matches("INFO+2"), "slog's");
        assert!(error.matches("50") && !error.matches("30") && !error.matches("5"), "pino's");
        let above = LevelTest::new(Relation::AtLeast, "WARN").unwrap();
        assert!(above.matches("warning") && above.matches("crit") && !above.matches("info"));
        assert!(above.matches("40") && above.matches("60") && !above.matches("30") && !above.matches("70"));
        assert_eq!(LevelTest::new(Relation::Is, "disk"), None);
        assert_eq!(LevelTest::new(Relation::Above, "30"), None, "numbers are compared as numbers");
    }
}
