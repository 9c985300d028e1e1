//! What makes a group: a field's value, or the bucket that the value falls into.

use crate::error::ParseError;
use crate::filter::ip::parse_v4;
use crate::number::{Number, duration_text, parse_duration_ns};
use crate::parse::time::{format_time, parse_time};
use crate::parse::{Parser, quote};
use duramen::block::names;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use std::borrow::Cow;
use std::fmt;
use std::net::Ipv4Addr;

/// A field to group by.
#[derive(Clone, Debug, PartialEq)]
pub struct By {
    /// The field.
    pub field: Box<str>,
    /// Its values are rounded down to one of these, if given.
    pub bucket: Option<Bucket>,
}

/// How values are rounded down.
#[derive(Clone, Debug, PartialEq)]
pub enum Bucket {
    /// Time stamps to multiples of nanoseconds, in the days of an offset east of UTC.
    Time {
        /// At least 1.
        step_ns: i64,
        /// East of UTC.
        offset_ns: i64,
    },
    /// Time stamps to the start of the month.
    Month,
    /// Time stamps to the start of the year.
    Year,
    /// Numbers to multiples of `step`, which is more than 0, beside `offset`; time stamps to multiples of so many nanoseconds.
    Number {
        /// More than 0.
        step: Number,
        /// What the buckets begin at, and that many steps further.
        offset: Number,
    },
    /// Addresses of version 4 to their networks, by the length of the prefix in bits.
    Network(u8),
}

impl By {
    /// `by (a, b)`, `by a, b`, or `a, b` without anything around.
    pub(crate) fn parse_fields(p: &mut Parser<'_>) -> Result<Vec<Self>, ParseError> {
        let start = p.token.start;
        let by_word = p.eat_word("by")?;
        // A field of such a name stands in quotes or parentheses.
        let is_option = ["with", "hits", "rank", "limit"].iter().any(|word| p.at_word(word));
        if p.at_punct('(') || p.at_pipe_end() || (is_option && !by_word) {
            let list = Self::parse_list(p)?;
            if list.is_empty() {
                return Err(ParseError::new(
                    p.text,
                    start,
                    "expected a field between `(` and `)`",
                    "name a field",
                ));
            }
            return Ok(list);
        }
        let mut list = vec![Self::parse(p)?];
        while p.eat_punct(',')? {
            list.push(Self::parse(p)?);
        }
        Self::each_once(p, list)
    }

    /// `by (a, b:10, _time:5m offset 1h)`; the word `by` may be left out.
    pub(crate) fn parse_list(p: &mut Parser<'_>) -> Result<Vec<Self>, ParseError> {
        if p.eat_word("by")? && !p.at_punct('(') {
            return Ok(vec![Self::parse(p)?]);
        }
        if !p.at_punct('(') {
            return Err(p.expected("`by (field, …)`"));
        }
        let list = p.list(Self::parse)?;
        Self::each_once(p, list)
    }

    fn each_once(p: &Parser<'_>, list: Vec<Self>) -> Result<Vec<Self>, ParseError> {
        for (i, by) in list.iter().enumerate() {
            if list[..i].iter().any(|b| b.field == by.field) {
                return Err(p.error(format!("`{}` is there twice", by.field), "name each field once"));
            }
        }
        Ok(list)
    }

    fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let field = p.field_name()?;
        if !p.eat_punct(':')? {
            return Ok(Self { field, bucket: None });
        }
        let time = *field == *names::TIME;
        let at = p.token.start;
        let text = p.text_token("the size of a bucket, such as 5m or 10KB")?;
        if let Some(bits) = text.strip_prefix('/') {
            let bits = bits.parse().ok().filter(|&n: &u8| n <= 32).ok_or_else(|| {
                let message = format!("`{text}` is no length of a network's prefix");
                ParseError::new(p.text, at, message, "expected /0 to /32")
            })?;
            return Ok(Self { field, bucket: Some(Bucket::Network(bits)) });
        }
        let step = if time { named_step(&text).or_else(|| parse_duration_ns(&text)) } else { None };
        let bucket = match (time, &*text) {
            (true, "month") => Bucket::Month,
            (true, "year") => Bucket::Year,
            (true, _) => match step.filter(|&s| s > 0) {
                Some(step_ns) => {
                    let offset_at = p.token.start;
                    let offset_ns = if p.eat_word("offset")? {
                        parse_duration_ns(&p.text_token("a duration such as 2h")?).ok_or_else(|| {
                            ParseError::new(
                                p.text,
                                offset_at,
                                "not a duration",
                                "expected offset and a duration such as 2h",
                            )
                        })?
                    } else {
                        0
                    };
                    // Weeks of 1970 began on Thursday; those by name begin on Monday.
                    let offset_ns =
                        if text == "week" { offset_ns.saturating_add(MONDAY_NS) } else { offset_ns };
                    Bucket::Time { step_ns, offset_ns }
                }
                None => {
                    let hint =
                        "expected a duration such as 5m, or second, minute, hour, day, week, month, year";
                    return Err(ParseError::new(
                        p.text,
                        at,
                        format!("`{text}` is no size of a time bucket"),
                        hint,
                    ));
                }
            },
            (false, _) => {
                match Number::parse(&text).filter(|&n| n > Number::Int(0) && n.as_f64().is_finite()) {
                    Some(step) => Bucket::Number { step, offset: number_offset(p)? },
                    None => {
                        let message = format!("`{text}` is no size of a bucket");
                        return Err(ParseError::new(
                            p.text,
                            at,
                            message,
                            "expected a number above 0 such as 10 or 5KB",
                        ));
                    }
                }
            }
        };
        Ok(Self { field, bucket: Some(bucket) })
    }

    /// A name for a result that none of these has, nor another result: the wanted one, or that with an `s` or more behind it.
    pub(crate) fn free_name(list: &[Self], wanted: &str, other: &str) -> Box<str> {
        let mut name = wanted.to_owned();
        while name == other || list.iter().any(|by| *by.field == *name) {
            name.push('s');
        }
        name.into()
    }

    /// How a list prints.
    pub(crate) fn show(list: &[Self]) -> String {
        format!("({})", list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
    }

    /// The group that a value falls into.
    pub fn value<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.bucket {
            None => text.into(),
            Some(Bucket::Number { step, offset }) => match Number::parse(text) {
                Some(n) => {
                    let start = start_of(n, *step, *offset);
                    match start.as_int().filter(|_| is_duration(text)) {
                        Some(ns) => duration_text(ns).into(),
                        None => start.to_string().into(),
                    }
                }
                None => match (step.as_int(), offset.as_int(), time_stamp(text)) {
                    (Some(step), Some(offset), Some(time)) => {
                        // Days begin where they begin for `_time`.
                        let start = time.saturating_add(offset).div_euclid(step).saturating_mul(step);
                        format_time(start.saturating_sub(offset)).into()
                    }
                    _ => text.into(),
                },
            },
            Some(Bucket::Network(bits)) => match parse_v4(text) {
                Some(address) => {
                    let mask = u32::MAX.checked_shl(32 - u32::from(*bits)).unwrap_or(0);
                    Ipv4Addr::from(u32::from(address) & mask).to_string().into()
                }
                None => text.into(),
            },
            Some(_) => match parse_time(text) {
                Some(time) => format_time(self.time_bucket(time)).into(),
                None => text.into(),
            },
        }
    }

    /// The same of a number that is written without a unit, if it falls into a bucket of numbers.
    pub(crate) fn number(&self, n: Number) -> Option<Number> {
        match &self.bucket {
            Some(Bucket::Number { step, offset }) => Some(start_of(n, *step, *offset)),
            _ => None,
        }
    }

    /// How long a time a group is of, if it is.
    pub(crate) fn time_step_ns(&self) -> Option<i64> {
        match self.bucket {
            Some(Bucket::Time { step_ns, .. }) => Some(step_ns),
            _ => None,
        }
    }

    /// The start of the bucket of a time stamp; the time stamp itself without buckets.
    pub fn time_bucket(&self, time: i64) -> i64 {
        match &self.bucket {
            Some(Bucket::Time { step_ns, offset_ns }) => {
                let local = i128::from(time) + i128::from(*offset_ns);
                let start =
                    local.div_euclid(i128::from(*step_ns)) * i128::from(*step_ns) - i128::from(*offset_ns);
                i64::try_from(start).unwrap_or(i64::MIN)
            }
            Some(Bucket::Month) => calendar(time, Date::first_of_month),
            Some(Bucket::Year) => calendar(time, Date::first_of_year),
            Some(Bucket::Number { .. } | Bucket::Network(_)) | None => time,
        }
    }

    /// The first time stamp after the bucket that begins at `start`, or what is certainly not after it.
    pub fn time_bucket_end(&self, start: i64) -> i64 {
        match &self.bucket {
            Some(Bucket::Time { step_ns, .. }) => start.saturating_add(*step_ns),
            Some(Bucket::Month | Bucket::Year) => {
                let span = if self.bucket == Some(Bucket::Month) {
                    Span::new().months(1)
                } else {
                    Span::new().years(1)
                };
                let next = civil(start).and_then(|d| d.checked_add(span).ok()).and_then(midnight);
                next.unwrap_or(i64::MAX)
            }
            Some(Bucket::Number { .. } | Bucket::Network(_)) | None => start.saturating_add(1),
        }
    }
}

