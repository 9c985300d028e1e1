//! One log entry as a person reads it:
//!
//! ```text
//! 2026-11-21 22:19:49.123 ERROR payment refused  order=4711 app=checkout
//!     at com.example.Pay.refuse(Pay.java:17)
//! ```
//!
//! The message says first what the eye looks for. Fields that only repeat it (the parsed parts of a text
//! line, the entry's own time) are left out; they are there in NDJSON.

use crate::render::color::Styles;
use crate::render::escape::{push_safe, push_safe_line};
use duramen::{Level, token};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt::Write;

/// What stands before each further line of a message.
const INDENT: &str = "    ";
/// The width that levels are padded to: that of the widest that is common.
const LEVEL_WIDTH: usize = 5;

/// What of an entry is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogLine<'a> {
    /// Nanoseconds since the epoch, unless the query left the time out.
    pub(crate) time_ns: Option<i64>,
    /// The level as the sender wrote it.
    pub(crate) level: Option<&'a str>,
    /// The message.
    pub(crate) message: &'a str,
    /// How many bytes at the start of the message only repeat the time.
    pub(crate) message_skip: usize,
    /// The other fields, in order.
    pub(crate) fields: &'a [(&'a str, &'a str)],
}

/// Renders entries for a terminal.
#[derive(Debug)]
pub(crate) struct LineRenderer {
    styles: Styles,
    zone: TimeZone,
}

impl LineRenderer {
    /// With these styles, times in this zone.
    pub(crate) fn new(styles: Styles, zone: TimeZone) -> Self {
        Self { styles, zone }
    }

    /// Appends the entry and a line feed.
    pub(crate) fn render(&self, line: &LogLine<'_>, out: &mut String) {
        let dim = self.styles.dim;
        if let Some(time_ns) = line.time_ns {
            // Writing to a String cannot fail.
            let _infallible = write!(out, "{dim}{}{dim:#} ", local_time(time_ns, &self.zone));
        }
        self.push_level(line, out);
        let message = line.message.get(line.message_skip..).unwrap_or(line.message);
        let message = if line.message_skip > 0 { message.trim_start() } else { message };
        let mut lines = message.trim_end_matches(['\n', '\r']).split('\n');
        push_safe(out, lines.next().unwrap_or_default().trim_end_matches('\r'));
        self.push_fields(line, out);
        out.push('\n');
        for rest in lines {
            out.push_str(INDENT);
            push_safe(out, rest.trim_end_matches('\r'));
            out.push('\n');
        }
    }

    fn push_level(&self, line: &LogLine<'_>, out: &mut String) {
        let Some(text) = line.level.filter(|text| !text.is_empty()) else {
            // Entries without a level keep their messages under those of the others.
            if line.time_ns.is_some() {
                let _infallible = write!(out, "{:LEVEL_WIDTH$} ", "");
            }
            return;
        };
        let level = Level::of_value(text);
        let style = self.styles.level(level.unwrap_or_default());
        let name = match level {
            Some(level) => level.name().to_uppercase(),
            None => {
                let mut safe = String::new();
                push_safe_line(&mut safe, text);
                safe
            }
        };
        let _infallible = write!(out, "{style}{name:LEVEL_WIDTH$}{style:#} ");
    }

    fn push_fields(&self, line: &LogLine<'_>, out: &mut String) {
        let dim = self.styles.dim;
        let mut first = true;
        for &(name, value) in line.fields {
            if value.is_empty() || stands_in(line.message, value) || is_moment(value, line.time_ns) {
                continue;
            }
            if first && !line.message.is_empty() {
                out.push(' ');
            }
            let space = if first && line.message.is_empty() { "" } else { " " };
            let _infallible = write!(out, "{space}{dim}");
            push_safe_line(out, name);
            out.push('=');
            push_value(out, value);
            let _infallible = write!(out, "{dim:#}");
            first = false;
        }
    }
}

/// `2026-11-21 22:19:49.123` in the zone.
pub(crate) fn local_time(time_ns: i64, zone: &TimeZone) -> String {
    match Timestamp::from_nanosecond(i128::from(time_ns)) {
        Ok(time) => time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S.%3f").to_string(),
        // Every i64 of nanoseconds lies within a Timestamp's range.
        Err(_) => time_ns.to_string(),
    }
}

/// The value, in quotes where it could be misread without them.
fn push_value(out: &mut String, value: &str) {
    let quote = value.contains([' ', '"', '=', '\n', '\t']);
    if quote {
        out.push('"');
    }
    let mut safe = String::new();
    push_safe_line(&mut safe, value);
    if quote {
        out.push_str(&safe.replace('"', "\\\""));
        out.push('"');
    } else {
        out.push_str(&safe);
    }
}

