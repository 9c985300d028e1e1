//! What the first lines of an input tell about the rest.

use crate::columns::Header;
use crate::container::{self, cri, docker};
use crate::fields::Fields;
use crate::journal;
use crate::json::{self, JsonParser};
use crate::lines::without_bom;
use crate::reader::records::RecordSplitter;
use crate::time::{Seen, StampParser};
use crate::{LineFormat, access, cef, event, haproxy, logfmt, plain, syslog, words};
use std::borrow::Cow;

/// How much of an input is looked at before the first entry comes out of it, in bytes.
pub const DETECT_BYTES: usize = 64 << 10;

/// What is known about an input. The same head always gives the same: whoever goes on in the middle of an
/// input passes what its first bytes gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The format of at least four fifths of the lines; [`LineFormat::Plain`] if no other has as many.
    pub format: LineFormat,
    /// Whether some line was a JSON object.
    pub has_json: bool,
    /// Whether some line was logfmt.
    pub has_logfmt: bool,
    /// Whether four fifths of the lines that lead with a time or a level are syslog, so that those are which alone might be something else.
    pub is_syslog: bool,
    /// Whether events lead with a time stamp or level, so that lines without one go on with the event.
    pub events_lead: bool,
    /// Whether indentation means anything: not where every line is indented.
    pub indentation_joins: bool,
    /// The word, counted from 0, at which four fifths of the lines have their time stamp, where it does not lead.
    pub stamp_word: Option<u8>,
    /// Whether dates of numbers alone have the day before the month.
    pub day_first: bool,
    /// Whether dates with a year of two digits have it last.
    pub year_last: bool,
    /// Whether dates of numbers and dashes with the year last have the month before the day.
    pub month_first: bool,
    /// Whether times without a zone are UTC: in the W3C's extended format, as IIS and CloudFront write it.
    pub is_utc: bool,
}

impl Detected {
    /// Looks at the first [`DETECT_BYTES`] of an input, or all of it if it is shorter.
    pub fn of(head: &[u8], stamps: &StampParser) -> Self {
        let head = &head[..head.len().min(DETECT_BYTES)];
        // The last line may be cut off; if it is the only one, it has to do.
        let whole = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..end]);
        let mut counts = Counts::default();
        let (mut json, mut fields) = (JsonParser::new(), Fields::new());
        // What dates it has seen before these is no evidence.
        let stamps = &stamps.fresh();
        for line in without_bom(whole).split(|b| *b == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if let Some((content, is_part)) = behind_head(line, stamps, &mut json, &mut fields) {
                counts.in_containers += 1;
                // Parts of a line do not tell what it is.
                match is_part || counts.was_part {
                    true => counts.lines += 1,
                    false => counts.look_at(&content, true, stamps, &mut json, &mut fields),
                }
                counts.was_part = is_part;
                continue;
            }
            counts.was_part = false;
            let line = String::from_utf8_lossy(line);
            counts.look_at(&line, false, stamps, &mut json, &mut fields);
        }
        if head.starts_with(journal::BEGINNING) {
            return Detected { format: LineFormat::Journal, ..Counts::default().conclude() };
        }
        if RecordSplitter::is_one(head) {
            return Detected {
                format: LineFormat::CloudTrail,
                has_json: true,
                ..Counts::default().conclude()
            };
        }
        let Seen { day_first, year_last, month_first } = stamps.order_seen();
        Detected { day_first, year_last, month_first, ..counts.conclude() }
    }
}

/// Fewer lines than this with a time stamp at the same word may have it there by chance.
const MIN_STAMP_WORDS: usize = 3;

/// Fewer lines than this with a time and a level say little about the others.
const MIN_FULL_LEADS: usize = 8;

#[derive(Default)]
struct Counts {
    lines: usize,
    blank: usize,
    indented: usize,
    /// Lines of text that begin an event or could: not indented, not of a shape that goes on.
    heads: usize,
    leads: usize,
    /// Those of them that lead with a time and a level.
    full_leads: usize,
    json: usize,
    logfmt: usize,
    syslog: usize,
    access: usize,
    columns: usize,
    header: Header,
    /// Lines behind the head of a container's runtime, and whether the last of them was a part of one.
    in_containers: usize,
    was_part: bool,
    comments: usize,
    stamp_words: [usize; 16],
}

