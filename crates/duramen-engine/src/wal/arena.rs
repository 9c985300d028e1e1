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
///
/// Records are copied into the memory. Those that are synced one at a time are gathered first, with the WAL's own that go in
/// front of them, and put there by a call ([`Segment::write_by_call`]): the sync before has protected the page.
#[derive(Debug)]
pub(super) struct Tail {
    segment: KeptSegment,
    end: usize,
    /// How far records may go; 0 while none may.
    capacity: usize,
    /// Whether records wait for [`Tail::put_gathered`], and those.
    gathers: bool,
    gathered: Vec<u8>,
    /// Whether a call was seen not to reach the memory.
    calls_miss: bool,
}

impl Tail {
    /// Writes the header of a segment that was just created, and is its only writer from now on.
    pub(super) fn start(segment: Arc<dyn Segment>, identity: &[u8; IDENTITY_BYTES]) -> Self {
        // SAFETY: nobody else knows the segment in this process yet; others verify what they see of it.
        unsafe { segment.memory().write(0, identity) };
        let capacity = segment.memory().len();
        Self {
            segment: KeptSegment::new(segment),
            end: FIRST_RECORD,
            capacity,
            gathers: false,
            gathered: Vec::new(),
            calls_miss: false,
        }
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

    /// There is no room for anything from here on.
    pub(super) fn hold(&mut self) {
        self.capacity = 0;
    }

    /// There is again as much as there was.
    pub(super) fn go_on(&mut self) {
        self.capacity = self.segment.memory().len();
    }

    /// Copies `header` and `payload` behind what is there, which must fit, and then shows them to readers.
    #[inline]
    pub(super) fn put(&mut self, seq: u64, header: &[u8], payload: &[u8]) {
        if self.gathers {
            self.gathered.extend_from_slice(header);
            self.gathered.extend_from_slice(payload);
            return;
        }
        let memory = self.segment.memory();
        // SAFETY: a tail is a segment's only writer, and readers stay below `committed`, which is `end`.
        unsafe {
            memory.write(self.end, header);
            memory.write(self.end + header.len(), payload);
        }
        self.show(seq, header.len() + payload.len());
    }

    /// What is put from here on waits for [`Tail::put_gathered`].
    pub(super) fn gather(&mut self) {
        self.gathers = !self.calls_miss;
        self.gathered.clear();
    }

    /// Puts what was gathered behind what is there, all by one call, and then shows it to readers.
    #[inline]
    pub(super) fn put_gathered(&mut self, seq: u64) {
        if !std::mem::take(&mut self.gathers) {
            return;
        }
        let called = self.segment.segment().write_by_call(self.end, &self.gathered);
        let memory = self.segment.memory();
        // SAFETY: a tail is a segment's only writer.
        let has_arrived = unsafe { memory.slice(self.end, self.gathered.len()) } == self.gathered;
        if !has_arrived {
            // SAFETY: as in `put`; what the call may have written are these bytes.
            unsafe { memory.write(self.end, &self.gathered) };
            // Some network file systems write past the pages that are mapped.
            self.calls_miss |= called.is_ok();
        }
        self.show(seq, self.gathered.len());
    }

    /// Shows `len` more bytes to readers.
    #[inline]
    fn show(&mut self, seq: u64, len: usize) {
        let memory = self.segment.memory();
        if self.end == FIRST_RECORD {
            memory.counter(FIRST_SEQ).store(seq, Ordering::Release);
        }
        self.end += len;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::Sim;
    use std::io;
    use std::path::Path;
    use std::sync::atomic::AtomicUsize;

    /// A segment on a file system where calls write past the pages that are mapped.
    #[derive(Debug)]
    struct Apart {
        segment: Arc<dyn Segment>,
        calls: Arc<AtomicUsize>,
    }

    impl Segment for Apart {
        fn memory(&self) -> &SegmentMemory {
            self.segment.memory()
        }

        fn is_mapped(&self) -> bool {
            true
        }

        fn publish(&self, _: usize, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_by_call(&self, _: usize, _: &[u8]) -> io::Result<()> {
            self.calls.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }

        fn sync(&self, offset: usize, len: usize) -> io::Result<()> {
            self.segment.sync(offset, len)
        }

        fn sync_zeros(&self, len: usize) -> io::Result<()> {
            self.segment.sync_zeros(len)
        }

        fn truncate(&self, len: usize) -> io::Result<()> {
            self.segment.truncate(len)
        }
    }

    #[test]
    fn records_are_in_memory_where_calls_do_not_reach_it() {
        let segment = Sim::new(1).env().fs.create_segment(Path::new("/a"), 10_000).unwrap();
        let calls = Arc::<AtomicUsize>::default();
        let apart = Apart { segment: segment.clone(), calls: calls.clone() };
        let mut tail = Tail::start(Arc::new(apart), &[0; IDENTITY_BYTES]);
        for (seq, payload) in [(1, b"one"), (2, b"two")] {
            tail.gather();
            tail.put(seq, b"header", payload);
            tail.put_gathered(seq);
        }
        let end = tail.end();
        assert_eq!(end, FIRST_RECORD + 18);
        assert_eq!(segment.memory().counter(COMMITTED).load(Ordering::Relaxed), end as u64);
        assert_eq!(settled(segment.memory(), FIRST_RECORD..end, end), Some(&b"headeroneheadertwo"[..]));
        assert_eq!(calls.load(Ordering::Relaxed), 1, "it is not tried again");
    }
}
