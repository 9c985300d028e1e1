//! The filter tree: what a row must be to be in the answer. One file per kind of filter.
//!
//! A leaf tests one field's text ([`Test`]), the time, or the stream. Every leaf knows how to judge one
//! value, how to print itself as LogsQL, and which words a matching value certainly holds, so that blocks
//! without them are passed over.

pub mod compare;
pub mod exact;
pub mod fold;
pub mod level;
pub mod phrase;
pub mod regex;
pub mod set;
pub mod stream;
pub mod time;

use crate::parse::quote;
use duramen::block::names;
use std::fmt;

/// A filter over rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// `*`: every row.
    All,
    /// `a b`, `a and b`: at least two.
    And(Vec<Filter>),
    /// `a or b`: at least two.
    Or(Vec<Filter>),
    /// `not a`, `!a`, `-a`.
    Not(Box<Filter>),
    /// A test of one field's text.
    Field {
        /// The field's name.
        field: Box<str>,
        /// The test.
        test: Test,
    },
    /// `_time:…`
    Time(time::TimeRange),
    /// `{app="x"}`
    Stream(stream::Selector),
}

/// A test of one value. A field that a row does not have is the empty text.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// `word`, `"a phrase"`, `prefix*`
    Phrase(phrase::Phrase),
    /// `i(word)`
    Fold(fold::Fold),
    /// `="text"`, `="text"*`, and `""`
    Exact(exact::Exact),
    /// `>5`, `range[1, 5)`
    Compare(compare::Range),
    /// `in(a, b)`
    In(set::In),
    /// `~"regexp"`
    Regex(regex::Pattern),
    /// `level:error`, `level:>=warn`
    Level(level::LevelTest),
    /// `*`: any text but the empty one
    Any,
}

/// What a value must hold to pass a test, in terms a block can answer without being read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing that is known.
    Nothing,
    /// All of these words (by [`duramen::token::hash`]).
    Words(Vec<u64>),
    /// For one of the alternatives, all of its words.
    OneOf(Vec<Vec<u64>>),
}

impl Test {
    /// Whether a value passes.
    pub fn matches(&self, text: &str) -> bool {
        match self {
            Self::Phrase(t) => t.matches(text),
            Self::Fold(t) => t.matches(text),
            Self::Exact(t) => t.matches(text),
            Self::Compare(t) => t.matches(text),
            Self::In(t) => t.matches(text),
            Self::Regex(t) => t.matches(text),
            Self::Level(t) => t.matches(text),
            Self::Any => !text.is_empty(),
        }
    }

    /// Whether an integer's text passes, for tests that can tell without the text.
    pub fn matches_int(&self, n: i64) -> Option<bool> {
        match self {
            Self::Compare(t) => t.matches_int(n),
            Self::Exact(t) => t.matches_int(n),
            Self::Any => Some(true),
            _ => None,
        }
    }

    /// What a value that passes certainly holds.
    pub fn needs(&self) -> Needs {
        match self {
            Self::Phrase(t) => t.needs(),
            Self::Fold(t) => t.needs(),
            Self::Exact(t) => t.needs(),
            Self::In(t) => t.needs(),
            Self::Compare(_) | Self::Regex(_) | Self::Level(_) | Self::Any => Needs::Nothing,
        }
    }

    /// How dear it is to evaluate, to put the cheap ones first.
    pub fn cost(&self) -> u32 {
        match self {
            Self::Level(_) | Self::Any | Self::Exact(_) | Self::Compare(_) | Self::In(_) => 2,
            Self::Phrase(_) => 3,
            Self::Fold(_) => 6,
            Self::Regex(_) => 8,
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Phrase(t) => t.fmt(f),
            Self::Fold(t) => t.fmt(f),
            Self::Exact(t) => t.fmt(f),
            Self::Compare(t) => t.fmt(f),
            Self::In(t) => t.fmt(f),
            Self::Regex(t) => t.fmt(f),
            Self::Level(t) => t.fmt(f),
            Self::Any => f.write_str("*"),
        }
    }
}

