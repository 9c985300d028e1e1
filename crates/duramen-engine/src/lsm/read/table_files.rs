//! The tables of a version, for a [`LevelCursor`](super::LevelCursor).

use super::level::LevelTables;
use crate::Result;
use crate::lsm::cursor::Cursor;
use crate::lsm::version::TableFile;
use std::sync::Arc;

/// Tables as a [`Version`](crate::lsm::version::Version) lists them, and how to open one.
#[derive(Debug)]
pub(crate) struct TableFiles<T, F> {
    tables: T,
    open: F,
}

impl<T, F> TableFiles<T, F> {
    /// `tables` sorted by key, none overlapping the next.
    pub(crate) fn new(tables: T, open: F) -> Self {
        Self { tables, open }
    }
}

impl<T, F, C> LevelTables for TableFiles<T, F>
where
    T: AsRef<[Arc<TableFile>]> + Send,
    F: Fn(&Arc<TableFile>) -> Result<C> + Send,
    C: Cursor,
{
    type Table = C;

    fn len(&self) -> usize {
        self.tables.as_ref().len()
    }

    fn min_key(&self, table: usize) -> &[u8] {
        self.tables.as_ref()[table].min_key()
    }

    fn max_key(&self, table: usize) -> &[u8] {
        self.tables.as_ref()[table].max_key()
    }

    fn max_seq(&self, table: usize) -> u64 {
        self.tables.as_ref()[table].facts.max_seq
    }

    fn open(&self, table: usize) -> Result<C> {
        (self.open)(&self.tables.as_ref()[table])
    }
}
