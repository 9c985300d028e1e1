//! fjall. Its journal cannot be turned off; with `manual_journal_persist` it stays in an 8 KiB buffer of the
//! process.

use super::{BATCH, CACHE_BYTES, IN_MEMORY, POWER, PROCESS, Side, System, WRITE_BUFFER_BYTES};
use crate::Result;
use crate::case::Study;
use crate::data::{Entries, Fold, tag_of};
use crate::store::{Reader, Session, Store};
use fjall::config::CompressionPolicy;
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use std::path::Path;

pub(super) fn systems() -> Vec<System> {
    use Study::{Disk, Durable, Load, Mixed, Queue, Read};
    let system = |name, durability, settings, studies, goals, open| System {
        name,
        side: Side::Peer,
        durability,
        settings,
        studies,
        goals,
        open,
    };
    vec![
        system("fjall-manual", IN_MEMORY, "manual_journal_persist", &[Load, Mixed, Queue], &[], |dir| {
            open(dir, Writing { manual: true, ..SINGLY })
        }),
        system("fjall-wal", PROCESS, "stock", &[Load, Mixed, Queue, Disk], &[], |dir| open(dir, SINGLY)),
        system("fjall-wal-b1000", PROCESS, "batches of 1,000", &[Load], &[], |dir| {
            open(dir, Writing { batch: BATCH, ..SINGLY })
        }),
        system(
            "fjall-ingest",
            POWER,
            "start_ingestion; the keys are sorted first, within the time",
            &[Load],
            &[],
            |dir| open(dir, Writing { ingest: true, ..SINGLY }),
        ),
        system("fjall", PROCESS, "512 MiB cache, its bloom filters", &[Read], &[], |dir| {
            open(dir, Writing { batch: BATCH, ..SINGLY })
        }),
        system("fjall-sync", POWER, "each write a batch persisted with SyncData", &[Durable], &[], |dir| {
            open(dir, Writing { sync: true, ..SINGLY })
        }),
    ]
}

#[derive(Clone, Copy)]
struct Writing {
    batch: usize,
    manual: bool,
    ingest: bool,
    sync: bool,
}

const SINGLY: Writing = Writing { batch: 1, manual: false, ingest: false, sync: false };

fn open(dir: &Path, writing: Writing) -> Result<Box<dyn Store>> {
    let db = Database::builder(dir)
        .cache_size(CACHE_BYTES as u64)
        .manual_journal_persist(writing.manual)
        .open()?;
    let items = db.keyspace("items", || {
        KeyspaceCreateOptions::default()
            .max_memtable_size(WRITE_BUFFER_BYTES as u64)
            .manual_journal_persist(writing.manual)
            .data_block_compression_policy(CompressionPolicy::all(CompressionType::None))
    })?;
    Ok(Box::new(Fjall { db, items, writing }))
}

struct Fjall {
    db: Database,
    items: Keyspace,
    writing: Writing,
}

impl Store for Fjall {
    fn load(&self, entries: &mut Entries) -> Result<()> {
        if self.writing.ingest {
            entries.sort();
            let mut run = self.items.start_ingestion()?;
            while let Some((key, value)) = entries.next() {
                run.write(*key, *value)?;
            }
            return Ok(run.finish()?);
        }
        if self.writing.batch == 1 {
            while let Some((key, value)) = entries.next() {
                self.items.insert(*key, *value)?;
            }
            return Ok(());
        }
        let batch = || fjall::OwnedWriteBatch::with_capacity(self.db.clone(), self.writing.batch);
        let mut pending = batch();
        while let Some((key, value)) = entries.next() {
            pending.insert(&self.items, *key, *value);
            if pending.len() == self.writing.batch {
                std::mem::replace(&mut pending, batch()).commit()?;
            }
        }
        Ok(pending.commit()?)
    }

    fn settle(&self) -> Result<()> {
        self.items.rotate_memtable_and_wait()?;
        Ok(self.items.major_compact()?)
    }

    fn read(&self, with: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()> {
        with(&mut Reading(self))
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(Reading(self)))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.items.rotate_memtable_and_wait()?;
        Ok(self.db.persist(PersistMode::SyncAll)?)
    }
}

struct Reading<'a>(&'a Fjall);

impl Reader for Reading<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<u64>> {
        Ok(self.0.items.get(key)?.map(|value| tag_of(&value)))
    }

    fn get_value(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.0.items.get(key)?.map(|value| value.to_vec()))
    }

    fn scan(&mut self) -> Result<Fold> {
        let mut fold = Fold::default();
        for entry in self.0.items.iter() {
            let (key, value) = entry.into_inner()?;
            fold.add(&key, &value);
        }
        Ok(fold)
    }
}

impl Session for Reading<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if !self.0.writing.sync {
            return Ok(self.0.items.insert(key, value)?);
        }
        let mut batch = self.0.db.batch().durability(Some(PersistMode::SyncData));
        batch.insert(&self.0.items, key, value);
        Ok(batch.commit()?)
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<u64>> {
        Reader::get(self, key)
    }

    fn take_first(&mut self) -> Result<Option<u64>> {
        let Some(first) = self.0.items.iter().next() else { return Ok(None) };
        let (key, value) = first.into_inner()?;
        self.0.items.remove(key)?;
        Ok(Some(tag_of(&value)))
    }
}
