//! Segments that are memory of our own, written to a file by calls: for file systems that cannot reserve or map, or where a
//! mapped write may find no room.
#![allow(unsafe_code)] // memory that is reached through a raw pointer, and replaced

use super::file::OsFile;
use super::reserve::{create_file, forget_file, reserve_for_calls};
use super::segment::{check, sync_zeros};
use crate::io::{File, Segment, SegmentMemory};
use memmap2::{MmapOptions, MmapRaw};
use std::io;
use std::path::Path;
use std::ptr::{self, NonNull};

/// Memory of our own, written to the file on demand.
#[derive(Debug)]
pub(super) struct UnmappedSegment {
    memory: SegmentMemory,
    map: MmapRaw,
    file: OsFile,
    /// Whether a call that finds no room leaves all as it was; and the file's pages are what calls write.
    plain: bool,
}

impl UnmappedSegment {
    pub(super) fn create(path: &Path, len: usize) -> io::Result<Self> {
        let file = create_file(path, len)?;
        Self::allocate(file, len).inspect_err(|_| forget_file(path))
    }

    fn allocate(file: std::fs::File, len: usize) -> io::Result<Self> {
        let plain = reserve_for_calls(&file, len as u64)?;
        let map = MmapRaw::from(MmapOptions::new().len(len).map_anon()?);
        let start = NonNull::new(map.as_mut_ptr()).ok_or_else(|| io::Error::other("mapped at null"))?;
        // SAFETY: the mapping is page-aligned, has this length, and lives as long as `map`, which is kept beside the memory.
        // `unload` replaces pages of it that are not written any more.
        let memory = unsafe { SegmentMemory::new(start, len) };
        Ok(Self { memory, map, file: OsFile(file), plain })
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
        check(&self.memory, offset, len)?;
        // SAFETY: the writer publishes what it has finished writing, and writes it no more.
        let bytes = unsafe { self.memory.slice(offset, len) };
        self.file.write_all_at(bytes, offset as u64)
    }

    fn may_publish_again(&self) -> bool {
        self.plain
    }

    fn sync(&self, offset: usize, len: usize) -> io::Result<()> {
        check(&self.memory, offset, len)?;
        self.file.sync_data()
    }

    fn sync_zeros(&self, len: usize) -> io::Result<()> {
        check(&self.memory, 0, len)?;
        sync_zeros(&self.file, len)
    }

    /// Puts the file's pages in the place of ours.
    #[cfg(target_os = "linux")]
    fn unload(&self, offset: usize, len: usize) {
        use rustix::mm::{MapFlags, MremapFlags, ProtFlags};
        // SAFETY: it asks a constant.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0);
        let end = offset.saturating_add(len).min(self.memory.len());
        let (Some(start), Some(end)) =
            (offset.checked_next_multiple_of(page), end.checked_div(page).map(|pages| pages * page))
        else {
            return;
        };
        if !self.plain || start >= end {
            return;
        }
        // SAFETY: a new mapping of pages that the file has.
        let pages = unsafe {
            rustix::mm::mmap(
                ptr::null_mut(),
                end - start,
                ProtFlags::READ,
                MapFlags::SHARED,
                &self.file.0,
                start as u64,
            )
        };
        // It is only a hint. Asked to map there at once, the kernel may take away what is there, and then fail.
        let Ok(pages) = pages else { return };
        let len = end - start;
        // SAFETY: whole pages of this mapping, which nobody writes any more, change to pages of the file with the same
        // bytes, at once for who reads them meanwhile. `map` frees all of it in the end. What was not moved is ours alone.
        unsafe {
            let at = self.map.as_mut_ptr().add(start).cast();
            if rustix::mm::mremap_fixed(pages, len, len, MremapFlags::MAYMOVE, at).is_err() {
                let _leaks_addresses = rustix::mm::munmap(pages, len);
            }
        }
    }

    fn truncate(&self, len: usize) -> io::Result<()> {
        check(&self.memory, len, 0)?;
        self.file.set_len(len as u64)
    }
}
