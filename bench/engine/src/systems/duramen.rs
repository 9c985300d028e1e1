//! Duramen's two engines, through the trait that both have.

use super::{POWER, PROCESS, Side, System};
use crate::Result;
use crate::case::Study;
use crate::data::{Entries, Fold, tag_of};
use crate::store::{Reader, Session, Store};
use duramen_engine::kv::{Durability, Engine, ReadOptions, WriteBatch, WriteOptions};
use duramen_engine::log::{Log, LogOptions};
use std::ops::Bound;
use std::path::Path;

pub(super) fn systems() -> Vec<System> {
    use Study::{Disk, Durable, Mixed, Read};
    let system = |name, durability, settings, studies, open| System {
        name,
        side: Side::Ours,
        durability,
        settings,
        studies,
        in_goals: true,
        open,
    };
    vec![
        system("duramen-log", PROCESS, "the log engine, durability process", &[Read, Mixed, Disk], |dir| {
            log(dir, Durability::Process)
        }),
        system("duramen-log-sync", POWER, "the log engine as it comes: sync", &[Mixed, Durable], |dir| {
            log(dir, Durability::Sync)
        }),
    ]
}

fn log(dir: &Path, durability: Durability) -> Result<Box<dyn Store>> {
    let engine = Log::open(&dir.join("store"), LogOptions { durability, ..LogOptions::default() })?;
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
}
