//! Lines of programs as containers' runtimes keep and show them.
//!
//! ```text
//! json-file                  {"log":"text\n","stream":"stdout","time":"2024-06-01T10:00:00.123456789Z"}
//! CRI                        2024-06-01T10:00:00.123456789Z stdout F text
//! kubectl logs --timestamps  2024-06-01T10:00:00.123456789Z {"level":"info","msg":"up"}
//! docker compose logs        web-1  | {"level":"info","msg":"up"}
//! docker compose logs -t     web-1  | 2024-06-01T10:00:00.123456789Z {"level":"info","msg":"up"}
//! ```
//!
//! In the files of the first two each line is behind a [`Head`], and what the program wrote is read as if it stood alone
//! ([`cri`], [`docker`]). What stands behind the others is read so where it is a JSON object, and behind a container's name where it is
//! logfmt; other lines of theirs are text, head and all.

pub(crate) mod cri;
pub(crate) mod docker;

use crate::colors::color_len;
use crate::time::StampParser;
use crate::{level, logfmt};

/// Where a program wrote a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    /// By its name.
    pub fn of(name: &[u8]) -> Option<Self> {
        match name {
            b"stdout" => Some(Self::Stdout),
            b"stderr" => Some(Self::Stderr),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// What a runtime's file tells of a line beside its text.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// When it was written, ns since the epoch.
    pub time_ns: i64,
    /// The same as it is written.
    pub stamp: String,
    pub stream: Stream,
    /// What Docker was asked to tell of the container (`--log-opt labels=…`), as fields.
    pub attrs: Vec<(String, String)>,
}

impl Head {
    /// The fields that an entry gets; the head's time only where the entry has another.
    pub fn fields(&self, has_own_time: bool) -> Vec<(&str, &str)> {
        let mut fields = vec![("stream", self.stream.name())];
        fields.extend(self.attrs.iter().map(|(name, value)| (&**name, &**value)));
        if has_own_time {
            fields.push(("cri_time", &*self.stamp));
        }
        fields
    }

    /// How many bytes of memory it holds, about.
    pub fn size_bytes(&self) -> usize {
        let attrs = self.attrs.iter().map(|(name, value)| name.len() + value.len() + 2 * size_of::<String>());
        size_of::<Self>() + self.stamp.len() + attrs.sum::<usize>()
    }
}

/// A line behind a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContainerLine<'a> {
    /// The container's name.
    pub container: Option<&'a str>,
    /// The head's time, ns since the epoch, and the same as it is written.
    pub time: Option<(i64, &'a str)>,
    /// What the program wrote.
    pub content: &'a str,
}

impl ContainerLine<'_> {
    /// Whether the content may be a JSON object.
    pub fn may_be_json(&self) -> bool {
        self.content.starts_with('{') && self.content.trim_end().ends_with('}')
    }
}

/// The longest name of a container, in bytes, and the most blanks behind one.
const MAX_NAME_BYTES: usize = 255;

/// Reads a head before what may be a JSON object, or behind a container's name logfmt; `None` if it is neither.
pub(crate) fn parse<'a>(line: &'a str, stamps: &StampParser) -> Option<ContainerLine<'a>> {
    let (container, rest) = match of_compose(line) {
        Some((container, rest)) => (Some(container), rest),
        None => (None, line),
    };
    let behind = timed(rest, stamps);
    if behind.is_none() && container.is_none() {
        return None;
    }
    let behind = behind.unwrap_or(ContainerLine { container, time: None, content: rest });
    let parsed = ContainerLine { container, ..behind };
    let may_be = parsed.may_be_json() || logfmt::may_be(parsed.content);
    may_be.then_some(parsed)
}

/// `web-1  | ` and what follows, in colours or not. A level or a number is no container.
fn of_compose(line: &str) -> Option<(&str, &str)> {
    let line = without_color(line);
    let may_be = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let s = line.as_bytes();
    let len = s.iter().take(MAX_NAME_BYTES).take_while(|b| may_be(b)).count();
    let blanks = s.iter().skip(len).take(MAX_NAME_BYTES).take_while(|b| **b == b' ').count();
    let rest = line.get(len + blanks..)?.strip_prefix('|')?;
    if blanks == 0 || !(rest.is_empty() || rest.starts_with(' ')) {
        return None;
    }
    let name = line.get(..len)?;
    let is_name = name.bytes().any(|b| b.is_ascii_lowercase()) && level::spelled(name).is_none();
    is_name.then_some((name, without_color(rest.strip_prefix(' ').unwrap_or_default())))
}

fn without_color(text: &str) -> &str {
    if !text.starts_with('\x1b') {
        return text;
    }
    color_len(text.as_bytes()).and_then(|len| text.get(len..)).unwrap_or(text)
}

/// Whether two lines are of two containers: then the second does not go on with the first.
pub(crate) fn are_of_two(line: &str, next: &str) -> bool {
    of_compose(next).is_some_and(|(name, _)| of_compose(line).is_some_and(|(other, _)| other != name))
}

/// What stands behind a time, if it begins with a brace.
fn timed<'a>(line: &'a str, stamps: &StampParser) -> Option<ContainerLine<'a>> {
    let s = line.as_bytes();
    // Cheap first: RFC 3339, with its `T`.
    if s.get(10) != Some(&b'T') || s.get(4) != Some(&b'-') {
        return None;
    }
    let (stamp, content) = line.split_once(' ').filter(|(_, content)| content.starts_with('{'))?;
    let (time_ns, end) = stamps.parse(stamp)?;
    let time = Some((time_ns, stamp));
    (end == stamp.len()).then_some(ContainerLine { container: None, time, content })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_told_from_other_lines() {
        let stamps = StampParser::new(jiff::tz::TimeZone::UTC, 0, None);
        let read = |line| {
            let parsed = parse(line, &stamps)?;
            let secs = parsed.time.map(|(ns, _)| ns / 1_000_000_000);
            Some((secs, parsed.container, parsed.content))
        };
        let at = Some(1_717_200_000);
        for (line, expected) in [
            ("2024-06-01T00:00:00Z {\"a\":1}", Some((at, None, "{\"a\":1}"))),
            ("web-1  | {\"a\":1} ", Some((None, Some("web-1"), "{\"a\":1} "))),
            ("web-1  | 2024-06-01T00:00:00Z {\"a\":1}", Some((at, Some("web-1"), "{\"a\":1}"))),
            ("\x1b[36mweb-1  | \x1b[0m{}", Some((None, Some("web-1"), "{}"))),
            ("web-1  | a=1 b=2", Some((None, Some("web-1"), "a=1 b=2"))),
            ("web-1  | started", None),
            ("web-1  |", None),
            ("web 1 | {}", None),
            ("ERROR | {}", None),
            ("info  | {}", None),
            ("20240601T100000Z | {}", None),
            (" | {}", None),
            ("2024-06-01T00:00:00Z {\"a\":1", None),
            ("2024-06-01T00:00:00Z a=1 b=2", None),
            ("2024-06-01T00:00:00Z stdout P {\"a\":1}", None),
            ("2024-06-01 00:00:00 {}", None),
            ("2024-06-01Tx {}", None),
            ("", None),
            (&format!("{} | {{}}", "a".repeat(MAX_NAME_BYTES + 1)), None),
            (&format!("a{}| {{}}", " ".repeat(MAX_NAME_BYTES + 1)), None),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(line in "([aé-]{0,3} \\| )?(2024-06-01T[0-9:Zé]{0,9})?( |\\{|\\}|é){0,9}") {
            parse(&line, &StampParser::new(jiff::tz::TimeZone::UTC, 0, None));
        }
    }
}
