//! Lines behind the heads of containers' runtimes, in the files these write.

use super::{Builder, Open, Sink};
use crate::container::{ContainerLine, Head, Stream, cri, docker};
use crate::detect::is_logfmt;
use crate::json;
use crate::lines::Line;
use crate::{LineFormat, NameFilter};
use std::borrow::Cow;

/// A line that was written so much later than the one before is of no event with it.
const MAX_PAUSE_NS: i64 = 1_000_000_000;

/// A line without its head.
struct Shelled<'a> {
    head: Head,
    /// Whether the next line of the stream goes on with it.
    is_part: bool,
    content: Cow<'a, [u8]>,
}

impl Builder {
    /// Takes a line of the input: what stands behind a runtime's head, or else the line.
    pub(super) fn line<S: Sink + ?Sized>(&mut self, line: Line<'_>, sink: &mut S) -> Result<(), S::Error> {
        let at_start = line.end_offset == line.raw_len as u64;
        let bytes = if at_start { crate::lines::without_bom(line.bytes) } else { line.bytes };
        let shelled = if line.is_first { self.shelled(bytes) } else { None };
        match shelled {
            Some(shelled) if line.is_last && (shelled.is_part || !self.parts.is_empty()) => {
                let Shelled { head, is_part, content } = shelled;
                let max = self.options.max_line_bytes();
                self.parts.take(head, &content, is_part, (line.raw_len, line.end_offset), max);
                self.ends_at = line.end_offset;
                if self.parts.is_due() { self.give_out_parts(sink) } else { Ok(()) }
            }
            Some(shelled) => {
                self.give_out_parts(sink)?;
                self.head = Some(shelled.head);
                self.counted_line(&shelled.content, line, 1, sink)
            }
            None => {
                self.give_out_parts(sink)?;
                if line.is_first {
                    self.head = None;
                }
                self.counted_line(bytes, line, u64::from(line.is_first), sink)
            }
        }
    }