impl Counts {
    /// Takes a line, or what stands behind the head of a container's runtime.
    fn look_at(
        &mut self,
        line: &str,
        behind_head: bool,
        stamps: &StampParser,
        json: &mut JsonParser,
        fields: &mut Fields,
    ) {
        if line.trim_ascii().is_empty() {
            self.blank += 1;
            return;
        }
        self.lines += 1;
        // In a text event an array is part of what it tells.
        let mut is_object = || match self.leads {
            0 => json.parse_line(line, fields).is_ok(),
            _ => json.parse_repaired(line, fields).is_ok(),
        };
        if json::may_be(line) && is_object() {
            self.json += 1;
            return;
        }
        if !behind_head
            && let Some(parsed) = container::parse(line, stamps)
            && parsed.may_be_json()
            && json.parse_repaired(parsed.content, fields).is_ok()
        {
            self.json += 1;
            return;
        }
        if event::is_indented(line) {
            self.indented += 1;
            return;
        }
        if event::Trace::default().continues(line) {
            // It goes on where it follows the time, and begins the event where the time is that of the one before.
            let begins = usize::from(line.starts_with(event::SLOW_QUERY));
            self.heads += begins;
            self.leads += begins;
            return;
        }
        // What ends a program is of no log, and tells nothing of one.
        if event::is_uncaught(line) || event::is_script_place(line) {
            return;
        }
        self.heads += 1;
        if !behind_head {
            self.header.saw(line, self.lines == 1);
        }
        let known = if !behind_head && self.header.parse(line, stamps).is_some() {
            &mut self.columns
        } else if access::parse(line, stamps).is_some()
            || words::parse(line, stamps).is_some()
            || haproxy::parse(line, stamps).is_some()
        {
            &mut self.access
        } else if is_security_event(line, fields, stamps) || syslog::parse(line, stamps).is_some() {
            &mut self.syslog
        } else if is_logfmt(line, fields) {
            &mut self.logfmt
        } else {
            let lead = plain::lead(line, stamps);
            self.leads += usize::from(lead.begins_event);
            self.full_leads += usize::from(lead.time_ns.is_some() && lead.level.is_some());
            self.comments += usize::from(line.starts_with('#'));
            if lead.time_ns.is_none()
                && let Some(count) =
                    plain::stamp_word(line, stamps).and_then(|i| self.stamp_words.get_mut(usize::from(i)))
            {
                *count += 1;
            }
            return;
        };
        *known += 1;
        self.leads += 1;
    }

    fn conclude(&self) -> Detected {
        let format = [
            (self.in_containers, LineFormat::Container),
            (self.json, LineFormat::Ndjson),
            (self.logfmt, LineFormat::Logfmt),
            (self.syslog, LineFormat::Syslog),
            (self.access, LineFormat::AccessLog),
            (self.columns, LineFormat::Columns),
        ]
        .into_iter()
        .find(|(count, _)| *count > 0 && count * 5 >= self.lines * 4)
        .map_or(LineFormat::Plain, |(_, format)| format);
        let stamp_word =
            self.stamp_words.iter().position(|&n| n >= MIN_STAMP_WORDS && n * 5 >= self.heads * 4);
        Detected {
            format,
            has_json: self.json > 0,
            has_logfmt: self.logfmt > 0,
            is_syslog: self.syslog > 0 && self.syslog * 5 >= self.leads * 4,
            // A third, because every event may carry a line or two of its own that do not lead; a fifth of those with time and level,
            // because some log what they send and get. Such bodies have blank or indented lines; where there are none, the others
            // are events of what writes beside the log: `GET /a 200 5.1 ms`.
            events_lead: stamp_word.is_some()
                || (self.leads > 0 && self.leads * 3 >= self.heads)
                || (self.full_leads >= MIN_FULL_LEADS
                    && self.full_leads * 5 >= self.heads
                    && (self.blank + self.indented) * 10 >= self.heads),
            indentation_joins: self.indented < self.lines,
            stamp_word: stamp_word.and_then(|word| u8::try_from(word).ok()),
            day_first: false,
            year_last: false,
            month_first: false,
            is_utc: self.header.is_utc() && self.columns * 2 >= self.lines - self.comments,
        }
    }
}

/// What stands behind the head of a container's runtime, and whether it is a part of a line.
fn behind_head<'a>(
    line: &'a [u8],
    stamps: &StampParser,
    json: &mut JsonParser,
    fields: &mut Fields,
) -> Option<(Cow<'a, str>, bool)> {
    if let Some(parsed) = cri::split(line) {
        let is_stamp = stamps.parse(parsed.stamp).is_some_and(|(_, end)| end == parsed.stamp.len());
        return is_stamp.then(|| (String::from_utf8_lossy(parsed.content), parsed.is_part));
    }
    let text = std::str::from_utf8(line).ok().filter(|_| docker::may_be(line))?;
    docker::parse(text, json, fields, stamps).map(|parsed| (parsed.content.into(), parsed.is_part))
}

fn is_security_event(line: &str, fields: &mut Fields, stamps: &StampParser) -> bool {
    cef::start(line).is_some_and(|at| cef::parse(line, at, fields, stamps).is_some())
}

/// Whether a line is logfmt: at least two pairs, and at most one word outside them (a key without a value)
/// to three of them.
pub(crate) fn is_logfmt(line: &str, fields: &mut Fields) -> bool {
    logfmt::may_be(line)
        && logfmt::parse(line, fields).is_some_and(|l| l.pairs >= 2 && l.bare_words * 3 <= l.pairs)
}

