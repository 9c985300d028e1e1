//! What a dead writer left behind.
//!
//! Records are believed by their checksums and their sequence numbers, which leave no gap; counters in headers only
//! when they accuse. Three things can be where records are missing:
//!
//! - A **torn tail**: the newest segment ends in something that is not a record. That is what a crash leaves; it is
//!   cut, and counted.
//! - A **hole**: records are missing although later ones are there. A loss of power leaves that where nothing was
//!   synced, since devices write in any order.
//! - **Damage**: the missing bytes are known to have been on the device: the header's `synced` or a SYNC, which may
//!   lie behind the damage or in a later segment, says so.
//!
//! Holes and damage are both reported, as [`Damage`], told apart by `proven`; what was there before them is offered, and what
//! comes after only in mode [`SkipAnyCorrupted`](WalRecoveryMode::SkipAnyCorrupted): the store as it was at some
//! moment, or every record there is. Where the sequence numbers show that nothing was lost (the damage hit one of
//! the WAL's own records), it is reported and recovery goes on.

mod load;
mod scan;

use super::format::{FIRST_RECORD, KIND_CALLER_MAX};
use super::names::{SegmentFile, parse_writer_dir, segments};
use super::reader::{Record, SegmentReader};
use crate::io::Env;
use crate::{Error, Result};
use load::Loaded;
use scan::Island;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What to do about records that are not as they were written. The names are RocksDB's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WalRecoveryMode {
    /// Offer the longest prefix without a gap.
    #[default]
    PointInTime,
    /// Offer every record whose checksum holds.
    SkipAnyCorrupted,
    /// Fail if anything is amiss, a torn tail included.
    AbsoluteConsistency,
}

/// A place where records are missing, or where something is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The segment.
    pub number: u64,
    /// Its file.
    pub path: PathBuf,
    /// Where the last good record before it ends.
    pub offset: u64,
    /// Whether the bytes are known to have been on the device: then something damaged them. Otherwise a
    /// loss of power before they were synced explains it.
    pub proven: bool,
    /// What was found.
    pub detail: String,
}

impl Damage {
    /// As an error.
    pub fn to_error(&self) -> Error {
        Error::corruption(&self.path, self.offset, &self.detail)
    }
}

/// A segment whose records are not offered, because records before it are missing or its header is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// The segment.
    pub number: u64,
    /// Its file, for the caller to move to quarantine.
    pub path: PathBuf,
}

/// A segment that offers records.
#[derive(Clone, Debug)]
pub struct RecoveredSegment {
    /// The segment. Its payloads live as long as this. Its [`SegmentReader::next_record`] reads every record that
    /// is offered unless `damaged`; [`RecoveredSegment::records`] always does.
    pub reader: Arc<SegmentReader>,
    /// Whether the file also holds something that is not offered: keep it, in quarantine, when its records
    /// are in a table.
    pub damaged: bool,
    ranges: Vec<Range<usize>>,
}

impl RecoveredSegment {
    /// The caller's records, in order.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let reader = &self.reader;
        let all = self.ranges.iter().flat_map(move |range| {
            let mut at = range.start as u64;
            let end = range.end as u64;
            std::iter::from_fn(move || {
                // The scan has verified all of the range, so nothing here fails.
                let (record, next) = reader.next_any(at).ok().flatten().filter(|_| at < end)?;
                at = next;
                Some(record)
            })
        });
        all.filter(|record| record.kind <= KIND_CALLER_MAX)
    }
}

/// What a dead writer left behind.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// Whose it was.
    pub writer_id: u64,
    /// The segments that offer records, in order.
    pub segments: Vec<RecoveredSegment>,
    /// Files that hold no record: prepared and never used, torn in their first record, or already flushed.
    /// Remove them.
    pub empty: Vec<PathBuf>,
    /// Segments after a gap, whose records are not offered, and what is no segment but named like one.
    pub set_aside: Vec<SetAside>,
    /// Where records are missing.
    pub damage: Vec<Damage>,
    /// How many bytes of an unfinished record were cut from the newest segment's end.
    pub torn_bytes: u64,
    /// The sequence number after the last record offered; `None` if there is none.
    pub next_seq: Option<u64>,
}

/// [`recover_unflushed`] for a caller that has flushed no segment of this writer.
///
/// # Errors
/// As there.
pub fn recover(env: &Env, writer_dir: &Path, mode: WalRecoveryMode) -> Result<Recovered> {
    recover_unflushed(env, writer_dir, mode, &|_| false)
}

