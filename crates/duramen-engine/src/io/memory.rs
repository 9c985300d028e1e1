//! The memory of a segment: a raw region that one writer extends and many readers follow.
#![allow(unsafe_code)] // the one place where segment bytes are reached; each block says why it is sound

use super::Segment;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A fixed region of bytes, shared by one writer and any number of readers.
///
/// The protocol that makes it sound: bytes are written once, by the one writer, before the counter that
/// covers them is raised with `Release`; readers read only below a counter they loaded with `Acquire`.
#[derive(Debug)]
pub struct SegmentMemory {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the region is plain bytes; the protocol above orders every access to it.
unsafe impl Send for SegmentMemory {}
// SAFETY: as above.
unsafe impl Sync for SegmentMemory {}

impl SegmentMemory {
    /// Describes the `len` bytes at `start`.
    ///
    /// # Safety
    /// They must be readable, and writable if the writing methods are to be called, for as long as this
    /// value lives; `start` must be aligned to 8 bytes.
    pub unsafe fn new(start: NonNull<u8>, len: usize) -> Self {
        Self { start, len }
    }

    /// How many bytes there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies `bytes` to `offset`.
    ///
    /// # Safety
    /// No other thread writes these bytes, and nobody reads them yet.
    ///
    /// # Panics
    /// If they do not fit.
    #[inline]
    pub unsafe fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset <= self.len && bytes.len() <= self.len - offset, "write past the segment's end");
        // SAFETY: in bounds by the assertion, valid by `new`, unshared by this method's contract.
        unsafe { self.start.as_ptr().add(offset).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
    }

    /// The bytes `offset..offset + len`.
    ///
    /// # Safety
    /// Nobody writes them while the slice lives: they lie below a counter that covers them.
    ///
    /// # Panics
    /// If they reach past the end.
    #[inline]
    pub unsafe fn slice(&self, offset: usize, len: usize) -> &[u8] {
        assert!(offset <= self.len && len <= self.len - offset, "read past the segment's end");
        // SAFETY: in bounds by the assertion, valid by `new`, unchanging by this method's contract.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(offset), len) }
    }

    /// The 8 bytes at `offset` as a counter.
    ///
    /// # Panics
    /// If they do not fit or `offset` is not a multiple of 8.
    #[inline]
    pub fn counter(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.len, "no counter there");
        // SAFETY: in bounds and aligned by the assertion and `new`; only ever accessed atomically.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(offset).cast::<u64>()) }
    }
}

/// A segment that is kept, and its memory, found without asking the segment each time: who reads a value does so several times.
#[derive(Debug)]
pub(crate) struct KeptSegment {
    memory: SegmentMemory,
    segment: Arc<dyn Segment>,
}

impl KeptSegment {
    pub(crate) fn new(segment: Arc<dyn Segment>) -> Self {
        let SegmentMemory { start, len } = *segment.memory();
        // SAFETY: what the segment gave out lives for as long as somebody borrows the segment, which this could do for as
        // long as it lives.
        let memory = unsafe { SegmentMemory::new(start, len) };
        Self { memory, segment }
    }

    #[inline]
    pub(crate) fn segment(&self) -> &dyn Segment {
        &*self.segment
    }

    #[inline]
    pub(crate) fn memory(&self) -> &SegmentMemory {
        &self.memory
    }
}
