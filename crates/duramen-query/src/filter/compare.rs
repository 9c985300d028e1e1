//! `>5`, `<=10KB`, `range[1, 5)`, `string_range(a, c)`: the value lies between two bounds.
//!
//! Bounds that are numbers compare with values that are numbers, and bounds that are time stamps with values that are
//! some; other values do not match. A bound that is neither compares texts byte by byte.

use crate::number::Number;
use crate::parse::quote;
use crate::parse::time::{format_time, parse_time};
use std::fmt;

/// One end of a range.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound<T> {
    /// No end.
    Open,
    /// Up to and with it.
    Included(T),
    /// Up to but without it.
    Excluded(T),
}

/// A range of numbers, of times or of texts.
#[derive(Clone, Debug, PartialEq)]
pub enum Range {
    /// Of numbers.
    Numbers(Bound<Number>, Bound<Number>),
    /// Of time stamps, ns since the epoch.
    Times(Bound<i64>, Bound<i64>),
    /// Of texts.
    Texts(Bound<Box<str>>, Bound<Box<str>>),
}

fn above<T: PartialOrd + ?Sized, B: std::borrow::Borrow<T>>(value: &T, bound: &Bound<B>) -> bool {
    match bound {
        Bound::Open => true,
        Bound::Included(b) => value >= b.borrow(),
        Bound::Excluded(b) => value > b.borrow(),
    }
}

fn below<T: PartialOrd + ?Sized, B: std::borrow::Borrow<T>>(value: &T, bound: &Bound<B>) -> bool {
    match bound {
        Bound::Open => true,
        Bound::Included(b) => value <= b.borrow(),
        Bound::Excluded(b) => value < b.borrow(),
    }
}

impl Range {
    /// Whether the value lies in the range.
    pub fn matches(&self, text: &str) -> bool {
        match self {
            Self::Numbers(from, to) => Number::parse(text).is_some_and(|n| above(&n, from) && below(&n, to)),
            Self::Times(from, to) => {
                // Most values are told by their first byte to be none.
                let digit = text.as_bytes().first().is_some_and(u8::is_ascii_digit);
                digit && parse_time(text).is_some_and(|ns| above(&ns, from) && below(&ns, to))
            }
            Self::Texts(from, to) => above(text, from) && below(text, to),
        }
    }

    /// Whether the number lies in a range of numbers.
    pub fn matches_number(&self, n: Number) -> Option<bool> {
        match self {
            Self::Numbers(from, to) => Some(above(&n, from) && below(&n, to)),
            Self::Times(..) | Self::Texts(..) => None,
        }
    }

    /// Whether any integer from `min` to `max` may lie in the range.
    pub fn overlaps(&self, min: i64, max: i64) -> bool {
        match self {
            Self::Numbers(from, to) => above(&Number::Int(max), from) && below(&Number::Int(min), to),
            Self::Times(..) | Self::Texts(..) => true,
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbers(from, to) => show(f, from, to, &number),
            Self::Times(from, to) => show(f, from, to, &|ns| quote(&format_time(*ns)).into_owned()),
            Self::Texts(Bound::Included(from), Bound::Excluded(to)) => {
                write!(f, "string_range({}, {})", quote(from), quote(to))
            }
            Self::Texts(from, to) => show(f, from, to, &|t| quote(t).into_owned()),
        }
    }
}

/// Infinities print as numbers too big to hold, for `level:<Inf` would mean the level info.
fn number(n: &Number) -> String {
    match n {
        Number::Float(x) if x.is_infinite() => if *x > 0.0 { "1e999" } else { "-1e999" }.into(),
        n => n.to_string(),
    }
}

fn show<T>(
    f: &mut fmt::Formatter<'_>,
    from: &Bound<T>,
    to: &Bound<T>,
    text: &dyn Fn(&T) -> String,
) -> fmt::Result {
    match (from, to) {
        (Bound::Open, Bound::Open) => f.write_str("range[-Inf, Inf]"),
        (Bound::Included(a), Bound::Open) => write!(f, ">={}", text(a)),
        (Bound::Excluded(a), Bound::Open) => write!(f, ">{}", text(a)),
        (Bound::Open, Bound::Included(b)) => write!(f, "<={}", text(b)),
        (Bound::Open, Bound::Excluded(b)) => write!(f, "<{}", text(b)),
        (Bound::Included(a), Bound::Included(b)) => write!(f, "range[{}, {}]", text(a), text(b)),
        (Bound::Included(a), Bound::Excluded(b)) => write!(f, "range[{}, {})", text(a), text(b)),
        (Bound::Excluded(a), Bound::Included(b)) => write!(f, "range({}, {}]", text(a), text(b)),
        (Bound::Excluded(a), Bound::Excluded(b)) => write!(f, "range({}, {})", text(a), text(b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_compare_as_times_and_other_texts_do_not_match() {
        let noon = parse_time("2024-05-17T12:00:00Z").unwrap_or_default();
        let after = Range::Times(Bound::Excluded(noon), Bound::Open);
        for text in ["2024-05-17T12:00:00.1Z", "2024-05-17T11:30:00-01:00", "2025-01-01T00:00:00Z"] {
            assert!(after.matches(text), "{text}");
        }
        for text in ["2024-05-17T12:00:00Z", "2024-05-17T13:30:00+02:00", "9", "later", ""] {
            assert!(!after.matches(text), "{text}");
        }
    }
}
