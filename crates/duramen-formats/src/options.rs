//! How an input is read.

use crate::LineFormat;
use crate::lines::LineSplitter;
use duramen::entry::MAX_ENTRY_BYTES;
use jiff::tz::TimeZone;

/// No line piece and no event may be larger, whatever the options say: in the worst case each byte becomes
/// four characters (`\xNN`) in the message, and the message is in the entry once.
pub(crate) const MAX_TEXT_BYTES: usize = 4 << 20;
const _: () = assert!(MAX_TEXT_BYTES * 4 + (1 << 20) < MAX_ENTRY_BYTES);

/// How an input is read. Make one with [`ReaderOptions::new`] and set what differs.
#[derive(Clone, Debug)]
pub struct ReaderOptions {
    /// The format of its lines. Default [`LineFormat::Auto`].
    pub format: LineFormat,
    /// The zone of time stamps that name none. Default UTC.
    pub timezone: TimeZone,
    /// When the input was written: a file's modification time, or now; ns since the epoch. It gives the
    /// year to time stamps without one (the latest in which the stamp is not more than a day after this
    /// time), and the time to lines before the first that has one.
    pub reference_time_ns: i64,
    /// The year of time stamps without one, instead of telling it from the reference time.
    pub year: Option<i16>,
    /// The names of the fields that make an entry's stream. Default none.
    pub stream_fields: Vec<String>,
    /// A field to look for the time in before [`TIME_FIELDS`](crate::TIME_FIELDS).
    pub time_field: Option<String>,
    /// A field to look for the message in before [`MESSAGE_FIELDS`](crate::MESSAGE_FIELDS).
    pub message_field: Option<String>,
    /// A field to look for the level in before [`LEVEL_FIELDS`](crate::LEVEL_FIELDS).
    pub level_field: Option<String>,
    /// Whether the lines of one event (stack traces, indented continuations) become one entry. Default true.
    pub join_lines: bool,
    /// The most bytes of a line, without its end, that make one entry: a longer one is cut into pieces of
    /// this size, each an entry. Default 1 MiB; taken as at least 64 bytes and at most 4 MiB.
    pub max_line_bytes: usize,
    /// The most lines joined into one entry; those beyond begin another. Default 1,000.
    pub max_event_lines: usize,
    /// The most bytes joined lines may have together. Default 256 KiB; taken as at most 4 MiB.
    pub max_event_bytes: usize,
}

impl ReaderOptions {
    /// The defaults, for an input written at `reference_time_ns` since the epoch.
    pub fn new(reference_time_ns: i64) -> Self {
        Self {
            format: LineFormat::Auto,
            timezone: TimeZone::UTC,
            reference_time_ns,
            year: None,
            stream_fields: Vec::new(),
            time_field: None,
            message_field: None,
            level_field: None,
            join_lines: true,
            max_line_bytes: 1 << 20,
            max_event_lines: 1_000,
            max_event_bytes: 256 << 10,
        }
    }

    /// Cuts an input into lines from an offset on.
    pub(crate) fn lines_from(&self, offset: u64) -> LineSplitter {
        LineSplitter::new(offset, self.max_line_bytes())
    }

    /// [`ReaderOptions::max_line_bytes`] as it is taken.
    pub(crate) fn max_line_bytes(&self) -> usize {
        self.max_line_bytes.clamp(64, MAX_TEXT_BYTES)
    }
}
