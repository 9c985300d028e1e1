//! Segments: a file's pages mapped into memory, or memory of our own that is written to a file.
#![allow(unsafe_code, clippy::disallowed_methods)] // mapping files is unsafe by nature, and this is the io layer

use super::file::OsFile;
use crate::io::{File, Segment, SegmentMemory};
use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::FallocateFlags;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::ptr::NonNull;

/// A file mapped into memory, shared with whoever else maps it.
#[derive(Debug)]
pub(super) struct MappedSegment {
    memory: SegmentMemory,
    map: MmapRaw,
    file: std::fs::File,
}

impl MappedSegment {
    pub(super) fn create(path: &Path, len: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        let made = Self::reserve_and_map(file, len);
        if made.is_err() {
            // Nobody knows the file yet; leave nothing behind that recovery would have to explain.
            let _best_effort = std::fs::remove_file(path);
        }
        made
    }

    fn reserve_and_map(file: std::fs::File, len: usize) -> io::Result<Self> {
        // Reserving the blocks is what makes a mapped write safe: a hole that the device cannot fill
        // would be a SIGBUS in the middle of somebody's log call.
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, len as u64)?;
        let map = MmapOptions::new().len(len).map_raw(&file)?;
        prefault(&map);
        Self::new(file, map)
    }

    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).open(path)?;
        let len = file.metadata()?.len();
        let len = usize::try_from(len).map_err(|_| io::Error::other("the file does not fit in memory"))?;
        if len == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the segment is empty"));
        }
        let map = MmapOptions::new().len(len).map_raw_read_only(&file)?;
        Self::new(file, map)
    }

    fn new(file: std::fs::File, map: MmapRaw) -> io::Result<Self> {
        let start = NonNull::new(map.as_mut_ptr()).ok_or_else(|| io::Error::other("mapped at null"))?;
        // SAFETY: the mapping is page-aligned, has this length, and lives as long as `map`, which is kept
        // beside the memory. Only a segment from `create` is ever written.
        let memory = unsafe { SegmentMemory::new(start, map.len()) };
        Ok(Self { memory, map, file })
    }
}

/// Takes the page faults of a fresh segment now, off the writers' path.
fn prefault(map: &MmapRaw) {
    #[cfg(target_os = "linux")]
    // SAFETY: the range is exactly the mapping, and populating changes no byte of it.
    let _older_kernels_fault_later = unsafe {
        rustix::mm::madvise(map.as_mut_ptr().cast(), map.len(), rustix::mm::Advice::LinuxPopulateWrite)
    };
    #[cfg(not(target_os = "linux"))]
    let _faults_later = map;
}

impl Segment for MappedSegment {
    fn memory(&self) -> &SegmentMemory {
        &self.memory
    }

    fn is_mapped(&self) -> bool {
        true
    }

    fn publish(&self, _offset: usize, _len: usize) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self, offset: usize, len: usize) -> io::Result<()> {
        // msync of a range is an fdatasync of that range, the mapping's dirty pages included.
        self.map.flush_range(offset, len)
    }

    fn truncate(&self, len: usize) -> io::Result<()> {
        self.file.set_len(len as u64)
    }
}

/// Memory of our own, written to the file on demand: for file systems that cannot reserve or map.
#[derive(Debug)]
pub(super) struct UnmappedSegment {
    memory: SegmentMemory,
    start: NonNull<u8>,
    layout: Layout,
    file: OsFile,
}

// SAFETY: `start` is owned by this value and only reached through `memory`, which is shared soundly.
unsafe impl Send for UnmappedSegment {}
// SAFETY: as above.
unsafe impl Sync for UnmappedSegment {}

impl UnmappedSegment {
    pub(super) fn create(path: &Path, len: usize) -> io::Result<Self> {
        let layout = Layout::from_size_align(len, 4096).map_err(io::Error::other)?;
        if len == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a segment needs at least one byte"));
        }
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        file.set_len(len as u64)?;
        // SAFETY: the layout's size is not zero.
        let Some(start) = NonNull::new(unsafe { alloc_zeroed(layout) }) else { handle_alloc_error(layout) };
        // SAFETY: freshly allocated with this length and alignment; freed only in `drop`.
        let memory = unsafe { SegmentMemory::new(start, len) };
        Ok(Self { memory, start, layout, file: OsFile(file) })
    }
}

impl Drop for UnmappedSegment {
    fn drop(&mut self) {
        // SAFETY: allocated in `create` with this layout, and nobody can hold a slice of it any more.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

impl Segment for UnmappedSegment {
    fn memory(&self) -> &SegmentMemory {
        &self.memory
    }

    fn is_mapped(&self) -> bool {
        false
    }

    fn publish(&self, offset: usize, len: usize) -> io::Result<()> {
        // SAFETY: the writer publishes what it has finished writing, and writes it no more.
        let bytes = unsafe { self.memory.slice(offset, len) };
        self.file.write_all_at(bytes, offset as u64)
    }

    fn sync(&self, _offset: usize, _len: usize) -> io::Result<()> {
        self.file.sync_data()
    }

    fn truncate(&self, len: usize) -> io::Result<()> {
        self.file.set_len(len as u64)
    }
}
