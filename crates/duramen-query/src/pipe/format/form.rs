//! The forms in which `format` writes a field: `<q:name>`, `<time:stamp>`. A value that a form does not understand
//! is written as it is.

use super::codec;
use crate::number::{Number, duration_text, format_rounded, parse_duration_ns};
use crate::parse::time::format_time;
use crate::row::write_json_string;
use std::fmt::Write;
use std::net::Ipv4Addr;

/// A form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    DurationSeconds,
    Json,
    Upper,
    Lower,
    UrlEncode,
    UrlDecode,
    HexEncode,
    HexDecode,
    Base64Encode,
    Base64Decode,
    HexNumberDecode,
    HexNumberEncode,
    Time,
    Duration,
    Ipv4,
}

impl Form {
    /// All that have a name.
    pub const NAMES: &[(&str, Self)] = &[
        ("duration_seconds", Self::DurationSeconds),
        ("q", Self::Json),
        ("uc", Self::Upper),
        ("lc", Self::Lower),
        ("urlencode", Self::UrlEncode),
        ("urldecode", Self::UrlDecode),
        ("hexencode", Self::HexEncode),
        ("hexdecode", Self::HexDecode),
        ("base64encode", Self::Base64Encode),
        ("base64decode", Self::Base64Decode),
        ("hexnumdecode", Self::HexNumberDecode),
        ("hexnumencode", Self::HexNumberEncode),
        ("time", Self::Time),
        ("duration", Self::Duration),
        ("ipv4", Self::Ipv4),
    ];

    /// By name.
    pub fn of(name: Option<&str>) -> Self {
        let known = Self::NAMES.iter().find(|(n, _)| Some(*n) == name);
        known.map_or(Self::Plain, |(_, form)| *form)
    }

    /// Appends a value in this form.
    pub fn write(self, value: &str, out: &mut String) {
        let before = out.len();
        if self.understood(value, out).is_none() {
            out.truncate(before);
            out.push_str(value);
        }
    }

    fn understood(self, value: &str, out: &mut String) -> Option<()> {
        match self {
            Self::Plain => out.push_str(value),
            Self::Json => {
                let mut json = Vec::with_capacity(value.len() + 2);
                write_json_string(value, &mut json);
                out.push_str(std::str::from_utf8(&json).ok()?);
            }
            Self::Upper => out.extend(value.chars().flat_map(char::to_uppercase)),
            Self::Lower => out.extend(value.chars().flat_map(char::to_lowercase)),
            Self::UrlEncode => codec::url_encode(value, out),
            Self::UrlDecode => out.push_str(&codec::url_decode(value)?),
            Self::HexEncode => codec::hex_encode(value.as_bytes(), out),
            Self::HexDecode => out.push_str(&String::from_utf8(codec::hex_decode(value)?).ok()?),
            Self::Base64Encode => codec::base64_encode(value.as_bytes(), out),
            Self::Base64Decode => out.push_str(&String::from_utf8(codec::base64_decode(value)?).ok()?),
            Self::HexNumberDecode => {
                let digits = value.strip_prefix("0x").unwrap_or(value);
                let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
                write!(out, "{}", if plain { u64::from_str_radix(digits, 16).ok()? } else { return None })
                    .ok()?;
            }
            Self::HexNumberEncode => write!(out, "{:016X}", value.parse::<u64>().ok()?).ok()?,
            Self::Ipv4 => write!(out, "{}", Ipv4Addr::from(value.parse::<u32>().ok()?)).ok()?,
            // A size or a duration is a number, too, but no time.
            Self::Time if !value.ends_with(|c: char| c.is_ascii_digit()) => return None,
            Self::Time => out.push_str(&format_time(unix_ns(value)?)),
            Self::Duration => out.push_str(&duration_text(Number::parse(value)?.as_int()?)),
            Self::DurationSeconds => {
                let ns = parse_duration_ns(value)?;
                let seconds = match ns % 1_000_000_000 {
                    0 => (ns / 1_000_000_000).to_string(),
                    _ => format_rounded(ns as f64 / 1e9),
                };
                out.push_str(&seconds);
            }
        }
        Some(())
    }
}

/// Seconds, milli-, micro- or nanoseconds since the epoch, by their size, as nanoseconds.
fn unix_ns(text: &str) -> Option<i64> {
    let n = Number::parse(text)?;
    let size = n.as_f64().abs();
    let unit: i64 = match size {
        _ if size < 1e11 => 1_000_000_000,
        _ if size < 1e14 => 1_000_000,
        _ if size < 1e17 => 1_000,
        _ => 1,
    };
    // Digits first: the nearest float of a time just before a whole second is that second.
    decimal(text, unit).or_else(|| match n {
        Number::Int(n) => n.checked_mul(unit),
        Number::Float(x) => Some(x * unit as f64).filter(|ns| ns.abs() < 9.2e18).map(|ns| ns as i64),
    })
}

/// Digits with a point between them, times `unit`: floats have too few digits for today's nanoseconds.
fn decimal(text: &str, unit: i64) -> Option<i64> {
    let (whole, fraction) = text.split_once('.')?;
    let n: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = 10i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    i64::try_from(n.checked_mul(unit.into())? / scale).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_written_and_what_they_do_not_know_stays() {
        for (form, value, expected) in [
            ("", "x", "x"),
            ("q", "a\"b\n", r#""a\"b\n""#),
            ("uc", "aß", "ASS"),
            ("lc", "ÄB", "äb"),
            ("urlencode", "a b/é", "a+b%2F%C3%A9"),
            ("urldecode", "a+b%2f%C3%A9", "a b/é"),
            ("urldecode", "a%2", "a%2"),
            ("hexencode", "aé", "61C3A9"),
            ("hexdecode", "61C3a9", "aé"),
            ("hexdecode", "6", "6"),
            ("base64encode", "ab", "YWI="),
            ("base64decode", "YWI=", "ab"),
            ("base64decode", "!", "!"),
            ("hexnumdecode", "ff", "255"),
            ("hexnumdecode", "xyz", "xyz"),
            ("hexnumencode", "255", "00000000000000FF"),
            ("time", "1717328141", "2024-06-02T11:35:41Z"),
            ("time", "1717328141.5", "2024-06-02T11:35:41.5Z"),
            ("time", "1717328141.123456789", "2024-06-02T11:35:41.123456789Z"),
            ("time", "1717328141.999999999", "2024-06-02T11:35:41.999999999Z"),
            ("time", "1717328141000000.1", "2024-06-02T11:35:41.0000001Z"),
            ("time", "-1717328141.123", "1915-08-01T12:24:18.877Z"),
            ("time", "1717328141000000", "2024-06-02T11:35:41Z"),
            ("time", "soon", "soon"),
            ("time", "50ms", "50ms"),
            ("time", "5KB", "5KB"),
            ("duration", "5585000000123", "1h33m5s123ns"),
            ("duration", "-1500000", "-1ms500µs"),
            ("duration", "0", "0"),
            ("duration_seconds", "1h", "3600"),
            ("duration_seconds", "1.5ms", "0.0015"),
            ("duration_seconds", "-1h30m", "-5400"),
            ("duration_seconds", "1289", "1289"),
            ("duration_seconds", "5KB", "5KB"),
            ("ipv4", "1123635549", "66.249.81.93"),
        ] {
            let mut out = String::from(">");
            Form::of(Some(form)).write(value, &mut out);
            assert_eq!(out[1..], *expected, "{form}:{value}");
        }
    }
}
