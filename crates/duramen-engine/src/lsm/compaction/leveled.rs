//! Each level is held to a size: RocksDB's leveled compaction.
//!
//! A level's score says how urgent it is to take something out of it: of level 0, how many tables it has to how many it
//! may have; of the others, how many bytes. What a running job already takes does not count. From the level with the
//! highest score, if that is at least 1:
//!
//! - of level 0, a group of tables that overlap (all of them, where keys come at random), with what they overlap in
//!   level 1. Tables that overlap nothing are only moved, all at once;
//! - of another, the table that costs least: the fewest bytes to rewrite below for each byte of its own. One with many
//!   deletions counts as larger, since it makes others smaller.

use super::keys::{KeyRange, bytes, groups, has_garbage, is_compacting, overlapping};
use super::{Job, LiveWork};
use crate::lsm::listener::{CompactionKind, CompactionReason};
use crate::lsm::options::LsmOptions;
use crate::lsm::version::{LEVELS, TableFile, Version};
use std::sync::Arc;

/// How many tables of the target size one output may overlap in the level below: what it will cost to move it there.
const GRANDPARENTS: u64 = 10;
/// How many tables of the target size a job may take, if it has a choice.
const MAX_TABLES: u64 = 25;
/// A table in place is rewritten if it could lose one in this many of its entries.
const GARBAGE_SHARE: u64 = 10;

/// How many bytes of tables below one output of a job may overlap.
pub(super) fn max_grandparent_overlap_bytes(options: &LsmOptions) -> u64 {
    options.target_file_size_base.saturating_mul(GRANDPARENTS)
}

/// The size in bytes that a level, from 1 on, is held to.
pub(super) fn target_bytes(options: &LsmOptions, level: usize) -> u64 {
    (1..level).fold(options.max_bytes_for_level_base, |bytes, _| {
        bytes.saturating_mul(options.max_bytes_for_level_multiplier)
    })
}

/// How urgent it is to take something out of each level but the last, which only grows.
pub(super) fn scores(version: &Version, options: &LsmOptions) -> Vec<(usize, f64)> {
    let score = |(level, tables): (usize, &Vec<Arc<TableFile>>)| {
        let free = tables.iter().filter(|&t| !is_compacting(t));
        let score = match level {
            0 => free.count() as f64 / options.level0_file_num_compaction_trigger as f64,
            _ => bytes(free) as f64 / target_bytes(options, level) as f64,
        };
        (level, score)
    };
    version.levels.iter().take(LEVELS - 1).enumerate().map(score).collect()
}

pub(super) fn pick(version: &Version, options: &LsmOptions, live: &LiveWork<'_>) -> Option<Job> {
    let mut scores = scores(version, options);
    scores.retain(|&(_, score)| score >= 1.0);
    scores.sort_by(|a, b| b.1.total_cmp(&a.1));
    let picker = Picker { version, options, live };
    let urgent = scores.into_iter().find_map(
        |(level, _)| {
            if level == 0 { picker.level0() } else { picker.level(level) }
        },
    );
    urgent.or_else(|| picker.garbage())
}

struct Picker<'a> {
    version: &'a Version,
    options: &'a LsmOptions,
    live: &'a LiveWork<'a>,
}

impl<'a> Picker<'a> {
    fn level0(&self) -> Option<Job> {
        let reason = CompactionReason::Level0FileCount;
        let mut groups = self.level0_groups();
        let alone: Vec<_> = groups.iter().filter(|g| g.len() == 1).flatten().copied().collect();
        let movable: Vec<_> = alone.into_iter().filter(|&t| self.may_move(0, t)).collect();
        if !movable.is_empty() {
            return Job::new(self.version, CompactionKind::TrivialMove, reason, &movable, 1);
        }
        // Most tables first; among equals the one with the oldest data.
        groups.sort_by_key(|group| {
            (std::cmp::Reverse(group.len()), group.iter().map(|t| t.facts.max_seq).min())
        });
        groups.into_iter().find_map(|group| self.downward(0, group, reason))
    }

