//! Lines of CRI's log files, as Kubernetes' runtimes write them below `/var/log/pods`.
//!
//! ```text
//! 2024-06-01T10:00:00.123456789Z stdout F text        a line, or the last part of one
//! 2024-06-01T10:00:00.123456789Z stdout P te          a part of a line over 16 KiB: the next of its stream goes on with it
//! ```
//!
//! A part may end in the midst of a character.

use super::Stream;

/// A line, taken apart. Whether the stamp is one has not been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CriLine<'a> {
    pub stamp: &'a str,
    pub stream: Stream,
    /// Whether the next line of the stream goes on with it.
    pub is_part: bool,
    pub content: &'a [u8],
}

/// The longest stamp, in bytes, and more.
const MAX_STAMP_BYTES: usize = 48;
/// The longest tags, in bytes: so far there is one, of one letter.
const MAX_TAGS_BYTES: usize = 64;

/// Takes a line apart; `None` if it has another head.
pub(crate) fn split(line: &[u8]) -> Option<CriLine<'_>> {
    // Cheap first: RFC 3339, with its `T`.
    if line.get(10) != Some(&b'T') || line.get(4) != Some(&b'-') {
        return None;
    }
    let (stamp, rest) = word(line, MAX_STAMP_BYTES)?;
    let (stream, rest) = word(rest, MAX_STAMP_BYTES)?;
    let stream = Stream::of(stream)?;
    // A line without text may lack the blank before it.
    let (tags, content) = word(rest, MAX_TAGS_BYTES).unwrap_or((rest, &[]));
    // With others beside it there would be something to lose.
    let is_part = match tags {
        b"F" => false,
        b"P" => true,
        _ => return None,
    };
    Some(CriLine { stamp: std::str::from_utf8(stamp).ok()?, stream, is_part, content })
}

/// What stands before the first blank, and behind it.
fn word(text: &[u8], max: usize) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b' ', text.get(..max).unwrap_or(text))?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_from_others() {
        let read = |line: &'static str| {
            split(line.as_bytes())
                .map(|l| (l.stream == Stream::Stderr, l.is_part, std::str::from_utf8(l.content).unwrap()))
        };
        for (line, expected) in [
            ("2024-06-01T00:00:00.5Z stdout F a=1 b", Some((false, false, "a=1 b"))),
            ("2024-06-01T02:00:00+02:00 stderr P  é ", Some((true, true, " é "))),
            ("2024-06-01T00:00:00Z stdout F:x y", None),
            ("2024-06-01T00:00:00Z stdout F:x", None),
            ("2024-06-01T00:00:00Z stdout F ", Some((false, false, ""))),
            ("2024-06-01T00:00:00Z stdout F", Some((false, false, ""))),
            ("2024-06-01T00:00:00Z stdout X a", None),
            ("2024-06-01T00:00:00Z stdout", None),
            ("2024-06-01T00:00:00Z stdin F a", None),
            ("2024-06-01 00:00:00 stdout F a", None),
            ("", None),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }
}
