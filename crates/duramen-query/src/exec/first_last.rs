//! The first and the last times of groups, and how many rows these have. Of most blocks it is known which groups their rows are of,
//! and that none of them is earlier, or later, than one that was seen already: they are not opened.

use super::RunStats;
use super::aggregate::Aggregation;
use super::told::Told;
use crate::error::Result;
use crate::pipe::stats::kind::Kind;
use crate::pipe::stats::{Aggregate, Groups};
use duramen::block::BlockHandle;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Of how many groups of blocks it is remembered that they are there. Of more, all blocks are read.
const MAX_GROUPS_OF_BLOCKS: usize = 1 << 18;

/// How often only those blocks are read that come first, or last, for some group. Then all are that may have a better time.
const MAX_ROUNDS: usize = 4;

/// A function that wants the first or the last time.
#[derive(Clone, Copy)]
struct OfTime {
    function: usize,
    is_first: bool,
}

impl OfTime {
    /// The best time that a row of the block may have; the greater, the better.
    fn best_of(self, handle: &dyn BlockHandle) -> i128 {
        self.rank(if self.is_first { handle.min_time() } else { handle.max_time() })
    }

    fn rank(self, time: i64) -> i128 {
        if self.is_first { -i128::from(time) } else { time.into() }
    }
}

/// The functions that want the first or the last time, if there are any, and the others only count rows.
fn of_times(aggregate: &Aggregate) -> Option<Vec<OfTime>> {
    let mut of_times = Vec::new();
    for (number, function) in aggregate.functions.iter().enumerate() {
        match function.kind {
            _ if function.is_plain_count() => {}
            Kind::Min | Kind::Max if function.is_of_time() && function.condition.is_none() => {
                of_times.push(OfTime { function: number, is_first: function.kind == Kind::Min });
            }
            _ => return None,
        }
    }
    (!of_times.is_empty() && aggregate.keep.is_none()).then_some(of_times)
}

/// A block of which it is known how many of its rows are of which groups, by their numbers among those that are known.
struct Unread {
    handle: Arc<dyn BlockHandle>,
    groups: Vec<(usize, u64)>,
}

/// The groups, if the functions want no more than first and last times and numbers of rows.
pub(super) fn groups<'a>(
    aggregation: &Aggregation<'a>,
    blocks: &[Arc<dyn BlockHandle>],
    stats: &mut RunStats,
) -> Result<Option<Groups<'a>>> {
    let Some(of_times) = of_times(aggregation.aggregate) else { return Ok(None) };
    // Those of blocks that are not read may turn out to be there only in damaged ones.
    let mut known = Groups::new(aggregation.aggregate, aggregation.memory);
    let found = first_last(aggregation, blocks, &of_times, &mut known, stats);
    known.forget();
    found
}

fn first_last<'a>(
    aggregation: &Aggregation<'a>,
    blocks: &[Arc<dyn BlockHandle>],
    of_times: &[OfTime],
    known: &mut Groups<'a>,
    stats: &mut RunStats,
) -> Result<Option<Groups<'a>>> {
    let Aggregation { reader, aggregate, memory, .. } = aggregation;
    let told = Told::of(reader.told.filter(), &aggregate.by);
    let (mut unread, mut next, mut remembered) = (Vec::new(), Vec::new(), 0);
    for handle in blocks {
        let mut groups = Vec::new();
        let others = told.counts(std::slice::from_ref(handle), reader.cancel, &mut |key, rows| {
            groups.push((known.group(key)?, rows));
            Ok(())
        })?;
        remembered += groups.len();
        if remembered > MAX_GROUPS_OF_BLOCKS {
            return Ok(None);
        }
        if others.is_empty() {
            unread.push(Unread { handle: handle.clone(), groups });
        } else {
            next.extend(others);
        }
    }
    let mut all = Groups::new(aggregate, memory);
    for round in 0.. {
        all.merge(aggregation.of_blocks(&next, stats)?)?;
        let times = of_times.iter().map(|of| {
            let times = (0..known.len()).map(|group| all.time_of(known, group, of.function));
            (*of, times.collect())
        });
        let times: Vec<Times> = times.collect();
        let better = if round < MAX_ROUNDS { best(&unread, &times) } else { better(&unread, &times) };
        if better.is_empty() {
            break;
        }
        let blocks = std::mem::take(&mut unread).into_iter().enumerate();
        let (read, left): (Vec<_>, Vec<_>) = blocks.partition(|(i, _)| better.contains(i));
        next = read.into_iter().map(|(_, block)| block.handle).collect();
        unread = left.into_iter().map(|(_, block)| block).collect();
    }
    for (group, rows) in unread.iter().flat_map(|block| &block.groups) {
        let group = all.group_of(known, *group)?;
        all.add_rows(group, *rows);
        stats.rows_matched += rows;
    }
    Ok(Some(all))
}

/// A function, and the time of each group that is known, if it has one so far.
type Times = (OfTime, Vec<Option<i64>>);

/// Whether a row of the block may have a better time than this one.
fn may_be_better(of: OfTime, block: &Unread, time: Option<i64>) -> bool {
    time.is_none_or(|time| of.best_of(&*block.handle) > of.rank(time))
}

/// The blocks that may have a better time for one of their groups than it has.
fn better(unread: &[Unread], times: &[Times]) -> BTreeSet<usize> {
    let is_better = |block: &Unread| {
        let is_better = |(group, _): &(usize, u64)| {
            times.iter().any(|(of, times)| may_be_better(*of, block, times[*group]))
        };
        block.groups.iter().any(is_better)
    };
    (0..unread.len()).filter(|&i| is_better(&unread[i])).collect()
}

/// Of these, for each group and function only the most promising.
fn best(unread: &[Unread], times: &[Times]) -> BTreeSet<usize> {
    let mut best = BTreeSet::new();
    for (of, times) in times {
        let mut first: Vec<Option<(i128, usize)>> = vec![None; times.len()];
        for (i, block) in unread.iter().enumerate() {
            let promised = of.best_of(&*block.handle);
            for (group, _) in &block.groups {
                first[*group] = first[*group].max(Some((promised, i)));
            }
        }
        let first = first.into_iter().zip(times).filter_map(|(first, time)| Some((first?.1, *time)));
        best.extend(first.filter(|(i, time)| may_be_better(*of, &unread[*i], *time)).map(|(i, _)| i));
    }
    best
}
