//! A segment without a file: for logs that need not survive the process, and for copies of files.
#![allow(unsafe_code)] // a segment's memory is reached through a raw pointer

use crate::io::{Segment, SegmentMemory};
use std::cell::UnsafeCell;
use std::io;
use std::ptr::NonNull;

/// Memory of our own. There is nothing to publish, sync or cut.
#[derive(Debug)]
pub(super) struct AnonymousSegment {
    memory: SegmentMemory,
    /// What `memory` describes; cells, because it is written while shared. Not a box: moving one says that no other
    /// pointer to its content is in use.
    _words: Vec<UnsafeCell<u64>>,
}

// SAFETY: the words are only reached through `memory`, whose protocol makes sharing sound.
unsafe impl Send for AnonymousSegment {}
// SAFETY: as above.
unsafe impl Sync for AnonymousSegment {}

impl AnonymousSegment {
    /// `len` bytes of zeros, or `OutOfMemory`.
    pub(super) fn new(len: usize) -> io::Result<Self> {
        let mut words: Vec<UnsafeCell<u64>> = Vec::new();
        let words_len = len.div_ceil(8);
        words.try_reserve_exact(words_len).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        // Writing the zeros takes the page faults now, off the writers' path.
        words.resize_with(words_len, || UnsafeCell::new(0));
        let start = NonNull::from(words.as_slice()).cast::<u8>();
        // SAFETY: the words are aligned to 8 bytes, have at least this length, live as long as the memory (beside
        // it), and being cells may be written through a shared pointer.
        let memory = unsafe { SegmentMemory::new(start, len) };
        Ok(Self { memory, _words: words })
    }
}

impl Segment for AnonymousSegment {
    fn memory(&self) -> &SegmentMemory {
        &self.memory
    }

    /// Nobody else could see it, so what is in memory is as published as it gets.
    fn is_mapped(&self) -> bool {
        true
    }

    fn publish(&self, _offset: usize, _len: usize) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self, _offset: usize, _len: usize) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "a segment without a file cannot be synced"))
    }

    fn sync_zeros(&self, len: usize) -> io::Result<()> {
        self.sync(0, len)
    }

    fn truncate(&self, _len: usize) -> io::Result<()> {
        Ok(())
    }
}
