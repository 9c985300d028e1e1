//! `fields a, b*` keeps those fields, in that order; `delete a, b*` keeps all others.

use super::{Flow, Stage};
use crate::error::{ParseError, Result};
use crate::exec::open::STREAM_ID;
use crate::exec::project::Projection;
use crate::parse::{Parser, quote};
use crate::row::ResultRow;
use duramen::block::names;
use std::fmt;

/// A field's name, or the beginning of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern {
    /// The name, or its beginning.
    pub name: Box<str>,
    /// Whether names may go on.
    pub prefix: bool,
}

impl NamePattern {
    /// One name.
    pub fn exact(name: &str) -> Self {
        Self { name: name.into(), prefix: false }
    }

    /// All names.
    pub fn all() -> Self {
        Self { name: "".into(), prefix: true }
    }

    /// Whether all names are meant.
    pub fn is_all(&self) -> bool {
        self.prefix && self.name.is_empty()
    }

    /// A name, the beginning of names before a `*`, or `*`, which means all.
    pub(crate) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        if p.eat_punct('*')? {
            return Ok(Self::all());
        }
        let text = p.text_token("a field name")?;
        let prefix = p.eat_star()?;
        let is_message = text.is_empty() && !prefix;
        Ok(Self { name: if is_message { names::MESSAGE.into() } else { text.into() }, prefix })
    }

    /// Names between parentheses.
    pub(crate) fn show(patterns: &[Self]) -> String {
        format!("({})", patterns.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
    }

    /// Whether `pattern:test` looks at the field. Time and stream are not among *all* fields: what they hold is in
    /// the time stamp, and in the fields of the stream's labels.
    pub fn is_any_field(&self, name: &str) -> bool {
        self.matches(name) && name != names::TIME && name != names::STREAM
    }

    /// Whether a name is meant.
    pub fn matches(&self, name: &str) -> bool {
        if self.prefix { name.starts_with(&*self.name) } else { *name == *self.name }
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.prefix, self.name.is_empty()) {
            (true, true) => f.write_str("*"),
            (true, false) => write!(f, "{}*", quote(&self.name)),
            (false, _) => write!(f, "{}", quote(&self.name)),
        }
    }
}

/// The fields to keep, or to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Their names.
    pub patterns: Vec<NamePattern>,
    /// Whether they go rather than stay.
    pub delete: bool,
}

impl Fields {
    pub(super) fn parse(p: &mut Parser<'_>, delete: bool) -> Result<Self, ParseError> {
        let mut patterns = Vec::new();
        loop {
            patterns.push(NamePattern::parse(p)?);
            if !p.eat_punct(',')? {
                return if p.at_pipe_end() {
                    Ok(Self { patterns, delete })
                } else {
                    Err(p.expected("`,` or `|`"))
                };
            }
        }
    }
}

impl Fields {
    /// The one field that rows have behind it.
    pub(crate) fn only(&self) -> Option<&str> {
        match &*self.patterns {
            [pattern] if !self.delete && !pattern.prefix => Some(&pattern.name),
            _ => None,
        }
    }

    /// Whether rows have all of these fields behind it that they had before, each of which is meant by its very name.
    pub(super) fn leave_all_of(&self, wanted: &Projection) -> bool {
        let Projection::Only(wanted) = wanted else { return false };
        let is_named = |name: &str| self.patterns.iter().any(|p| !p.prefix && *p.name == *name);
        let is_left = |name: &str| match self.delete {
            true => !self.patterns.iter().any(|p| p.matches(name)),
            // A stream's number is only there for who names it.
            false if name == STREAM_ID => is_named(name),
            false => self.patterns.iter().any(|p| p.matches(name)),
        };
        wanted.iter().all(|pattern| !pattern.prefix && is_left(&pattern.name))
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.delete { "delete " } else { "fields " })?;
        for (i, pattern) in self.patterns.iter().enumerate() {
            write!(f, "{}{pattern}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

pub(super) struct FieldsStage<'a> {
    pub fields: &'a Fields,
    pub next: Box<dyn Stage + 'a>,
}

impl Stage for FieldsStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        let rank = |name: &str| self.fields.patterns.iter().position(|p| p.matches(name));
        row.retain(|name| rank(name).is_some() != self.fields.delete);
        if !self.fields.delete {
            row.order_by(|name| rank(name).unwrap_or(usize::MAX));
        }
        self.next.push(row)
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}
