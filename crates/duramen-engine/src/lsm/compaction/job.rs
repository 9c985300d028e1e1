//! What is to be done, to which tables.

use super::keys::{KeyRange, bytes, overlapping};
use crate::lsm::listener::{CompactionKind, CompactionReason};
use crate::lsm::version::{TableFile, Version};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A set of tables that is to become another set in one manifest edit.
#[derive(Clone, Debug)]
pub(in crate::lsm) struct Job {
    pub(in crate::lsm) kind: CompactionKind,
    pub(in crate::lsm) reason: CompactionReason,
    /// The tables it takes, by level, ascending; of level 0 the newest first, of others by key. No level twice, none
    /// empty.
    pub(in crate::lsm) inputs: Vec<(usize, Vec<Arc<TableFile>>)>,
    /// The level that they go to. If it is 0, as one table.
    pub(in crate::lsm) output_level: usize,
    /// Whether no table that is not among the inputs holds anything older of their keys: then deletions have done their work.
    pub(in crate::lsm) is_bottommost: bool,
    /// The tables that do, by level.
    pub(in crate::lsm) older: Vec<(usize, Vec<Arc<TableFile>>)>,
    /// The tables one level below the output that lie in its range, if outputs are not to overlap too many of them.
    pub(in crate::lsm) grandparents: Vec<Arc<TableFile>>,
    /// All keys lie between these.
    pub(in crate::lsm) first_key: Vec<u8>,
    pub(in crate::lsm) last_key: Vec<u8>,
}

impl Job {
    /// Of tables of `version`, given in any order. `None` if there are none.
    pub(in crate::lsm) fn new(
        version: &Version,
        kind: CompactionKind,
        reason: CompactionReason,
        tables: &[&Arc<TableFile>],
        output_level: usize,
    ) -> Option<Self> {
        let hull = KeyRange::hull(tables.iter().copied())?;
        let numbers: BTreeSet<u64> = tables.iter().map(|t| t.meta.number).collect();
        let taken = |table: &Arc<TableFile>| numbers.contains(&table.meta.number);
        let inputs: Vec<(usize, Vec<_>)> = version
            .levels
            .iter()
            .map(|level| level.iter().filter(|&t| taken(t)).cloned().collect::<Vec<_>>())
            .enumerate()
            .filter(|(_, tables)| !tables.is_empty())
            .collect();
        let older = older_outside(version, &hull, taken);
        Some(Self {
            kind,
            reason,
            is_bottommost: older.is_empty(),
            older,
            inputs,
            output_level,
            grandparents: Vec::new(),
            first_key: hull.first.to_vec(),
            last_key: hull.last.to_vec(),
        })
    }

    /// Minds the level below the output's.
    pub(super) fn with_grandparents(mut self, version: &Version) -> Self {
        let below = version.levels.get(self.output_level + 1).map(Vec::as_slice).unwrap_or_default();
        self.grandparents = overlapping(below, &self.range()).to_vec();
        self
    }

    /// All tables it takes.
    pub(in crate::lsm) fn tables(&self) -> impl Iterator<Item = &Arc<TableFile>> {
        self.inputs.iter().flat_map(|(_, tables)| tables)
    }

    /// The bytes of their files.
    pub(in crate::lsm) fn input_bytes(&self) -> u64 {
        bytes(self.tables())
    }

    pub(super) fn range(&self) -> KeyRange<'_> {
        KeyRange { first: &self.first_key, last: &self.last_key }
    }

    /// Keeps other jobs from taking its tables. Only under the lock that it was picked under.
    pub(in crate::lsm) fn claim(&self) {
        self.tables().for_each(|t| t.compacting.store(true, Ordering::Relaxed));
    }

    /// Gives its tables back, once it is installed or given up.
    pub(in crate::lsm) fn release(&self) {
        self.tables().for_each(|t| t.compacting.store(false, Ordering::Relaxed));
    }

    /// Whether a job that writes to `level` in `range` would meet what this one writes.
    pub(super) fn writes_into(&self, level: usize, range: &KeyRange<'_>) -> bool {
        self.output_level == level
            && match self.kind {
                // One of its tables may reach from the first key to the last.
                CompactionKind::Merge => self.range().overlaps(range),
                CompactionKind::TrivialMove => self.tables().any(|t| KeyRange::of(t).overlaps(range)),
                CompactionKind::DropExpired => false,
            }
    }
}

/// The tables in the range that are older than the newest one that is `taken`, and are not themselves, by level.
fn older_outside(
    version: &Version,
    hull: &KeyRange<'_>,
    taken: impl Fn(&Arc<TableFile>) -> bool,
) -> Vec<(usize, Vec<Arc<TableFile>>)> {
    let from = version.levels.iter().position(|tables| tables.iter().any(&taken)).unwrap_or(0);
    let levels = version.levels.iter().enumerate().skip(from);
    let older = levels.map(|(level, tables)| {
        let tables: Vec<_> = if level == 0 {
            tables.iter().skip_while(|&t| !taken(t)).filter(|t| KeyRange::of(t).overlaps(hull)).collect()
        } else {
            overlapping(tables, hull).iter().collect()
        };
        (level, tables.into_iter().filter(|&t| !taken(t)).cloned().collect::<Vec<_>>())
    });
    older.filter(|(_, tables)| !tables.is_empty()).collect()
}
