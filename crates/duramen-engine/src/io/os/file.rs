//! Files by their descriptors.

use super::file_size;
use super::fork::NotInherited;
use crate::io::{File, Lock};
use rustix::fs::{Advice, fadvise};
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;

/// An open file.
#[derive(Debug)]
pub(super) struct OsFile(pub(super) std::fs::File);

impl File for OsFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        file_size::check(offset.saturating_add(buf.len() as u64))?;
        self.0.write_at(buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        // A file that is over the limit already may be cut.
        file_size::check(len).or_else(|e| if self.len()? < len { Err(e) } else { Ok(()) })?;
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn will_read(&self, offset: u64, len: u64) {
        // No length would mean all there is.
        if let Some(len) = NonZeroU64::new(len) {
            let _only_a_hint = fadvise(&self.0, offset, Some(len), Advice::WillNeed);
        }
    }
}

/// A lock, held as long as the descriptor is open, and by this process only.
#[derive(Debug)]
pub(super) struct OsLock {
    _file: NotInherited,
}

impl OsLock {
    pub(super) fn new(file: NotInherited) -> Self {
        Self { _file: file }
    }
}

impl Lock for OsLock {}
