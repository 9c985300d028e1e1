//! Where lines go: counting them, and ending early.

use super::{DumpOptions, DumpReport, Line};
use crate::{Error, Result};
use std::ops::{ControlFlow, Range};
use std::path::Path;

/// Why a dump ends early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Whoever gets the lines wants no more.
    Asked,
    /// There were as many lines of this file as were wanted.
    Enough,
    /// An error.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Where lines go.
pub(crate) struct Out<'a> {
    options: DumpOptions,
    sink: &'a mut dyn FnMut(&Line) -> ControlFlow<()>,
    report: DumpReport,
    /// How many lines the file at hand may still get.
    left: u64,
}

impl<'a> Out<'a> {
    pub(super) fn new(options: DumpOptions, sink: &'a mut dyn FnMut(&Line) -> ControlFlow<()>) -> Self {
        Self { options, sink, report: DumpReport::default(), left: u64::MAX }
    }

    pub(crate) fn options(&self) -> DumpOptions {
        self.options
    }

    pub(super) fn report(&self) -> DumpReport {
        self.report
    }

    /// A file begins.
    pub(super) fn file(&mut self, path: &Path, kind: &str, bytes: u64) -> Result<(), Stop> {
        self.report.files += 1;
        self.left = self.options.limit.unwrap_or(u64::MAX);
        self.line(Line::new("file", 0).text("path", path.display()).text("kind", kind).number("bytes", bytes))
    }

    /// A line about the file as a whole.
    pub(crate) fn line(&mut self, line: Line) -> Result<(), Stop> {
        match (self.sink)(&line) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stop::Asked),
        }
    }

    /// A line about something of which there can be many.
    pub(crate) fn item(&mut self, line: Line) -> Result<(), Stop> {
        let Some(left) = self.left.checked_sub(1) else {
            self.line(Line::new("more", 1).text("detail", "the limit is reached; there is more"))?;
            return Err(Stop::Enough);
        };
        self.left = left;
        self.line(line)
    }

    /// A damaged place.
    pub(crate) fn damage(&mut self, place: Option<Range<u64>>, detail: &str) -> Result<(), Stop> {
        self.report.damaged += 1;
        let mut line = Line::new("damage", 1);
        if let Some(place) = place {
            line = line.number("offset", place.start);
            if place.end > place.start {
                line = line.number("bytes", place.end - place.start);
            }
        }
        self.line(line.text("detail", detail))
    }

    /// An error, if it is of this file only: damage, or bytes that cannot be read.
    pub(crate) fn failure(&mut self, error: Error) -> Result<(), Stop> {
        match error {
            Error::Corruption { offset, detail, .. } => self.damage(Some(offset..offset), &detail),
            Error::Io { operation, source, .. } => {
                self.damage(None, &format!("it cannot be read: {operation}: {source}"))
            }
            other => Err(Stop::Failed(other)),
        }
    }
}
