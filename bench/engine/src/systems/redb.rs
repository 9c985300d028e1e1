//! redb: a B-tree, copy-on-write.

use super::{CACHE_BYTES, IN_MEMORY, POWER, Side, System, TRANSACTION};
use crate::Result;
use crate::case::Study;
use crate::data::{Entries, Fold, tag_of};
use crate::store::{Reader, Session, Store};
use redb::{
    Builder, Database, Durability, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction,
};
use std::path::Path;

const ITEMS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("items");

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
        system(
            "redb",
            IN_MEMORY,
            "Durability::None, transactions of 10,000, 512 MiB cache; reads share one transaction",
            &[Load, Read, Disk],
            &[Read],
            |dir| open(dir, Durability::None),
        ),
        system(
            "redb-none",
            IN_MEMORY,
            "Durability::None, a transaction for each write",
            &[Mixed, Queue],
            &[],
            |dir| open(dir, Durability::None),
        ),
        system("redb-sync", POWER, "Durability::Immediate", &[Durable], &[], |dir| {
            open(dir, Durability::Immediate)
        }),
    ]
}

fn open(dir: &Path, durability: Durability) -> Result<Box<dyn Store>> {
    let db = Builder::new().set_cache_size(CACHE_BYTES).create(dir.join("redb"))?;
    Ok(Box::new(Redb { db, durability }))
}

struct Redb {
    db: Database,
    durability: Durability,
}

impl Redb {
    fn write(&self, durability: Durability) -> Result<WriteTransaction> {
        let mut txn = self.db.begin_write()?;
        txn.set_durability(durability)?;
        Ok(txn)
    }
}

impl Store for Redb {
    fn load(&self, entries: &mut Entries) -> Result<()> {
        loop {
            let txn = self.write(self.durability)?;
            let mut left = TRANSACTION;
            {
                let mut table = txn.open_table(ITEMS)?;
                while left > 0
                    && let Some((key, value)) = entries.next()
                {
                    table.insert(key.as_slice(), value.as_slice())?;
                    left -= 1;
                }
            }
            txn.commit()?;
            if left > 0 {
                return Ok(());
            }
        }
    }

    fn settle(&self) -> Result<()> {
        Ok(self.write(Durability::Immediate)?.commit()?)
    }

    fn read(&self, with: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()> {
        let table = self.db.begin_read()?.open_table(ITEMS)?;
        with(&mut Reading(table))
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(Each(self)))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.settle()
    }
}

struct Reading(redb::ReadOnlyTable<&'static [u8], &'static [u8]>);

impl Reader for Reading {
    fn get(&mut self, key: &[u8]) -> Result<Option<u64>> {
        Ok(self.0.get(key)?.map(|value| tag_of(value.value())))
    }

    fn get_value(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.0.get(key)?.map(|value| value.value().to_vec()))
    }

    fn scan(&mut self) -> Result<Fold> {
        let mut fold = Fold::default();
        for entry in self.0.iter()? {
            let (key, value) = entry?;
            fold.add(key.value(), value.value());
        }
        Ok(fold)
    }
}

/// A transaction for each operation.
struct Each<'a>(&'a Redb);

impl Session for Each<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let txn = self.0.write(self.0.durability)?;
        txn.open_table(ITEMS)?.insert(key, value)?;
        Ok(txn.commit()?)
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<u64>> {
        let table = self.0.db.begin_read()?.open_table(ITEMS)?;
        Ok(table.get(key)?.map(|value| tag_of(value.value())))
    }

    fn take_first(&mut self) -> Result<Option<u64>> {
        let txn = self.0.write(self.0.durability)?;
        let tag = txn.open_table(ITEMS)?.pop_first()?.map(|(_, value)| tag_of(value.value()));
        txn.commit()?;
        Ok(tag)
    }
}
