//! Reading a live table: as it is, or, if it was ingested, with the sequence number that the manifest gave it.

use super::cursor::{Cursor, Found};
use super::table::{TableCache, TableCursor};
use super::version::TableFile;
use crate::Result;
use crate::kv::{OpKind, Run};
use std::sync::Arc;

impl TableFile {
    /// The sequence number of all its entries, if it was ingested.
    #[inline]
    fn one_seq(&self) -> Option<u64> {
        self.facts.ingested.then_some(self.facts.min_seq)
    }

    /// The newest version of a key that is not newer than `seq`; `hash` is the key's XXH3-64.
    #[inline]
    pub(super) fn get(&self, cache: &TableCache, key: &[u8], hash: u64, seq: u64) -> Result<Option<Found>> {
        if self.facts.min_seq > seq {
            return Ok(None);
        }
        let reader = cache.reader(self)?;
        match self.one_seq() {
            None => reader.get(key, hash, seq),
            Some(own) => Ok(reader.get(key, hash, u64::MAX)?.map(|found| Found { seq: own, ..found })),
        }
    }

    /// Goes through its versions. Blocks that it reads go to the cache if `fill_cache` says so.
    pub(super) fn cursor(self: &Arc<Self>, cache: &TableCache, fill_cache: bool) -> Result<FileCursor> {
        let table = cache.reader(self)?.cursor(fill_cache);
        Ok(FileCursor { table, one_seq: self.one_seq(), _file: Arc::clone(self) })
    }
}

/// Goes through a table's versions.
#[derive(Debug)]
pub(super) struct FileCursor {
    table: TableCursor,
    /// What counts instead of the sequence numbers in the table: one version a key, all of the same age.
    one_seq: Option<u64>,
    /// As long as somebody reads it, the file is there: it may be closed and opened again.
    _file: Arc<TableFile>,
}

impl Cursor for FileCursor {
    fn seek_to_first(&mut self) -> Result<()> {
        self.table.seek_to_first()
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.table.seek_to_last()
    }

    fn seek(&mut self, key: &[u8], seq: u64) -> Result<()> {
        let Some(own) = self.one_seq else { return self.table.seek(key, seq) };
        self.table.seek(key, u64::MAX)?;
        if seq < own && self.table.valid() && self.table.key() == key {
            self.table.next()?;
        }
        Ok(())
    }

    fn seek_before(&mut self, key: &[u8], seq: u64) -> Result<()> {
        match self.one_seq {
            Some(own) if seq < own => {
                // The key's one version is before the place, if it is there.
                self.table.seek(key, u64::MAX)?;
                if self.table.valid() && self.table.key() == key {
                    return Ok(());
                }
                self.table.seek_before(key, u64::MAX)
            }
            Some(_) => self.table.seek_before(key, u64::MAX),
            None => self.table.seek_before(key, seq),
        }
    }

    fn take_run(&mut self, seq: u64, below: Option<&[u8]>, run: &mut Run) -> bool {
        // Where one number counts for all, the reader sees all: it sees the present one.
        let seq = if self.one_seq.is_some() { u64::MAX } else { seq };
        self.table.take_run(seq, below, run)
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        self.table.next()
    }

    #[inline]
    fn prev(&mut self) -> Result<()> {
        self.table.prev()
    }

    #[inline]
    fn valid(&self) -> bool {
        self.table.valid()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.table.key()
    }

    #[inline]
    fn seq(&self) -> u64 {
        self.one_seq.unwrap_or_else(|| self.table.seq())
    }

    #[inline]
    fn kind(&self) -> OpKind {
        self.table.kind()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.table.value()
    }
}
