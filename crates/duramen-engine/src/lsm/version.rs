//! Which tables there are, level by level.

use super::table::{TableReader, TableSummary};
use crate::dump::Line;
use crate::kv::cmp_keys;
use crate::manifest::{State, TableMeta};
use crate::{Error, Result};
use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// How many levels there are.
pub(super) const LEVELS: usize = 7;

/// What the manifest says of a table beyond [`TableMeta`]: its `user` bytes, CBOR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(map)]
pub(super) struct TableFacts {
    /// The level, below [`LEVELS`].
    #[n(0)]
    pub(super) level: u8,
    /// The smallest sequence number in it.
    #[n(1)]
    pub(super) min_seq: u64,
    /// The largest. Tables of level 0 are ordered by it.
    #[n(2)]
    pub(super) max_seq: u64,
    /// When its newest entry was written, at the latest: seconds since 1970, by the wall clock.
    #[n(3)]
    pub(super) newest_unix_s: i64,
    /// How many of its entries delete a key.
    #[n(4)]
    pub(super) deletes: u64,
    /// How many deleted ranges it lists.
    #[n(5)]
    pub(super) range_deletes: u64,
    /// Whether it was ingested: the sequence number of every entry is `min_seq`, whatever the table says.
    #[n(7)]
    #[cbor(default)]
    pub(super) ingested: bool,
    /// How many of its entries are older than another one of the same key in it: kept for a snapshot.
    #[n(6)]
    #[cbor(default)]
    pub(super) old_versions: u64,
    /// Which table it is, as its file says; 0 if that is not known.
    #[n(8)]
    #[cbor(default)]
    pub(super) id: u64,
}

impl TableFacts {
    /// What a table that was just written says of itself; its level is 0, and its age unknown.
    pub(super) fn of(summary: &TableSummary) -> Self {
        Self {
            min_seq: summary.min_seq,
            max_seq: summary.max_seq,
            deletes: summary.deletes,
            range_deletes: summary.range_deletes,
            old_versions: summary.old_versions,
            id: summary.id,
            ..Self::default()
        }
    }

    /// What the manifest is to say of a table that was just written and has these facts.
    pub(super) fn meta(&self, number: u64, path: String, summary: &TableSummary) -> TableMeta {
        TableMeta {
            number,
            path,
            file_bytes: summary.file_bytes,
            entries: summary.entries,
            blocks: summary.blocks,
            min_key: summary.smallest.clone(),
            max_key: summary.largest.clone(),
            user: self.encode(),
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        // Writing to a Vec cannot fail.
        minicbor::to_vec(self).unwrap_or_default()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        minicbor::decode::<Self>(bytes).ok().filter(|facts| usize::from(facts.level) < LEVELS)
    }
}

/// Adds what `user` says of a table to the line about it; bytes of another owner's, if it is one.
pub(crate) fn facts_line(line: Line, user: &[u8]) -> Line {
    // The log store keeps other facts there.
    let Some(facts) = TableFacts::decode(user).filter(|facts| facts.encode() == user) else {
        return line.bytes("user", user);
    };
    let TableFacts { level, min_seq, max_seq, newest_unix_s, deletes, range_deletes, ingested, .. } = facts;
    let line = line.number("level", level).number("min_seq", min_seq).number("max_seq", max_seq);
    let line = line.number("newest_unix_s", newest_unix_s).number("deletes", deletes);
    let line = line.number("range_deletes", range_deletes).number("old_versions", facts.old_versions);
    let line = line.text("id", format!("{:016x}", facts.id));
    if ingested { line.text("ingested", true) } else { line }
}

/// Files whose last reader is gone: the background removes them.
#[derive(Debug, Default)]
pub(super) struct Obsolete(Mutex<Vec<PathBuf>>);

impl Obsolete {
    pub(super) fn take(&self) -> Vec<PathBuf> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A file that is there for as long as this is.
#[derive(Debug)]
struct FileOnDisk {
    path: PathBuf,
    /// Whether it is to be removed then.
    dropped: AtomicBool,
    obsolete: Arc<Obsolete>,
}

impl Drop for FileOnDisk {
    fn drop(&mut self) {
        if self.dropped.load(Ordering::Relaxed) {
            let mut obsolete = self.obsolete.0.lock().unwrap_or_else(PoisonError::into_inner);
            obsolete.push(std::mem::take(&mut self.path));
        }
    }
}

/// A live table. Its file is there for as long as this is.
#[derive(Debug)]
pub(super) struct TableFile {
    /// What the manifest says.
    pub(super) meta: TableMeta,
    pub(super) facts: TableFacts,
    file: Arc<FileOnDisk>,
    /// The open table, once somebody has read from it.
    pub(super) reader: OnceLock<Arc<TableReader>>,
    /// Whether a compaction is reading it, or must not: then it stays as it is.
    pub(super) compacting: Arc<AtomicBool>,
    /// Whether the manifest does not know it yet.
    pub(super) uncommitted: Arc<AtomicBool>,
}

impl TableFile {
    /// Of a table in the manifest of the store at `dir`.
    pub(super) fn new(dir: &Path, meta: TableMeta, obsolete: &Arc<Obsolete>) -> Result<Arc<Self>> {
        let path = dir.join(&meta.path);
        let Some(facts) = TableFacts::decode(&meta.user) else {
            return Err(Error::corruption(&path, 0, "the manifest's facts about this table make no sense"));
        };
        Ok(Arc::new(Self {
            meta,
            facts,
            file: Arc::new(FileOnDisk {
                path,
                dropped: AtomicBool::new(false),
                obsolete: Arc::clone(obsolete),
            }),
            reader: OnceLock::new(),
            compacting: Arc::default(),
            uncommitted: Arc::default(),
        }))
    }

