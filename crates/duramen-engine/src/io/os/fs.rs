//! The operating system's file system.
#![allow(clippy::disallowed_methods)] // the io layer is where files are touched

use super::file::{OsFile, OsLock};
use super::file_size;
use super::fork::NotInherited;
use super::kept_back;
use super::segment::MappedSegment;
use super::unmapped::UnmappedSegment;
#[cfg(target_os = "linux")]
use crate::io::Watch;
use crate::io::{DirEntry, File, Fs, Lock, OpenMode, Segment};
use std::fs::{self, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The operating system's file system.
#[derive(Debug)]
pub struct OsFs;

impl Fs for OsFs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut options = OpenOptions::new();
        options.read(true);
        if mode != OpenMode::Read {
            file_size::look();
        }
        match mode {
            OpenMode::Read => must_be_file(path)?,
            OpenMode::ReadWrite => {
                must_be_file(path)?;
                options.write(true);
            }
            OpenMode::CreateNew => {
                options.write(true).create_new(true);
            }
        }
        Ok(Arc::new(OsFile(options.open(path)?)))
    }

    fn create_segment(&self, path: &Path, len: usize) -> io::Result<Arc<dyn Segment>> {
        Ok(Arc::new(MappedSegment::create(path, len)?))
    }

    fn create_unmapped_segment(&self, path: &Path, len: usize) -> io::Result<Arc<dyn Segment>> {
        Ok(Arc::new(UnmappedSegment::create(path, len)?))
    }

    fn open_segment(&self, path: &Path) -> io::Result<Arc<dyn Segment>> {
        Ok(Arc::new(MappedSegment::open(path)?))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            // What is a directory is told by the listing itself. A file may go between that and the look at it; then it is not there.
            let looked = entry.file_type().and_then(|kind| {
                let len = if kind.is_dir() { 0 } else { entry.metadata()?.len() };
                Ok((kind, len))
            });
            let (kind, len) = match looked {
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            let (is_file, len) =
                if kind.is_symlink() { look_behind(&entry.path()) } else { (kind.is_file(), len) };
            if let Ok(name) = entry.file_name().into_string() {
                entries.push(DirEntry { name, is_dir: kind.is_dir(), is_file, len });
            }
        }
        Ok(entries)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        // What a link leads to, not the link: beside another directory that may lead nowhere.
        use rustix::fs::{AtFlags, CWD, linkat};
        Ok(linkat(CWD, from, CWD, to, AtFlags::SYMLINK_FOLLOW)?)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        kept_back::with_one(|| fs::File::open(path), |dir| dir.sync_all())
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists().or_else(|e| if leads_to_itself(&e) { Ok(false) } else { Err(e) })
    }

    fn links(&self, path: &Path) -> io::Result<u64> {
        Ok(fs::symlink_metadata(path)?.nlink())
    }

    fn available_bytes(&self, path: &Path) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(path)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        must_be_file(path).or_else(|e| if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) })?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = NotInherited::open(|| options.open(path))?;
        match file.file().try_lock() {
            Ok(()) => Ok(Some(Box::new(OsLock::new(file)))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(e),
        }
    }

    fn try_lock_shared(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        must_be_file(path)?;
        let file = NotInherited::open(|| fs::File::open(path))?;
        match file.file().try_lock_shared() {
            Ok(()) => Ok(Some(Box::new(OsLock::new(file)))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(e),
        }
    }

    #[cfg(target_os = "linux")]
    fn watch(&self) -> Option<Box<dyn Watch>> {
        Some(Box::<super::watch::OsWatch>::default())
    }
}

/// Refuses what is there and is no file: opening a pipe waits for who writes to it, and what a device tells of itself is not so.
/// Asked before, for who opens without waiting may be refused a file as well (`fcntl(2)`: a lease on it).
pub(super) fn must_be_file(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => return Ok(()),
        Err(e) if !leads_to_itself(&e) => return Err(e),
        _ => {}
    }
    let what = "it is no file, but a directory, a pipe, a socket, a device or a link to itself";
    Err(io::Error::new(io::ErrorKind::IsADirectory, what))
}

/// Whether links lead nowhere else: as with one that leads to what is not there, nothing is there.
fn leads_to_itself(error: &io::Error) -> bool {
    rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP)
}

/// Whether a link leads to a file, and its length. Of what cannot be looked at, whoever opens it hears why.
fn look_behind(link: &Path) -> (bool, u64) {
    match fs::metadata(link) {
        Ok(found) => (found.is_file(), found.len()),
        Err(e) => (e.kind() != io::ErrorKind::NotFound && !leads_to_itself(&e), 0),
    }
}
