//! Lines of programs as containers' runtimes keep them: behind the time at which they were written, and which stream they went to.
//!
//! ```text
//! CRI                        2024-06-01T10:00:00.123456789Z stdout F {"level":"info","msg":"up"}
//! kubectl logs --timestamps  2024-06-01T10:00:00.123456789Z {"level":"info","msg":"up"}
//! ```
//!
//! What stands behind is read as if it stood alone where it is a JSON object, and in a line of CRI where it is logfmt. Other lines
//! are text, head and all.

use crate::time::StampParser;

/// A line behind a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContainerLine<'a> {
    /// The head's time, ns since the epoch.
    pub time_ns: i64,
    /// The same as it is written.
    pub stamp: &'a str,
    /// `stdout` or `stderr`, in a line of CRI.
    pub stream: Option<&'a str>,
    /// What the program wrote.
    pub content: &'a str,
}

impl ContainerLine<'_> {
    /// Whether the content may be a JSON object.
    pub fn may_be_json(&self) -> bool {
        self.content.starts_with('{')
    }
}

/// Reads a whole line (`F`) of a stream that begins so, or a time and a JSON object; `None` if it is neither.
pub(crate) fn parse<'a>(line: &'a str, stamps: &StampParser) -> Option<ContainerLine<'a>> {
    let s = line.as_bytes();
    // Cheap first: RFC 3339, with its `T`.
    if s.get(10) != Some(&b'T') || s.get(4) != Some(&b'-') {
        return None;
    }
    let (stamp, rest) = line.split_once(' ')?;
    let stream = ["stdout", "stderr"].into_iter().find(|stream| rest.starts_with(stream));
    let content = match stream {
        Some(stream) => rest.get(stream.len()..)?.strip_prefix(" F ")?,
        None => rest,
    };
    let parsed = ContainerLine { time_ns: 0, stamp, stream, content };
    if stream.is_none() && !(parsed.may_be_json() && content.ends_with('}')) {
        return None;
    }
    let (time_ns, end) = stamps.parse(stamp)?;
    (end == stamp.len()).then_some(ContainerLine { time_ns, ..parsed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_told_from_other_lines() {
        let stamps = StampParser::new(jiff::tz::TimeZone::UTC, 0, None);
        let read =
            |line| parse(line, &stamps).map(|line| (line.time_ns / 1_000_000_000, line.stream, line.content));
        for (line, expected) in [
            ("2024-06-01T00:00:00.5Z stdout F a=1 b", Some((1_717_200_000, Some("stdout"), "a=1 b"))),
            (
                "2024-06-01T02:00:00+02:00 stderr F {\"a\":1}",
                Some((1_717_200_000, Some("stderr"), "{\"a\":1}")),
            ),
            ("2024-06-01T00:00:00Z {\"a\":1}", Some((1_717_200_000, None, "{\"a\":1}"))),
            ("2024-06-01T00:00:00Z {\"a\":1", None),
            ("2024-06-01T00:00:00Z a=1 b=2", None),
            ("2024-06-01T00:00:00Z stdout P {\"a\":", None),
            ("2024-06-01T00:00:00Z stdout", None),
            ("2024-06-01 00:00:00 stdout F x", None),
            ("2024-06-01Tx stdout F x", None),
            ("", None),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(line in "2024-06-01T[0-9:Zé]{0,9}( |stdout|stderr|F|\\{|\\}|é){0,9}") {
            parse(&line, &StampParser::new(jiff::tz::TimeZone::UTC, 0, None));
        }
    }
}