impl Filter {
    /// Both filters, flat.
    pub fn and(self, other: Self) -> Self {
        let mut parts = Vec::new();
        for side in [self, other] {
            match side {
                Self::All => {}
                Self::And(inner) => parts.extend(inner),
                one => parts.push(one),
            }
        }
        Self::from_parts(parts, Self::And)
    }

    pub(crate) fn from_parts(mut parts: Vec<Self>, join: fn(Vec<Self>) -> Self) -> Self {
        match (parts.len(), parts.pop()) {
            (_, None) => Self::All,
            (1, Some(one)) => one,
            (_, Some(last)) => {
                parts.push(last);
                join(parts)
            }
        }
    }

    /// The earliest and latest time (both inclusive) that a matching row can have.
    pub fn time_range(&self) -> (i64, i64) {
        match self {
            Self::Time(range) => (range.min, range.max),
            Self::And(parts) => parts
                .iter()
                .map(Self::time_range)
                .fold((i64::MIN, i64::MAX), |a, b| (a.0.max(b.0), a.1.min(b.1))),
            Self::Or(parts) => parts
                .iter()
                .map(Self::time_range)
                .filter(|r| r.0 <= r.1)
                .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
                .unwrap_or((i64::MAX, i64::MIN)),
            Self::All | Self::Not(_) | Self::Field { .. } | Self::Stream(_) => (i64::MIN, i64::MAX),
        }
    }

    /// Calls `see` with the name of every field that the filter looks at.
    pub fn for_each_field<'a>(&'a self, see: &mut dyn FnMut(&'a str)) {
        match self {
            Self::All => {}
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|p| p.for_each_field(see)),
            Self::Not(inner) => inner.for_each_field(see),
            Self::Field { field, .. } => see(field),
            Self::Time(_) => see(names::TIME),
            Self::Stream(_) => see(names::STREAM),
        }
    }

    /// Whether a row matches, given its time and each field's text; for rows that are in no block.
    pub fn matches<'r>(&self, time: Option<i64>, text: &dyn Fn(&str) -> &'r str) -> bool {
        match self {
            Self::All => true,
            Self::And(parts) => parts.iter().all(|p| p.matches(time, text)),
            Self::Or(parts) => parts.iter().any(|p| p.matches(time, text)),
            Self::Not(inner) => !inner.matches(time, text),
            Self::Field { field, test } => test.matches(text(field)),
            Self::Time(range) => time.is_some_and(|t| range.contains(t)),
            Self::Stream(selector) => selector.matches(text(names::STREAM)),
        }
    }

    pub(crate) fn cost(&self) -> u32 {
        match self {
            Self::All => 0,
            Self::Time(_) => 1,
            Self::Stream(_) => 2,
            Self::Field { field, test } => test.cost() + 2 * u32::from(&**field == names::MESSAGE),
            Self::Not(inner) => inner.cost(),
            Self::And(parts) | Self::Or(parts) => parts.iter().map(Self::cost).fold(1, u32::saturating_add),
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |f: &mut fmt::Formatter<'_>, parts: &[Filter], word: &str| {
            for (i, part) in parts.iter().enumerate() {
                if i > 0 {
                    f.write_str(word)?;
                }
                match part {
                    Self::And(_) | Self::Or(_) => write!(f, "({part})")?,
                    _ => part.fmt(f)?,
                }
            }
            Ok(())
        };
        match self {
            Self::All => f.write_str("*"),
            Self::And(parts) => join(f, parts, " "),
            Self::Or(parts) => join(f, parts, " or "),
            Self::Not(inner) => match **inner {
                Self::And(_) | Self::Or(_) => write!(f, "!({inner})"),
                _ => write!(f, "!{inner}"),
            },
            Self::Field { field, test } => {
                if **field != *names::MESSAGE || matches!(test, Test::Any) {
                    write!(f, "{}:", quote(field))?;
                }
                test.fmt(f)
            }
            Self::Time(range) => range.fmt(f),
            Self::Stream(selector) => selector.fmt(f),
        }
    }
}
