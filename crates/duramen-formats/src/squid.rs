//! Squid's access log in its own format, by itself or behind a head of syslog's.
//!
//! ```text
//! [before: ] 1717236000.123    921 192.0.2.1 TCP_MISS/200 507 GET http://example.org/a ann HIER_DIRECT/203.0.113.9 text/html
//! ```

use crate::logfmt::is_plain_number;
use crate::time::StampParser;
use crate::words::{Words, WordsLine};

/// `elapsed` are ms; `bytes` are those that the client got.
const NAMES: &[&str] = &[
    "",
    "elapsed",
    "ip",
    "cache_result/status",
    "bytes",
    "method",
    "path",
    "user",
    "hierarchy/peer",
    "content_type",
];

/// Reads a line; `None` if it is none of Squid's. Its time is when the request was answered.
pub(crate) fn parse<'a>(line: &'a str, stamps: &StampParser) -> Option<WordsLine<'a>> {
    let (before, text) = match line.as_bytes().first()? {
        b'0'..=b'9' => ("", line),
        _ => line
            .split_once("]: ")
            .map(|(_, text)| (line, text))
            .filter(|(_, text)| text.as_bytes().first().is_some_and(u8::is_ascii_digit))?,
    };
    let mut words = Words(text);
    let (stamp, elapsed, result) = (words.next()?, words.next()?, words.nth(1)?);
    let (bytes, hierarchy) = (words.next()?, words.nth(3)?);
    let (tag, status) = result.split_once('/')?;
    let is_tag = |text: &str| text.bytes().all(|b| b.is_ascii_uppercase() || matches!(b, b'_' | b'0'..=b'9'));
    let is_one = stamp.as_bytes().get(10) == Some(&b'.')
        && [elapsed, bytes].into_iter().all(is_plain_number)
        && is_tag(tag)
        && status.len() == 3
        && status.bytes().all(|b| b.is_ascii_digit())
        && is_tag(hierarchy.split_once('/')?.0);
    let time_ns = if is_one { stamps.parse_number(stamp)? } else { return None };
    let before = before.get(..before.len().saturating_sub(text.len())).unwrap_or_default();
    Some(WordsLine { time_ns, before, text, names: [NAMES, &[], &[]] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::shown;
    use duramen::EntryBuf;

    fn read(line: &str) -> Option<String> {
        let parsed = parse(line, &StampParser::new(jiff::tz::TimeZone::UTC, 0, None))?;
        let mut entry = EntryBuf::default();
        parsed.add_to(entry.start(parsed.time_ns));
        Some(format!("{}|{}", parsed.before, shown(&mut entry)))
    }

    #[test]
    fn lines_are_taken_apart() {
        let line = "1717236000.123    921 192.0.2.1 TCP_MISS/200 507 POST http://example.org/a?b ann HIER_DIRECT/203.0.113.9 text/html";
        let fields = r#"1717236000123 elapsed=Int(921) ip=Str("192.0.2.1") cache_result=Str("TCP_MISS") status=Int(200) bytes=Int(507) method=Str("POST") path=Str("http://example.org/a?b") user=Str("ann") hierarchy=Str("HIER_DIRECT") peer=Str("203.0.113.9") content_type=Str("text/html")"#;
        assert_eq!(read(line), Some(format!("|{fields}")));
        assert_eq!(
            read(&format!("Jun  1 10:00:00 proxy squid[7]: {line}")),
            Some(format!("Jun  1 10:00:00 proxy squid[7]: |{fields}"))
        );
        let denied = "1717236000.123      0 2001:db8::1 TCP_DENIED/407 3922 CONNECT [2001:db8::2]:443 - HIER_NONE/- text/html [a: b\\r\\n] [c]";
        let fields = r#"|1717236000123 elapsed=Int(0) ip=Str("2001:db8::1") cache_result=Str("TCP_DENIED") status=Int(407) bytes=Int(3922) method=Str("CONNECT") path=Str("[2001:db8::2]:443") hierarchy=Str("HIER_NONE") content_type=Str("text/html") extra.1=Str("[a: b\\r\\n]") extra.2=Str("[c]")"#;
        assert_eq!(read(denied).as_deref(), Some(fields));
        for other in [
            "1717236000    921 192.0.2.1 TCP_MISS/200 507 GET http://a - DIRECT/b text/html",
            "1717236000.123 x 192.0.2.1 TCP_MISS/200 507 GET http://a - DIRECT/b text/html",
            "1717236000.123 921 192.0.2.1 a/200 507 GET http://a - DIRECT/b text/html",
            "1717236000.123 921 192.0.2.1 TCP_MISS/200 507 GET http://a -",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(line in "(é\\]: )?1717236000.123 1 a A/200 7 G( [A\"é:/\\[\\]-]{0,4}){0,9}") {
            read(&line);
        }
    }
}
