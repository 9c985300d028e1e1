//! Segments that are a file's pages, mapped into memory.
#![allow(unsafe_code, clippy::disallowed_methods)] // mapping files is unsafe by nature, and this is the io layer

use super::file::OsFile;
use super::fs::must_be_file;
use super::reserve::{create_file, forget_file, or_unsupported, reserve_for_mapping};
use crate::io::{File, Segment, SegmentMemory};
use memmap2::{MmapOptions, MmapRaw};
use std::fs::OpenOptions;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::ptr::NonNull;

/// A file mapped into memory, shared with whoever else maps it.
#[derive(Debug)]
pub(super) struct MappedSegment {
    memory: SegmentMemory,
    map: MmapRaw,
    /// Of one that is written. One that is only read keeps no descriptor: the mapping needs none, and a dead writer may have left
    /// more segments than a process may have files open.
    file: Option<OsFile>,
}

impl MappedSegment {
    pub(super) fn create(path: &Path, len: usize) -> io::Result<Self> {
        let file = create_file(path, len)?;
        Self::reserve_and_map(file, len).inspect_err(|_| forget_file(path))
    }

    fn reserve_and_map(file: std::fs::File, len: usize) -> io::Result<Self> {
        // Reserving the blocks is what makes a mapped write safe: a hole that the device cannot fill
        // would be a SIGBUS in the middle of somebody's log call.
        reserve_for_mapping(&file, len as u64)?;
        let map = MmapOptions::new().len(len).map_raw(&file).map_err(or_unsupported)?;
        Self::new(map, Some(OsFile(file)))
    }

    pub(super) fn open(path: &Path) -> io::Result<Self> {
        must_be_file(path)?;
        let file = OpenOptions::new().read(true).open(path)?;
        let len = file.metadata()?.len();
        let len = usize::try_from(len).map_err(|_| io::Error::other("the file does not fit in memory"))?;
        if len == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the segment is empty"));
        }
        let map = MmapOptions::new().len(len).map_raw_read_only(&file).map_err(or_unsupported)?;
        Self::new(map, None)
    }

    fn new(map: MmapRaw, file: Option<OsFile>) -> io::Result<Self> {
        let start = NonNull::new(map.as_mut_ptr()).ok_or_else(|| io::Error::other("mapped at null"))?;
        // SAFETY: the mapping is page-aligned, has this length, and lives as long as `map`, which is kept
        // beside the memory. Only a segment from `create` is ever written.
        let memory = unsafe { SegmentMemory::new(start, map.len()) };
        Ok(Self { memory, map, file })
    }

    fn written_file(&self) -> io::Result<&OsFile> {
        let only_read = || io::Error::new(io::ErrorKind::InvalidInput, "the segment was opened for reading");
        self.file.as_ref().ok_or_else(only_read)
    }

    /// The part of the segment from `offset` on, `len` bytes long or to its end. The kernel wants it to begin with a page.
    fn pages(&self, offset: usize, len: usize) -> Range<usize> {
        offset / 4096 * 4096..offset.saturating_add(len).min(self.memory.len())
    }
}

/// That `offset..offset + len` lies in the segment.
pub(super) fn check(memory: &SegmentMemory, offset: usize, len: usize) -> io::Result<()> {
    match offset.checked_add(len) {
        Some(end) if end <= memory.len() => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "outside the segment")),
    }
}

/// Writes zeros over the first `len` bytes of a file that has nothing else there, and syncs them.
pub(super) fn sync_zeros(file: &OsFile, len: usize) -> io::Result<()> {
    // In pieces as small as what will be synced: the kernel caches a file in the pieces in which it was written, and
    // a byte that changes has all of its piece written again.
    const STEP: usize = 4 << 10;
    let zeros = vec![0; STEP.min(len)];
    for at in (0..len).step_by(STEP) {
        file.write_all_at(&zeros[..STEP.min(len - at)], at as u64)?;
    }
    file.sync_data()
}

