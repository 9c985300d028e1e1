//! Whether the segment is there that took a writer's next record.
//!
//! A log that was not closed has one: before a segment gets its SEAL, the next is there. What that has for a number is not known:
//! numbers are left out where a segment could not be made, or was too short before anything was in it. But a segment's header
//! says which was the newest with records when it was made. So after the newest with records that is known of, the next is there
//! if one is whose header names that, or an older one; one that was only prepared names the segment that took the records.

use super::Recovered;
use super::load::Loaded;
use crate::wal::names::parse_segment_name;
use crate::wal::reader::SegmentReader;
use std::path::PathBuf;

/// A segment that is there.
#[derive(Clone, Debug)]
struct Seen {
    number: u64,
    /// Where its header is read.
    header: Option<Header>,
    has_content: bool,
    is_sealed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Header {
    /// The newest segment with records when it was made, if that is known.
    follows: Option<u64>,
}

/// The segments of a writer that are there and not known to be in tables, in order.
#[derive(Clone, Debug)]
pub(crate) struct Ends(Vec<Seen>);

impl Ends {
    pub(super) fn of(files: &[Loaded]) -> Self {
        let seen = |file: &Loaded| Seen {
            number: file.file.number,
            header: file.log_first_seq.map(|_| Header { follows: file.follows }),
            has_content: file.has_content(),
            is_sealed: file.scan.sealed,
        };
        Self(files.iter().map(seen).collect())
    }

    /// Of readers of segments that have a header, whose writer may go on meanwhile.
    pub(crate) fn of_readers<'a>(readers: impl Iterator<Item = &'a SegmentReader>) -> Self {
        let seen = |reader: &SegmentReader| Seen {
            number: reader.number(),
            header: Some(Header { follows: reader.follows() }),
            has_content: reader.committed() > reader.start(),
            is_sealed: reader.ends_in_seal(),
        };
        Self(readers.map(seen).collect())
    }

    /// A number that the segment may have had that took the next record, if that is not there. `flushed` are all up to that one.
    /// Of a writer that was not closed, in the run of the machine in which its segments were made, or if they were durable then.
    pub(crate) fn lost(&self, flushed: u64) -> Option<u64> {
        let newest = match self.0.iter().rev().find(|seen| seen.has_content) {
            Some(seen) if !seen.is_sealed => return None,
            Some(seen) => seen.number,
            None => flushed,
        };
        (!self.0.iter().any(|seen| seen.comes_after(newest))).then_some(newest + 1)
    }

    /// A number that the first segment that is not in tables may have had, if that is not there and a later one is.
    pub(crate) fn lost_start(&self, flushed: u64) -> Option<u64> {
        let first = self.0.iter().find(|seen| seen.header.is_some() || seen.has_content)?;
        let header = first.header?;
        (header.follows? > flushed).then_some(flushed + 1)
    }
}

impl Seen {
    /// Whether it took what came after the records of segment `newest`, as far as can be told.
    fn comes_after(&self, newest: u64) -> bool {
        self.number > newest
            && self.header.is_some_and(|header| header.follows.is_none_or(|follows| follows <= newest))
    }
}

impl Recovered {
    /// The file without records that shows that none is missing ([`Ends::lost`]), if it takes one: it has to stay while the log
    /// counts as one that was not closed.
    pub(crate) fn witness(&self, flushed: u64) -> Option<PathBuf> {
        let offered = self.segments.last().map(|segment| segment.reader.number());
        let of = |number: u64| self.ends.0.iter().find(|seen| seen.number == number);
        if offered.and_then(of).is_some_and(|seen| !seen.is_sealed) {
            return None;
        }
        let newest = offered.unwrap_or(flushed);
        let witness = self.ends.0.iter().find(|seen| seen.comes_after(newest))?;
        let name = |path: &&PathBuf| parse_segment_name(path) == Some(witness.number);
        self.empty.iter().find(name).cloned()
    }
}
