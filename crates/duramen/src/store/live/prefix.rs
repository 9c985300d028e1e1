//! How far a writer's segments follow one another.

use super::LiveSegment;
use crate::error::Result;
use crate::store::shared::Shared;

/// What a loss of power left of a writer's segments is read as recovery will read it: up to the first gap,
/// so that nothing is shown that is not there a moment later. Segments come in order of writer and number.
#[derive(Debug, Default)]
pub(crate) struct Prefix {
    writer: u64,
    next_seq: Option<u64>,
    ended: bool,
}

impl Prefix {
    /// Whether the segment's records follow on those of the one before.
    pub(crate) fn goes_on_with(&mut self, segment: &LiveSegment) -> bool {
        if segment.writer != self.writer {
            *self = Self { writer: segment.writer, next_seq: None, ended: false };
        }
        let gap = || match (self.next_seq, segment.reader.first_seq()) {
            (Some(expected), Some(first)) => expected != first,
            // The first that is there: what came before it must have been flushed.
            (None, Some(_)) => segment.reader.previous().is_some_and(|number| number > segment.flushed),
            (_, None) => false,
        };
        self.ended = self.ended || gap();
        !self.ended
    }

    /// What reading the segment came to.
    pub(crate) fn has(&mut self, shared: &Shared, outcome: Result<()>, next_seq: Option<u64>) {
        if let Err(damage) = outcome {
            shared.incident(damage);
            self.ended = true;
        }
        self.next_seq = next_seq.or(self.next_seq);
    }
}
