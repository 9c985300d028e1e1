//! Opening an LSM tree read-only while another writes to it, at the worst of moments.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen_engine::io::sim::Sim;
use duramen_engine::io::{DirEntry, Env, File, Fs, Lock, OpenMode, Segment};
use duramen_engine::kv::Engine;
use duramen_engine::lsm::{Lsm, LsmOptions};
use duramen_engine::wal::{Background, WalRecoveryMode};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

const DIR: &str = "store";

fn options(env: Env) -> LsmOptions {
    LsmOptions {
        env,
        background: Background::Manual,
        write_buffer_size: 64 << 10,
        wal_recovery_mode: WalRecoveryMode::AbsoluteConsistency,
        ..LsmOptions::default()
    }
}

type Then = Box<dyn FnOnce() + Send>;

/// Does something once, after a segment of this name was opened.
struct Hook {
    fs: Arc<dyn Fs>,
    name: &'static str,
    then: Mutex<Option<Then>>,
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Fs for Hook {
    fn open_segment(&self, path: &Path) -> io::Result<Arc<dyn Segment>> {
        let opened = self.fs.open_segment(path);
        if path.ends_with(self.name)
            && let Some(then) = self.then.lock().unwrap().take()
        {
            then();
        }
        opened
    }
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.fs.open(path, mode)
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

/// The reader opens `name`; then the writer comes to its next segment, which has been there without a header if `begun`.
fn reads_while_the_writer_goes_on(name: &'static str, begun: bool) {
    let sim = Sim::new(1);
    let fs = sim.env().fs;
    let store = Arc::new(Lsm::open(DIR, options(sim.env())).unwrap());
    store.put(b"a", b"1").unwrap();
    let first = sim.files().into_iter().find(|file| file.ends_with("00000001.wal")).unwrap();
    let next = Path::new(&first).with_file_name("00000002.wal");
    if begun {
        fs.create_segment(&next, 64 << 10).unwrap();
    }
    let (writer, on) = (Arc::clone(&store), Arc::clone(&fs));
    let then = Box::new(move || {
        if begun {
            // The same file, made to its end.
            on.remove_file(&next).unwrap();
        }
        writer.put(b"b", &[7; 60_000]).unwrap();
        assert!(on.exists(&next).unwrap());
    });
    let hook = Arc::new(Hook { fs, name, then: Mutex::new(Some(then)) });
    let mut env = sim.env();
    env.fs = Arc::clone(&hook) as Arc<dyn Fs>;
    let reader = Lsm::open_read_only(DIR, options(env)).unwrap();
    assert!(hook.then.lock().unwrap().is_none());
    assert!(reader.recovery().damage.is_empty(), "{:?}", reader.recovery());
    assert_eq!(reader.get(b"a").unwrap().unwrap(), b"1");
}

#[test]
fn a_segment_that_is_just_being_made_is_not_missed() {
    reads_while_the_writer_goes_on("00000002.wal", true);
}

#[test]
fn a_segment_that_is_made_after_the_look_is_not_missed() {
    reads_while_the_writer_goes_on("00000001.wal", false);
}
