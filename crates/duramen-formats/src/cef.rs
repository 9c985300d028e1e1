//! CEF and LEEF, in which security devices tell of events; mostly syslog carries them, and both begin alike.
//!
//! ```text
//! CEF:0|vendor|product|version|event class|name|severity|src=192.0.2.1 msg=values have spaces rt=1717200000000
//! LEEF:1.0|vendor|product|version|event|src=192.0.2.1<tab>sev=5<tab>devTime=Jun 01 2024 10:00:00
//! LEEF:2.0|vendor|product|version|event|^|src=192.0.2.1^sev=5
//! ```
//!
//! The head's parts have the names that ArcSight gives them; of LEEF too, so that one question finds both.

use crate::fields::{Fields, Found, Raw, Span};
use crate::logfmt::is_plain_number;
use crate::time::StampParser;
use duramen::Level;
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// The names of the parts of a head that both have.
const HEAD: [&str; 4] = ["deviceVendor", "deviceProduct", "deviceVersion", "deviceEventClassId"];
/// The keys that hold the event's time, the first that is there counts.
const TIMES: [&str; 4] = ["rt", "devTime", "end", "start"];

/// Where a line's event begins: at the start, or behind a head of syslog's.
pub(crate) fn start(line: &str) -> Option<usize> {
    static NAME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("EF:"));
    let at = NAME.find(line.as_bytes())?;
    let (head, rest) = (line.get(..at)?, line.get(at + 3..)?);
    let name = if head.ends_with('C') { 1 } else { head.ends_with("LE").then_some(2)? };
    let parted = head[..head.len() - name].chars().next_back().is_none_or(|c| c == ' ');
    let versioned = rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains('|');
    (parted && versioned).then_some(at - name)
}

/// Reads the event that begins at `at` ([`start`]) into `fields`. `None` if its head is cut short, or it has more or
/// longer fields than an entry can hold; `fields` are then of no use.
pub(crate) fn parse(line: &str, at: usize, fields: &mut Fields, stamps: &StampParser) -> Option<Found> {
    fields.clear();
    let leef = line.get(at..)?.starts_with("LEEF");
    let mut parts = Parts { line, at: at + line.get(at..)?.find(':')? + 1, escapes: !leef };
    let version = parts.next()?;
    for name in HEAD {
        let span = parts.next()?;
        push(fields, line, name, span, !leef)?;
    }
    let mut found = Found::default();
    let mut times = [None; TIMES.len()];
    let mut pair = |fields: &mut Fields, key: &str, span: (usize, usize)| {
        if let Some(rank) = TIMES.iter().position(|time| *time == key) {
            times[rank] = stamps.parse_value(line.get(span.0..span.1)?);
        }
        if leef && key == "sev" {
            found.level = level(line.get(span.0..span.1)?);
        }
        push(fields, line, key, span, !leef)
    };
    if leef {
        // What says the delimiter may miss from version 2, too.
        let said = match line.get(version.0..version.1)?.starts_with('1') {
            true => None,
            false => Parts { line, ..parts }
                .next()
                .filter(|span| line.get(span.0..span.1).is_some_and(|text| text.len() < 8)),
        };
        let delimiter = match said {
            Some(span) => {
                parts.at = span.1 + 1;
                delimiter(line.get(span.0..span.1)?)?
            }
            None => '\t',
        };
        let mut from = parts.at;
        for text in line.get(parts.at..)?.split(delimiter) {
            if let Some((key, value)) = text.split_once('=') {
                let value_at = from + key.len() + 1;
                pair(fields, key.trim(), (value_at, value_at + value.len()))?;
            }
            from += text.len() + delimiter.len_utf8();
        }
    } else {
        let name = parts.next()?;
        push(fields, line, "name", name, true)?;
        let severity = parts.next()?;
        push(fields, line, "deviceSeverity", severity, true)?;
        let rest = parts.at;
        each_pair(line.get(rest..)?, |key, value| pair(fields, key, (rest + value.0, rest + value.1)))?;
        found.level = level(line.get(severity.0..severity.1)?);
    }
    found.time = times.into_iter().flatten().next();
    Some(found)
}

