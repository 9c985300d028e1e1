//! The memory behind a simulated file, which mappings of the file share.
#![allow(unsafe_code)] // stands in for the kernel's page cache, which others write without asking us

use crate::io::SegmentMemory;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ptr::NonNull;

/// Zeroed memory with a stable address. Mapped segments write to it at any moment, as into a page cache;
/// what is copied out meanwhile may be torn, as it may be there.
#[derive(Debug)]
pub(super) struct Region {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the region owns plain bytes; nothing in it is bound to a thread.
unsafe impl Send for Region {}
// SAFETY: as above; concurrent access follows the protocol of `SegmentMemory`.
unsafe impl Sync for Region {}

impl Region {
    /// At least `len` zeros.
    pub(super) fn new(len: usize) -> io::Result<Self> {
        // At an alignment no larger than the allocator's own, zeros cost nothing until they are touched.
        let layout = Layout::from_size_align(len.max(1), 16).map_err(io::Error::other)?;
        // SAFETY: the layout's size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })
            .ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Self { start, layout })
    }

    pub(super) fn capacity(&self) -> usize {
        self.layout.size()
    }

    fn check(&self, offset: usize, len: usize) {
        assert!(offset <= self.capacity() && len <= self.capacity() - offset, "outside the region");
    }

    pub(super) fn read(&self, offset: usize, into: &mut [u8]) {
        self.check(offset, into.len());
        // SAFETY: in bounds by the check; `into` is ours and so cannot overlap.
        unsafe { self.start.as_ptr().add(offset).copy_to_nonoverlapping(into.as_mut_ptr(), into.len()) }
    }

    pub(super) fn write(&self, offset: usize, bytes: &[u8]) {
        self.check(offset, bytes.len());
        // SAFETY: in bounds by the check. The caller may have borrowed `bytes` from this very region (a
        // segment's memory written to its own file), so they are copied as possibly overlapping.
        unsafe { self.start.as_ptr().add(offset).copy_from(bytes.as_ptr(), bytes.len()) }
    }

    pub(super) fn zero(&self, offset: usize, len: usize) {
        self.check(offset, len);
        // SAFETY: in bounds by the check.
        unsafe { self.start.as_ptr().add(offset).write_bytes(0, len) }
    }

    /// The first `len` bytes as a segment's memory.
    ///
    /// # Safety
    /// The region must live as long as the result does.
    pub(super) unsafe fn memory(&self, len: usize) -> SegmentMemory {
        self.check(0, len);
        // SAFETY: readable, writable, aligned to 16; lives long enough by this method's contract.
        unsafe { SegmentMemory::new(self.start, len) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}