/// Whether the head of an input looks like no text at all: more than a tenth zero bytes, control
/// characters and bytes that are not UTF-8. (A few zero bytes are in logs of machines that lost their power.) Such an input still can be read, as lines of escaped bytes; to
/// ask first is kinder. UTF-16 that was not made UTF-8 counts as binary.
pub fn is_binary(head: &[u8]) -> bool {
    let head = &head[..head.len().min(DETECT_BYTES)];
    let mut strange = head.iter().filter(|b| matches!(b, 0..=8 | 14..=26 | 28..=31 | 127)).count();
    strange += head.utf8_chunks().map(|chunk| chunk.invalid().len()).sum::<usize>();
    strange * 10 > head.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(head: &str) -> Detected {
        Detected::of(
            head.as_bytes(),
            &StampParser::new(jiff::tz::TimeZone::UTC, 1_718_452_800_000_000_000, None),
        )
    }

    #[test]
    fn formats_are_told_by_most_of_the_lines() {
        assert_eq!(detect("{\"a\":1}\n{\"b\":2}\n").format, LineFormat::Ndjson);
        assert_eq!(detect("a=1 b=2\nc=\"3\" d=4").format, LineFormat::Logfmt);
        assert_eq!(detect("level=info msg=\"up\" port=80 tls\n").format, LineFormat::Logfmt);
        assert_eq!(detect("a=1 b=2 and that is all\n").format, LineFormat::Plain);
        assert_eq!(detect("Jun  1 00:00:00 h a[1]: x\n").format, LineFormat::Syslog);
        let access = "192.0.2.1 - - [26/Jan/2019:19:45:25 +0330] \"GET / HTTP/1.1\" 200 512\n";
        assert_eq!(detect(access).format, LineFormat::AccessLog);
        let mixed = detect(&format!("{access}{{\"a\":1}}\na=1 b=2\n"));
        assert_eq!(mixed.format, LineFormat::Plain);
        assert!(mixed.has_json && mixed.has_logfmt && mixed.events_lead);
        assert_eq!(detect("").format, LineFormat::Plain);
    }

    #[test]
    fn whether_events_lead_is_told_by_the_lines_that_could() {
        assert!(detect("2024-06-01 00:00:00 x\ny\nz\n").events_lead);
        assert!(!detect("2024-06-01 00:00:00 x\ny\nz\nu\n").events_lead);
        assert!(detect("2024-06-01 00:00:00 x\n\ty\n\tz\n}\n").events_lead);
        let logged =
            "2024-06-01 00:00:00,1:DEBUG:http:got\nHTTP 200\nServer: x\nDate: y\n\n{\n  \"a\": 1\n}\n";
        assert!(detect(&logged.repeat(8)).events_lead);
        assert!(!detect(&logged.replace(":DEBUG:", ": ").repeat(8)).events_lead);
        let beside = "2024-06-01 00:00:00 INFO up\nGET / 200 1 ms\nGET /a 200 2 ms\nGET /b 404 3 ms\n";
        assert!(!detect(&beside.repeat(8)).events_lead);
        assert!(!detect("  a\n  b\n").indentation_joins);
        assert!(
            detect("\u{feff}2024-06-01 00:00:00 x\ny\nz\n").events_lead,
            "a mark of UTF-8 hides no stamp"
        );
    }

    #[test]
    fn what_stamps_leave_open_is_told_by_all_lines() {
        let alb =
            "http 2024-06-01T00:00:00Z app/a 192.0.2.1:5 x\nhttps 2024-06-01T00:00:01Z app/a 192.0.2.1:6 y\n";
        assert_eq!(detect(alb).stamp_word, None);
        let found = detect(&alb.repeat(2));
        assert_eq!((found.stamp_word, found.events_lead), (Some(1), true));
        assert_eq!(detect("a 2024-06-01 00:00:00 x\nb\na 2024-06-01 00:00:00 x\nc\n").stamp_word, None);
        let dates = "01/02/2024 00:00:00 x\n13/02/2024 00:00:00 x\n";
        assert_eq!((detect(dates).day_first, detect(dates).year_last), (true, false));
        assert!(detect("01/02/24 00:00:00 x\n01/13/24 00:00:00 x\n").year_last);
        assert!(detect("#Software: x\n#Fields: date time s-ip\n2024-06-01 00:00:00 192.0.2.1\n").is_utc);
        assert!(!detect("2024-06-01 00:00:00 192.0.2.1\n").is_utc);
        assert!(
            !detect("#Time Format: Local\n#Fields: date time s-ip\n2024-06-01 00:00:00 192.0.2.1\n").is_utc
        );
        assert!(
            !detect("#Fields: date time a b\n2024-06-01 00:00:00 started\n2024-06-01 00:00:00 INFO a b c\n")
                .is_utc
        );
    }

    #[test]
    fn binary_is_told_from_text() {
        assert!(!is_binary(b""));
        assert!(!is_binary("häßlich\n\x1b[31mred\x1b[0m\n".as_bytes()));
        assert!(is_binary(b"a\0b"));
        assert!(!is_binary(b"2024-06-01 00:00:00 up\n\0\0\n2024-06-01 00:00:01 up\n"));
        assert!(is_binary(&[0x1f, 0x8b, 8, 0, 0]));
        assert!(is_binary(b"\xff\xfea\n"));
    }
}
