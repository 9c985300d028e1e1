//! Lines to events to entries.
//!
//! A line is looked at in this order:
//!
//! 0. What stands behind the head of a container's runtime is read as if it stood alone (`container`); parts of a line are
//!    put together (`parts`).
//! 1. A JSON object is an entry of its own.
//! 2. A line that goes on with the open event is added to it ([`crate::event`]).
//! 3. Any other begins an event: an access log line, a syslog line, logfmt, or text.
//!
//! The event stays open, its fields already in the [`EntryBuf`] and its lines in a buffer, until a line
//! shows that the next one begins. Which formats are tried depends on [`ReaderOptions::format`].

use crate::columns::Header;
use crate::container::{Head as ContainerHead, Stream};
use crate::detect::Detected;
use crate::event::{Trace, is_indented};
use crate::fields::Fields;
use crate::json::{self, JsonParser};
use crate::lines::{Line, escape_into};
use crate::options::MAX_TEXT_BYTES;
use crate::roles::Roles;
use crate::time::{Seen, StampParser};
use crate::{LineFormat, NameFilter, Names, ReaderOptions, Report, container, plain};
use duramen::{EntryBuf, Level};
use jiff::tz::TimeZone;
use parts::Parts;

pub use input::{EntryReader, Sink};

fn stamps(options: &ReaderOptions) -> StampParser {
    StampParser::new(options.timezone.clone(), options.reference_time_ns, options.year)
}

/// Makes entries of lines.
#[derive(Debug)]
struct Builder {
    options: ReaderOptions,
    /// What format was asked for; what stands in lines of some may be anything.
    said: LineFormat,
    detected: Option<Detected>,
    header: Header,
    stamps: StampParser,
    roles: Roles,
    json: JsonParser,
    fields: Fields,
    names: Names,
    entry: EntryBuf,
    report: Report,
    last_time: i64,
    /// Whether some entry had a time of its own.
    had_time: bool,
    open: Option<Open>,
    /// What stands before the line, in a file of a container's runtime.
    head: Option<ContainerHead>,
    /// Lines that come in parts, up to here in the input.
    parts: Parts,
    ends_at: u64,
    /// The lines of the open event.
    text: String,
    /// A line whose bytes are not all UTF-8, made so.
    escaped: String,
}

/// The event whose lines may still be going on. Its fields are in the entry.
#[derive(Clone, Copy, Debug)]
struct Open {
    lines: usize,
    raw_len: usize,
    end_offset: u64,
    trace: Trace,
    /// Whether it began with a time stamp or level, so that a line without one goes on with it.
    led: bool,
    /// Whether it began with a time stamp.
    timed: bool,
    /// Where and when its last line was written, if its head says it.
    written: Option<(Stream, i64)>,
}

mod containers;
mod entries;
mod formats;
mod head;
mod input;
mod journal;
mod parts;
pub(crate) mod records;

impl Builder {
    fn new(mut options: ReaderOptions) -> Self {
        let said = options.format;
        if matches!(said, LineFormat::Container | LineFormat::CloudTrail) {
            options.format = LineFormat::Auto;
        }
        Self {
            said,
            detected: None,
            header: Header::default(),
            stamps: stamps(&options),
            roles: Roles::new(&options),
            json: JsonParser::new(),
            fields: Fields::new(),
            names: Names::new(),
            entry: EntryBuf::new(options.stream_fields.iter().map(String::as_str)),
            report: Report::default(),
            last_time: options.reference_time_ns,
            had_time: false,
            open: None,
            head: None,
            parts: Parts::default(),
            ends_at: 0,
            text: String::new(),
            escaped: String::new(),
            options,
        }
    }

    fn look_at(&mut self, head: &[u8]) {
        self.settle(Detected::of(head, &self.stamps));
    }

    fn settle(&mut self, detected: Detected) {
        let Detected { day_first, year_last, month_first, is_utc, .. } = detected;
        let zone = if is_utc { TimeZone::UTC } else { self.options.timezone.clone() };
        self.stamps.settle(Seen { day_first, year_last, month_first }, zone);
        self.detected = Some(detected);
    }

