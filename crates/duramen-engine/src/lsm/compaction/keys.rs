//! Ranges of keys and the tables in them.

use crate::lsm::version::TableFile;
use std::sync::Arc;

/// A closed range of keys, borrowed from tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyRange<'a> {
    pub(super) first: &'a [u8],
    pub(super) last: &'a [u8],
}

impl<'a> KeyRange<'a> {
    pub(super) fn of(table: &'a TableFile) -> Self {
        Self { first: table.min_key(), last: table.max_key() }
    }

    /// The range from the smallest to the largest key of tables; `None` of no tables.
    pub(super) fn hull(tables: impl IntoIterator<Item = &'a Arc<TableFile>>) -> Option<Self> {
        tables.into_iter().map(|t| Self::of(t)).reduce(Self::with)
    }

    /// The smallest range that holds both.
    pub(super) fn with(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }

    pub(super) fn is_within(&self, other: &KeyRange<'_>) -> bool {
        other.first <= self.first && self.last <= other.last
    }

    pub(super) fn overlaps(&self, other: &KeyRange<'_>) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// The tables of a level below 0 that may hold a key of the range.
pub(super) fn overlapping<'v>(level: &'v [Arc<TableFile>], range: &KeyRange<'_>) -> &'v [Arc<TableFile>] {
    let from = level.partition_point(|t| t.max_key() < range.first);
    let to = level.partition_point(|t| t.min_key() <= range.last);
    level.get(from..to).unwrap_or_default()
}

/// Tables in groups that overlap, directly or by way of others in the group: what no job needs to take together.
/// Groups are ordered by key; within one, tables by their smallest key.
pub(super) fn groups<'v>(
    tables: impl IntoIterator<Item = &'v Arc<TableFile>>,
) -> Vec<Vec<&'v Arc<TableFile>>> {
    let mut tables: Vec<_> = tables.into_iter().collect();
    tables.sort_by(|a, b| (a.min_key(), a.meta.number).cmp(&(b.min_key(), b.meta.number)));
    let mut groups: Vec<Vec<&Arc<TableFile>>> = Vec::new();
    let mut reach: &[u8] = &[];
    for table in tables {
        match groups.last_mut() {
            Some(group) if table.min_key() <= reach => group.push(table),
            _ => {
                groups.push(vec![table]);
                reach = table.max_key();
            }
        }
        reach = reach.max(table.max_key());
    }
    groups
}

/// How many bytes tables take.
pub(super) fn bytes<'v>(tables: impl IntoIterator<Item = &'v Arc<TableFile>>) -> u64 {
    tables.into_iter().map(|t| t.meta.file_bytes).fold(0, u64::saturating_add)
}

/// Whether a job has taken the table.
pub(super) fn is_compacting(table: &Arc<TableFile>) -> bool {
    table.compacting.load(std::sync::atomic::Ordering::Relaxed)
}

/// Whether a merge with nothing older below can leave something of the table out.
pub(super) fn has_garbage(table: &Arc<TableFile>) -> bool {
    let facts = &table.facts;
    facts.deletes > 0 || facts.range_deletes > 0 || facts.old_versions > 0
}