    /// The manifest no longer has it: when the last reader lets go, the file can be removed.
    pub(super) fn mark_dropped(&self) {
        self.file.dropped.store(true, Ordering::Relaxed);
    }

    /// The same table, about which the manifest now says this.
    fn moved(&self, meta: TableMeta) -> Result<Arc<Self>> {
        let Some(facts) = TableFacts::decode(&meta.user) else {
            return Err(Error::corruption(
                self.path(),
                0,
                "the manifest's facts about this table make no sense",
            ));
        };
        Ok(Arc::new(Self {
            meta,
            facts,
            file: Arc::clone(&self.file),
            reader: self.reader.clone(),
            compacting: Arc::default(),
            uncommitted: Arc::default(),
        }))
    }

    /// The same table, closed: what it keeps in memory goes with the last who has this one.
    fn closed(&self) -> Arc<Self> {
        Arc::new(Self {
            meta: self.meta.clone(),
            facts: self.facts,
            file: Arc::clone(&self.file),
            reader: OnceLock::new(),
            compacting: Arc::clone(&self.compacting),
            uncommitted: Arc::clone(&self.uncommitted),
        })
    }

    /// While somebody has this, the file is there.
    pub(super) fn keep_file(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(&self.file) as _
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.file.path
    }

    pub(super) fn min_key(&self) -> &[u8] {
        &self.meta.min_key
    }

    pub(super) fn max_key(&self) -> &[u8] {
        &self.meta.max_key
    }

    /// Whether it may hold a key of the closed range.
    pub(super) fn overlaps(&self, first: &[u8], last: &[u8]) -> bool {
        self.min_key() <= last && first <= self.max_key()
    }
}

/// The tables at one moment. Level 0 may overlap and is ordered from the newest to the oldest; the others do
/// not overlap within themselves and are ordered by key. A deeper level is older, key by key.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) levels: Vec<Vec<Arc<TableFile>>>,
}

impl Default for Version {
    fn default() -> Self {
        Self { levels: vec![Vec::new(); LEVELS] }
    }
}

impl Version {
    /// What a manifest's state says, with the open tables of `before` where they are the same.
    pub(super) fn of(dir: &Path, state: &State, before: &Version, obsolete: &Arc<Obsolete>) -> Result<Self> {
        let mut version = Self::default();
        let known: HashMap<u64, &Arc<TableFile>> = before.tables().map(|t| (t.meta.number, t)).collect();
        for meta in state.tables.values() {
            let table = match known.get(&meta.number) {
                Some(table) if table.meta.user == meta.user => Arc::clone(table),
                // A table that only changed its level is the same file.
                Some(table) => table.moved(meta.clone())?,
                None => TableFile::new(dir, meta.clone(), obsolete)?,
            };
            version.levels[usize::from(table.facts.level)].push(table);
        }
        version.sort();
        Ok(version)
    }