fn civil(time: i64) -> Option<Date> {
    Some(Timestamp::from_nanosecond(i128::from(time)).ok()?.to_zoned(TimeZone::UTC).date())
}

fn midnight(date: Date) -> Option<i64> {
    i64::try_from(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond()).ok()
}

fn calendar(time: i64, first: fn(Date) -> Date) -> i64 {
    civil(time).map(first).and_then(midnight).unwrap_or(i64::MIN)
}

/// Where buckets of numbers begin: 0, if nothing is said.
fn number_offset(p: &mut Parser<'_>) -> Result<Number, ParseError> {
    let at = p.token.start;
    if !p.eat_word("offset")? {
        return Ok(Number::Int(0));
    }
    let text = p.text_token("a number such as 5 or 10KB")?;
    Number::parse(&text).filter(|n| n.as_f64().is_finite()).ok_or_else(|| {
        ParseError::new(p.text, at, "not a number", "expected offset and a number such as 5 or 10KB")
    })
}

/// A time stamp in a field other than `_time`. Most texts are told by their first byte to be none.
fn time_stamp(text: &str) -> Option<i64> {
    text.starts_with(|c: char| c.is_ascii_digit()).then(|| parse_time(text))?
}

/// Whether a number is one of time. Most are told by their last byte to be none.
fn is_duration(text: &str) -> bool {
    let plain = text.strip_prefix('+').unwrap_or(text);
    plain.ends_with(|c: char| c.is_ascii_alphabetic()) && parse_duration_ns(plain).is_some()
}

/// A float without what it cannot hold: `0.1 + 0.05` is 0.15.
fn rounded(x: f64) -> Number {
    Number::parse(&crate::number::format_rounded(x)).unwrap_or(Number::Float(x))
}

fn sum(a: Number, b: Number) -> Number {
    match a.plus(b) {
        Number::Float(x) => rounded(x),
        whole => whole,
    }
}

/// Where the bucket of a number begins.
fn start_of(n: Number, step: Number, offset: Number) -> Number {
    match offset {
        Number::Int(0) => round_down(n, step),
        offset => sum(round_down(sum(n, offset.negated()), step), offset),
    }
}

fn round_down(n: Number, step: Number) -> Number {
    match (n, step) {
        (Number::Int(n), Number::Int(step)) => {
            n.div_euclid(step).checked_mul(step).map_or(Number::Int(i64::MIN), Number::Int)
        }
        (n, step) => {
            let start = (n.as_f64() / step.as_f64()).floor() * step.as_f64();
            if start.is_nan() { n } else { rounded(start) }
        }
    }
}

/// From a Monday to the Thursday after it.
const MONDAY_NS: i64 = 3 * 86_400_000_000_000;

