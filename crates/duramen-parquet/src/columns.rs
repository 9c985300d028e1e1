//! Which columns there are, and of which types: found by looking at all rows.

use crate::{Error, Result};
use duramen::ValueKind;
use duramen_query::ResultRow;
use duramen_query::parse::time::format_time;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// The most columns of a file: each takes memory while it is written.
const MAX_COLUMNS: usize = 4_096;
/// Whole numbers up to here are exact as a double.
const EXACT: u64 = 1 << 53;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Null alone, so far.
    Null,
    /// Times of entries.
    Time,
    /// Whole numbers that a double holds, too.
    Int,
    /// Whole numbers, some of which a double does not hold.
    BigInt,
    Double,
    Bool,
    Text,
}

impl Kind {
    fn of(row: &ResultRow, name: &str, text: &str, kind: ValueKind) -> Self {
        match kind {
            ValueKind::Null => Self::Null,
            ValueKind::Bool if matches!(text, "true" | "false") => Self::Bool,
            ValueKind::Number => match (text.parse::<i64>(), text.parse::<f64>()) {
                // `007` and `+7` would not be the same text again.
                (Ok(n), _) if n.to_string() != text => Self::Text,
                (Ok(n), _) if n.unsigned_abs() <= EXACT => Self::Int,
                (Ok(_), _) => Self::BigInt,
                (_, Ok(x)) if x.is_finite() && text.contains(['.', 'e', 'E']) => Self::Double,
                _ => Self::Text,
            },
            _ if name == "_time" && row.time_ns().is_some_and(|ns| format_time(ns) == text) => Self::Time,
            _ => Self::Text,
        }
    }

    /// What holds both.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Null, other) | (other, Self::Null) => other,
            (Self::Int, Self::BigInt) | (Self::BigInt, Self::Int) => Self::BigInt,
            (Self::Int, Self::Double) | (Self::Double, Self::Int) => Self::Double,
            _ => Self::Text,
        }
    }
}

/// The columns of a file, as rows show them.
#[derive(Debug, Default)]
pub struct Columns {
    pub(crate) all: Vec<(String, Kind)>,
    by_name: HashMap<String, usize, FixedState>,
}

impl Columns {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Those that every entry has.
    pub(crate) fn of_an_entry() -> Self {
        let all = vec![("_time".to_owned(), Kind::Time), ("_msg".to_owned(), Kind::Text)];
        let by_name = all.iter().enumerate().map(|(i, (name, _))| (name.clone(), i)).collect();
        Self { all, by_name }
    }

    /// Looks at a row.
    ///
    /// # Errors
    /// [`Error::TooManyColumns`] beyond 4,096.
    pub fn see(&mut self, row: &ResultRow) -> Result<()> {
        for (name, text, kind) in row.iter() {
            let kind = Kind::of(row, name, text, kind);
            match self.by_name.get(name) {
                Some(&i) => {
                    if let Some((_, known)) = self.all.get_mut(i) {
                        *known = known.with(kind);
                    }
                }
                None if self.all.len() == MAX_COLUMNS => {
                    return Err(Error::TooManyColumns { limit: MAX_COLUMNS });
                }
                None => {
                    self.by_name.insert(name.to_owned(), self.all.len());
                    self.all.push((name.to_owned(), kind));
                }
            }
        }
        Ok(())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn index_of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_holds_what_is_in_it() {
        use Kind::{BigInt, Bool, Double, Int, Null, Text, Time};
        for (a, b, both) in [
            (Null, Time, Time),
            (Int, Int, Int),
            (Int, BigInt, BigInt),
            (Int, Double, Double),
            (BigInt, Double, Text),
            (Bool, Int, Text),
            (Time, Text, Text),
        ] {
            assert_eq!((a.with(b), b.with(a)), (both, both), "{a:?} {b:?}");
        }
        let of = |text, kind| Kind::of(&ResultRow::new(), "x", text, kind);
        for (text, kind) in [
            ("7", Int),
            ("-9007199254740993", BigInt),
            ("1.50", Double),
            ("1e3", Double),
            ("007", Text),
            ("18446744073709551616", Text),
            ("1e999", Text),
        ] {
            assert_eq!(of(text, ValueKind::Number), kind, "{text}");
        }
        assert_eq!((of("7", ValueKind::String), of("true", ValueKind::Bool)), (Text, Bool));
        assert_eq!((of("", ValueKind::Null), of("[1]", ValueKind::Json)), (Null, Text));
    }
}