    /// Takes what stands behind the head of a runtime's file, if there is one.
    fn shelled<'a>(&mut self, line: &'a [u8]) -> Option<Shelled<'a>> {
        let format = self.options.format;
        if !matches!(format, LineFormat::Auto | LineFormat::Ndjson | LineFormat::Logfmt) {
            return None;
        }
        if let Some(parsed) = cri::split(line) {
            let (time_ns, end) = self.stamps.parse(parsed.stamp)?;
            let head =
                Head { time_ns, stamp: parsed.stamp.to_owned(), stream: parsed.stream, attrs: Vec::new() };
            return (end == parsed.stamp.len()).then_some(Shelled {
                head,
                is_part: parsed.is_part,
                content: parsed.content.into(),
            });
        }
        // Who says that there is an object a line means these.
        if format == LineFormat::Ndjson || !docker::may_be(line) {
            return None;
        }
        let text = std::str::from_utf8(line).ok()?;
        let parsed = docker::parse(text, &mut self.json, &mut self.fields, &self.stamps)?;
        let content = parsed.content.into_bytes().into();
        Some(Shelled { head: parsed.head, is_part: parsed.is_part, content })
    }

    /// Gives out what waits for parts of lines, whole or not.
    pub(super) fn give_out_parts<S: Sink + ?Sized>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        if self.parts.is_empty() {
            return Ok(());
        }
        let begin = self.parts.begin;
        let waiting = self.parts.give_out();
        // The lines of several lie among each other: no entry but the last has one behind which the input could be left.
        let are_several = waiting.len() > 1;
        if are_several {
            self.flush(sink)?;
        }
        let last = waiting.len() - 1;
        for (i, waiting) in waiting.into_iter().enumerate() {
            let line = Line {
                bytes: &waiting.text,
                raw_len: waiting.raw_len,
                end_offset: if i == last { self.ends_at } else { begin },
                is_first: waiting.is_first,
                is_last: waiting.is_last,
            };
            self.head = Some(waiting.head);
            self.counted_line(&waiting.text, line, waiting.lines, sink)?;
        }
        if are_several { self.flush(sink) } else { Ok(()) }
    }

    /// The fields that the head gives the entry.
    pub(super) fn add_head(&mut self, has_own_time: bool) {
        let Some(head) = &self.head else { return };
        for (name, value) in head.fields(has_own_time) {
            self.entry.field(name, value);
        }
    }

    /// Keeps the names of the head's fields from others.
    pub(super) fn reserve_head(&mut self, has_own_time: bool) {
        let Some(head) = &self.head else { return };
        for (name, _) in head.fields(has_own_time) {
            self.names.reserve(name);
        }
    }

    /// Where and when the line was written, if its head says it.
    pub(super) fn written(&self) -> Option<(Stream, i64)> {
        self.head.as_ref().map(|head| (head.stream, head.time_ns))
    }

    /// Whether the line may go on with an event as far as their heads tell.
    pub(super) fn is_of(&self, open: &Open) -> bool {
        match (self.written(), open.written) {
            (None, None) => true,
            (Some((stream, time)), Some((before, then))) => {
                stream == before && time.saturating_sub(then) <= MAX_PAUSE_NS
            }
            _ => false,
        }
    }

    /// Takes an object behind the head of a runtime's file.
    pub(super) fn json_behind_head<S: Sink + ?Sized>(
        &mut self,
        head: Head,
        text: &str,
        line: Line<'_>,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        let (with, without) = (head.fields(true), head.fields(false));
        let taken = self.json_beside(text, [&with, &without], Some(head.time_ns), text, line, sink);
        self.head = Some(head);
        taken
    }

    /// Takes an object whose fields are read, with fields beside it, the first where it has a time of its own. If they are too many,
    /// `whole` is kept as text.
    fn json_beside<S: Sink + ?Sized>(
        &mut self,
        content: &str,
        beside: [&[(&str, &str)]; 2],
        time_ns: Option<i64>,
        whole: &str,
        line: Line<'_>,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        self.flush(sink)?;
        let or_time = time_ns.unwrap_or(self.last_time);
        let Self { fields, roles, stamps, entry, .. } = self;
        let nothing = NameFilter::default();
        let has_time = fields.find_roles(content, roles, stamps).time.is_some();
        let beside = beside[usize::from(!has_time)];
        if json::fill(fields, content, roles, stamps, &nothing, beside, |_| None, or_time, entry).is_none() {
            // With what stands beside it, it is over a limit of entries.
            self.report.unparsed_lines += 1;
            self.begin(time_ns, None, LineFormat::Plain);
            return self.single(whole, line, sink);
        }
        self.count(LineFormat::Ndjson, has_time || time_ns.is_some());
        self.last_time = self.entry.current_time();
        self.emit(whole, line.raw_len, line.end_offset, sink)
    }

    /// Takes what a program wrote behind the head that a runtime shows before it; says whether it is JSON or logfmt.
    /// The head's time is a field, `cri_time`, where the program's own is the entry's.
    pub(super) fn container_line<S: Sink + ?Sized>(
        &mut self,
        parsed: &ContainerLine<'_>,
        text: &str,
        line: Line<'_>,
        sink: &mut S,
    ) -> Result<bool, S::Error> {
        let ContainerLine { container, time, content } = *parsed;
        let time_ns = time.map(|(ns, _)| ns);
        let beside = [("container", container), ("cri_time", time.map(|(_, stamp)| stamp))];
        let beside: Vec<_> = beside.iter().filter_map(|(name, value)| Some((*name, (*value)?))).collect();
        // The head's time is kept where it is not the entry's.
        let without_time = &beside[..beside.len() - usize::from(time.is_some())];
        if parsed.may_be_json() && self.options.format != LineFormat::Logfmt {
            let Ok(content) = self.json.parse_repaired(content, &mut self.fields) else { return Ok(false) };
            self.json_beside(&content, [&beside, without_time], time_ns, text, line, sink)?;
            return Ok(true);
        }
        if self.options.format == LineFormat::Ndjson || !is_logfmt(content, &mut self.fields) {
            return Ok(false);
        }
        self.flush(sink)?;
        let found = self.fields.find_roles(content, &self.roles, &self.stamps);
        self.begin(found.time.or(time_ns), found.level, LineFormat::Logfmt);
        self.names.clear();
        for (name, value) in if found.time.is_some() { &beside } else { without_time } {
            self.names.reserve(name);
            self.entry.field(name, *value);
        }
        self.add_beside(content);
        self.open(text, line, true);
        Ok(true)
    }
}
