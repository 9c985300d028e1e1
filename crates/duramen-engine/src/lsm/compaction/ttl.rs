//! What has expired is dropped unread.
//!
//! A table has expired when its newest entry is more than `ttl_s` old. It may be dropped once every older table that it
//! overlaps has expired as well, and these are dropped no later than it is: a table may delete keys that an older one
//! still holds, and they must not come back. One job drops all such tables, in one edit. A table that a running job reads
//! stays, and whatever lies above it, and a table that a snapshot sees something of.

use super::keys::{KeyRange, is_compacting, overlapping};
use super::{Job, LiveWork};
use crate::lsm::listener::{CompactionKind, CompactionReason};
use crate::lsm::options::LsmOptions;
use crate::lsm::version::{TableFile, Version};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) fn pick(version: &Version, options: &LsmOptions, live: &LiveWork<'_>) -> Option<Job> {
    if options.ttl_s == 0 {
        return None;
    }
    let ttl_s = i64::try_from(options.ttl_s).unwrap_or(i64::MAX);
    let newest_snapshot = live.snapshots.last().copied();
    let expired = |table: &Arc<TableFile>| {
        table.facts.newest_unix_s.saturating_add(ttl_s) < live.now_unix_s
            && newest_snapshot.is_none_or(|seq| seq < table.facts.min_seq)
            && !is_compacting(table)
    };
    let mut dropped = BTreeSet::new();
    let mut tables = Vec::new();
    // The oldest first: what they decide, those above them follow.
    for (level, of_level) in version.levels.iter().enumerate().rev() {
        for (at, table) in of_level.iter().enumerate().rev() {
            let range = KeyRange::of(table);
            let stays = |older: &Arc<TableFile>| !dropped.contains(&older.meta.number);
            let mut deeper =
                version.levels[level + 1..].iter().flat_map(|tables| overlapping(tables, &range));
            let mut beside =
                of_level[at + 1..].iter().filter(|&t| level == 0 && KeyRange::of(t).overlaps(&range));
            if expired(table) && !deeper.any(stays) && !beside.any(stays) {
                dropped.insert(table.meta.number);
                tables.push(table);
            }
        }
    }
    let last_level = version.levels.len() - 1;
    Job::new(version, CompactionKind::DropExpired, CompactionReason::Ttl, &tables, last_level)
}