/// The parts of a head, which end with bars.
struct Parts<'a> {
    line: &'a str,
    at: usize,
    escapes: bool,
}

impl Parts<'_> {
    fn next(&mut self) -> Option<(usize, usize)> {
        let s = self.line.as_bytes();
        let start = self.at;
        let mut end = start;
        loop {
            end += memchr::memchr2(b'|', b'\\', s.get(end..)?)?;
            if s[end] == b'|' {
                break;
            }
            end += if self.escapes { 2 } else { 1 };
        }
        self.at = end + 1;
        Some((start, end))
    }
}

/// Calls `f` with each key of `a=1 b=two words c=3` and where its value lies. A value ends where the next key begins.
fn each_pair(text: &str, mut f: impl FnMut(&str, (usize, usize)) -> Option<()>) -> Option<()> {
    let s = text.as_bytes();
    let is_key = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'[' | b']');
    let mut open: Option<(&str, usize)> = None;
    for equals in memchr::memchr_iter(b'=', s) {
        let key_len = s[..equals].iter().rev().take_while(|b| is_key(b)).count();
        let key_at = equals - key_len;
        if key_len == 0 || !(key_at == 0 || s[key_at - 1] == b' ') {
            continue;
        }
        if let Some((key, value_at)) = open.replace((text.get(key_at..equals)?, equals + 1)) {
            f(key, (value_at, trimmed(text, value_at, key_at)))?;
        }
    }
    match open {
        Some((key, value_at)) => f(key, (value_at, trimmed(text, value_at, text.len()))),
        None => Some(()),
    }
}

/// The end of a value without the spaces behind it.
fn trimmed(text: &str, start: usize, end: usize) -> usize {
    start + text.get(start..end).map_or(0, |value| value.trim_end_matches(' ').len())
}

/// `^`, `x5E`, `0x5E`; nothing means a tab.
fn delimiter(text: &str) -> Option<char> {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (None, _) => Some('\t'),
        (Some(one), None) => Some(one),
        _ => {
            let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix('x'))?;
            u32::from_str_radix(hex, 16).ok().and_then(char::from_u32)
        }
    }
}

fn push(fields: &mut Fields, line: &str, name: &str, span: (usize, usize), escapes: bool) -> Option<()> {
    let text = line.get(span.0..span.1)?;
    let span = Span::new(span.0, span.1)?;
    let value = if is_plain_number(text) {
        Raw::Number(span)
    } else if escapes && text.contains('\\') {
        Raw::Unescaped(fields.keep(&unescaped(text))?)
    } else {
        Raw::Text(span)
    };
    fields.push(name, value)
}

/// `\|`, `\=` and `\\` are what follows the backslash, `\n` and `\r` are line ends; any other backslash is itself.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = match chars.peek() {
            Some(next @ ('|' | '=' | '\\')) if c == '\\' => Some(*next),
            Some('n') if c == '\\' => Some('\n'),
            Some('r') if c == '\\' => Some('\r'),
            _ => None,
        };
        if escaped.is_some() {
            chars.next();
        }
        out.push(escaped.unwrap_or(c));
    }
    out
}