    /// What stands at the start of a line of text, or where this input has its time stamps.
    fn lead(&self, text: &str) -> plain::Lead {
        let lead = plain::lead(text, &self.stamps);
        match self.detected.and_then(|detected| detected.stamp_word) {
            Some(word) if lead.time_ns.is_none() => {
                plain::lead_at_word(text, word, &self.stamps).unwrap_or(lead)
            }
            // The words of the W3C's extended format are columns, and none of them is a level: `TRACE` is a method.
            _ if self.detected.is_some_and(|detected| detected.is_utc) => plain::Lead { level: None, ..lead },
            _ => lead,
        }
    }

    /// Takes a line, or a piece of one, that was so many lines in the input; `bytes` are what is looked at of it.
    fn counted_line<S: Sink + ?Sized>(
        &mut self,
        bytes: &[u8],
        line: Line<'_>,
        lines: u64,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        self.count_line(&line, lines);
        if let Ok(text) = std::str::from_utf8(bytes) {
            if self.head.is_none() {
                self.header.saw_line(text, &line);
            }
            return self.text_line(text, line, sink);
        }
        self.report.lines_not_utf8 += 1;
        let mut escaped = std::mem::take(&mut self.escaped);
        escape_into(&mut escaped, bytes, "\\\\x");
        // In JSON the backslash has to be doubled, or one such byte would cost the line all of its fields.
        let behind = match self.head {
            Some(_) => None,
            None => container::parse(&escaped, &self.stamps).map(|parsed| parsed.content),
        };
        let json = behind.unwrap_or(&escaped);
        let is_json = self.tries_json(json) && self.json.parse_line(json, &mut self.fields).is_ok();
        if !is_json {
            escape_into(&mut escaped, bytes, "\\x");
        }
        let result = self.text_line(&escaped, line, sink);
        self.escaped = escaped;
        result
    }

    /// Counts a line, or a piece of one, that was so many lines in the input.
    fn count_line(&mut self, line: &Line<'_>, lines: u64) {
        self.report.lines += lines;
        self.report.joined_lines += lines.saturating_sub(1);
        self.report.cut_pieces += u64::from(lines == 0);
        self.report.cut_lines += u64::from(line.is_first && !line.is_last);
    }

    /// Whether a line may be a JSON object, and is looked at as such.
    fn tries_json(&self, text: &str) -> bool {
        matches!(self.options.format, LineFormat::Auto | LineFormat::Ndjson) && json::may_be(text)
    }

