//! `_time:…`: a range of time stamps. How its many spellings are read is in [`crate::parse::time`].

use jiff::Timestamp;
use std::fmt;

/// Time stamps from `min` to `max`, both included, ns since the epoch. Empty where `min > max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// The earliest.
    pub min: i64,
    /// The latest.
    pub max: i64,
}

impl TimeRange {
    /// Whether a time stamp is in the range.
    pub fn contains(&self, time: i64) -> bool {
        (self.min..=self.max).contains(&time)
    }
}

impl fmt::Display for TimeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "_time:[{}, {}]", ExactTime(self.min), ExactTime(self.max))
    }
}

/// Prints a time stamp with all nine digits, so that reading it does not widen it to a second.
struct ExactTime(i64);

impl fmt::Display for ExactTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9}", Timestamp::from_nanosecond(i128::from(self.0)).unwrap_or_default())
    }
}
