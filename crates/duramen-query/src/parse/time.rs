//! `_time:…` in all its spellings, read to nanoseconds.
//!
//! A date names a span: `2024-01` is from the month's first nanosecond to its last. `>` and `(` are after the
//! first of them, `>=` and `[` from it on; `<` and `)` before it, `<=` and `]` up to its end.

use super::Parser;
use crate::error::ParseError;
use crate::filter::Filter;
use crate::filter::time::TimeRange;
use crate::number::parse_duration_ns;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{Span, Timestamp};

/// From the first nanosecond of what was named to its last; saturated at the ends of 64 bits.
type TimeSpan = (i64, i64);

const EXAMPLES: &str =
    "times are 5m, 2024-01-02, 2024-01-02T15:04:05Z, >2024-01-02, [2024-01-01, 2024-02-01)";

impl Parser<'_> {
    /// After `_time:`. The lexer does not know dates, so this reads the text itself.
    pub(super) fn time_filter(&mut self) -> Result<Filter, ParseError> {
        if self.at_word("day_range") || self.at_word("week_range") {
            return self.clock_filter();
        }
        let mut at = self.token.start;
        let rest = &self.text[at..];
        let now = self.options.now_ns;
        let mut range = TimeRange { min: i64::MIN, max: i64::MAX };
        if rest.starts_with(['[', '(']) {
            let close = rest.find([']', ')', '|']).filter(|&i| !rest[i..].starts_with('|'));
            let (Some(comma), Some(close)) = (rest.find(','), close) else {
                return Err(self.error("a time range needs two times and a closing bracket", EXAMPLES));
            };
            if comma > close {
                return Err(self.error("a time range needs two times", EXAMPLES));
            }
            let from = self.time_span(at + 1, &rest[1..comma])?;
            let to = self.time_span(at + comma + 1, &rest[comma + 1..close])?;
            range.min = if rest.starts_with('[') { from.0 } else { from.0.saturating_add(1) };
            let last = if is_unix_time(&rest[comma + 1..close]) { to.0 } else { to.1 };
            range.max = if rest[close..].starts_with(']') { last } else { to.0.saturating_sub(1) };
            at += close + 1;
        } else {
            let operator_len = rest.len() - rest.trim_start_matches(['<', '>', '=']).len();
            let (operator, rest) = rest.split_at(operator_len);
            let blank = rest.len() - rest.trim_start().len();
            let value_at = at + operator_len + blank;
            let value = &self.text[value_at..];
            let (value, len) = match value.chars().next() {
                Some(q @ ('"' | '\'' | '`')) => match value[1..].find(q) {
                    Some(len) => (&value[1..=len], len + 2),
                    None => return Err(self.error(format!("the quote {q} is not closed"), EXAMPLES)),
                },
                _ => {
                    let len = value
                        .find(|c: char| c.is_whitespace() || matches!(c, '|' | ')' | '(' | ',' | '#'))
                        .unwrap_or(value.len());
                    (&value[..len], len)
                }
            };
            if value.eq_ignore_ascii_case("offset") && operator.is_empty() {
                range.max = now;
                at = value_at;
            } else {
                if let (Some(age), "" | "=") = (parse_duration_ns(value), operator) {
                    range = TimeRange { min: now.saturating_sub(age).saturating_add(1), max: now };
                } else if let Some(age) = parse_duration_ns(value) {
                    // Older than an age is earlier than a time.
                    let then = now.saturating_sub(age);
                    match operator {
                        ">" => range.max = then.saturating_sub(1),
                        ">=" => range.max = then,
                        "<" => range.min = then.saturating_add(1),
                        "<=" => range.min = then,
                        _ => return Err(self.error("no such operator", EXAMPLES)),
                    }
                } else {
                    let span = self.time_span(value_at, value)?;
                    match operator {
                        "" | "=" => range = TimeRange { min: span.0, max: span.1 },
                        // Who has read up to a time asks on from there, and that is how it was shown: whole seconds without
                        // a fraction.
                        ">" => range.min = span.0.saturating_add(1),
                        ">=" => range.min = span.0,
                        "<" => range.max = span.0.saturating_sub(1),
                        "<=" if is_unix_time(value) => range.max = span.0,
                        "<=" => range.max = span.1,
                        _ => return Err(self.error("no such operator", EXAMPLES)),
                    }
                }
                at = value_at + len;
            }
        }
        self.continue_at(at)?;
        let shift = self.offset()?.saturating_add(self.time_offset_ns);
        for end in [&mut range.min, &mut range.max] {
            if *end != i64::MIN && *end != i64::MAX {
                *end = end.saturating_sub(shift);
            }
        }
        Ok(Filter::Time(range))
    }

    /// `offset 1h`, or nothing, in nanoseconds.
    pub(crate) fn offset(&mut self) -> Result<i64, ParseError> {
        if !self.eat_word("offset")? {
            return Ok(0);
        }
        let at = self.token.start;
        let text = self.text_token("a duration such as 1h")?;
        parse_duration_ns(&text).ok_or_else(|| {
            ParseError::new(self.text, at, "not a duration", "expected a duration such as 1h or 5h30m")
        })
    }

    /// One time: a date in any precision, a Unix time, `now`, or a duration before now.
    fn time_span(&self, position: usize, text: &str) -> Result<TimeSpan, ParseError> {
        let trimmed = text.trim().trim_matches(['"', '\'', '`']);
        let now = self.options.now_ns;
        let relative = trimmed.strip_prefix("now").unwrap_or(trimmed);
        if relative.is_empty() && !trimmed.is_empty() {
            return Ok((now, now));
        }
        if let Some(shift) = parse_duration_ns(relative.trim_start_matches('+')) {
            let forward = trimmed.len() != relative.len() && !relative.starts_with('-');
            let then =
                if forward { now.saturating_add(shift) } else { now.saturating_sub(shift.saturating_abs()) };
            return Ok((then, then));
        }
        unix_time(trimmed).or_else(|| date(trimmed, &self.options.timezone)).ok_or_else(|| {
            let position = position + (text.len() - text.trim_start().len());
            ParseError::new(self.text, position, format!("`{trimmed}` is not a time"), EXAMPLES)
        })
    }
}

