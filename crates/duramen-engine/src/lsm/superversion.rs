//! Where a reader looks: the memtables and tables of one moment.

use super::memtable::Memtable;
use super::read::{Coverage, RangeTombstones};
use super::table::TableCache;
use super::version::Version;
use crate::Result;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The WAL segment that a memtable is an index of.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) writer_id: u64,
    pub(super) number: u64,
    /// Its file, if it has one.
    pub(super) path: Option<PathBuf>,
    /// It is of a writer that is gone.
    pub(super) recovered: bool,
    /// It also holds what could not be read: keep it.
    pub(super) damaged: bool,
}

/// A memtable that takes no more, waiting to become a table.
#[derive(Debug)]
pub(super) struct Immutable {
    pub(super) memtable: Arc<dyn Memtable>,
    pub(super) origin: Origin,
    /// The sequence number of the last write of the segment: no older memtable has a newer one.
    pub(super) last_seq: u64,
}

/// Everything there is at one moment. A new one takes its place whenever a memtable or a table comes or goes; who
/// has one goes on reading it.
#[derive(Debug)]
pub(super) struct SuperVersion {
    /// Where writes go; none in a store that was opened read-only.
    pub(super) active: Option<Arc<dyn Memtable>>,
    /// From the newest to the oldest.
    pub(super) immutables: Vec<Arc<Immutable>>,
    pub(super) version: Arc<Version>,
    /// Whether any of these but the active memtable has deleted ranges: mostly none has.
    has_range_deletes: bool,
    /// Those ranges, once somebody has asked.
    range_deletes: OnceLock<Vec<Arc<RangeTombstones>>>,
    /// Those of the active memtable when somebody asked last, and how many that were.
    active_range_deletes: Mutex<(usize, Arc<RangeTombstones>)>,
}

impl SuperVersion {
    pub(super) fn new(
        active: Option<Arc<dyn Memtable>>,
        immutables: Vec<Arc<Immutable>>,
        version: Arc<Version>,
    ) -> Self {
        let has_range_deletes = immutables.iter().any(|i| i.memtable.range_tombstone_count() > 0)
            || version.tables().any(|t| t.facts.range_deletes > 0);
        Self {
            active,
            immutables,
            version,
            has_range_deletes,
            range_deletes: OnceLock::new(),
            active_range_deletes: Mutex::default(),
        }
    }

    /// The memtables, from the newest to the oldest.
    pub(super) fn memtables(&self) -> impl Iterator<Item = &Arc<dyn Memtable>> {
        self.active.iter().chain(self.immutables.iter().map(|i| &i.memtable))
    }

    /// Whether there are deleted ranges at all.
    #[inline]
    pub(super) fn has_range_deletes(&self) -> bool {
        self.has_range_deletes
            || self.active.as_ref().is_some_and(|active| active.range_tombstone_count() > 0)
    }

    /// The deleted ranges that a reader at `seq` has to mind; `None` if there are none at all.
    #[inline]
    pub(super) fn coverage(&self, tables: &TableCache, seq: u64) -> Result<Option<Coverage>> {
        let active = self.active.as_ref().filter(|memtable| memtable.range_tombstone_count() > 0);
        if active.is_none() && !self.has_range_deletes {
            return Ok(None);
        }
        let frozen = match self.range_deletes.get() {
            Some(frozen) => frozen,
            None => {
                let mut found = Vec::new();
                for immutable in self.immutables.iter().filter(|i| i.memtable.range_tombstone_count() > 0) {
                    found.push(Arc::new(RangeTombstones::new(immutable.memtable.range_tombstones().iter())));
                }
                for table in self.version.tables().filter(|t| t.facts.range_deletes > 0) {
                    let ranges = tables.reader(table)?.range_tombstones()?;
                    found.push(Arc::new(RangeTombstones::new(ranges.iter())));
                }
                self.range_deletes.get_or_init(|| found)
            }
        };
        let active = active.map(|memtable| self.active_range_deletes(&**memtable));
        Ok(Some(Coverage::new(active.into_iter().chain(frozen.iter().cloned()), seq)))
    }

    fn active_range_deletes(&self, active: &dyn Memtable) -> Arc<RangeTombstones> {
        let mut known = self.active_range_deletes.lock().unwrap_or_else(PoisonError::into_inner);
        let ranges = active.range_tombstones();
        if known.0 != ranges.len() {
            *known = (ranges.len(), Arc::new(RangeTombstones::new(ranges.iter())));
        }
        Arc::clone(&known.1)
    }
}
