//! Duramen's two engines, through the trait that both have.

use super::{CACHE_BYTES, IN_MEMORY, POWER, PROCESS, Side, System, WRITE_BUFFER_BYTES, WRITE_BUFFERS};
use crate::Result;
use crate::case::Study;
use crate::data::{Entries, Fold, tag_of};
use crate::store::{Reader, Session, Store};
use duramen_engine::kv::{Durability, Engine, ReadOptions, WriteBatch, WriteOptions};
use duramen_engine::log::{Log, LogOptions};
use duramen_engine::lsm::{Lsm, LsmOptions, MemtableKind};
use duramen_engine::wal::WalKind;
use std::ops::Bound;
use std::path::{Path, PathBuf};

pub(super) fn systems() -> Vec<System> {
    use Study::{Disk, Durable, Load, Mixed, Queue, Read};
    let system = |name, durability, settings, studies, open| System {
        name,
        side: Side::Ours,
        durability,
        settings,
        studies,
        goals: studies,
        open,
    };
    vec![
        system(
            "duramen-vec",
            PROCESS,
            "as it comes: vec memtable, WAL mapped",
            &[Load, Mixed, Queue, Disk],
            |dir| Setup::new(dir).open(),
        ),
        system("duramen-skiplist", PROCESS, "skip list memtable", &[Load, Mixed, Queue], |dir| {
            Setup::new(dir).skiplist().open()
        }),
        system("duramen-nowal", IN_MEMORY, "WAL in memory only", &[Load], |dir| {
            let mut setup = Setup::new(dir);
            setup.options.wal_kind = WalKind::None;
            setup.options.durability = Durability::None;
            setup.open()
        }),
        system("duramen-b1000", PROCESS, "batches of 1,000", &[Load], |dir| {
            Setup::new(dir).load(Loading::Batches).open()
        }),
        system(
            "duramen-ingest",
            POWER,
            "ingest; the keys are sorted first, within the time",
            &[Load],
            |dir| Setup::new(dir).load(Loading::Sorted).open(),
        ),
        system("duramen", PROCESS, "512 MiB block cache (in huge pages), its filters", &[Read], |dir| {
            let mut setup = Setup::new(dir).load(Loading::Batches);
            setup.options.block_cache_bytes = CACHE_BYTES;
            setup.open()
        }),
        system("duramen-sync", POWER, "durability sync", &[Durable], |dir| Setup::new(dir).sync().open()),
        system("duramen-skiplist-sync", POWER, "skip list memtable, durability sync", &[Durable], |dir| {
            Setup::new(dir).skiplist().sync().open()
        }),
        system("duramen-log", PROCESS, "the log engine, durability process", &[Read, Mixed, Disk], |dir| {
            log(dir, Durability::Process)
        }),
        system("duramen-log-sync", POWER, "the log engine as it comes: sync", &[Mixed, Durable], |dir| {
            log(dir, Durability::Sync)
        }),
    ]
}

/// How an LSM tree is opened and loaded.
struct Setup {
    dir: PathBuf,
    options: LsmOptions,
    loading: Loading,
}

impl Setup {
    fn new(dir: &Path) -> Self {
        let options = LsmOptions {
            write_buffer_size: WRITE_BUFFER_BYTES,
            max_write_buffer_number: WRITE_BUFFERS,
            ..LsmOptions::default()
        };
        Self { dir: dir.join("store"), options, loading: Loading::Singly }
    }

    fn skiplist(mut self) -> Self {
        self.options.memtable = MemtableKind::Skiplist;
        self
    }

    fn sync(mut self) -> Self {
        self.options.durability = Durability::Sync;
        self
    }

    fn load(self, loading: Loading) -> Self {
        Self { loading, ..self }
    }

    fn open(self) -> Result<Box<dyn Store>> {
        Ok(Box::new(Duramen { engine: Lsm::open(&self.dir, self.options)?, loading: self.loading }))
    }
}

fn log(dir: &Path, durability: Durability) -> Result<Box<dyn Store>> {
    let engine = Log::open(dir.join("store"), LogOptions { durability, ..LogOptions::default() })?;
    Ok(Box::new(Duramen { engine, loading: Loading::Batches }))
}

/// How many entries are written.
#[derive(Clone, Copy)]
enum Loading {
    Singly,
    Batches,
    /// Sorted first, then ingested.
    Sorted,
}

struct Duramen<E> {
    engine: E,
    loading: Loading,
}

impl<E: Engine> Store for Duramen<E> {
    fn load(&self, entries: &mut Entries) -> Result<()> {
        match self.loading {
            Loading::Singly => {
                while let Some((key, value)) = entries.next() {
                    self.engine.put(key, value)?;
                }
            }
            Loading::Batches => {
                let mut batch = WriteBatch::new();
                while let Some((key, value)) = entries.next() {
                    batch.put(key, value)?;
                    if batch.len() == super::BATCH {
                        self.engine.write(&batch, WriteOptions::default())?;
                        batch.clear();
                    }
                }
                self.engine.write(&batch, WriteOptions::default())?;
            }
            Loading::Sorted => {
                entries.sort();
                let mut run = std::iter::from_fn(|| {
                    let (key, value) = entries.next()?;
                    Some(Ok((key.to_vec(), value.to_vec())))
                });
                self.engine.ingest(&mut run)?;
            }
        }
        Ok(())
    }

    fn settle(&self) -> Result<()> {
        self.engine.flush()?;
        Ok(self.engine.compact()?)
    }

    fn read(&self, with: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()> {
        with(&mut Reading(&self.engine))
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(Reading(&self.engine)))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.engine.flush()?;
        Ok(self.engine.close()?)
    }
}

struct Reading<'a, E>(&'a E);

impl<E: Engine> Reader for Reading<'_, E> {
    fn get(&mut self, key: &[u8]) -> Result<Option<u64>> {
        Ok(self.0.get(key)?.map(|value| tag_of(&value)))
    }

    fn get_value(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.0.get(key)?.map(|value| value.into_vec()))
    }

    fn scan(&mut self) -> Result<Fold> {
        let mut fold = Fold::default();
        let mut scan = self.0.scan_with(Bound::Unbounded, Bound::Unbounded, &ReadOptions::default())?;
        while let Some((key, value)) = scan.next()? {
            fold.add(key, value);
        }
        Ok(fold)
    }
}

impl<E: Engine> Session for Reading<'_, E> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.0.put(key, value)?)
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<u64>> {
        Reader::get(self, key)
    }

    fn take_first(&mut self) -> Result<Option<u64>> {
        let mut scan = self.0.scan_with(Bound::Unbounded, Bound::Unbounded, &ReadOptions::default())?;
        let Some((key, value)) = scan.next()? else { return Ok(None) };
        let tag = tag_of(value);
        self.0.delete(key)?;
        Ok(Some(tag))
    }
}
