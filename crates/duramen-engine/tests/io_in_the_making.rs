//! Making a directory whole: what is somebody else's stays.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen_engine::Error;
use duramen_engine::io::sim::Sim;
use duramen_engine::io::{DirEntry, File, Fs, InTheMaking, Lock, OpenMode, Segment};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Somebody puts a file into the directory just before the mark is made in it, once.
#[derive(Debug)]
struct Hook {
    fs: Arc<dyn Fs>,
    armed: AtomicBool,
}
impl Fs for Hook {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        if mode == OpenMode::CreateNew && path.ends_with("MARK") && self.armed.swap(false, Ordering::Relaxed)
        {
            self.fs.open(&path.with_file_name("precious"), OpenMode::CreateNew)?.write_all_at(b"mine", 0)?;
        }
        self.fs.open(path, mode)
    }
    fn create_segment(&self, p: &Path, l: usize) -> io::Result<Arc<dyn Segment>> {
        self.fs.create_segment(p, l)
    }
    fn create_unmapped_segment(&self, p: &Path, l: usize) -> io::Result<Arc<dyn Segment>> {
        self.fs.create_unmapped_segment(p, l)
    }
    fn open_segment(&self, p: &Path) -> io::Result<Arc<dyn Segment>> {
        self.fs.open_segment(p)
    }
    fn create_dir_all(&self, p: &Path) -> io::Result<()> {
        self.fs.create_dir_all(p)
    }
    fn read_dir(&self, p: &Path) -> io::Result<Vec<DirEntry>> {
        self.fs.read_dir(p)
    }
    fn rename(&self, a: &Path, b: &Path) -> io::Result<()> {
        self.fs.rename(a, b)
    }
    fn remove_file(&self, p: &Path) -> io::Result<()> {
        self.fs.remove_file(p)
    }
    fn remove_dir(&self, p: &Path) -> io::Result<()> {
        self.fs.remove_dir(p)
    }
    fn hard_link(&self, a: &Path, b: &Path) -> io::Result<()> {
        self.fs.hard_link(a, b)
    }
    fn sync_dir(&self, p: &Path) -> io::Result<()> {
        self.fs.sync_dir(p)
    }
    fn absolute(&self, p: &Path) -> PathBuf {
        self.fs.absolute(p)
    }
    fn exists(&self, p: &Path) -> io::Result<bool> {
        self.fs.exists(p)
    }
    fn links(&self, p: &Path) -> io::Result<u64> {
        self.fs.links(p)
    }
    fn available_bytes(&self, p: &Path) -> io::Result<u64> {
        self.fs.available_bytes(p)
    }
    fn try_lock(&self, p: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        self.fs.try_lock(p)
    }
    fn try_lock_shared(&self, p: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        self.fs.try_lock_shared(p)
    }
}

#[test]
fn a_file_that_comes_into_an_empty_directory_is_not_removed() {
    let sim = Sim::new(1);
    let mut env = sim.env();
    env.fs.create_dir_all(Path::new("copy.tmp")).unwrap();
    env.fs = Arc::new(Hook { fs: env.fs, armed: AtomicBool::new(true) });
    let making = InTheMaking { what: "copy", mark: "MARK", opened: "OPENED" };
    let make = || making.make(&env, Path::new("copy"), |_| Ok::<_, Error>(()));
    assert!(matches!(make(), Err(Error::Locked { .. })));
    for _ in 0..2 {
        let refused = make().unwrap_err().to_string();
        assert!(refused.contains("with `precious` in it"), "{refused}");
    }
    assert_eq!(sim.read_file(Path::new("copy.tmp/precious")).unwrap(), b"mine");
}
