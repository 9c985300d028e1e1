//! Directories, file names, and the lock that tells a living writer from a dead one.

use crate::io::{Env, Lock};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// The name of the lock file in a writer's directory.
pub(super) const LOCK: &str = "LOCK";

/// A writer's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterDir {
    /// Whose it is.
    pub writer_id: u64,
    /// Where it is.
    pub path: PathBuf,
}

/// A segment's file, as the directory lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentFile {
    /// Its number, from its name.
    pub number: u64,
    /// Where it is.
    pub path: PathBuf,
    /// Its length in bytes.
    pub len: u64,
}

/// The directory of a writer: 16 hexadecimal digits.
pub fn writer_dir(wal_dir: &Path, writer_id: u64) -> PathBuf {
    wal_dir.join(format!("{writer_id:016x}"))
}

/// The file of a segment: eight decimal digits, or more.
pub fn segment_path(writer_dir: &Path, number: u64) -> PathBuf {
    writer_dir.join(format!("{number:08}.wal"))
}

/// Whose directory this is, if its name is a writer's.
pub(super) fn parse_writer_dir(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let id = u64::from_str_radix(name, 16).ok()?;
    (format!("{id:016x}") == name).then_some(id)
}

/// The number in a segment's name, if it is one.
pub(super) fn parse_segment_name(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let number: u64 = name.strip_suffix(".wal")?.parse().ok()?;
    (number > 0 && format!("{number:08}.wal") == name).then_some(number)
}

/// The writers that have a directory, alive or dead, by id. What else lies there is left out; no directory is
/// no writers.
///
/// # Errors
/// What the file system said.
pub fn writers(env: &Env, wal_dir: &Path) -> Result<Vec<WriterDir>> {
    let listed = match env.fs.read_dir(wal_dir) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(Error::io("list", wal_dir))?,
    };
    let mut found: Vec<WriterDir> = listed
        .into_iter()
        .filter(|entry| entry.is_dir)
        .filter_map(|entry| {
            let path = wal_dir.join(entry.name);
            Some(WriterDir { writer_id: parse_writer_dir(&path)?, path })
        })
        .collect();
    found.sort_by_key(|w| w.writer_id);
    Ok(found)
}

/// The segments in a writer's directory, by number. What else lies there is left out; no directory is no
/// segments.
///
/// # Errors
/// What the file system said.
pub fn segments(env: &Env, writer_dir: &Path) -> Result<Vec<SegmentFile>> {
    let listed = match env.fs.read_dir(writer_dir) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(Error::io("list", writer_dir))?,
    };
    let mut found: Vec<SegmentFile> = listed
        .into_iter()
        .filter(|entry| entry.is_file)
        .filter_map(|entry| {
            let path = writer_dir.join(entry.name);
            Some(SegmentFile { number: parse_segment_name(&path)?, path, len: entry.len })
        })
        .collect();
    found.sort_by_key(|s| s.number);
    Ok(found)
}

/// Takes the lock of a writer's directory; `None` while the writer lives (or somebody else recovers it). Hold
/// it while recovering, so that nobody else does, and while removing the directory.
///
/// # Errors
/// What the file system said.
pub fn lock_writer_dir(env: &Env, writer_dir: &Path) -> Result<Option<Box<dyn Lock>>> {
    let path = writer_dir.join(LOCK);
    env.fs.try_lock(&path).map_err(Error::io("lock", path))
}