    /// The tables of level 0 that can go down, in groups that overlap. One that is taken, or about to be recorded, keeps
    /// those newer ones above it that it overlaps.
    fn level0_groups(&self) -> Vec<Vec<&'a Arc<TableFile>>> {
        let mut staying: Vec<KeyRange<'_>> = Vec::new();
        let mut free = Vec::new();
        for table in self.version.levels[0].iter().rev() {
            let range = KeyRange::of(table);
            if is_compacting(table) || staying.iter().any(|stays| stays.overlaps(&range)) {
                staying.push(range);
            } else {
                free.push(table);
            }
        }
        groups(free)
    }

    fn level(&self, level: usize) -> Option<Job> {
        let reason = CompactionReason::LevelSize;
        let mut tables: Vec<_> = self.version.levels[level]
            .iter()
            .filter(|&t| !is_compacting(t))
            .map(|t| (self.cost(level, t), t))
            .collect();
        tables.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.meta.number.cmp(&b.1.meta.number)));
        tables.into_iter().find_map(|(_, table)| {
            if self.may_move(level, table) {
                return Job::new(self.version, CompactionKind::TrivialMove, reason, &[table], level + 1);
            }
            self.downward(level, vec![table], reason)
        })
    }

    /// How many bytes below have to be rewritten for each byte of the table.
    fn cost(&self, level: usize, table: &TableFile) -> f64 {
        let below = bytes(overlapping(&self.version.levels[level + 1], &KeyRange::of(table)));
        let deletes = table.facts.deletes as f64 / table.meta.entries.max(1) as f64;
        below as f64 / (table.meta.file_bytes.max(1) as f64 * (1.0 + deletes))
    }

    /// Whether a table that overlaps no other of its level can go one level down as it is: nothing is in its place, it
    /// does not lie upon so much that moving it further would be dear, and rewriting it would not make it smaller.
    fn may_move(&self, level: usize, table: &Arc<TableFile>) -> bool {
        let range = KeyRange::of(table);
        let deeper = &self.version.levels[level + 2..];
        let grandparents = deeper.first().map_or(0, |tables| bytes(overlapping(tables, &range)));
        let shrinks =
            has_garbage(table) && deeper.iter().all(|tables| overlapping(tables, &range).is_empty());
        overlapping(&self.version.levels[level + 1], &range).is_empty()
            && grandparents <= max_grandparent_overlap_bytes(self.options)
            && !shrinks
            && !self.meets_running(level + 1, &range)
    }

    /// Merges tables into the next level. `chosen` overlaps nothing else in its level that is not compacted already.
    fn downward(
        &self,
        level: usize,
        mut chosen: Vec<&'a Arc<TableFile>>,
        reason: CompactionReason,
    ) -> Option<Job> {
        let below_level = &self.version.levels[level + 1];
        let range = KeyRange::hull(chosen.iter().copied())?;
        let below = overlapping(below_level, &range);
        if below.iter().any(is_compacting) {
            return None;
        }
        if let Some(more) = self.more(level, range, below) {
            chosen = more;
        }
        chosen.extend(below);
        let job = Job::new(self.version, CompactionKind::Merge, reason, &chosen, level + 1)?;
        (!self.meets_running(level + 1, &job.range())).then(|| job.with_grandparents(self.version))
    }

    /// All tables of the level that can go along without another one below being rewritten.
    fn more(
        &self,
        level: usize,
        range: KeyRange<'a>,
        below: &'a [Arc<TableFile>],
    ) -> Option<Vec<&'a Arc<TableFile>>> {
        // Nothing else below overlaps this: it ends where the chosen tables do, or those that they overlap.
        let wide = range.with(KeyRange::hull(below)?);
        let within = |tables: &[&Arc<TableFile>]| {
            KeyRange::hull(tables.iter().copied()).is_some_and(|hull| hull.is_within(&wide))
        };
        let tables = &self.version.levels[level];
        let more: Vec<_> = if level == 0 {
            self.level0_groups().into_iter().filter(|group| within(group)).flatten().collect()
        } else {
            overlapping(tables, &wide).iter().filter(|&t| within(&[t])).collect()
        };
        let all_bytes = bytes(more.iter().copied()).saturating_add(bytes(below));
        let few = all_bytes <= self.options.target_file_size_base.saturating_mul(MAX_TABLES);
        (few && !more.iter().any(|&t| is_compacting(t))).then_some(more)
    }

    /// A table at the bottom that much can be left out of, now that no snapshot sees it.
    fn garbage(&self) -> Option<Job> {
        let oldest_snapshot = self.live.snapshots.first().copied().unwrap_or(u64::MAX);
        let much = |table: &TableFile| {
            let facts = &table.facts;
            let garbage = facts.deletes.saturating_add(facts.old_versions).saturating_mul(GARBAGE_SHARE);
            facts.range_deletes > 0 || garbage > table.meta.entries
        };
        let levels = self.version.levels.iter().enumerate().skip(1);
        levels.flat_map(|(level, tables)| tables.iter().map(move |table| (level, table))).find_map(
            |(level, table)| {
                let due = table.facts.max_seq <= oldest_snapshot && !is_compacting(table) && much(table);
                if !due || self.meets_running(level, &KeyRange::of(table)) {
                    return None;
                }
                let reason = CompactionReason::BottommostGarbage;
                let job = Job::new(self.version, CompactionKind::Merge, reason, &[table], level)?;
                job.is_bottommost.then_some(job)
            },
        )
    }

    fn meets_running(&self, level: usize, range: &KeyRange<'_>) -> bool {
        self.live.running.iter().any(|job| job.writes_into(level, range))
    }
}
