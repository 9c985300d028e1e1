//! The only place of the WAL that touches segment memory.
//!
//! What makes it sound: a [`Tail`] is made once per segment, by whoever created it, and only it writes, each
//! byte once and in front of the counter that it raises afterwards; everybody else reads below a counter.
#![allow(unsafe_code)] // each block says why it is sound

use super::format::{COMMITTED, FIRST_RECORD, FIRST_SEQ, IDENTITY_BYTES};
use crate::io::{KeptSegment, Segment, SegmentMemory};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The writing end of a segment.
#[derive(Debug)]
pub(super) struct Tail {
    segment: KeptSegment,
    end: usize,
    capacity: usize,
}

impl Tail {
    /// Writes the header of a segment that was just created, and is its only writer from now on.
    pub(super) fn start(segment: Arc<dyn Segment>, identity: &[u8; IDENTITY_BYTES]) -> Self {
        // SAFETY: nobody else knows the segment in this process yet; others verify what they see of it.
        unsafe { segment.memory().write(0, identity) };
        let capacity = segment.memory().len();
        Self { segment: KeptSegment::new(segment), end: FIRST_RECORD, capacity }
    }

    /// Where the next byte goes.
    #[inline]
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// How many bytes still fit.
    #[inline]
    pub(super) fn room(&self) -> usize {
        self.capacity.saturating_sub(self.end)
    }

    /// Copies `header` and `payload` behind what is there, which must fit, and then shows them to readers.
    #[inline]
    pub(super) fn put(&mut self, seq: u64, header: &[u8], payload: &[u8]) {
        let memory = self.segment.memory();
        // SAFETY: a tail is a segment's only writer, and readers stay below `committed`, which is `end`.
        unsafe {
            memory.write(self.end, header);
            memory.write(self.end + header.len(), payload);
        }
        if self.end == FIRST_RECORD {
            memory.counter(FIRST_SEQ).store(seq, Ordering::Release);
        }
        self.end += header.len() + payload.len();
        memory.counter(COMMITTED).store(self.end as u64, Ordering::Release);
    }
}

/// The bytes `range` of a segment of which nothing below `limit` changes any more: `limit` comes from a counter,
/// or the writer is dead. `None` if they are not all below it.
#[inline]
pub(super) fn settled(memory: &SegmentMemory, range: Range<usize>, limit: usize) -> Option<&[u8]> {
    if range.start > range.end || range.end > limit.min(memory.len()) {
        return None;
    }
    // SAFETY: below a counter, so written before it was raised, and never again.
    Some(unsafe { memory.slice(range.start, range.end - range.start) })
}
