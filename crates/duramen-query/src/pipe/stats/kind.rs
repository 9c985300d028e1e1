//! The functions of `stats` by name, and what they are given.

use duramen::ValueKind;
use duramen::column::{IntText, Scale};

use crate::number::Number;

/// What a function computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Rows; of fields, rows where one of them is not empty.
    Count,
    /// Rows where all of the fields are empty.
    CountEmpty,
    /// Different combinations of values that are not all empty.
    CountUniq,
    /// The same by a hash of 64 bits, which takes less memory.
    CountUniqHash,
    /// The sum of all numbers.
    Sum,
    /// The bytes of all values.
    SumLen,
    /// The mean of all numbers.
    Avg,
    /// Their standard deviation.
    Stddev,
    /// The least value that is not empty.
    Min,
    /// The greatest.
    Max,
    /// The number that this share of all numbers does not exceed.
    Quantile(f64),
    /// How often each range of numbers occurs.
    Histogram,
    /// Rows a second.
    Rate,
    /// The sum of all numbers, a second.
    RateSum,
    /// The first value that is not empty.
    Any,
    /// All values, as a JSON array.
    Values,
    /// All values that are not empty, each once, as a sorted JSON array.
    UniqValues,
    /// The first row, as a JSON object.
    RowAny,
    /// The row with the least value of a field.
    RowMin,
    /// The row with the greatest.
    RowMax,
    /// All rows, as a JSON array of objects.
    JsonValues,
}

/// The functions by name; `quantile` stands for itself.
pub(super) const KINDS: &[(&str, Kind)] = &[
    ("any", Kind::Any),
    ("avg", Kind::Avg),
    ("count", Kind::Count),
    ("count_empty", Kind::CountEmpty),
    ("count_uniq", Kind::CountUniq),
    ("count_uniq_hash", Kind::CountUniqHash),
    ("histogram", Kind::Histogram),
    ("json_values", Kind::JsonValues),
    ("max", Kind::Max),
    ("median", Kind::Quantile(0.5)),
    ("min", Kind::Min),
    ("quantile", Kind::Quantile(0.5)),
    ("rate", Kind::Rate),
    ("rate_sum", Kind::RateSum),
    ("row_any", Kind::RowAny),
    ("row_max", Kind::RowMax),
    ("row_min", Kind::RowMin),
    ("stddev", Kind::Stddev),
    ("sum", Kind::Sum),
    ("sum_len", Kind::SumLen),
    ("uniq_values", Kind::UniqValues),
    ("values", Kind::Values),
    // An older name of it.
    ("uniq", Kind::UniqValues),
];

/// Whether this is the name of a function, in lower case.
pub(crate) fn is_function(name: &str) -> bool {
    KINDS.iter().any(|(n, _)| *n == name)
}

impl Kind {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Quantile(0.5) => "median",
            Self::Quantile(_) => "quantile",
            kind => KINDS.iter().find(|(_, k)| *k == kind).map_or("", |(name, _)| name),
        }
    }

    /// Whether it means nothing without a field; others look at all fields then.
    pub(super) fn needs_field(self) -> bool {
        matches!(self, Self::CountUniq | Self::CountUniqHash | Self::Histogram | Self::RowMin | Self::RowMax)
    }

    /// Whether it shows rows.
    pub(crate) fn takes_rows(self) -> bool {
        matches!(self, Self::RowAny | Self::RowMin | Self::RowMax | Self::JsonValues)
    }

    /// Whether it takes `limit N`.
    pub(super) fn takes_limit(self) -> bool {
        matches!(
            self,
            Self::CountUniq | Self::CountUniqHash | Self::UniqValues | Self::Values | Self::JsonValues
        )
    }

    /// Whether it looks at nothing but numbers.
    pub(crate) fn is_of_numbers(self) -> bool {
        matches!(
            self,
            Self::Sum | Self::RateSum | Self::Avg | Self::Stddev | Self::Quantile(_) | Self::Histogram
        )
    }

    /// Whether what it remembers takes the same little memory however many rows it has seen.
    pub(crate) fn remembers_little(self) -> bool {
        matches!(self, Self::Count | Self::CountEmpty | Self::SumLen | Self::Rate | Self::Min | Self::Max)
            || matches!(self, Self::Sum | Self::Avg | Self::RateSum | Self::Stddev)
    }

    /// Whether it only looks at which values there are, however often.
    pub(crate) fn is_of_distinct(self) -> bool {
        matches!(self, Self::CountUniq | Self::CountUniqHash | Self::UniqValues)
    }

    /// Whether its result depends on the order of the rows.
    pub(super) fn is_ordered(self) -> bool {
        self.takes_rows() || matches!(self, Self::Any | Self::Values)
    }
}

/// A value as a function sees it.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'a> {
    /// An integer, not yet text.
    Int(i64),
    /// A decimal fraction, not yet text.
    Decimal(i64, Scale),
    /// A text; empty where missing.
    Text(&'a str),
}

impl Cell<'_> {
    pub(super) fn is_empty(self) -> bool {
        matches!(self, Self::Text(""))
    }

    pub(crate) fn number(self) -> Option<Number> {
        match self {
            Self::Int(n) => Some(Number::Int(n)),
            Self::Decimal(n, scale) => Some(Number::of_decimal(n, scale)),
            Self::Text(text) => Number::parse(text),
        }
    }

    /// Calls `see` with the text.
    pub fn with_text<T>(self, see: impl FnOnce(&str) -> T) -> T {
        match self {
            Self::Int(n) => see(IntText::default().format(n)),
            Self::Decimal(n, scale) => see(IntText::default().format_decimal(n, scale)),
            Self::Text(text) => see(text),
        }
    }
}

/// A value with its name and kind.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The field.
    pub name: &'a str,
    /// The value.
    pub cell: Cell<'a>,
    /// Its kind.
    pub kind: ValueKind,
}