/// Finds the records of a dead writer, whose lock the caller holds ([`super::lock_writer_dir`]). Only reads, so
/// it may be interrupted and repeated at will. `is_flushed` says of a segment's number whether its records are
/// in tables: such a segment is not read, is listed as `empty` if its file is still there, and does not count
/// as missing if not.
///
/// # Errors
/// [`Error::TooNew`]; [`Error::Io`]; [`Error::Corruption`] in mode
/// [`AbsoluteConsistency`](WalRecoveryMode::AbsoluteConsistency) if anything is amiss;
/// [`Error::InvalidArgument`] if `writer_dir` is not named like a writer's directory.
pub fn recover_unflushed(
    env: &Env,
    writer_dir: &Path,
    mode: WalRecoveryMode,
    is_flushed: &dyn Fn(u64) -> bool,
) -> Result<Recovered> {
    let Some(writer_id) = parse_writer_dir(writer_dir) else {
        let name = writer_dir.display();
        return Err(Error::InvalidArgument(format!("{name} is not named like a WAL writer's directory")));
    };
    let mut files = Vec::new();
    let mut empty = Vec::new();
    for file in segments(env, writer_dir)? {
        if is_flushed(file.number) {
            empty.push(file.path);
        } else if let Some(loaded) = Loaded::load(env, writer_id, file)? {
            files.push(loaded);
        }
    }
    let walk = Walk {
        mode,
        is_flushed,
        proof: Proof::collect(&files),
        newest: files.iter().rev().find(|f| f.has_content()).map(|f| f.file.number),
        // If even the first segment's file is there, the first record must be.
        expected: files
            .first()
            .filter(|first| first.file.number == 1)
            .and_then(|_| files.iter().find_map(|f| f.log_first_seq)),
        last: None,
        ended: false,
        found: Recovered {
            writer_id,
            segments: Vec::new(),
            empty,
            set_aside: Vec::new(),
            damage: Vec::new(),
            torn_bytes: 0,
            next_seq: None,
        },
    };
    walk.all(&files)
}

/// What is known to have been on the device.
struct Proof {
    marks: Vec<(u64, u64)>,
}

impl Proof {
    /// From every header and every SYNC, wherever it lies: one behind the damage proves as much as one before.
    fn collect(files: &[Loaded]) -> Self {
        let headers = files.iter().map(|f| (f.file.number, f.synced));
        let marks = files.iter().flat_map(|f| f.scan.marks.iter().copied());
        Self { marks: headers.chain(marks).filter(|(_, offset)| *offset > 0).collect() }
    }

    /// Whether the byte at `offset` of segment `number` was, if the segment was ever that long.
    fn covers(&self, number: u64, offset: usize) -> bool {
        self.marks.iter().any(|(n, o)| *n > number || (*n == number && *o > offset as u64))
    }
}

/// The segment that was last gone through.
#[derive(Clone)]
struct Last {
    file: SegmentFile,
    /// Where its records end.
    end: usize,
    /// Whether that is their end: nothing was ever behind it.
    complete: bool,
}

/// Goes through the segments, oldest first.
struct Walk<'a> {
    mode: WalRecoveryMode,
    is_flushed: &'a dyn Fn(u64) -> bool,
    proof: Proof,
    /// The last segment with content: the only one that may end raggedly.
    newest: Option<u64>,
    /// The next record's sequence number; `None` while unknown.
    expected: Option<u64>,
    /// Where records went so far: whoever finds some missing next, misses them from here on.
    last: Option<Last>,
    /// Records are missing, and nothing is offered any more.
    ended: bool,
    found: Recovered,
}

