//! The write paths of the two studies that the load study reproduces: a memtable of 64 MiB behind a mutex, a
//! bounded channel, one thread that writes what it is given through a `BufWriter` of 8 KiB. No WAL, no checksums,
//! no index, no reads.

use super::{IN_MEMORY, Side, System, WRITE_BUFFER_BYTES, WRITE_BUFFERS};
use crate::Result;
use crate::case::Study;
use crate::data::{ENTRY_BYTES, Entries, Fold, KEY_BYTES};
use crate::store::{Reader, Session, Store};
use crossbeam_skiplist::SkipMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

pub(super) fn systems() -> Vec<System> {
    let system = |name, settings, open| System {
        name,
        side: Side::Baseline,
        durability: IN_MEMORY,
        settings,
        studies: &[Study::Load],
        goals: &[Study::Load],
        open,
    };
    vec![
        system("generator", "makes the entries and drops them: in every other row, too", |_| {
            Ok(Box::new(Generator))
        }),
        system("naive-vec", "study 002: unsorted, no reads", |dir| Ok(Box::new(Naive::<Pairs>::open(dir)?))),
        system("naive-skiplist", "study 004: sorted, no reads", |dir| Ok(Box::new(Naive::<Map>::open(dir)?))),
    ]
}

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;
type Map = SkipMap<Vec<u8>, Vec<u8>>;

/// What is filled, and then written out by another thread.
trait Memtable: Default + Send + 'static {
    fn insert(&mut self, key: Vec<u8>, value: Vec<u8>);
    fn each(&self, write: impl FnMut(&[u8], &[u8]) -> std::io::Result<()>) -> std::io::Result<()>;
}

impl Memtable for Pairs {
    #[inline]
    fn insert(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.push((key, value));
    }

    fn each(&self, mut write: impl FnMut(&[u8], &[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
        self.iter().try_for_each(|(key, value)| write(key, value))
    }
}

impl Memtable for Map {
    #[inline]
    fn insert(&mut self, key: Vec<u8>, value: Vec<u8>) {
        SkipMap::insert(self, key, value);
    }

    fn each(&self, mut write: impl FnMut(&[u8], &[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
        self.iter().try_for_each(|entry| write(entry.key(), entry.value()))
    }
}

struct Naive<M> {
    dir: PathBuf,
    active: Mutex<(M, usize)>,
    frozen: SyncSender<M>,
    writer: JoinHandle<std::io::Result<()>>,
}

impl<M: Memtable> Naive<M> {
    fn open(dir: &Path) -> Result<Self> {
        let (frozen, receiver) = sync_channel(WRITE_BUFFERS - 1);
        let tables = dir.to_owned();
        let writer = std::thread::spawn(move || write_tables::<M>(&tables, &receiver));
        Ok(Self { dir: dir.to_owned(), active: Mutex::default(), frozen, writer })
    }

    fn lock(&self) -> MutexGuard<'_, (M, usize)> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut active = self.lock();
        active.0.insert(key.to_vec(), value.to_vec());
        active.1 += key.len() + value.len();
        if active.1 >= WRITE_BUFFER_BYTES {
            self.freeze(&mut active)?;
        }
        Ok(())
    }

    fn freeze(&self, active: &mut (M, usize)) -> Result<()> {
        if std::mem::take(&mut active.1) == 0 {
            return Ok(());
        }
        self.frozen.send(std::mem::take(&mut active.0)).map_err(|_| "the flush has failed".into())
    }
}

fn write_tables<M: Memtable>(dir: &Path, frozen: &Receiver<M>) -> std::io::Result<()> {
    for (number, memtable) in frozen.iter().enumerate() {
        let mut file = BufWriter::new(File::create(dir.join(format!("{number:06}.sst")))?);
        memtable.each(|key, value| {
            file.write_all(&(key.len() as u32).to_le_bytes())?;
            file.write_all(key)?;
            file.write_all(&(value.len() as u32).to_le_bytes())?;
            file.write_all(value)
        })?;
        file.flush()?;
    }
    Ok(())
}

impl<M: Memtable> Store for Naive<M> {
    fn load(&self, entries: &mut Entries) -> Result<()> {
        while let Some((key, value)) = entries.next() {
            self.put(key, value)?;
        }
        Ok(())
    }

    fn settle(&self) -> Result<()> {
        Ok(())
    }

    /// For the check at the end only: the files one after the other, as they are.
    fn read(&self, with: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()> {
        with(&mut Tables(&self.dir))
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Err("it only writes".into())
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.freeze(&mut self.lock())?;
        let Self { frozen, writer, .. } = *self;
        drop(frozen);
        writer.join().map_err(|_| "the flush has panicked")??;
        Ok(())
    }
}

struct Tables<'a>(&'a Path);

impl Reader for Tables<'_> {
    fn get(&mut self, _: &[u8]) -> Result<Option<u64>> {
        Err("it only writes".into())
    }

    fn get_value(&mut self, _: &[u8]) -> Result<Option<Vec<u8>>> {
        Err("it only writes".into())
    }

    fn scan(&mut self) -> Result<Fold> {
        let mut fold = Fold::default();
        for file in std::fs::read_dir(self.0)? {
            let mut file = BufReader::new(File::open(file?.path())?);
            let mut entry = [0; ENTRY_BYTES + 8];
            while file.read_exact(&mut entry).is_ok() {
                fold.add(&entry[4..4 + KEY_BYTES], &entry[8 + KEY_BYTES..]);
            }
        }
        Ok(fold)
    }
}

/// What making the entries costs.
struct Generator;

impl Store for Generator {
    fn load(&self, entries: &mut Entries) -> Result<()> {
        while let Some(entry) = entries.next() {
            std::hint::black_box(entry);
        }
        Ok(())
    }

    fn settle(&self) -> Result<()> {
        Ok(())
    }

    fn read(&self, _: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()> {
        Ok(()) // nothing was kept that could be checked
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Err("it only generates".into())
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
