//! Reading: one key, or a range of them.

use super::cursor::{Cursor, Found};
use super::db::Inner;
use super::emptied::{Ahead, Walk, Writers};
use super::file_cursor::FileCursor;
use super::read::{self, LevelCursor, LevelTables, MergeCursor, View};
use super::superversion::SuperVersion;
use super::table::TableCache;
use super::version::TableFile;
use super::version::Version;
use crate::kv::{OpKind, ReadOptions, Scan, ScanSource, Value};
use crate::{Error, Result};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use xxhash_rust::xxh3::xxh3_64;

/// The tables of a level that a scan goes through.
pub(super) struct Level {
    pub(super) tables: Vec<Arc<TableFile>>,
    pub(super) cache: Arc<TableCache>,
    pub(super) fill_cache: bool,
}

impl LevelTables for Level {
    type Table = FileCursor;

    fn len(&self) -> usize {
        self.tables.len()
    }

    fn min_key(&self, table: usize) -> &[u8] {
        self.tables[table].min_key()
    }

    fn max_key(&self, table: usize) -> &[u8] {
        self.tables[table].max_key()
    }

    fn max_seq(&self, table: usize) -> u64 {
        self.tables[table].facts.max_seq
    }

    fn open(&self, table: usize) -> Result<FileCursor> {
        self.tables[table].cursor(&self.cache, self.fill_cache)
    }
}

impl Inner {
    pub(super) fn get(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Value>> {
        // In this order: what the superversion lacks is newer than it, so what is read is some moment's state.
        let current = self.current.load();
        let seq = self.seq_of(options)?;
        let hash = xxh3_64(key);
        // Sources are in order of age, so the first that has a version has the newest.
        for memtable in current.memtables() {
            if let Some(found) = memtable.get(key, hash, seq) {
                let there = found.kind == OpKind::Put && !self.is_covered(&current, key, found.seq, seq)?;
                return Ok(there.then(|| found.value(memtable.segment())));
            }
        }
        match self.find_in_tables(&current, key, hash, seq)? {
            Some(Found { seq: its_seq, kind: OpKind::Put, value })
                if !self.is_covered(&current, key, its_seq, seq)? =>
            {
                Ok(Some(value))
            }
            _ => Ok(None),
        }
    }

    /// Whether a reader at `seq` sees a version of a key, with the sequence number `its_seq`, deleted with a range.
    #[inline]
    fn is_covered(&self, current: &SuperVersion, key: &[u8], its_seq: u64, seq: u64) -> Result<bool> {
        if !current.has_range_deletes() {
            return Ok(false);
        }
        let coverage = current.coverage(&self.tables, seq)?;
        Ok(coverage.is_some_and(|mut coverage| coverage.covering_seq(key) > its_seq))
    }

    /// The sequence number to read at.
    #[inline]
    fn seq_of(&self, options: &ReadOptions) -> Result<u64> {
        match &options.snapshot {
            None => Ok(self.visible.load(Ordering::Acquire)),
            Some(snapshot) if snapshot.engine() == self.id => Ok(snapshot.seq()),
            Some(_) => Err(Error::InvalidArgument(
                "the snapshot is of another store, or of an earlier opening".into(),
            )),
        }
    }

    /// The newest version of a key that tables have and a reader at `seq` may see.
    #[inline]
    fn find_in_tables(
        &self,
        current: &SuperVersion,
        key: &[u8],
        hash: u64,
        seq: u64,
    ) -> Result<Option<Found>> {
        let levels = &current.version.levels;
        for table in &levels[0] {
            if table.overlaps(key, key)
                && let Some(found) = table.get(&self.tables, key, hash, seq)?
            {
                return Ok(Some(found));
            }
        }
        for level in &levels[1..] {
            if let Some(table) = Version::table_for(level, key)
                && let Some(found) = table.get(&self.tables, key, hash, seq)?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    pub(super) fn scan(
        self: &Arc<Self>,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
        options: &ReadOptions,
    ) -> Result<Scan> {
        // Taken first: what is looked at has all until here.
        let (epoch, at_least) = (self.emptied.epoch(), self.visible.load(Ordering::Acquire));
        let current = self.current.load_full();
        let seq = self.seq_of(options)?;
        let at_least = at_least.min(seq);
        let ahead = if options.reverse { Ahead::Unknown } else { self.emptied.ahead_of(start, at_least) };
        let start = match &ahead {
            Ahead::Unknown => start,
            Ahead::From(key) => Bound::Included(&**key),
            Ahead::Nothing => return Ok(Scan::new(Box::new(Nothing))),
        };
        let mut sources: Vec<Box<dyn Cursor>> = Vec::new();
        for memtable in current.memtables().filter(|m| m.len() > 0) {
            sources.push(Arc::clone(memtable).cursor(seq));
        }
        let may_hold = |first: &[u8], last: &[u8]| {
            let ends_before = match start {
                Bound::Unbounded => false,
                Bound::Included(start) => last < start,
                Bound::Excluded(start) => last <= start,
            };
            let begins_after = match end {
                Bound::Unbounded => false,
                Bound::Included(end) => first > end,
                Bound::Excluded(end) => first >= end,
            };
            !ends_before && !begins_after
        };
        for table in current.version.levels[0].iter().filter(|t| may_hold(t.min_key(), t.max_key())) {
            sources.push(Box::new(table.cursor(&self.tables, options.fill_cache)?));
        }
        for level in &current.version.levels[1..] {
            let tables: Vec<_> =
                level.iter().filter(|t| may_hold(t.min_key(), t.max_key())).cloned().collect();
            if !tables.is_empty() {
                let level = Level { tables, cache: Arc::clone(&self.tables), fill_cache: options.fill_cache };
                sources.push(Box::new(LevelCursor::new(level)));
            }
        }
        let tombstones = current.coverage(&self.tables, seq)?.unwrap_or_default();
        let mut view = View::new(seq, tombstones, options.reverse);
        if !options.reverse {
            view.walk = Some(Walk::new(Arc::clone(&self.emptied), at_least, epoch, &ahead));
        }
        Ok(Scan::new(read::scan(MergeCursor::new(sources), start, end, view)))
    }
}

impl Writers for Inner {
    fn while_last_is(&self, seq: u64, what: &mut dyn FnMut()) {
        if let Some(wal) = &self.wal {
            wal.while_last_is(seq, what);
        }
    }
}

/// A range in which nothing is.
struct Nothing;

impl ScanSource for Nothing {
    fn advance(&mut self) -> Result<bool> {
        Ok(false)
    }

    fn key(&self) -> &[u8] {
        &[]
    }

    fn value(&self) -> &[u8] {
        &[]
    }
}
