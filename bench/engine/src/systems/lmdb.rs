//! LMDB: a B-tree in a memory map.
#![allow(unsafe_code)] // opening an environment maps a file

use super::{POWER, PROCESS, Side, System, TRANSACTION, TRANSACTIONS};
use crate::Result;
use crate::case::Study;
use crate::data::{Entries, Fold, tag_of};
use crate::store::{Reader, Session, Store};
use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, RoTxn, WithoutTls};
use std::path::Path;

/// More than anything here needs.
const MAP_BYTES: usize = 8 << 30;

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
            "lmdb",
            TRANSACTIONS,
            "MDB_NOSYNC, transactions of 10,000; reads share one transaction",
            &[Load, Read, Disk],
            &[Read],
            |dir| open(dir, EnvFlags::NO_SYNC),
        ),
        system(
            "lmdb-writemap",
            TRANSACTIONS,
            "MDB_NOSYNC | MDB_WRITEMAP, transactions of 10,000",
            &[Load],
            &[],
            |dir| open(dir, EnvFlags::NO_SYNC | EnvFlags::WRITE_MAP),
        ),
        system(
            "lmdb-nosync",
            PROCESS,
            "MDB_NOSYNC, a transaction for each operation",
            &[Mixed, Queue],
            &[Mixed],
            |dir| open(dir, EnvFlags::NO_SYNC),
        ),
        system(
            "lmdb-nosync-writemap",
            PROCESS,
            "MDB_NOSYNC | MDB_WRITEMAP, a transaction for each operation",
            &[Mixed, Queue],
            &[Mixed],
            |dir| open(dir, EnvFlags::NO_SYNC | EnvFlags::WRITE_MAP),
        ),
        system("lmdb-sync", POWER, "stock", &[Durable], &[], |dir| open(dir, EnvFlags::empty())),
    ]
}

fn open(dir: &Path, flags: EnvFlags) -> Result<Box<dyn Store>> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size(MAP_BYTES);
    // SAFETY: NO_SYNC and WRITE_MAP risk the file when the machine dies, which a benchmark may; nothing else in
    // this process writes to the map.
    unsafe { options.flags(flags) };
    // SAFETY: the directory is this run's own: nobody else changes the file under the map.
    let env = unsafe { options.open(dir)? };
    let mut txn = env.write_txn()?;
    let items = env.create_database(&mut txn, None)?;
    txn.commit()?;
    Ok(Box::new(Lmdb { env, items }))
}

type Items = Database<Bytes, Bytes>;

struct Lmdb {
    env: Env<WithoutTls>,
    items: Items,
}

impl Store for Lmdb {
    fn load(&self, entries: &mut Entries) -> Result<()> {
        loop {
            let mut txn = self.env.write_txn()?;
            let mut left = TRANSACTION;
            while left > 0
                && let Some((key, value)) = entries.next()
            {
                self.items.put(&mut txn, key, value)?;
                left -= 1;
            }
            txn.commit()?;
            if left > 0 {
                return Ok(());
            }
        }
    }

    fn settle(&self) -> Result<()> {
        Ok(self.env.force_sync()?)
    }

    fn read(&self, with: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()> {
        with(&mut Reading { txn: self.env.read_txn()?, items: self.items })
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(Each(self)))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.env.force_sync()?;
        self.env.prepare_for_closing();
        Ok(())
    }
}

struct Reading<'a> {
    txn: RoTxn<'a, WithoutTls>,
    items: Items,
}

impl Reader for Reading<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<u64>> {
        Ok(self.items.get(&self.txn, key)?.map(tag_of))
    }

    fn get_value(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.items.get(&self.txn, key)?.map(<[u8]>::to_vec))
    }

    fn scan(&mut self) -> Result<Fold> {
        let mut fold = Fold::default();
        for entry in self.items.iter(&self.txn)? {
            let (key, value) = entry?;
            fold.add(key, value);
        }
        Ok(fold)
    }
}

/// A transaction for each operation.
struct Each<'a>(&'a Lmdb);

impl Session for Each<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut txn = self.0.env.write_txn()?;
        self.0.items.put(&mut txn, key, value)?;
        Ok(txn.commit()?)
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<u64>> {
        let txn = self.0.env.read_txn()?;
        Ok(self.0.items.get(&txn, key)?.map(tag_of))
    }

    fn take_first(&mut self) -> Result<Option<u64>> {
        let mut txn = self.0.env.write_txn()?;
        let mut entries = self.0.items.iter_mut(&mut txn)?;
        let Some(tag) = entries.next().transpose()?.map(|(_, value)| tag_of(value)) else { return Ok(None) };
        #[expect(unsafe_code, reason = "nothing that was read is still borrowed")]
        // SAFETY: as said.
        unsafe { entries.del_current() }?;
        drop(entries);
        txn.commit()?;
        Ok(Some(tag))
    }
}