    fn sort(&mut self) {
        self.sort_level0();
        for level in &mut self.levels[1..] {
            level.sort_by(|a, b| a.min_key().cmp(b.min_key()));
        }
    }

    /// The same without these tables.
    pub(super) fn without<'a>(&self, tables: impl Iterator<Item = &'a Arc<TableFile>>) -> Self {
        let numbers: HashSet<u64> = tables.map(|t| t.meta.number).collect();
        let mut version = self.clone();
        version.levels.iter_mut().for_each(|level| level.retain(|t| !numbers.contains(&t.meta.number)));
        version
    }

    /// The same and these tables, each in its level, those excepted that are there again already.
    pub(super) fn and<'a>(&self, tables: impl Iterator<Item = &'a Arc<TableFile>>) -> Self {
        let mut version = self.clone();
        for table in tables.filter(|t| !self.has(t.meta.number)) {
            version.levels[usize::from(table.facts.level)].push(Arc::clone(table));
        }
        version.sort();
        version
    }

    /// Adds a table that was flushed or ingested.
    pub(super) fn add_to_level0(&mut self, table: Arc<TableFile>) {
        self.levels[0].push(table);
        self.sort_level0();
    }

    /// From the newest to the oldest. The tables of one ingestion have the same sequence number, and one of them may have
    /// been merged with older tables: what holds nothing older comes first.
    fn sort_level0(&mut self) {
        let age = |t: &Arc<TableFile>| (t.facts.max_seq, t.facts.min_seq, t.meta.number);
        self.levels[0].sort_by_key(|t| std::cmp::Reverse(age(t)));
    }

    /// The same tables, of which those are closed that were not read from for long, so that fewer than `max_open` are
    /// open. `None` if no more are.
    pub(super) fn with_idle_closed(&self, max_open: usize) -> Option<Self> {
        let open = self.tables().filter(|t| t.reader.get().is_some()).count();
        if open <= max_open {
            return None;
        }
        // A few more than have to, so that the next that is opened does not come here too.
        let mut to_close = open - (max_open - max_open / 8);
        let mut version = self.clone();
        for even_if_used in [false, true] {
            // The deepest tables are the least likely to be read from again.
            for table in version.levels.iter_mut().rev().flat_map(|level| level.iter_mut().rev()) {
                let idle = |reader: &Arc<TableReader>| !reader.take_used() || even_if_used;
                if to_close > 0 && table.reader.get().is_some_and(idle) {
                    *table = table.closed();
                    to_close -= 1;
                }
            }
        }
        Some(version)
    }

    /// All tables, from the newest data to the oldest.
    pub(super) fn tables(&self) -> impl Iterator<Item = &Arc<TableFile>> {
        self.levels.iter().flatten()
    }

    /// The one table of a level (not 0) that may hold a key. A table whose deleted ranges end before the first key of
    /// the next table has that key as its largest, so the later one is it.
    #[inline]
    pub(super) fn table_for<'a>(level: &'a [Arc<TableFile>], key: &[u8]) -> Option<&'a Arc<TableFile>> {
        let after = level.partition_point(|t| cmp_keys(t.min_key(), key).is_le());
        level.get(after.checked_sub(1)?).filter(|t| cmp_keys(key, t.max_key()).is_le())
    }

    /// Whether it has a table of this number.
    pub(super) fn has(&self, number: u64) -> bool {
        self.tables().any(|t| t.meta.number == number)
    }

    /// The bytes of a level.
    pub(super) fn level_bytes(&self, level: usize) -> u64 {
        self.levels[level].iter().map(|t| t.meta.file_bytes).sum()
    }
}
