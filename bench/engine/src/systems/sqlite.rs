//! SQLite: a table without row ids, whose primary key is the key.

use super::{CACHE_BYTES, POWER, PROCESS, Side, System, TRANSACTION, TRANSACTIONS};
use crate::Result;
use crate::case::Study;
use crate::data::{Entries, Fold, tag_of};
use crate::store::{Reader, Session, Store};
use rusqlite::{Connection, OptionalExtension, Row, Statement, params};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(super) fn systems() -> Vec<System> {
    use Study::{Disk, Durable, Load, Mixed, Queue, Read};
    let system = |name, durability, settings, studies, open| System {
        name,
        side: Side::Peer,
        durability,
        settings,
        studies,
        goals: &[],
        open,
    };
    vec![
        system(
            "sqlite",
            TRANSACTIONS,
            "WAL, synchronous=NORMAL, transactions of 10,000, exclusive locking, 512 MiB cache; reads share one transaction",
            &[Load, Read, Disk],
            |dir| open(dir, "NORMAL", Sharing::Exclusive),
        ),
        system(
            "sqlite-normal",
            PROCESS,
            "WAL, synchronous=NORMAL, exclusive locking, a transaction for each operation",
            &[Mixed, Queue],
            |dir| open(dir, "NORMAL", Sharing::Exclusive),
        ),
        system(
            "sqlite-full",
            POWER,
            "WAL, synchronous=FULL, a connection for each thread",
            &[Durable],
            |dir| open(dir, "FULL", Sharing::Connections),
        ),
    ]
}

/// Whether there is one connection that keeps its locks, or many.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    Exclusive,
    Connections,
}

fn open(dir: &Path, synchronous: &'static str, sharing: Sharing) -> Result<Box<dyn Store>> {
    let path = dir.join("sqlite");
    let connection = connect(&path, synchronous, sharing)?;
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS items (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID",
    )?;
    Ok(Box::new(Sqlite { path, synchronous, sharing, connection: Mutex::new(connection) }))
}

fn connect(path: &Path, synchronous: &str, sharing: Sharing) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(60))?;
    let locking = if sharing == Sharing::Exclusive { "EXCLUSIVE" } else { "NORMAL" };
    connection.execute_batch(&format!(
        "PRAGMA locking_mode={locking}; PRAGMA journal_mode=WAL; PRAGMA synchronous={synchronous}; PRAGMA cache_size=-{};",
        CACHE_BYTES >> 10
    ))?;
    Ok(connection)
}

struct Sqlite {
    path: PathBuf,
    synchronous: &'static str,
    sharing: Sharing,
    connection: Mutex<Connection>,
}

impl Sqlite {
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const GET: &str = "SELECT v FROM items WHERE k = ?1";
const TAKE_FIRST: &str = "DELETE FROM items WHERE k = (SELECT min(k) FROM items) RETURNING v";
const PUT: &str = "INSERT INTO items (k, v) VALUES (?1, ?2) ON CONFLICT (k) DO UPDATE SET v = excluded.v";

fn value_of<T>(row: &Row<'_>, column: usize, take: impl Fn(&[u8]) -> T) -> rusqlite::Result<T> {
    Ok(take(row.get_ref(column)?.as_blob()?))
}

impl Store for Sqlite {
    fn load(&self, entries: &mut Entries) -> Result<()> {
        let connection = self.connection();
        let mut put = connection.prepare(PUT)?;
        loop {
            connection.execute_batch("BEGIN IMMEDIATE")?;
            let mut left = TRANSACTION;
            while left > 0
                && let Some((key, value)) = entries.next()
            {
                put.execute(params![key.as_slice(), value.as_slice()])?;
                left -= 1;
            }
            connection.execute_batch("COMMIT")?;
            if left > 0 {
                return Ok(());
            }
        }
    }

    fn settle(&self) -> Result<()> {
        Ok(self.connection().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
    }

    fn read(&self, with: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()> {
        let connection = self.connection();
        connection.execute_batch("BEGIN")?;
        with(&mut Reading {
            get: connection.prepare(GET)?,
            all: connection.prepare("SELECT k, v FROM items ORDER BY k")?,
        })?;
        Ok(connection.execute_batch("COMMIT")?)
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(match self.sharing {
            Sharing::Exclusive => Each::Shared(self.connection()),
            Sharing::Connections => Each::Own(Box::new(connect(&self.path, self.synchronous, self.sharing)?)),
        }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.settle()?;
        let connection = self.connection.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(connection.close().map_err(|(_, error)| error)?)
    }
}

struct Reading<'a> {
    get: Statement<'a>,
    all: Statement<'a>,
}

impl Reader for Reading<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<u64>> {
        Ok(self.get.query_row([key], |row| value_of(row, 0, tag_of)).optional()?)
    }

    fn get_value(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.get.query_row([key], |row| value_of(row, 0, <[u8]>::to_vec)).optional()?)
    }

    fn scan(&mut self) -> Result<Fold> {
        let mut fold = Fold::default();
        let mut rows = self.all.query([])?;
        while let Some(row) = rows.next()? {
            fold.add(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?);
        }
        Ok(fold)
    }
}

/// A transaction for each operation.
enum Each<'a> {
    Shared(MutexGuard<'a, Connection>),
    Own(Box<Connection>),
}

impl Each<'_> {
    fn connection(&self) -> &Connection {
        match self {
            Self::Shared(connection) => connection,
            Self::Own(connection) => connection,
        }
    }
}

impl Session for Each<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.connection().prepare_cached(PUT)?.execute(params![key, value])?;
        Ok(())
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<u64>> {
        let mut get = self.connection().prepare_cached(GET)?;
        Ok(get.query_row([key], |row| value_of(row, 0, tag_of)).optional()?)
    }

    fn take_first(&mut self) -> Result<Option<u64>> {
        let mut take = self.connection().prepare_cached(TAKE_FIRST)?;
        Ok(take.query_row([], |row| value_of(row, 0, tag_of)).optional()?)
    }
}
