//! How far a writer's segments follow one another.

use super::LiveSegment;
use crate::error::Result;
use crate::store::shared::Shared;
use duramen_engine::Error as EngineError;
use duramen_engine::wal::SegmentReader;
use std::sync::Arc;

/// What a loss of power left of a writer's segments is read as recovery will read it: up to the first gap,
/// so that nothing is shown that is not there a moment later. Segments come in order of writer and number.
#[derive(Debug, Default)]
pub(crate) struct Prefix {
    writer: u64,
    /// The number of the last segment.
    number: u64,
    next_seq: Option<u64>,
    /// The last segment with records, and those behind it that had none when they were looked at.
    before: Vec<Arc<SegmentReader>>,
    ended: bool,
}

impl Prefix {
    /// Whether the segment's records follow on those of the one before. If it is the first of its writer of which they do not,
    /// that is remembered as an incident.
    pub(crate) fn goes_on_with(&mut self, shared: &Shared, segment: &LiveSegment) -> bool {
        if segment.writer != self.writer {
            *self = Self { writer: segment.writer, ..Self::default() };
        }
        self.number = segment.number;
        if !self.ended && self.is_gap(segment) {
            self.ended = true;
            let known = (segment.writer, segment.number);
            if !shared.has_told_of(known) && self.is_damage(segment) {
                let first = segment.reader.first_seq().unwrap_or_default();
                let missing = format!(
                    "lines before line {first} of this writer are missing, and it is left out with what follows"
                );
                let told = EngineError::corruption(&segment.path, segment.reader.start(), missing);
                shared.incident_of(known, told);
            }
        }
        if segment.reader.first_seq().is_some() {
            self.before.clear();
        }
        self.before.push(segment.reader.clone());
        !self.ended
    }

    fn is_gap(&self, segment: &LiveSegment) -> bool {
        match (self.next_seq, segment.reader.first_seq()) {
            (Some(expected), Some(first)) => expected != first,
            // The first that is there: what came before it must have been flushed.
            (None, Some(_)) => segment.reader.previous().is_some_and(|number| number > segment.flushed),
            (_, None) => false,
        }
    }

    /// Whether a gap is none that goes away when what precedes it is read again, its writer having filled it since, and none that
    /// a loss of power may leave.
    fn is_damage(&self, segment: &LiveSegment) -> bool {
        let first = segment.reader.first_seq();
        !segment.reader.is_from_another_boot()
            && self.before.iter().all(|before| next_seq_behind(before) != first)
    }

    /// What reading the segment came to.
    pub(crate) fn has(&mut self, shared: &Shared, outcome: Result<()>, next_seq: Option<u64>) {
        if let Err(damage) = outcome {
            shared.incident_of((self.writer, self.number), damage);
            self.ended = true;
        }
        self.next_seq = next_seq.or(self.next_seq);
    }
}

/// The sequence number that follows a segment's records, as they are now.
fn next_seq_behind(reader: &SegmentReader) -> Option<u64> {
    let (mut at, mut next) = (reader.start(), None);
    while let Ok(Some((record, following))) = reader.next_record(at) {
        next = Some(record.seq.saturating_add(u64::from(record.count)));
        at = following;
    }
    next
}
