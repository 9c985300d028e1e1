//! What the pipes have in common that write fields: where from, where to, and what stays as it is.

use super::fields::NamePattern;
use crate::error::ParseError;
use crate::parse::{Parser, quote};
use crate::row::ResultRow;
use duramen::ValueKind;
use duramen::block::names;

/// Which fields keep the value they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writes {
    /// `keep_original_fields`: those that are not empty.
    pub keep_original: bool,
    /// `skip_empty_results`: those that would be empty.
    pub skip_empty: bool,
}

impl Writes {
    /// Reads one of its words, if one is there.
    pub fn parse(&mut self, p: &mut Parser<'_>) -> Result<bool, ParseError> {
        if p.eat_word("keep_original_fields")? {
            self.keep_original = true;
        } else if p.eat_word("skip_empty_results")? {
            self.skip_empty = true;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Reads all of them.
    pub fn parse_all(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let mut writes = Self::default();
        while writes.parse(p)? {}
        Ok(writes)
    }

    /// As LogsQL, after a blank.
    pub fn show(self) -> String {
        let keep = if self.keep_original { " keep_original_fields" } else { "" };
        let skip = if self.skip_empty { " skip_empty_results" } else { "" };
        format!("{keep}{skip}")
    }

    /// Whether there are any.
    pub fn is_any(self) -> bool {
        self.keep_original || self.skip_empty
    }

    /// Gives a field a value, unless it keeps its own.
    pub fn put(self, row: &mut ResultRow, name: &str, text: &str, kind: ValueKind) {
        let keeps = (self.skip_empty && text.is_empty())
            || (self.keep_original && row.get(name).is_some_and(|own| !own.is_empty()));
        if !keeps {
            row.set(name, text, kind);
        }
    }
}

impl Parser<'_> {
    /// `word name`, or the message.
    pub(crate) fn field_after(&mut self, word: &str) -> Result<Box<str>, ParseError> {
        if self.eat_word(word)? { self.field_name() } else { Ok(names::MESSAGE.into()) }
    }

    /// `from name` or `name`, or the message if one of these words is next, or nothing.
    pub(crate) fn source(&mut self, others: &[&str]) -> Result<Box<str>, ParseError> {
        if self.at_pipe_end() || others.iter().any(|word| self.at_word(word)) {
            return Ok(names::MESSAGE.into());
        }
        self.eat_word("from")?;
        self.field_name()
    }

    /// `(name)`, or `name`.
    pub(crate) fn field_in_parentheses(&mut self) -> Result<Box<str>, ParseError> {
        if !self.eat_punct('(')? {
            return self.field_name();
        }
        let field = self.field_name()?;
        self.expect_punct(')')?;
        Ok(field)
    }

    /// `as name`, `name`, or nothing.
    pub(crate) fn result_name(&mut self) -> Result<Option<Box<str>>, ParseError> {
        if self.eat_word("as")? || !self.at_pipe_end() { Ok(Some(self.field_name()?)) } else { Ok(None) }
    }

    /// The same where a comma may follow.
    pub(crate) fn result_name_before_comma(&mut self) -> Result<Option<Box<str>>, ParseError> {
        if self.at_punct(',') { Ok(None) } else { self.result_name() }
    }

    /// `word (a, b*)`, or all fields.
    pub(crate) fn patterns_after(&mut self, word: &str) -> Result<Vec<NamePattern>, ParseError> {
        if self.eat_word(word)? {
            self.list(NamePattern::parse)
        } else {
            Ok(vec![NamePattern { name: "".into(), prefix: true }])
        }
    }
}

/// `word name`, after a blank, unless it is the message.
pub(crate) fn show_field(word: &str, field: &str) -> String {
    if field == names::MESSAGE { String::new() } else { format!(" {word} {}", quote(field)) }
}

/// `fields (a, b*)`, after a blank, unless they are all.
pub(crate) fn show_patterns(patterns: &[NamePattern]) -> String {
    match patterns {
        [all] if all.prefix && all.name.is_empty() => String::new(),
        some => format!(" fields {}", NamePattern::show(some)),
    }
}