    fn text_line<S: Sink + ?Sized>(
        &mut self,
        text: &str,
        line: Line<'_>,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        if !line.is_first {
            // The rest of a cut line explains nothing by itself.
            self.flush(sink)?;
            self.begin(None, None, LineFormat::Plain);
            return self.single(text, line, sink);
        }
        let format = self.options.format;
        if self.tries_json(text)
            // In a text event an array is part of what it tells.
            && let Ok(text) = match self.open {
                Some(Open { led: true, .. }) => self.json.parse_repaired(text, &mut self.fields),
                _ => self.json.parse_line(text, &mut self.fields),
            }
        {
            if let Some(head) = self.head.take() {
                return self.json_behind_head(head, &text, line, sink);
            }
            self.flush(sink)?;
            return self.json_line(&text, line, sink);
        }
        if self.head.is_none()
            && matches!(format, LineFormat::Auto | LineFormat::Ndjson | LineFormat::Logfmt)
            && let Some(parsed) = container::parse(text, &self.stamps)
            && self.container_line(&parsed, text, line, sink)?
        {
            return Ok(());
        }
        if format == LineFormat::Ndjson {
            self.flush(sink)?;
            self.report.unparsed_lines += u64::from(!text.trim_ascii().is_empty());
            self.begin_text(text);
            return self.single(text, line, sink);
        }
        if matches!(format, LineFormat::Auto | LineFormat::Columns)
            && self.head.is_none()
            && text.starts_with('#')
            && self.header.has_columns()
        {
            self.flush(sink)?;
            // IIS says when it began again.
            let date =
                text.strip_prefix("#Date: ").and_then(|date| self.stamps.parse_value(&format!("{date}Z")));
            self.begin(date, None, LineFormat::Plain);
            return self.single(text, line, sink);
        }
        if self.joins(text) {
            self.join(text, line);
            return Ok(());
        }
        if self.structured_line(text, line, sink)? {
            return Ok(());
        }
        let lead = self.lead(text);
        let events_lead = self.detected.is_some_and(|d| d.events_lead);
        let of_event = |open: Open| open.led && (events_lead || open.trace.is_report()) && self.is_of(&open);
        let begins = lead.begins_event && !self.is_thrown(text);
        let goes_on = !begins && self.open.is_some_and(of_event);
        if goes_on && self.can_join(text) {
            self.join(text, line);
            return Ok(());
        }
        self.flush(sink)?;
        self.count_unparsed(text);
        self.begin(lead.time_ns, lead.level, LineFormat::Plain);
        // An event over the limits goes on in the next entry as it would have in this one.
        self.open(text, line, lead.begins_event || goes_on);
        if let Some(open) = &mut self.open {
            open.timed = lead.time_ns.is_some();
        }
        Ok(())
    }

    /// Whether a line without a time is what JavaScript writes of an exception, behind the line of the logger that was given it: its
    /// name is a level's.
    fn is_thrown(&self, text: &str) -> bool {
        text.starts_with("Error: ")
            && self.open.is_some_and(|open| open.timed)
            && matches!(self.entry.current_level(), Level::Error | Level::Fatal)
    }

    /// Whether a line goes on with the open event by its shape alone.
    fn joins(&self, text: &str) -> bool {
        let (Some(open), Some(detected)) = (self.open, self.detected) else { return false };
        if text.trim_ascii().is_empty() {
            let goes_on = open.lines > 1 || (open.led && detected.events_lead) || open.trace.is_report();
            return goes_on && self.can_join(text);
        }
        let shape = if is_indented(text) {
            detected.indentation_joins
        } else {
            open.trace.continues(text) && !(open.trace.takes_any() && self.lead(text).time_ns.is_some())
        };
        shape && self.can_join(text)
    }

    fn can_join(&self, text: &str) -> bool {
        self.options.join_lines
            && self.open.is_some_and(|open| open.lines < self.options.max_event_lines && self.is_of(&open))
            && self.text.len() + 1 + text.len() <= self.options.max_event_bytes.min(MAX_TEXT_BYTES)
            && !container::are_of_two(&self.text, text)
    }

    fn join(&mut self, text: &str, line: Line<'_>) {
        let written = self.written();
        let Some(open) = &mut self.open else { return };
        if let Some(level) = open.trace.level_in(text)
            && self.entry.current_level() == Level::Unknown
        {
            self.entry.level(level);
        }
        open.lines += 1;
        open.raw_len += line.raw_len;
        open.end_offset = line.end_offset;
        open.written = written;
        open.trace.saw(text);
        self.text.push('\n');
        self.text.push_str(text);
        self.report.joined_lines += 1;
    }

    /// Counts a line kept as text where something else was promised.
    fn count_unparsed(&mut self, text: &str) {
        if text.trim_ascii().is_empty() {
            return;
        }
        let promised = match (self.options.format, self.detected) {
            _ if self.said == LineFormat::Container && self.head.is_none() => true,
            _ if self.said == LineFormat::CloudTrail => true,
            (LineFormat::Auto, Some(d)) if self.head.is_some() => d.has_json && text.starts_with('{'),
            (LineFormat::Plain, _) => false,
            (LineFormat::Auto, Some(d)) => {
                d.format != LineFormat::Plain || (d.has_json && text.starts_with('{'))
            }
            _ => true,
        };
        self.report.unparsed_lines += u64::from(promised);
    }

    fn json_line<S: Sink + ?Sized>(
        &mut self,
        text: &str,
        line: Line<'_>,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        let had_time = json::fill(
            &mut self.fields,
            text,
            &self.roles,
            &self.stamps,
            &NameFilter::default(),
            &[],
            |message| time_of_message(message, &self.stamps),
            self.last_time,
            &mut self.entry,
        );
        // Nothing stands beside it that could be too much.
        self.count(LineFormat::Ndjson, had_time.unwrap_or_default());
        self.last_time = self.entry.current_time();
        self.emit(text, line.raw_len, line.end_offset, sink)
    }

    /// Starts an entry of a text format. Behind a runtime's head a text's time is the head's, which has a zone and a date; others
    /// have their own.
    fn begin(&mut self, time: Option<i64>, level: Option<Level>, format: LineFormat) {
        let head = self.written().map(|(_, time)| time);
        let own = match format {
            LineFormat::Plain | LineFormat::Syslog if head.is_some() => None,
            _ => time,
        };
        let time = own.or(head);
        let of_container = format == LineFormat::Plain && head.is_some();
        self.count(if of_container { LineFormat::Container } else { format }, time.is_some());
        self.last_time = time.unwrap_or(self.last_time);
        self.entry.start(self.last_time).level(level.unwrap_or_default());
        self.add_head(own.is_some());
    }

    fn begin_text(&mut self, text: &str) {
        let lead = self.lead(text);
        self.begin(lead.time_ns, lead.level, LineFormat::Plain);
    }

    fn count(&mut self, format: LineFormat, had_time: bool) {
        self.report.entries += 1;
        self.report.lines_without_time += u64::from(!had_time);
        self.had_time |= had_time;
        self.report.formats.add(format);
    }

    /// Leaves the entry open for more lines.
    fn open(&mut self, text: &str, line: Line<'_>, led: bool) {
        self.text.clear();
        self.text.push_str(text);
        let mut trace = Trace::default();
        trace.saw(text);
        let Line { raw_len, end_offset, .. } = line;
        let written = self.written();
        self.open = Some(Open { lines: 1, raw_len, end_offset, trace, led, timed: false, written });
    }

    /// Hands over an entry of one line.
    fn single<S: Sink + ?Sized>(&mut self, text: &str, line: Line<'_>, sink: &mut S) -> Result<(), S::Error> {
        self.entry.message(text);
        self.emit(text, line.raw_len, line.end_offset, sink)
    }

    /// Hands over the open event.
    fn flush<S: Sink + ?Sized>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let text = std::mem::take(&mut self.text);
        self.entry.message(&text);
        let result = self.emit(&text, open.raw_len, open.end_offset, sink);
        self.text = text;
        result
    }

    /// Hands over the entry as built, or, if it is over a limit of entries, its text alone.
    fn emit<S: Sink + ?Sized>(
        &mut self,
        text: &str,
        raw_len: usize,
        end_offset: u64,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        let level = self.entry.current_level();
        match self.entry.raw_len(raw_len).finish() {
            Ok(bytes) => return sink.entry(bytes, level, end_offset),
            Err(_over_a_limit) => self.report.unparsed_lines += 1,
        }
        let time = self.entry.current_time();
        match self.entry.start(time).level(level).raw_len(raw_len).message(text).finish() {
            Ok(bytes) => sink.entry(bytes, level, end_offset),
            // No text is that long: `MAX_TEXT_BYTES` is asserted to fit.
            Err(_) => Ok(()),
        }
    }
}

/// The time that an object's message begins with. A number alone is more often an identity there than a time.
fn time_of_message(message: &str, stamps: &StampParser) -> Option<i64> {
    let first = message.split_ascii_whitespace().next()?;
    let is_number = first.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.'));
    plain::lead(message, stamps).time_ns.filter(|_| !is_number)
}
