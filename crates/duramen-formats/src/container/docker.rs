//! Lines of Docker's `json-file` driver, below `/var/lib/docker/containers`.
//!
//! ```text
//! {"log":"text\n","stream":"stdout","time":"2024-06-01T10:00:00.123456789Z"}
//! {"log":"te","stream":"stdout","attrs":{"tag":"web"},"time":"2024-06-01T10:00:00.123456789Z"}
//! ```
//!
//! Without a line feed at its end, `log` is a part of a line over 16 KiB: the next of its stream goes on with it. An object
//! with other fields beside these is of somebody else, and so is one whose `log` is shorter and has no line feed, as shippers
//! that strip it write them: both are objects like any other.

use super::{Head, Stream};
use crate::fields::Fields;
use crate::json::JsonParser;
use crate::time::StampParser;
use duramen::Value;

/// A line, taken apart.
#[derive(Debug)]
pub(crate) struct DockerLine {
    pub head: Head,
    /// Whether the next line of the stream goes on with it.
    pub is_part: bool,
    pub content: String,
}

/// What Docker gathers before it writes a part: none is shorter.
const PART_BYTES: usize = 16 << 10;
/// How far before the end of a line `"time":` stands, in bytes, and more.
const TIME_WITHIN_BYTES: usize = 64;

/// Whether a line may be one: a look at its ends.
pub(crate) fn may_be(line: &[u8]) -> bool {
    let tail = line.get(line.len().saturating_sub(TIME_WITHIN_BYTES)..).unwrap_or_default();
    line.starts_with(b"{\"log\":\"")
        && line.ends_with(b"\"}")
        && memchr::memmem::find(tail, b"\"time\":\"").is_some()
}

/// Reads a line; `None` if it is another's.
pub(crate) fn parse(
    line: &str,
    json: &mut JsonParser,
    fields: &mut Fields,
    stamps: &StampParser,
) -> Option<DockerLine> {
    let line = json.parse_repaired(line, fields).ok()?;
    let (mut log, mut stream, mut stamp) = (None, None, None);
    let mut attrs = Vec::new();
    let mut has_others = false;
    fields.for_each(&line, |name, value| match (name, value) {
        ("log", Value::Str(text)) => log = Some(text.to_owned()),
        ("stream", Value::Str(text)) => stream = Stream::of(text.as_bytes()),
        ("time", Value::Str(text)) => stamp = Some(text.to_owned()),
        ("attrs", Value::Json("{}") | Value::Null) => {}
        (name, Value::Str(text)) if name.starts_with("attrs.") => {
            attrs.push((name.to_owned(), text.to_owned()));
        }
        _ => has_others = true,
    });
    let (mut content, stamp) = (log?, stamp?);
    if has_others {
        return None;
    }
    let (time_ns, end) = stamps.parse(&stamp)?;
    if end != stamp.len() {
        return None;
    }
    let is_part = !content.ends_with('\n');
    if is_part && content.len() < PART_BYTES {
        return None;
    }
    if !is_part {
        content.pop();
        // Of a terminal (`docker run -t`).
        if content.ends_with('\r') {
            content.pop();
        }
    }
    Some(DockerLine { head: Head { time_ns, stamp, stream: stream?, attrs }, is_part, content })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_from_other_objects() {
        let read = |line: &str| {
            let stamps = StampParser::new(jiff::tz::TimeZone::UTC, 0, None);
            let parsed = parse(line, &mut JsonParser::new(), &mut Fields::new(), &stamps)
                .filter(|_| may_be(line.as_bytes()))?;
            let attrs = parsed.head.attrs.iter().map(|(name, value)| format!(" {name}={value}"));
            Some((parsed.is_part, format!("{}{}", parsed.content, attrs.collect::<String>())))
        };
        let with = |log: &str, beside: &str| {
            format!("{{\"log\":{log},\"stream\":\"stdout\",{beside}\"time\":\"2024-06-01T00:00:00.5Z\"}}")
        };
        let line = |text: &str| Some((false, text.to_owned()));
        let long = "a".repeat(PART_BYTES);
        for (line, expected) in [
            (with(r#""a \"b\" \u003c\n""#, ""), line("a \"b\" <")),
            (with(r#""a\r\n""#, r#""attrs":{"tag":"x","a.b":"é"},"#), line("a attrs.tag=x attrs.a.b=é")),
            (with(r#""\n""#, r#""attrs":{},"#), line("")),
            (with(&format!("\"{long}\""), ""), Some((true, long.clone()))),
            (with(r#""a""#, ""), None),
            (with(r#""a\n\n""#, ""), line("a\n")),
            (with("7", ""), None),
            (with(r#""a\n""#, r#""kubernetes":{"pod":"x"},"#), None),
            (with(r#""a\n""#, r#""attrs":{"tag":7},"#), None),
            (with(r#""a\n""#, r#""stream":"stderr","#), None),
            (with(r#""a\n""#, "").replace("stdout", "file"), None),
            (with(r#""a\n""#, "").replace("00.5Z", "x"), None),
            (with(r#""a\n""#, "").replace("\"}", "\"} "), None),
            (r#"{"log":"a\n"}"#.to_owned(), None),
        ] {
            assert_eq!(read(&line), expected, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(line in "\\{\"log\":\"[a-c\\\\né\"{}]{0,9}\",\"(stream|time|attrs)\":\"[a-z0-9:TZé-]{0,20}\"\\}?") {
            let stamps = StampParser::new(jiff::tz::TimeZone::UTC, 0, None);
            may_be(line.as_bytes());
            parse(&line, &mut JsonParser::new(), &mut Fields::new(), &stamps);
        }
    }
}
