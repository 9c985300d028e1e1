//! A segment that is read as a file, where the file system cannot map it: its bytes are copied into memory of our
//! own as far as they count, and further whenever somebody looks for more.
#![allow(unsafe_code)] // writes the memory that readers below a counter share

use super::anonymous::AnonymousSegment;
use super::format::{COMMITTED, FIRST_RECORD, FIRST_SEQ, IDENTITY_BYTES, PUBLISHED, SEALED, SYNCED};
use crate::io::{Env, File, OpenMode, Segment, SegmentMemory};
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A segment's file and the part of it that was read. Any thread may use it.
///
/// As with a mapping, bytes are written before the counter that covers them is raised, and never again: here by
/// whoever holds `reading`.
#[derive(Debug)]
pub(super) struct LoadedSegment {
    copy: AnonymousSegment,
    reading: Mutex<Reading>,
}

#[derive(Debug)]
struct Reading {
    /// As long as there may be something to read: whoever has many of them has few descriptors.
    file: Option<Arc<dyn File>>,
    /// How many bytes of the file are in the copy.
    loaded: usize,
}

impl LoadedSegment {
    /// Opens the file and reads its header; `UnexpectedEof` if it is empty.
    pub(super) fn open(env: &Env, path: &Path) -> io::Result<Self> {
        let file = env.fs.open(path, OpenMode::Read)?;
        let len =
            usize::try_from(file.len()?).map_err(|_| io::Error::other("the file does not fit in memory"))?;
        if len == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the segment is empty"));
        }
        let reading = Mutex::new(Reading { file: Some(file), loaded: 0 });
        let this = Self { copy: AnonymousSegment::new(len)?, reading };
        // Of the header no more: its counters must not cover bytes that are not here.
        this.load(&mut this.reading(), IDENTITY_BYTES)?;
        this.reading().loaded = FIRST_RECORD.min(len);
        Ok(this)
    }

    fn reading(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what is there now: the bytes that the counter at `limit` covers, and then the counters. The file has
    /// a whole header.
    pub(super) fn follow(&self, limit: usize) -> io::Result<()> {
        let mut reading = self.reading();
        let Some(file) = reading.file.clone() else { return Ok(()) };
        // In this order: a segment seen sealed has its final limit.
        let sealed = counter_in_file(&*file, SEALED)?;
        let first_seq = counter_in_file(&*file, FIRST_SEQ)?;
        let end = counter_in_file(&*file, limit)?;
        self.load(&mut reading, usize::try_from(end).unwrap_or(usize::MAX))?;
        for (counter, value) in [(FIRST_SEQ, first_seq), (limit, end), (SEALED, sealed)] {
            self.memory().counter(counter).fetch_max(value, Ordering::AcqRel);
        }
        if sealed != 0 {
            reading.file = None;
        }
        Ok(())
    }

    /// Reads all of it, whatever its counters say, which is all that is ever read of it.
    pub(super) fn load_all(&self) -> io::Result<()> {
        let mut reading = self.reading();
        self.load(&mut reading, self.memory().len())?;
        if let Some(file) = reading.file.take()
            && self.memory().len() >= FIRST_RECORD
        {
            for counter in [SYNCED, COMMITTED, PUBLISHED] {
                let value = counter_in_file(&*file, counter)?;
                self.memory().counter(counter).fetch_max(value, Ordering::AcqRel);
            }
        }
        Ok(())
    }

    /// Has the first `end` bytes of the file, or all there are, in the copy.
    fn load(&self, reading: &mut Reading, end: usize) -> io::Result<()> {
        let end = end.min(self.memory().len());
        let Reading { file: Some(file), loaded } = reading else { return Ok(()) };
        let mut buffer = vec![0; end.saturating_sub(*loaded).min(1 << 20)];
        while *loaded < end {
            let part = buffer.len().min(end - *loaded);
            let Some(part) = buffer.get_mut(..part) else { break };
            file.read_exact_at(part, *loaded as u64)?;
            // SAFETY: only the holder of `reading` writes, each byte once, and no counter covers these yet.
            unsafe { self.memory().write(*loaded, part) };
            *loaded += part.len();
        }
        Ok(())
    }
}

/// A counter as the file has it now.
fn counter_in_file(file: &dyn File, offset: usize) -> io::Result<u64> {
    let read = || -> io::Result<u64> {
        let mut word = [0; 8];
        file.read_exact_at(&mut word, offset as u64)?;
        Ok(u64::from_ne_bytes(word))
    };
    // The kernel copies the word byte by byte if it likes: believe what was seen twice.
    let mut value = read()?;
    loop {
        let again = read()?;
        if again == value {
            return Ok(value);
        }
        value = again;
    }
}

impl Segment for LoadedSegment {
    fn memory(&self) -> &SegmentMemory {
        self.copy.memory()
    }

    fn is_mapped(&self) -> bool {
        false
    }

    fn publish(&self, _offset: usize, _len: usize) -> io::Result<()> {
        Err(only_read())
    }

    fn sync(&self, _offset: usize, _len: usize) -> io::Result<()> {
        Err(only_read())
    }

    fn sync_zeros(&self, _len: usize) -> io::Result<()> {
        Err(only_read())
    }

    fn truncate(&self, _len: usize) -> io::Result<()> {
        Err(only_read())
    }
}

fn only_read() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the segment was opened for reading")
}

#[cfg(test)]
mod tests {
    use crate::io::OpenMode;
    use crate::io::sim::Sim;
    use crate::wal::{
        SegmentReader, Wal, WalOptions, WalRecoveryMode, WriteOptions, lock_writer_dir, recover,
    };
    use std::path::Path;

    #[test]
    fn any_file_is_read_or_refused_and_never_a_panic() {
        let sim = Sim::new(1);
        sim.refuse_mapping(true);
        let env = sim.env();
        let wal = Wal::create(&env, Path::new("/wal"), WalOptions::default()).unwrap();
        for n in 0..20u8 {
            wal.append(0, 1, &[n; 100], WriteOptions::default()).unwrap();
        }
        let dir = wal.writer_dir().unwrap().to_path_buf();
        let path = dir.join("00000001.wal");
        drop(wal);
        sim.crash_process();
        let env = sim.env();
        let _lock = lock_writer_dir(&env, &dir).unwrap().unwrap();
        let whole = sim.read_file(&path).unwrap();
        let lengths = [1, 64, 130, 330, 4095, 4096, 4100, 5000, 6000, whole.len()];
        for (i, len) in lengths.into_iter().enumerate() {
            for flipped in [None, Some(8 * (i + 3)), Some(8 * 385 + 3), Some(8 * 4200)] {
                let mut bytes = whole.get(..len).unwrap().to_vec();
                if let Some(byte) = flipped.and_then(|bit| bytes.get_mut(bit / 8)) {
                    *byte ^= 1 << (i % 8);
                }
                env.fs.remove_file(&path).unwrap();
                env.fs.open(&path, OpenMode::CreateNew).unwrap().write_all_at(&bytes, 0).unwrap();
                if let Ok(Some(reader)) = SegmentReader::open(&env, &path) {
                    let mut at = reader.start();
                    while let Ok(Some((_, next))) = reader.next_record(at) {
                        at = next;
                    }
                }
                let _told_or_offered = recover(&env, &dir, WalRecoveryMode::SkipAnyCorrupted);
            }
        }
    }
}
