//! Everything into the bottom level: what [`compact`](crate::kv::Engine::compact) asks for.
//!
//! Tables are taken in groups that overlap, whichever level they are of; each group is one job that rewrites every entry
//! once, right into the bottom level. A table that overlaps nothing is moved, or left alone if it is there already,
//! unless it holds what nobody can see any more. Tables of less than half the target size are joined with a neighbour
//! that is rewritten anyhow or is as small.
//!
//! While such a job runs its inputs are on disk beside its outputs: where all tables overlap, that is twice the store.

use super::Job;
use super::keys::{bytes, groups, has_garbage, is_compacting};
use super::leveled::target_bytes;
use crate::lsm::listener::{CompactionKind, CompactionReason};
use crate::lsm::options::{CompactionStyle, LsmOptions};
use crate::lsm::version::{LEVELS, TableFile, Version};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The jobs that bring every table of the version into the bottom level, with nothing in it that nobody sees. They
/// are independent of each other: in any order, some at the same time, some failing. Claim them all at once, so that
/// nothing else comes between; what is flushed meanwhile is not theirs.
///
/// `None` while a table is compacted: ask again when no job is running, and start none until then.
pub(in crate::lsm) fn plan_manual(version: &Version, options: &LsmOptions) -> Option<Vec<Job>> {
    if version.tables().any(is_compacting) {
        return None;
    }
    let bottom = bottom_level(version, options);
    let in_place: BTreeSet<u64> = version.levels[bottom].iter().map(|t| t.meta.number).collect();
    let is_in_place = |table: &Arc<TableFile>| in_place.contains(&table.meta.number);
    let mut moves = Vec::new();
    let mut jobs = Vec::new();
    for group in joined(groups(version.tables()), options.target_file_size_base / 2) {
        match group.as_slice() {
            [table] if !has_garbage(table) && is_in_place(table) => {}
            [table] if !has_garbage(table) => moves.push(*table),
            tables => {
                jobs.extend(Job::new(
                    version,
                    CompactionKind::Merge,
                    CompactionReason::Manual,
                    tables,
                    bottom,
                ));
            }
        }
    }
    jobs.extend(Job::new(version, CompactionKind::TrivialMove, CompactionReason::Manual, &moves, bottom));
    Some(jobs)
}

/// The level that everything goes to: the deepest that has tables, and one that may hold as much.
fn bottom_level(version: &Version, options: &LsmOptions) -> usize {
    if options.compaction != CompactionStyle::Leveled {
        return LEVELS - 1;
    }
    let deepest = version.levels.iter().rposition(|tables| !tables.is_empty()).unwrap_or(0);
    let all_bytes = bytes(version.tables());
    let holds_all = (1..LEVELS - 1).find(|&level| target_bytes(options, level) >= all_bytes);
    deepest.max(holds_all.unwrap_or(LEVELS - 1))
}

/// Joins groups of one small table with the group before or after, if that is rewritten or as small.
fn joined(groups: Vec<Vec<&Arc<TableFile>>>, small_bytes: u64) -> Vec<Vec<&Arc<TableFile>>> {
    let is_large = |group: &[&Arc<TableFile>]| matches!(group, [table] if table.meta.file_bytes >= small_bytes && !has_garbage(table));
    let is_small =
        |group: &[&Arc<TableFile>]| matches!(group, [table] if table.meta.file_bytes < small_bytes);
    let mut joined: Vec<Vec<&Arc<TableFile>>> = Vec::new();
    let mut joins_next = false;
    for group in groups {
        let (small, large) = (is_small(&group), is_large(&group));
        match joined.last_mut() {
            Some(last) if (small && !is_large(last)) || (joins_next && !large) => last.extend(group),
            _ => joined.push(group),
        }
        joins_next = small;
    }
    joined
}
