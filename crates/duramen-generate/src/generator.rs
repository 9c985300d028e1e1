//! The generator: the workload's events, with needles among them, one by one.

use crate::event::{Body, Event, Needle};
use crate::needles::Needles;
use crate::options::{Format, InvalidOption, Kind, Options};
use crate::render;
use crate::workload::Workload;

/// Generates events, or lines, one after another.
///
/// As an iterator it gives [`Event`]s, which [`Generator::render`] writes; [`Generator::write_line`] does both.
#[derive(Clone, Debug)]
pub struct Generator {
    workload: Workload,
    needles: Needles,
    kind: Kind,
    format: Format,
    lines: u64,
    given: u64,
}

impl Generator {
    /// A generator that begins at the first event.
    ///
    /// # Errors
    /// [`InvalidOption`] if an option is outside its range.
    pub fn new(options: Options) -> Result<Self, InvalidOption> {
        let span_ns = options.span_ns()?;
        Ok(Self {
            workload: Workload::new(&options, span_ns),
            needles: Needles::plan(options.seed, options.lines),
            kind: options.kind,
            format: options.format,
            lines: options.lines,
            given: 0,
        })
    }

    /// Appends the next event to `out` in the format of the options, with a line end. Returns false, and appends
    /// nothing, when all have been written.
    pub fn write_line(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(event) = self.next() else { return false };
        self.render(&event, self.format, out);
        out.push(b'\n');
        true
    }

    /// Appends an event that this generator gave to `out`, without a line end. Only native stack traces have line
    /// ends inside.
    pub fn render(&self, event: &Event, format: Format, out: &mut Vec<u8>) {
        let context = render::Context { catalog: &self.workload.catalog, needles: &self.needles, event };
        match format {
            Format::Ndjson => render::uniform::write(out, context),
            Format::Native => render::native(out, context, self.kind),
        }
    }

    /// The texts that were planted in this run, and on how many lines each occurs, counting every line that
    /// contains it: a UUID on one, a phrase on 37, a trace id on 23. Empty for runs of fewer than 10,000 lines.
    pub fn planted(&self) -> Vec<(String, u64)> {
        self.needles.planted()
    }
}

impl Iterator for Generator {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        if self.given == self.lines {
            return None;
        }
        let mut event = self.workload.next();
        if let Some(needle) = self.needles.at(self.given) {
            // It takes the place of an event, of which it keeps when and where.
            event.body = Body::Needle(needle);
            event.took_us = 0;
            if let Some(request) = event.request.as_mut().filter(|_| needle == Needle::Trace) {
                request.trace = self.needles.trace;
            }
        }
        self.given += 1;
        Some(event)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.lines - self.given).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}
