//! A file system in whose operations a test can do something of its own, or have them fail.

use duramen_engine::io::{DirEntry, File, Fs, Lock, OpenMode, Segment};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the file system is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A file is about to be opened.
    Opens(OpenMode),
    /// A segment was opened.
    HasOpenedSegment,
    /// A file is about to be written.
    Writes,
}

/// Is told of each, with the file's path. Its error is the operation's.
type Hook = dyn Fn(Moment, &Path) -> io::Result<()> + Send + Sync;

pub struct Hooked {
    fs: Arc<dyn Fs>,
    hook: Arc<Hook>,
}

struct HookedFile {
    file: Arc<dyn File>,
    path: PathBuf,
    hook: Arc<Hook>,
}

impl Hooked {
    pub fn over(
        fs: Arc<dyn Fs>,
        hook: impl Fn(Moment, &Path) -> io::Result<()> + Send + Sync + 'static,
    ) -> Arc<dyn Fs> {
        Arc::new(Self { fs, hook: Arc::new(hook) })
    }
}

impl fmt::Debug for Hooked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hooked")
    }
}

impl fmt::Debug for HookedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookedFile")
    }
}

impl File for HookedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        (self.hook)(Moment::Writes, &self.path)?;
        self.file.write_at(buf, offset)
    }
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

impl Fs for Hooked {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        (self.hook)(Moment::Opens(mode), path)?;
        let file = self.fs.open(path, mode)?;
        Ok(Arc::new(HookedFile { file, path: path.to_path_buf(), hook: Arc::clone(&self.hook) }))
    }
    fn open_segment(&self, path: &Path) -> io::Result<Arc<dyn Segment>> {
        let opened = self.fs.open_segment(path)?;
        (self.hook)(Moment::HasOpenedSegment, path)?;
        Ok(opened)
    }
    fn create_segment(&self, path: &Path, len: usize) -> io::Result<Arc<dyn Segment>> {
        self.fs.create_segment(path, len)
    }
    fn create_unmapped_segment(&self, path: &Path, len: usize) -> io::Result<Arc<dyn Segment>> {
        self.fs.create_unmapped_segment(path, len)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.fs.create_dir_all(path)
    }
    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.fs.read_dir(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.fs.rename(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.fs.remove_file(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.fs.remove_dir(path)
    }
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.fs.hard_link(from, to)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.fs.sync_dir(path)
    }
    fn absolute(&self, path: &Path) -> PathBuf {
        self.fs.absolute(path)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.fs.exists(path)
    }
    fn links(&self, path: &Path) -> io::Result<u64> {
        self.fs.links(path)
    }
    fn available_bytes(&self, path: &Path) -> io::Result<u64> {
        self.fs.available_bytes(path)
    }
    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        self.fs.try_lock(path)
    }
    fn try_lock_shared(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        self.fs.try_lock_shared(path)
    }
}
