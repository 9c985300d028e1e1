//! Deciding which records to offer: through the segments, oldest first, as far as nothing is missing.

use super::load::Loaded;
use super::scan::Island;
use super::{Damage, Recovered, RecoveredSegment, SetAside, WalRecoveryMode};
use crate::wal::format::FIRST_RECORD;
use crate::wal::names::SegmentFile;
use crate::{Error, Result};
use std::ops::Range;

/// What is known to have been there: on the device; or whole in a file that no loss of power can have changed since.
struct Proof {
    marks: Vec<(u64, u64)>,
    /// By segment. Says nothing of those before: a writer may begin one before it has handed over all of the last.
    finished: Vec<(u64, u64)>,
}

impl Proof {
    /// From every header and every SYNC, wherever it lies: one behind the damage proves as much as one before.
    fn collect(files: &[Loaded]) -> Self {
        let headers = files.iter().map(|f| (f.file.number, f.synced));
        let marks = files.iter().flat_map(|f| f.scan.marks.iter().copied());
        let finished = files.iter().map(|f| (f.file.number, f.finished));
        Self {
            marks: headers.chain(marks).filter(|(_, offset)| *offset > 0).collect(),
            finished: finished.filter(|(_, offset)| *offset > 0).collect(),
        }
    }

    /// Whether the byte at `offset` of segment `number` was, if the segment was ever that long.
    fn covers(&self, number: u64, offset: usize) -> bool {
        let own = |(n, o): &(u64, u64)| *n == number && *o > offset as u64;
        self.marks.iter().any(|mark| mark.0 > number || own(mark)) || self.finished.iter().any(own)
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
pub(super) struct Walk<'a> {
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
    found: &'a mut Recovered,
}

impl<'a> Walk<'a> {
    /// Begins before the first of `files`, which are all that were not flushed; fills `found`.
    pub(super) fn new(
        mode: WalRecoveryMode,
        is_flushed: &'a dyn Fn(u64) -> bool,
        files: &[Loaded],
        found: &'a mut Recovered,
    ) -> Self {
        // If even the first segment's file is there, the first record must be.
        let from_the_first = files.first().is_some_and(|first| first.file.number == 1);
        Self {
            mode,
            is_flushed,
            proof: Proof::collect(files),
            newest: files.iter().rev().find(|f| f.has_content()).map(|f| f.file.number),
            expected: files.iter().find_map(|f| f.log_first_seq).filter(|_| from_the_first),
            last: None,
            ended: false,
            found,
        }
    }

    /// Goes through all files.
    pub(super) fn all(mut self, files: &[Loaded]) -> Result<()> {
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
        Ok(())
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
                    "its records were whole once and are gone".into(),
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
        if offered.ranges.is_empty() {
            // Nothing in it verifies. If that is a torn first record, nothing is lost with the file.
            if offered.damaged || loaded.bad_header.is_some() {
                self.set_aside(&loaded.file);
            } else {
                self.found.empty.push(loaded.file.path.clone());
            }
            return;
        }
        if let Some(reader) = loaded.reader(offered.ranges) {
            let damaged = offered.damaged || loaded.bad_header.is_some();
            self.found.segments.push(RecoveredSegment { reader, damaged });
            self.found.next_seq = self.expected;
        }
    }

    /// Whether a segment without content can have had any: a prepared one is synced without.
    fn was_used(&self, loaded: &Loaded) -> bool {
        loaded.synced.max(loaded.finished) > FIRST_RECORD as u64
            || self.proof.marks.iter().any(|(n, o)| *n == loaded.file.number && *o > FIRST_RECORD as u64)
    }

    /// Which of its records to offer.
    fn offer(&mut self, loaded: &Loaded) -> Offer {
        let mut offer = Offer { ranges: Vec::new(), damaged: false };
        let mut at = FIRST_RECORD;
        for island in &loaded.scan.islands {
            match self.joins(loaded, at, island, &mut offer) {
                Join::Offer => {}
                Join::PassOver => {
                    at = island.range.end;
                    continue;
                }
                Join::End => {
                    self.last = Some(Last { file: loaded.file.clone(), end: at, complete: false });
                    return offer;
                }
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

    /// What to do with `island`, having come to `at`.
    fn joins(&mut self, loaded: &Loaded, at: usize, island: &Island, offer: &mut Offer) -> Join {
        let skip = self.mode == WalRecoveryMode::SkipAnyCorrupted;
        let broken = island.range.start != at;
        let lost = match self.expected {
            Some(expected) => expected != island.first_seq,
            // What came before must have been flushed. Who takes all there is may not know what was: no manifest is left.
            None => {
                let is_lost = |number| !skip && !(self.is_flushed)(number);
                broken || loaded.scan.previous.is_some_and(is_lost)
            }
        };
        if !broken && !lost {
            return Join::Offer;
        }
        let number = loaded.file.number;
        let proven = self.proof.covers(number, at);
        if broken && !proven && lost && !skip && self.newest == Some(number) {
            // A torn tail like any other: later pages reached the device, earlier ones did not.
            self.found.torn_bytes += (loaded.scan.content_end - at) as u64;
            self.ended = true;
            return Join::End;
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
            return Join::End;
        }
        if self.expected.is_some_and(|expected| island.first_seq < expected) {
            // The same sequence numbers twice: a copy of an older segment. Whoever takes records in relies on order.
            offer.damaged = true;
            return Join::PassOver;
        }
        Join::Offer
    }

    /// Judges what follows the last record of a segment that does not end in a SEAL.
    fn tail(&mut self, loaded: &Loaded, at: usize, offer: &mut Offer) {
        let number = loaded.file.number;
        let rest = (loaded.scan.content_end - at) as u64;
        if self.proof.covers(number, at) {
            offer.damaged = true;
            self.damage(&loaded.file, at, true, "its end was whole once and is damaged or gone".into());
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

/// What to do with an island of records.
enum Join {
    Offer,
    /// Leave it out and go on with the next.
    PassOver,
    /// Offer nothing any more.
    End,
}

/// What of a segment is offered.
struct Offer {
    ranges: Vec<Range<usize>>,
    damaged: bool,
}
