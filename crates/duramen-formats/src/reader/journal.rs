//! Entries of an export of systemd's journal.

use super::entries::{EntrySplitter, Frame};
use super::records::RecordSplitter;
use super::{Builder, Sink};
use crate::detect::Detected;
use crate::lines::{Line, LineSplitter, text_of};
use crate::{LineFormat, NameFilter, ReaderOptions, journal};

/// Cuts an input.
#[derive(Debug)]
pub(super) enum Splitter {
    Lines(LineSplitter),
    Entries(EntrySplitter),
    Records(RecordSplitter),
}

impl Splitter {
    /// Of an input from `offset` on, by what is said or known of it.
    pub fn new(said: LineFormat, options: &ReaderOptions, offset: u64, detected: Option<Detected>) -> Self {
        let format = match said {
            LineFormat::Auto => detected.map_or(said, |detected| detected.format),
            said => said,
        };
        match format {
            LineFormat::Journal => Self::Entries(EntrySplitter::new(offset, options.max_line_bytes())),
            LineFormat::CloudTrail => Self::Records(RecordSplitter::new(offset, options.max_line_bytes())),
            _ => Self::Lines(options.lines_from(offset)),
        }
    }
}

impl Builder {
    /// Takes an entry, or what is none.
    pub(super) fn frame<S: Sink + ?Sized>(&mut self, frame: Frame<'_>, sink: &mut S) -> Result<(), S::Error> {
        let Frame { bytes, is_fields, raw_len, end_offset, is_first, is_last } = frame;
        if !is_fields {
            let line = Line { bytes, raw_len, end_offset, is_first, is_last };
            return self.counted_line(bytes, line, u64::from(is_first), sink);
        }
        self.flush(sink)?;
        self.count_line(&Line { bytes, raw_len, end_offset, is_first, is_last }, u64::from(is_first));
        self.entry.start(self.last_time);
        self.names.clear();
        let has_time = journal::fill(bytes, &mut self.names, &NameFilter::default(), &mut self.entry);
        self.count(LineFormat::Journal, has_time);
        self.last_time = self.entry.current_time();
        let level = self.entry.current_level();
        match self.entry.raw_len(raw_len).finish() {
            Ok(entry) => sink.entry(entry, level, end_offset),
            Err(_over_a_limit) => self.emit(&text_of(bytes), raw_len, end_offset, sink),
        }
    }
}