impl Walk<'_> {
    fn all(mut self, files: &[Loaded]) -> Result<Recovered> {
        let mut before = None;
        for loaded in files {
            let number = loaded.file.number;
            if before.is_some_and(|b: u64| (b + 1..number).take(1 << 16).any(self.is_flushed)) {
                // What lies between is in tables; where it ended is not known here.
                self.expected = None;
                self.last = None;
            }
            before = Some(number);
            self.segment(loaded);
        }
        if self.mode == WalRecoveryMode::AbsoluteConsistency {
            if let Some(damage) = self.found.damage.first() {
                return Err(damage.to_error());
            }
            if let (1.., Some(Last { file, end, .. })) = (self.found.torn_bytes, &self.last) {
                let detail = format!("{} bytes of an unfinished record", self.found.torn_bytes);
                return Err(Error::corruption(&file.path, *end as u64, detail));
            }
        }
        Ok(self.found)
    }

    fn segment(&mut self, loaded: &Loaded) {
        let number = loaded.file.number;
        if let Some(detail) = &loaded.bad_header
            && (loaded.has_content() || self.proof.covers(number, 0))
        {
            let proven = self.proof.covers(number, 0);
            self.damage(&loaded.file, 0, proven, detail.clone());
        }
        if !loaded.has_content() {
            if self.proof.covers(number, FIRST_RECORD) && !self.ended && self.was_used(loaded) {
                self.damage(
                    &loaded.file,
                    FIRST_RECORD,
                    true,
                    "its records were on the device and are gone".into(),
                );
            }
            if self.last.as_ref().is_none_or(|last| last.complete) {
                self.last = Some(Last { file: loaded.file.clone(), end: FIRST_RECORD, complete: false });
            }
            self.found.empty.push(loaded.file.path.clone());
            return;
        }
        if self.ended {
            self.set_aside(&loaded.file);
            return;
        }
        let offered = self.offer(loaded);
        let Some(last) = offered.ranges.last() else {
            // Nothing in it verifies. If that is a torn first record, nothing is lost with the file.
            if offered.damaged || loaded.bad_header.is_some() {
                self.set_aside(&loaded.file);
            } else {
                self.found.empty.push(loaded.file.path.clone());
            }
            return;
        };
        if let Some(reader) = loaded.reader(last.end) {
            let damaged = offered.damaged || loaded.bad_header.is_some();
            self.found.segments.push(RecoveredSegment { reader, damaged, ranges: offered.ranges });
            self.found.next_seq = self.expected;
        }
    }

    /// Whether a segment without content can have had any: a prepared one is synced without.
    fn was_used(&self, loaded: &Loaded) -> bool {
        loaded.synced > FIRST_RECORD as u64
            || self.proof.marks.iter().any(|(n, o)| *n == loaded.file.number && *o > FIRST_RECORD as u64)
    }

    /// Which of its records to offer.
    fn offer(&mut self, loaded: &Loaded) -> Offer {
        let mut offer = Offer { ranges: Vec::new(), damaged: false };
        let mut at = FIRST_RECORD;
        for island in &loaded.scan.islands {
            if !self.joins(loaded, at, island, &mut offer) {
                self.last = Some(Last { file: loaded.file.clone(), end: at, complete: false });
                return offer;
            }
            offer.ranges.push(island.range.clone());
            at = island.range.end;
            self.expected = Some(island.next_seq);
        }
        self.last = Some(Last { file: loaded.file.clone(), end: at, complete: loaded.scan.sealed });
        if !loaded.scan.sealed {
            self.tail(loaded, at, &mut offer);
        }
        offer
    }

    /// Whether to go on with `island`, having come to `at`.
    fn joins(&mut self, loaded: &Loaded, at: usize, island: &Island, offer: &mut Offer) -> bool {
        let broken = island.range.start != at;
        let lost = match self.expected {
            Some(expected) => expected != island.first_seq,
            None => broken,
        };
        if !broken && !lost {
            return true;
        }
        let skip = self.mode == WalRecoveryMode::SkipAnyCorrupted;
        let number = loaded.file.number;
        let proven = self.proof.covers(number, at);
        if broken && !proven && lost && !skip && self.newest == Some(number) {
            // A torn tail like any other: later pages reached the device, earlier ones did not.
            self.found.torn_bytes += (loaded.scan.content_end - at) as u64;
            self.ended = true;
            return false;
        }
        let seq = self.expected.map_or_else(|| "the first".to_owned(), |e| format!("record {e}"));
        if broken {
            offer.damaged = true;
            let (next, bytes) = (island.first_seq, island.range.start - at);
            self.damage(
                &loaded.file,
                at,
                proven,
                format!("{bytes} bytes from {seq} on are no record; {next} follows"),
            );
        } else {
            // The segment begins well: what is missing was in one before it.
            let (file, end) = match &self.last {
                Some(last) => (last.file.clone(), last.end),
                None => (loaded.file.clone(), at),
            };
            let proven = self.proof.covers(file.number, end);
            let next = island.first_seq;
            self.damage(
                &file,
                end,
                proven,
                format!("{seq} should follow; segment {number} begins with {next}"),
            );
            if file.number != number
                && let Some(before) = self.found.segments.last_mut()
            {
                before.damaged |= before.reader.number() == file.number;
            }
        }
        if lost && !skip {
            self.ended = true;
            offer.damaged = true;
            return false;
        }
        true
    }

    /// Judges what follows the last record of a segment that does not end in a SEAL.
    fn tail(&mut self, loaded: &Loaded, at: usize, offer: &mut Offer) {
        let number = loaded.file.number;
        let rest = (loaded.scan.content_end - at) as u64;
        if self.proof.covers(number, at) {
            offer.damaged = true;
            self.damage(&loaded.file, at, true, "its end was on the device and is gone".into());
        } else if self.newest == Some(number) {
            self.found.torn_bytes += rest;
        } else if rest > 0 {
            // Whether records are missing here the next segment's first one tells.
            offer.damaged = true;
        }
    }

    fn damage(&mut self, file: &SegmentFile, offset: usize, proven: bool, detail: String) {
        let (number, path) = (file.number, file.path.clone());
        self.found.damage.push(Damage { number, path, offset: offset as u64, proven, detail });
    }

    fn set_aside(&mut self, file: &SegmentFile) {
        self.found.set_aside.push(SetAside { number: file.number, path: file.path.clone() });
    }
}

/// What of a segment is offered.
struct Offer {
    ranges: Vec<Range<usize>>,
    damaged: bool,
}
