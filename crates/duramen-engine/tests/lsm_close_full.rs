//! A close that finds no room for its edit, while a write is still coming in.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen_engine::io::sim::Sim;
use duramen_engine::io::{DirEntry, Fs, Lock, OpenMode, Segment};
use duramen_engine::kv::{Engine, WriteBatch, WriteOptions};
use duramen_engine::lsm::{Lsm, LsmOptions};
use duramen_engine::wal::Background;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

type Then = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

/// Files of which the next write into a manifest does something first, and then finds no room.
struct FullOnce {
    fs: Arc<dyn Fs>,
    then: Then,
}

struct FullFile {
    file: Arc<dyn duramen_engine::io::File>,
    then: Then,
}

impl fmt::Debug for FullOnce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FullOnce")
    }
}

impl fmt::Debug for FullFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FullFile")
    }
}

impl duramen_engine::io::File for FullFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        match self.then.lock().unwrap().take() {
            None => self.file.write_at(buf, offset),
            Some(then) => {
                then();
                Err(io::ErrorKind::StorageFull.into())
            }
        }
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

impl Fs for FullOnce {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn duramen_engine::io::File>> {
        let file = self.fs.open(path, mode)?;
        if !path.to_string_lossy().contains("MANIFEST") {
            return Ok(file);
        }
        Ok(Arc::new(FullFile { file, then: Arc::clone(&self.then) }))
    }
    fn open_segment(&self, path: &Path) -> io::Result<Arc<dyn Segment>> {
        self.fs.open_segment(path)
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

#[test]
fn a_write_that_comes_in_while_a_close_finds_no_room_is_kept() {
    for _ in 0..4 {
        let sim = Sim::new(1);
        let options = |env| LsmOptions {
            env,
            background: Background::Manual,
            write_buffer_size: 80 << 20,
            ..LsmOptions::default()
        };
        let then = Then::default();
        let mut env = sim.env();
        env.fs = Arc::new(FullOnce { fs: Arc::clone(&env.fs), then: Arc::clone(&then) });
        let store = Arc::new(Lsm::open("store", options(env)).unwrap());
        let mut batch = WriteBatch::new();
        for n in 0..60u32 {
            batch.put(&n.to_le_bytes(), &vec![7; 1 << 20]).unwrap();
        }
        let begun = Arc::<AtomicBool>::default();
        let writer = std::thread::spawn({
            let (store, begun) = (Arc::clone(&store), Arc::clone(&begun));
            move || {
                begun.store(true, Ordering::SeqCst);
                store.write(&batch, WriteOptions::default())
            }
        });
        let written = Arc::<Mutex<_>>::default();
        *then.lock().unwrap() = Some(Box::new({
            let written = Arc::clone(&written);
            move || *written.lock().unwrap() = Some(writer.join().unwrap())
        }));
        while !begun.load(Ordering::SeqCst) {
            std::hint::spin_loop();
        }
        let _either_way = store.close();
        drop(store);
        let written = written.lock().unwrap().take();
        sim.crash_process();
        let again = Lsm::open("store", options(sim.env())).unwrap();
        // Refused, it may be missing.
        if matches!(written, Some(Ok(_))) {
            assert!(again.get(&0u32.to_le_bytes()).unwrap().is_some(), "it was acknowledged");
        }
    }
}