/// Whether the value is in the message as a word or words of its own.
fn stands_in(message: &str, value: &str) -> bool {
    let word = |c: Option<char>| c.is_some_and(token::is_word_char);
    let starts_as_word = word(value.chars().next());
    let ends_as_word = word(value.chars().next_back());
    memchr::memmem::find_iter(message.as_bytes(), value.as_bytes()).any(|at| {
        let before = message.get(..at).and_then(|text| text.chars().next_back());
        let after = message.get(at + value.len()..).and_then(|text| text.chars().next());
        !(starts_as_word && word(before) || ends_as_word && word(after))
    })
}

/// Whether the value is the entry's own time: RFC 3339, or seconds, ms, µs or ns since the epoch.
fn is_moment(value: &str, time_ns: Option<i64>) -> bool {
    let Some(time_ns) = time_ns else { return false };
    if !(10..=40).contains(&value.len()) || !value.as_bytes()[0].is_ascii_digit() {
        return false;
    }
    if value.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        // A fraction is as exact as its sender made it; a float, to about a microsecond.
        let (whole, _fraction) = value.split_once('.').unwrap_or((value, ""));
        let Ok(n) = whole.parse::<i64>() else { return false };
        return [1_000_000_000, 1_000_000, 1000, 1].iter().any(|unit| time_ns.div_euclid(*unit) == n);
    }
    value.parse::<Timestamp>().is_ok_and(|time| time.as_nanosecond() == i128::from(time_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2023-11-14T22:13:20.123456789Z
    const TIME: i64 = 1_700_000_000_123_456_789;

    fn render(line: &LogLine<'_>, color: bool) -> String {
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        let mut out = String::new();
        LineRenderer::new(Styles::new(color), zone).render(line, &mut out);
        out
    }

    fn line<'a>(message: &'a str, fields: &'a [(&'a str, &'a str)]) -> LogLine<'a> {
        LogLine { time_ns: Some(TIME), level: Some("error"), message, message_skip: 0, fields }
    }

    #[test]
    fn time_level_message_fields() {
        let fields = [("app", "shop"), ("note", "a \"b\""), ("empty", "")];
        assert_eq!(
            render(&line("refused", &fields), false),
            "2023-11-14 23:13:20.123 ERROR refused  app=shop note=\"a \\\"b\\\"\"\n"
        );
        assert_eq!(
            render(&line("refused", &fields[..1]), true),
            "\x1b[2m2023-11-14 23:13:20.123\x1b[0m \x1b[31mERROR\x1b[0m refused  \x1b[2mapp=shop\x1b[0m\n"
        );
        let bare = LogLine { time_ns: None, level: None, message: "", message_skip: 0, fields: &fields[..1] };
        assert_eq!(render(&bare, false), "app=shop\n");
    }

    #[test]
    fn messages_stay_in_their_column_and_their_place() {
        let text = "boom\r\n\tat x\n  \x1b[31mat y\n";
        assert_eq!(
            render(&line(text, &[("k", "v")]), false),
            "2023-11-14 23:13:20.123 ERROR boom  k=v\n    \tat x\n      \\x1b[31mat y\n"
        );
        let quiet = LogLine { level: None, ..line("hm", &[]) };
        assert_eq!(render(&quiet, false), "2023-11-14 23:13:20.123       hm\n");
        let odd = LogLine { level: Some("sev\n1"), ..line("hm", &[]) };
        assert_eq!(render(&odd, false), "2023-11-14 23:13:20.123 sev\\n1 hm\n");
        let of_pino = LogLine { level: Some("50"), ..line("hm", &[]) };
        assert_eq!(render(&of_pino, true), render(&line("hm", &[]), true));
        let stamped = LogLine { message_skip: 8, ..line("22:13:20 hello", &[]) };
        assert_eq!(render(&stamped, false), "2023-11-14 23:13:20.123 ERROR hello\n");
        let beyond = LogLine { message_skip: 1, ..line("ä", &[]) };
        assert_eq!(render(&beyond, false), "2023-11-14 23:13:20.123 ERROR ä\n");
    }

    #[test]
    fn what_the_message_says_is_not_said_twice() {
        assert!(stands_in("GET /a 200 12", "200"));
        assert!(stands_in("GET /a 200 12", "GET /a"));
        assert!(!stands_in("GET /a 2000 12", "200"));
        assert!(!stands_in("12000", "200"));
        assert!(stands_in("12000 200", "200"));
        assert!(stands_in("[x]", "[x"));
        assert!(!stands_in("äb", "b"));
    }

    #[test]
    fn the_time_is_not_said_twice() {
        for value in [
            "2023-11-14T22:13:20.123456789Z",
            "2023-11-14T23:13:20.123456789+01:00",
            "1700000000",
            "1700000000.123",
            "1700000000123",
            "1700000000123456789",
        ] {
            assert!(is_moment(value, Some(TIME)), "{value}");
        }
        for value in ["2023-11-14T22:13:20.5Z", "1700000001", "170000000012", "hello world", "1.2.3.4.5.6"] {
            assert!(!is_moment(value, Some(TIME)), "{value}");
        }
        assert!(!is_moment("1700000000", None));
    }
}