/// Takes the page faults of a part of a segment now, off the writers' path. `Unsupported` if that cannot be had.
pub(super) fn populate(map: &MmapRaw, offset: usize, len: usize) -> io::Result<()> {
    if offset.checked_add(len).is_none_or(|end| end > map.len()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "outside the segment"));
    }
    #[cfg(target_os = "linux")]
    // SAFETY: the range lies in the mapping, and populating changes no byte of it; where the file has been cut
    // meanwhile it fails, without a signal.
    return Ok(unsafe {
        let start = map.as_mut_ptr().add(offset).cast();
        rustix::mm::madvise(start, len, rustix::mm::Advice::LinuxPopulateWrite)
    }?);
    #[cfg(not(target_os = "linux"))]
    Err(io::Error::new(io::ErrorKind::Unsupported, "memory cannot be asked for here"))
}

impl Segment for MappedSegment {
    fn memory(&self) -> &SegmentMemory {
        &self.memory
    }

    fn is_mapped(&self) -> bool {
        true
    }

    fn publish(&self, offset: usize, len: usize) -> io::Result<()> {
        check(&self.memory, offset, len)
    }

    fn write_by_call(&self, offset: usize, bytes: &[u8]) -> io::Result<()> {
        check(&self.memory, offset, bytes.len())?;
        // Linux says that a shared mapping and calls have the same pages. A segment that was opened is not written.
        match &self.file {
            Some(file) if cfg!(target_os = "linux") => file.write_all_at(bytes, offset as u64),
            _ => Err(io::Error::new(io::ErrorKind::Unsupported, "a call does not reach the memory")),
        }
    }

    fn sync(&self, offset: usize, len: usize) -> io::Result<()> {
        check(&self.memory, offset, len)?;
        let file = self.written_file()?;
        // On Linux, msync of a range is an fdatasync of that range, the mapping's dirty pages included. Elsewhere it may stop
        // at the device's cache; there the whole file is synced.
        if cfg!(target_os = "linux") { self.map.flush_range(offset, len) } else { file.sync_data() }
    }

    fn sync_zeros(&self, len: usize) -> io::Result<()> {
        check(&self.memory, 0, len)?;
        sync_zeros(self.written_file()?, len)
    }

    fn fill(&self, len: usize, piece_bytes: usize) {
        if let Some(file) = &self.file {
            super::pieces::fill(&file.0, &self.map, len.min(self.map.len()), piece_bytes);
        }
    }

    fn prefault(&self, offset: usize, len: usize) {
        let Range { start, end } = self.pages(offset, len);
        if self.file.is_some() && start < end {
            let _older_kernels_fault_later = populate(&self.map, start, end - start);
        }
    }

    fn unload(&self, offset: usize, len: usize) {
        let Range { start, end } = self.pages(offset, len);
        #[cfg(target_os = "linux")]
        if start < end {
            // SAFETY: the range lies in the mapping, which is shared: its bytes stay in the file's pages, and the
            // next access maps them again.
            let _it_is_only_a_hint = unsafe {
                let at = self.map.as_mut_ptr().add(start).cast();
                rustix::mm::madvise(at, end - start, rustix::mm::Advice::LinuxDontNeed)
            };
        }
        #[cfg(not(target_os = "linux"))]
        let _nothing_to_do = start..end;
    }

    fn truncate(&self, len: usize) -> io::Result<()> {
        check(&self.memory, len, 0)?;
        self.written_file()?.set_len(len as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How much of a segment counts as this process's memory.
    #[cfg(target_os = "linux")]
    fn resident_kib(segment: &MappedSegment) -> u64 {
        let start = format!("{:x}-", segment.map.as_mut_ptr().addr());
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut of_it = maps.lines().skip_while(|line| !line.starts_with(&start));
        let rss = of_it.find_map(|line| line.strip_prefix("Rss:")).unwrap();
        rss.trim().trim_end_matches(" kB").parse().unwrap()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_that_is_given_back_does_not_count_as_the_processs() {
        let dir = tempfile::tempdir().unwrap();
        let segment = MappedSegment::create(&dir.path().join("a"), 1 << 20).unwrap();
        // SAFETY: nobody writes to it.
        let sum: u64 = unsafe { segment.memory.slice(0, 1 << 20) }.iter().map(|&byte| u64::from(byte)).sum();
        assert_eq!((sum, resident_kib(&segment)), (0, 1024));
        segment.unload(256 << 10, 512 << 10);
        assert_eq!(resident_kib(&segment), 512);
        segment.unload(0, usize::MAX);
        assert_eq!(resident_kib(&segment), 0);
    }
}