/// Whether it is a Unix time: where a range ends it is an instant, which programs mean that send it, and not the whole
/// second.
fn is_unix_time(text: &str) -> bool {
    unix_time(text.trim().trim_matches(['"', '\'', '`'])).is_some()
}

/// Seconds, milli-, micro- or nanoseconds since the epoch, told apart by how many digits they have; seconds may have a
/// fraction.
fn unix_time(text: &str) -> Option<TimeSpan> {
    if let Some((whole, fraction)) = text.split_once('.') {
        let digits = fraction.len();
        let seconds =
            duramen::entry::plain_integer(whole).filter(|s| *s >= 0 && matches!(whole.len(), 9..=11))?;
        if !(1..=9).contains(&digits) || !fraction.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let unit = 10i64.pow(9 - u32::try_from(digits).ok()?);
        let start = seconds.checked_mul(1_000_000_000)?.checked_add(fraction.parse::<i64>().ok()? * unit)?;
        return Some((start, start.saturating_add(unit - 1)));
    }
    let unit: i64 = match text.len() {
        9..=11 => 1_000_000_000,
        12..=14 => 1_000_000,
        15..=17 => 1_000,
        18..=19 => 1,
        _ => return None,
    };
    let n = duramen::entry::plain_integer(text)?;
    let start = n.checked_mul(unit)?;
    Some((start, start.saturating_add(unit - 1)))
}