/// CEF's bands of severities, 0 to 10, and its names of them.
fn level(severity: &str) -> Option<Level> {
    Some(match severity.trim().to_ascii_lowercase().as_str() {
        "0" | "1" | "2" | "3" | "low" => Level::Info,
        "4" | "5" | "6" | "medium" => Level::Warn,
        "7" | "8" | "high" => Level::Error,
        "9" | "10" | "very-high" => Level::Fatal,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<String> {
        let stamps = StampParser::new(jiff::tz::TimeZone::UTC, 0, None);
        let mut fields = Fields::new();
        let found = parse(line, start(line)?, &mut fields, &stamps)?;
        let mut out = format!("{:?} {:?}", found.time.map(|ns| ns / 1_000_000), found.level);
        fields.for_each(line, |name, value| out += &format!(" {name}={value:?}"));
        Some(out)
    }

    #[test]
    fn events_are_taken_apart() {
        for (line, expected) in [
            (
                r"CEF:0|Security|threat\|manager|1.0|100|worm stopped|10|src=192.0.2.1 rt=1717200000123 msg=a \= b, no action  fname=C:\\x y",
                r#"Some(1717200000123) Some(Fatal) deviceVendor=Str("Security") deviceProduct=Str("threat|manager") deviceVersion=Number("1.0") deviceEventClassId=Number("100") name=Str("worm stopped") deviceSeverity=Number("10") src=Str("192.0.2.1") rt=Number("1717200000123") msg=Str("a = b, no action") fname=Str("C:\\x y")"#,
            ),
            (
                "<134>Jun  1 10:00:00 fw CEF:0|a|b||x|n|Low|end=Jun 01 2024 10:00:01.5 UTC",
                r#"Some(1717236001500) Some(Info) deviceVendor=Str("a") deviceProduct=Str("b") deviceVersion=Str("") deviceEventClassId=Str("x") name=Str("n") deviceSeverity=Str("Low") end=Str("Jun 01 2024 10:00:01.5 UTC")"#,
            ),
            (
                "CEF:1|a|b|c|x|n|Unknown|",
                r#"None None deviceVendor=Str("a") deviceProduct=Str("b") deviceVersion=Str("c") deviceEventClassId=Str("x") name=Str("n") deviceSeverity=Str("Unknown")"#,
            ),
            (
                "LEEF:1.0|a|b|c|15345|src=192.0.2.1\tsev=5\tdevTime=Jun 01 2024 10:00:00\turl=/?a=b",
                r#"Some(1717236000000) Some(Warn) deviceVendor=Str("a") deviceProduct=Str("b") deviceVersion=Str("c") deviceEventClassId=Number("15345") src=Str("192.0.2.1") sev=Number("5") devTime=Str("Jun 01 2024 10:00:00") url=Str("/?a=b")"#,
            ),
            (
                "LEEF:2.0|a|b|c|41|src=192.0.2.1\tsev=9\turl=a|b",
                r#"None Some(Fatal) deviceVendor=Str("a") deviceProduct=Str("b") deviceVersion=Str("c") deviceEventClassId=Number("41") src=Str("192.0.2.1") sev=Number("9") url=Str("a|b")"#,
            ),
            (
                "CEF:0|a|b|c|x|n|very-high|",
                r#"None Some(Fatal) deviceVendor=Str("a") deviceProduct=Str("b") deviceVersion=Str("c") deviceEventClassId=Str("x") name=Str("n") deviceSeverity=Str("very-high")"#,
            ),
            (
                "LEEF:2.0|a|b|c|41|x5E|src=192.0.2.1^sev=9",
                r#"None Some(Fatal) deviceVendor=Str("a") deviceProduct=Str("b") deviceVersion=Str("c") deviceEventClassId=Number("41") src=Str("192.0.2.1") sev=Number("9")"#,
            ),
        ] {
            assert_eq!(read(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn other_lines_are_none() {
        for line in
            ["", "CEF:", "CEF:0|a|b", "CEF:x|a|b|c|d|e|f|", "xCEF:0|a|b|c|d|e|f|", "BEEF:1|a|b|c|d|", "é EF:"]
        {
            assert_eq!(read(line), None, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(line in "(CEF:0|LEEF:1\\.0|LEEF:2\\.0)(\\|[a\\\\é]{0,2}){3,7}\\|[ab=é\\\\\\t ^]{0,20}") {
            read(&line);
        }
    }
}
