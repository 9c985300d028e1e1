//! Time stamps to nanoseconds since the epoch, by another library than the product's own code.

use crate::record::Fields;
use jiff::civil::DateTime;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::Offset;

/// Where a file has its time stamps, and in what form.
pub enum Stamp {
    /// Nowhere: every line has the time of the file.
    None,
    /// Behind the first occurrence of a text (the empty one is at the line's start), in a form of strptime.
    Behind {
        text: &'static str,
        form: &'static str,
        /// East of UTC, where the form has no offset.
        offset_hours: i8,
    },
    /// The second word is seconds since the epoch.
    SecondWordSeconds,
    /// A field of JSON holds RFC 3339, with UTC if it names no zone.
    Rfc3339Field(&'static str),
    /// A field of JSON holds milliseconds since the epoch.
    MillisField(&'static str),
    /// A field of JSON holds seconds since the epoch, with a fraction.
    SecondsField(&'static str),
}

impl Stamp {
    pub const fn behind(text: &'static str, form: &'static str, offset_hours: i8) -> Self {
        Self::Behind { text, form, offset_hours }
    }

    /// The time of a line of text, if it has one. `modified_ns` tells the year where the line does not: the
    /// latest in which the line is not of the future.
    pub fn of_line(&self, line: &str, modified_ns: i64) -> Option<i64> {
        match self {
            Self::Behind { text, form, offset_hours } => {
                let at = if text.is_empty() { 0 } else { line.find(text)? + text.len() };
                let (mut parts, _) = BrokenDownTime::parse_prefix(form, &line.as_bytes()[at..]).ok()?;
                if parts.offset().is_none() {
                    parts.set_offset(Some(Offset::constant(*offset_hours)));
                }
                if parts.year().is_none() {
                    let modified = jiff::Timestamp::from_nanosecond(i128::from(modified_ns)).unwrap();
                    let year = modified.to_zoned(jiff::tz::TimeZone::UTC).year();
                    parts.set_year(Some(year)).unwrap();
                    let day_ns = 86_400_000_000_000;
                    if parts.to_timestamp().is_ok_and(|t| ns(t) > modified_ns + day_ns) {
                        parts.set_year(Some(year - 1)).unwrap();
                    }
                }
                Some(ns(parts.to_timestamp().ok()?))
            }
            Self::SecondWordSeconds => Some(line.split(' ').nth(1)?.parse::<i64>().ok()? * 1_000_000_000),
            _ => None,
        }
    }

    /// The time of a JSON object, if it has one.
    pub fn of_fields(&self, fields: &Fields) -> Option<i64> {
        match self {
            Self::Rfc3339Field(name) => {
                let text = fields.get(name);
                let with_zone = text.parse::<jiff::Timestamp>().ok().map(ns);
                with_zone.or_else(|| Some(civil_ns(text.parse::<DateTime>().ok()?, 0)))
            }
            Self::MillisField(name) => Some(fields.get(name).parse::<i64>().ok()? * 1_000_000),
            Self::SecondsField(name) => {
                let (whole, fraction) = fields.get(name).split_once('.')?;
                let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
                Some(whole.parse::<i64>().ok()? * 1_000_000_000 + digits.parse::<i64>().ok()?)
            }
            _ => None,
        }
    }
}

/// A civil time at an offset east of UTC.
pub fn civil_ns(time: DateTime, offset_hours: i8) -> i64 {
    ns(Offset::constant(offset_hours).to_timestamp(time).unwrap())
}

/// What the command prints as `_time`.
pub fn parse_rfc3339(text: &str) -> i64 {
    ns(text.parse().unwrap())
}

/// As the command prints it.
pub fn rfc3339(time_ns: i64) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(time_ns)).unwrap().to_string()
}

/// To the nanosecond, for `_time:…`, where a time with fewer digits is a span of time.
pub fn rfc3339_exact(time_ns: i64) -> String {
    format!("{:.9}", jiff::Timestamp::from_nanosecond(i128::from(time_ns)).unwrap())
}

fn ns(time: jiff::Timestamp) -> i64 {
    i64::try_from(time.as_nanosecond()).unwrap()
}
