//! Sorted runs of similar size are merged: RocksDB's universal compaction.
//!
//! A sorted run is a table of level 0, or all tables of a deeper level. Runs are ordered by age, and only neighbours
//! merge. Once there are `level0_file_num_compaction_trigger` runs, the first rule that holds says which:
//!
//! 1. *Space amplification*: together the newer runs are twice as large as the oldest. Nearly all of that may be stale
//!    by now; all merge.
//! 2. *Size ratio*: going from newer to older, each next run is at most 1 % larger than what was taken so far. So each
//!    entry is rewritten about once for each doubling of the store.
//! 3. *Number of runs*: there are more than the trigger, or so many that writes are held back. The newest merge.
//!
//! What is merged goes as deep as it can and stay above the next older run: into the last level, if there is none.

use super::Job;
use super::keys::{bytes, groups, has_garbage, is_compacting};
use crate::lsm::listener::{CompactionKind, CompactionReason};
use crate::lsm::options::LsmOptions;
use crate::lsm::version::{LEVELS, TableFile, Version};
use std::ops::Range;
use std::sync::Arc;

/// How much larger, in percent, the next run may be than those taken so far.
const SIZE_RATIO_PERCENT: u128 = 1;
/// How many bytes, in percent of the oldest run, the newer runs may have.
const MAX_SIZE_AMPLIFICATION_PERCENT: u128 = 200;

struct Run<'v> {
    level: usize,
    tables: &'v [Arc<TableFile>],
    bytes: u64,
    compacting: bool,
}

impl<'v> Run<'v> {
    fn new(level: usize, tables: &'v [Arc<TableFile>]) -> Self {
        Self { level, tables, bytes: bytes(tables), compacting: tables.iter().any(is_compacting) }
    }
}

pub(super) fn pick(version: &Version, options: &LsmOptions) -> Option<Job> {
    let runs = sorted_runs(version);
    if runs.len() < options.level0_file_num_compaction_trigger {
        return None;
    }
    let (reason, range) =
        by_space(&runs).or_else(|| by_ratio(&runs)).or_else(|| by_count(&runs, allowed(options)))?;
    merge(version, &runs, range, reason)
}

/// From the newest to the oldest.
fn sorted_runs(version: &Version) -> Vec<Run<'_>> {
    let mut levels = version.levels.iter().enumerate();
    let level0 =
        levels.next().into_iter().flat_map(|(_, tables)| tables.chunks(1)).map(|table| Run::new(0, table));
    let deeper =
        levels.filter(|(_, tables)| !tables.is_empty()).map(|(level, tables)| Run::new(level, tables));
    level0.chain(deeper).collect()
}

type Choice = Option<(CompactionReason, Range<usize>)>;

fn by_space(runs: &[Run<'_>]) -> Choice {
    let oldest = runs.last()?;
    let from = runs.iter().rposition(|run| run.compacting).map_or(0, |at| at + 1);
    let newer: u128 = runs.get(from..runs.len() - 1)?.iter().map(|run| u128::from(run.bytes)).sum();
    let due = newer * 100 >= MAX_SIZE_AMPLIFICATION_PERCENT * u128::from(oldest.bytes);
    (due && runs.len() - from > 1).then_some((CompactionReason::SpaceAmplification, from..runs.len()))
}

fn by_ratio(runs: &[Run<'_>]) -> Choice {
    (0..runs.len()).find_map(|from| {
        let mut taken: u128 = 0;
        let similar = runs[from..].iter().take_while(|run| {
            let bytes = u128::from(run.bytes);
            let fits = taken == 0 || bytes * 100 <= taken * (100 + SIZE_RATIO_PERCENT);
            taken += bytes;
            fits && !run.compacting
        });
        let count = similar.count();
        (count > 1).then_some((CompactionReason::SizeRatio, from..from + count))
    })
}

/// How many runs may stay. Fewer than hold writes back: a write that waits for fewer must not wait for ever.
fn allowed(options: &LsmOptions) -> usize {
    let held_back = options.level0_slowdown_writes_trigger.min(options.level0_stop_writes_trigger);
    options.level0_file_num_compaction_trigger.min(held_back.saturating_sub(1)).max(1)
}

fn by_count(runs: &[Run<'_>], allowed: usize) -> Choice {
    let free = runs.iter().filter(|run| !run.compacting).count();
    let from = runs.iter().position(|run| !run.compacting)?;
    let excess = free.checked_sub(allowed).filter(|&excess| excess > 0)?;
    let count = runs[from..].iter().take(excess + 1).take_while(|run| !run.compacting).count();
    (count > 1).then_some((CompactionReason::SortedRunCount, from..from + count))
}

fn merge(version: &Version, runs: &[Run<'_>], range: Range<usize>, reason: CompactionReason) -> Option<Job> {
    let output_level = runs.get(range.end).map_or(LEVELS - 1, |next| next.level.saturating_sub(1));
    let tables: Vec<_> = runs.get(range)?.iter().flat_map(|run| run.tables).collect();
    let mut job = Job::new(version, CompactionKind::Merge, reason, &tables, output_level)?;
    let disjoint = groups(tables.iter().copied()).iter().all(|group| group.len() == 1);
    let shrinks = job.is_bottommost && tables.iter().any(|&t| has_garbage(t));
    if disjoint && output_level > 0 && !shrinks {
        job.kind = CompactionKind::TrivialMove;
    }
    Some(job)
}
