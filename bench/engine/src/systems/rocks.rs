//! RocksDB: as it comes, and as its documentation says for the study at hand.

use super::{BATCH, CACHE_BYTES, IN_MEMORY, POWER, PROCESS, Side, System, WRITE_BUFFER_BYTES, WRITE_BUFFERS};
use crate::Result;
use crate::case::Study;
use crate::data::{Entries, Fold, tag_of};
use crate::store::{Reader, Session, Store};
use rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, IngestExternalFileOptions, MemtableFactory, Options,
    ReadOptions, SstFileWriter, WriteBatch, WriteOptions,
};
use std::path::{Path, PathBuf};

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
        system("rocksdb-nowal", IN_MEMORY, "WAL off", &[Load, Mixed, Queue], &[Load, Mixed], |dir| {
            Setup::new(dir).no_wal().open()
        }),
        system("rocksdb-wal", PROCESS, "stock", &[Load, Mixed, Queue, Disk], &[], |dir| {
            Setup::new(dir).open()
        }),
        system("rocksdb-nowal-b1000", IN_MEMORY, "WAL off, batches of 1,000", &[Load], &[], |dir| {
            Setup::new(dir).no_wal().batch().open()
        }),
        system("rocksdb-wal-b1000", PROCESS, "batches of 1,000", &[Load], &[], |dir| {
            Setup::new(dir).batch().open()
        }),
        system("rocksdb-vector", IN_MEMORY, "WAL off, VectorRep memtable", &[Load], &[], |dir| {
            Setup::new(dir).no_wal().vector().open()
        }),
        system(
            "rocksdb-bulk",
            IN_MEMORY,
            "PrepareForBulkLoad (6 write buffers, no compaction), WAL off, VectorRep, batches of 1,000",
            &[Load],
            &[],
            |dir| {
                let mut setup = Setup::new(dir).no_wal().vector().batch();
                setup.options.prepare_for_bulk_load();
                setup.open()
            },
        ),
        system(
            "rocksdb-ingest",
            POWER,
            "SstFileWriter and ingestion; the keys are sorted first, within the time",
            &[Load],
            &[],
            |dir| {
                let mut setup = Setup::new(dir);
                setup.ingest = true;
                setup.open()
            },
        ),
        system("rocksdb", PROCESS, "512 MiB block cache", &[Read], &[], |dir| {
            Setup::new(dir).cached(false).open()
        }),
        system(
            "rocksdb-tuned",
            PROCESS,
            "512 MiB block cache, bloom filters of 10 bits",
            &[Read],
            &[Read],
            |dir| Setup::new(dir).cached(true).open(),
        ),
        system("rocksdb-point", PROCESS, "OptimizeForPointLookup(512 MiB)", &[Read], &[], |dir| {
            let mut setup = Setup::new(dir);
            setup.options.optimize_for_point_lookup((CACHE_BYTES >> 20) as u64);
            setup.batch().open()
        }),
        system("rocksdb-sync", POWER, "sync", &[Durable], &[Durable], |dir| {
            let mut setup = Setup::new(dir);
            setup.write.set_sync(true);
            setup.open()
        }),
    ]
}

/// How a database is opened and written to.
struct Setup {
    dir: PathBuf,
    options: Options,
    write: WriteOptions,
    batch: usize,
    ingest: bool,
}

impl Setup {
    fn new(dir: &Path) -> Self {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_write_buffer_size(WRITE_BUFFER_BYTES);
        options.set_max_write_buffer_number(WRITE_BUFFERS as i32);
        options.set_compression_type(DBCompressionType::None);
        Self { dir: dir.to_owned(), options, write: WriteOptions::default(), batch: 1, ingest: false }
    }

    fn no_wal(mut self) -> Self {
        self.write.disable_wal(true);
        self
    }

    fn batch(mut self) -> Self {
        self.batch = BATCH;
        self
    }

    fn vector(mut self) -> Self {
        self.options.set_allow_concurrent_memtable_write(false);
        self.options.set_memtable_factory(MemtableFactory::Vector);
        self
    }

    fn cached(mut self, bloom: bool) -> Self {
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(&Cache::new_lru_cache(CACHE_BYTES));
        if bloom {
            table.set_bloom_filter(10.0, false);
        }
        self.options.set_block_based_table_factory(&table);
        self.batch()
    }

    fn open(self) -> Result<Box<dyn Store>> {
        let db = DB::open(&self.options, &self.dir)?;
        Ok(Box::new(Rocks { db, setup: self }))
    }
}

struct Rocks {
    db: DB,
    setup: Setup,
}

impl Store for Rocks {
    fn load(&self, entries: &mut Entries) -> Result<()> {
        let Setup { write, batch, .. } = &self.setup;
        if self.setup.ingest {
            return self.ingest(entries);
        }
        if *batch == 1 {
            while let Some((key, value)) = entries.next() {
                self.db.put_opt(key, value, write)?;
            }
            return Ok(());
        }
        let mut pending = WriteBatch::default();
        while let Some((key, value)) = entries.next() {
            pending.put(key, value);
            if pending.len() == *batch {
                self.db.write_opt(std::mem::take(&mut pending), write)?;
            }
        }
        Ok(self.db.write_opt(pending, write)?)
    }

    fn settle(&self) -> Result<()> {
        self.db.flush()?;
        self.db.compact_range(None::<&[u8]>, None::<&[u8]>);
        Ok(())
    }

    fn read(&self, with: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()> {
        with(&mut Reading(self))
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(Reading(self)))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.db.flush()?)
    }
}

impl Rocks {
    fn ingest(&self, entries: &mut Entries) -> Result<()> {
        entries.sort();
        let file = self.setup.dir.join("ingest");
        let mut writer = SstFileWriter::create(&self.setup.options);
        writer.open(&file)?;
        while let Some((key, value)) = entries.next() {
            writer.put(key, value)?;
        }
        writer.finish()?;
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(true);
        Ok(self.db.ingest_external_file_opts(&options, vec![file])?)
    }
}

struct Reading<'a>(&'a Rocks);

impl Reader for Reading<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<u64>> {
        Ok(self.0.db.get_pinned(key)?.map(|value| tag_of(&value)))
    }

    fn get_value(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.0.db.get(key)?)
    }

    fn scan(&mut self) -> Result<Fold> {
        let mut fold = Fold::default();
        let mut cursor = self.0.db.raw_iterator_opt(ReadOptions::default());
        cursor.seek_to_first();
        while let Some((key, value)) = cursor.item() {
            fold.add(key, value);
            cursor.next();
        }
        cursor.status()?;
        Ok(fold)
    }
}

impl Session for Reading<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.0.db.put_opt(key, value, &self.0.setup.write)?)
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<u64>> {
        Reader::get(self, key)
    }

    fn take_first(&mut self) -> Result<Option<u64>> {
        let mut cursor = self.0.db.raw_iterator_opt(ReadOptions::default());
        cursor.seek_to_first();
        let Some((key, value)) = cursor.item() else { return Ok(cursor.status().map(|()| None)?) };
        let tag = tag_of(value);
        self.0.db.delete_opt(key, &self.0.setup.write)?;
        Ok(Some(tag))
    }
}
