//! What a reader did, counted.

use crate::LineFormat;

/// What became of the lines so far. [`Report::balances`] states what always holds between these numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Lines of the input, the last one counted even if it has no line end; of an export of a journal, entries,
    /// and of CloudTrail's documents, records.
    pub lines: u64,
    /// Entries handed to the sink, and the one whose lines may still be going on.
    pub entries: u64,
    /// Lines that were added to the entry of a line before them.
    pub joined_lines: u64,
    /// Lines kept whole as plain messages although the input's format, given or detected, promised more.
    pub unparsed_lines: u64,
    /// Lines with bytes that are not UTF-8, each kept as `\xNN`.
    pub lines_not_utf8: u64,
    /// Lines longer than the limit, cut into several entries.
    pub cut_lines: u64,
    /// The entries that cut lines made beyond one each.
    pub cut_pieces: u64,
    /// Entries without a time stamp of their own: they have the time of the entry before them.
    pub lines_without_time: u64,
    /// The entries by the format they were read as.
    pub formats: FormatCounts,
}

impl Report {
    /// Whether every line is in exactly one entry: `lines + cut_pieces == entries + joined_lines`.
    pub fn balances(&self) -> bool {
        self.lines + self.cut_pieces == self.entries + self.joined_lines
    }
}

/// Entries by format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FormatCounts {
    /// JSON objects.
    pub ndjson: u64,
    /// logfmt lines.
    pub logfmt: u64,
    /// Syslog lines.
    pub syslog: u64,
    /// Access log lines.
    pub access_log: u64,
    /// Lines of columns.
    pub columns: u64,
    /// Lines of text behind the head of a container's runtime.
    pub container: u64,
    /// Entries of an export of systemd's journal.
    pub journal: u64,
    /// All others.
    pub plain: u64,
}

impl FormatCounts {
    pub(crate) fn add(&mut self, format: LineFormat) {
        *match format {
            LineFormat::Ndjson | LineFormat::CloudTrail => &mut self.ndjson,
            LineFormat::Logfmt => &mut self.logfmt,
            LineFormat::Syslog => &mut self.syslog,
            LineFormat::AccessLog => &mut self.access_log,
            LineFormat::Columns => &mut self.columns,
            LineFormat::Container => &mut self.container,
            LineFormat::Journal => &mut self.journal,
            LineFormat::Auto | LineFormat::Plain => &mut self.plain,
        } += 1;
    }
}