/// A date: `YYYY[-MM[-DD[(T| )hh[:mm[:ss[.fraction]]]]]]`, then `Z`, `+hh:mm`, `-hh:mm`, or nothing.
fn date(text: &str, timezone: &TimeZone) -> Option<TimeSpan> {
    let mut scan = Scan { rest: text };
    let year = scan.digits(4)?;
    let mut parts = [1i8, 1, 0, 0, 0];
    let mut span = Span::new().try_years(1).ok()?;
    let separators: [&[char]; 5] = [&['-'], &['-'], &['T', 't', ' '], &[':'], &[':']];
    let mut nanos = 0;
    let mut fraction_unit: Option<i64> = None;
    for (i, separator) in separators.iter().enumerate() {
        // `2023-02-07:00` is February at seven hours west.
        if i <= 2 && scan.offset_only() {
            break;
        }
        if i == 1 && !scan.rest.starts_with('-') || !scan.eat(separator) {
            break;
        }
        parts[i] = i8::try_from(scan.digits(2)?).ok()?;
        let spans = [
            Span::new().months(1),
            Span::new().days(1),
            Span::new().hours(1),
            Span::new().minutes(1),
            Span::new().seconds(1),
        ];
        span = spans[i];
        if i == 4 && scan.eat(&['.', ',']) {
            let len = scan.rest.bytes().take_while(u8::is_ascii_digit).count();
            let digits = scan.rest.get(..len.min(9)).filter(|d| !d.is_empty())?;
            let unit = 10i64.pow(9 - u32::try_from(digits.len()).ok()?);
            nanos = i32::try_from(digits.parse::<i64>().ok()? * unit).ok()?;
            fraction_unit = Some(unit);
            scan.rest = &scan.rest[len..];
        }
    }
    let start =
        DateTime::new(i16::try_from(year).ok()?, parts[0], parts[1], parts[2], parts[3], parts[4], nanos)
            .ok()?;
    let zone = scan.zone(timezone)?;
    let first = instant(start, &zone)?;
    let last = match fraction_unit {
        Some(unit) => first.saturating_add(unit - 1),
        None => start
            .checked_add(span)
            .ok()
            .and_then(|end| instant(end, &zone))
            .map_or(i64::MAX, |n| n.saturating_sub(1)),
    };
    Some((first, last))
}

fn instant(time: DateTime, zone: &TimeZone) -> Option<i64> {
    let ns = zone.to_ambiguous_timestamp(time).compatible().ok()?.as_nanosecond();
    Some(i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX }))
}

/// What is left of a date.
struct Scan<'a> {
    rest: &'a str,
}

impl Scan<'_> {
    fn digits(&mut self, count: usize) -> Option<u16> {
        let digits = self.rest.get(..count).filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
        self.rest = &self.rest[count..];
        digits.parse().ok()
    }

    fn eat(&mut self, any: &[char]) -> bool {
        let rest = self.rest.strip_prefix(any);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Whether only `±hh:mm` is left.
    fn offset_only(&self) -> bool {
        matches!(self.rest.as_bytes(), [b'-' | b'+', _, _, b':', _, _])
    }

    fn zone(mut self, default: &TimeZone) -> Option<TimeZone> {
        if self.rest.is_empty() {
            return Some(default.clone());
        }
        if self.eat(&['Z', 'z']) {
            return self.rest.is_empty().then_some(TimeZone::UTC);
        }
        let sign = if self.eat(&['+']) {
            1
        } else if self.eat(&['-']) {
            -1
        } else {
            return None;
        };
        let hours = self.digits(2)?;
        self.eat(&[':']);
        let minutes = if self.rest.is_empty() { 0 } else { self.digits(2)? };
        let seconds = sign * (i32::from(hours) * 3600 + i32::from(minutes) * 60);
        (self.rest.is_empty() && minutes < 60).then_some(())?;
        Some(TimeZone::fixed(Offset::from_seconds(seconds).ok()?))
    }
}

/// A time stamp as text: RFC 3339, UTC, without trailing zeros in the fraction.
pub fn format_time(ns: i64) -> String {
    Timestamp::from_nanosecond(i128::from(ns)).unwrap_or_default().to_string()
}

/// Reads what [`format_time`] writes, and any other RFC 3339 time stamp.
pub fn parse_time(text: &str) -> Option<i64> {
    let time: Timestamp = text.parse().ok()?;
    i64::try_from(time.as_nanosecond()).ok()
}
