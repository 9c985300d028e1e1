//! A log line as a program gives it.

use crate::value::{Level, Value};

/// A log line, borrowed from whoever logs it.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// When it happened, in ns since the Unix epoch.
    pub time_ns: i64,
    /// How much it matters.
    pub level: Level,
    /// What happened, for people.
    pub message: &'a str,
    /// What belongs to it, in this order. A name that comes twice keeps both values.
    pub fields: &'a [(&'a str, Value<'a>)],
}