fn named_step(text: &str) -> Option<i64> {
    parse_duration_ns(match text {
        "nanosecond" => "1ns",
        "microsecond" => "1us",
        "millisecond" => "1ms",
        "second" => "1s",
        "minute" => "1m",
        "hour" => "1h",
        "day" => "1d",
        "week" => "1w",
        _ => return None,
    })
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", quote(&self.field))?;
        match &self.bucket {
            None => Ok(()),
            Some(Bucket::Time { step_ns, offset_ns: 0 }) => write!(f, ":{step_ns}ns"),
            Some(Bucket::Time { step_ns, offset_ns }) => write!(f, ":{step_ns}ns offset {offset_ns}ns"),
            Some(Bucket::Month) => f.write_str(":month"),
            Some(Bucket::Year) => f.write_str(":year"),
            Some(Bucket::Number { step, offset: Number::Int(0) }) => write!(f, ":{step}"),
            Some(Bucket::Number { step, offset }) => write!(f, ":{step} offset {offset}"),
            Some(Bucket::Network(bits)) => write!(f, ":/{bits}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::ParseOptions;
    use crate::query::Query;

    #[test]
    fn buckets_of_a_duration_round_time_stamps_in_any_field() {
        let query = Query::parse("* | stats by (ts:1h) count() n", &ParseOptions::default()).unwrap();
        let Some(crate::pipe::Pipe::Stats(stats)) = query.pipes().first() else { panic!("no stats") };
        for (text, bucket) in [
            ("2024-05-17T11:59:30.5Z", "2024-05-17T11:00:00Z"),
            ("2024-05-17T11:59:30+02:00", "2024-05-17T09:00:00Z"),
            ("1969-12-31T23:59:59Z", "1969-12-31T23:00:00Z"),
            ("90m", "1h"),
            ("-90m", "-2h"),
            ("20m", "0"),
            ("7200000000001", "7200000000000"),
            ("2024-05-17", "2024-05-17"),
            ("soon", "soon"),
        ] {
            assert_eq!(stats.aggregate.by[0].value(text), bucket, "{text}");
        }
    }

    #[test]
    fn buckets_of_numbers_begin_at_the_offset() {
        for (by, cases) in [
            ("n:10 offset 3", &[("2", "-7"), ("3", "3"), ("13", "13"), ("-8", "-17"), ("x", "x")][..]),
            ("n:0.1 offset 0.05", &[("0.2", "0.15"), ("0.15", "0.15"), ("0.149", "0.05")]),
            // As it is written, where nothing is added to it.
            ("n:1", &[("2.9999999999999996", "2"), ("3.0", "3")]),
            ("n:1h", &[("+90m", "1h"), ("90m", "1h")]),
            ("n:1d offset 2h", &[("2024-05-17T23:00:00Z", "2024-05-17T22:00:00Z")]),
        ] {
            let text = format!("* | stats by ({by}) count() lines");
            for text in [&text, &Query::parse(&text, &ParseOptions::default()).unwrap().to_string()] {
                let query = Query::parse(text, &ParseOptions::default()).unwrap();
                let Some(crate::pipe::Pipe::Stats(stats)) = query.pipes().first() else { panic!("no stats") };
                for (value, bucket) in cases {
                    assert_eq!(stats.aggregate.by[0].value(value), *bucket, "{text}: {value}");
                }
            }
        }
    }

    #[test]
    fn weeks_begin_on_monday_wherever_that_is() {
        let time = parse_time("2026-01-04T23:30:00Z").unwrap();
        for (bucket, start) in [
            ("week", "2025-12-29T00:00:00Z"),
            ("week offset 2h", "2026-01-04T22:00:00Z"),
            ("week offset -2h", "2025-12-29T02:00:00Z"),
            ("1w", "2026-01-01T00:00:00Z"),
            ("day offset 2h", "2026-01-04T22:00:00Z"),
            ("month", "2026-01-01T00:00:00Z"),
        ] {
            let text = format!("* | stats by (_time:{bucket}) count() n");
            for text in [&text, &Query::parse(&text, &ParseOptions::default()).unwrap().to_string()] {
                let query = Query::parse(text, &ParseOptions::default()).unwrap();
                let Some(crate::pipe::Pipe::Stats(stats)) = query.pipes().first() else { panic!("no stats") };
                let found = stats.aggregate.by[0].time_bucket(time);
                assert_eq!(format_time(found), start, "{text}");
            }
        }
    }
}
