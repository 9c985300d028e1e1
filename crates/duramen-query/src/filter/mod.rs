//! The filter tree: what a row must be to be in the answer. One file per kind of filter.
//!
//! A leaf tests one field's text ([`Test`]), two fields, the time, or the stream. Every leaf knows how to judge one
//! row, how to print itself as LogsQL, and which words and grams a matching value certainly holds, so that blocks
//! without them are passed over.

pub mod clock;
pub mod common_case;
pub mod compare;
pub mod contains;
pub mod exact;
pub mod fold;
pub mod ip;
pub mod length;
pub mod level;
pub mod literals;
pub mod pair;
pub mod pattern;
pub mod phrase;
pub mod re2;
pub mod regex;
pub mod sequence;
pub mod set;
pub mod storage;
pub mod stream;
pub mod subquery;
pub mod test;
pub mod time;

pub use test::Test;

use crate::exec::open::{STREAM_ID, stream_id};
use crate::parse::quote;
use crate::pipe::fields::NamePattern;
use crate::row::RowView;
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
    /// `*:error`, `user.*:ann`: one of the row's values that are not empty passes.
    AnyField {
        /// Of which fields.
        pattern: NamePattern,
        /// The test.
        test: Test,
    },
    /// `a:eq_field(b)`
    Pair(pair::Pair),
    /// `a:value_type(dict)`
    Storage(storage::Storage),
    /// `_time:…`
    Time(time::TimeRange),
    /// `_time:day_range[08:00, 18:00)`
    Clock(clock::Clock),
    /// `{app="x"}`
    Stream(stream::Selector),
    /// `user:in(… | fields user)`: what the query finds decides.
    Subquery(subquery::Subquery),
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

impl Filter {
    /// Both filters, flat.
    pub fn and(self, other: Self) -> Self {
        let mut parts = match self {
            Self::All => return other,
            // A query of many words is put together one by one.
            Self::And(parts) => parts,
            one => vec![one],
        };
        match other {
            Self::All => {}
            Self::And(inner) => parts.extend(inner),
            one => parts.push(one),
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
            _ => (i64::MIN, i64::MAX),
        }
    }

    /// Calls `see` with what names every field that the filter looks at.
    pub fn for_each_field(&self, see: &mut dyn FnMut(NamePattern)) {
        match self {
            Self::All => {}
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|p| p.for_each_field(see)),
            Self::Not(inner) => inner.for_each_field(see),
            Self::Field { field, .. } => see(NamePattern::exact(field)),
            Self::AnyField { pattern, .. } => see(pattern.clone()),
            Self::Pair(pair) => {
                see(NamePattern::exact(&pair.left));
                see(NamePattern::exact(&pair.right));
            }
            Self::Storage(storage) => see(NamePattern::exact(&storage.field)),
            Self::Time(_) | Self::Clock(_) => see(NamePattern::exact(names::TIME)),
            Self::Stream(_) => see(NamePattern::exact(names::STREAM)),
            Self::Subquery(subquery) => see(NamePattern::exact(&subquery.field)),
        }
    }

    /// Whether a row matches; for rows that are in no block. What depends on a subquery does not, until it is
    /// answered.
    pub fn matches(&self, row: &dyn RowView) -> bool {
        match self {
            Self::All => true,
            Self::And(parts) => parts.iter().all(|p| p.matches(row)),
            Self::Or(parts) => parts.iter().any(|p| p.matches(row)),
            Self::Not(inner) => !inner.matches(row),
            // Rows show the number of their stream only where it was asked for by name.
            Self::Field { field, test } if **field == *STREAM_ID && row.text(field).is_empty() => {
                test.matches(&stream_id(row.text(names::STREAM)))
            }
            Self::Field { field, test } => test.matches(row.text(field)),
            Self::AnyField { pattern, test } => row
                .any(&mut |name, text| pattern.is_any_field(name) && !text.is_empty() && test.matches(text)),
            Self::Pair(pair) => pair.relation.holds(row.text(&pair.left), row.text(&pair.right)),
            Self::Storage(storage) => storage.kind == storage::StorageKind::String,
            Self::Time(range) => row.time().is_some_and(|t| range.contains(t)),
            Self::Clock(clock) => row.time().is_some_and(|t| clock.matches(t)),
            Self::Stream(selector) => selector.matches(row.text(names::STREAM)),
            Self::Subquery(_) => false,
        }
    }

    /// What it costs to test rows by their streams: less than any [`Test`] of values, so that of an equal cost the order in which
    /// a query has them does not decide.
    pub(crate) const STREAM_COST: u32 = 2;

    /// About what it costs to test a row, beside others.
    pub(crate) fn cost(&self) -> u32 {
        match self {
            Self::All => 0,
            Self::Time(_) => 1,
            Self::Stream(_) => Self::STREAM_COST,
            Self::Clock(_) | Self::Storage(_) | Self::Subquery(_) => 3,
            Self::Field { field, test } => test.cost() + 2 * u32::from(&**field == names::MESSAGE),
            Self::Pair(_) => 9,
            Self::AnyField { test, .. } => 10 * test.cost(),
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
            Self::AnyField { pattern, test } => write!(f, "{pattern}:{test}"),
            Self::Pair(pair) => pair.fmt(f),
            Self::Storage(storage) => storage.fmt(f),
            Self::Time(range) => range.fmt(f),
            Self::Clock(clock) => clock.fmt(f),
            Self::Stream(selector) => selector.fmt(f),
            Self::Subquery(subquery) => subquery.fmt(f),
        }
    }
}

/// Prints `name(a, "b c")`.
fn show_list<'t>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    texts: impl IntoIterator<Item = &'t str>,
) -> fmt::Result {
    write!(f, "{name}(")?;
    for (i, text) in texts.into_iter().enumerate() {
        write!(f, "{}{}", if i > 0 { ", " } else { "" }, quote(text))?;
    }
    f.write_str(")")
}
