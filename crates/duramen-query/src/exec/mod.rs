//! Running a plan over blocks.
//!
//! The first pipe that must see every row decides how blocks are read: `stats`, `top` and `uniq` straight
//! from columns on several threads (`aggregate`), or behind pipes that know one row at a time, row by row, but on
//! several threads, too (`piped`); `sort` by its keys (`sorted`), and anything else in order of time (`scan`), row by row
//! through the pipes.

pub(crate) mod aggregate;
pub(crate) mod ahead;
mod among;
mod cancel;
pub(crate) mod cells;
pub(crate) mod context;
mod derived;
pub(crate) mod eval;
mod first_last;
mod group_keys;
mod inputs;
mod made;
mod makers;
pub mod memory;
mod needed;
mod numbers;
pub(crate) mod open;
mod piped;
pub mod project;
pub(crate) mod read;
pub(crate) mod scan;
pub(crate) mod skip;
pub(crate) mod sorted;
pub(crate) mod threads;
pub(crate) mod told;
mod verdicts;
pub mod written;

use crate::error::Result;
use crate::pipe::grouping::Grouping;
use crate::pipe::stats::Aggregate;
use crate::pipe::{Flow, Passes, Pipe, Stage, chain, prepared};
use crate::query::Query;
use crate::row::ResultRow;
pub use cancel::Cancel;
use context::Run;
use duramen::block::{BlockHandle, names};
use memory::Memory;
use project::Projection;
use read::{InOrder, RowLimit};
use std::ops::ControlFlow;
use std::sync::Arc;
use written::{Cut, Last, SideBySide, Text};

/// The order in which log entries come when no pipe says otherwise: by time, and at one time by their order
/// in the blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The latest first.
    #[default]
    NewestFirst,
    /// The earliest first.
    OldestFirst,
}

impl Order {
    /// The time, block and row of such a place.
    pub(crate) fn place(self, [time, block, row]: [i64; 3]) -> (i64, usize, usize) {
        match self {
            Self::NewestFirst => (!time, !block as usize, !row as usize),
            Self::OldestFirst => (time, block as usize, row as usize),
        }
    }

    /// Where the first of some rows comes at the earliest, whose times lie between these.
    pub(crate) fn earliest(self, (min_time, max_time): (i64, i64)) -> [i64; 3] {
        let time = match self {
            Self::NewestFirst => !max_time,
            Self::OldestFirst => min_time,
        };
        [time, i64::MIN, i64::MIN]
    }

    /// The place of a row in this order, the first being the least.
    pub(crate) fn arrival(self, time: i64, block: usize, row: usize) -> [i64; 3] {
        let (block, row) = (block as i64, row as i64);
        match self {
            Self::NewestFirst => [!time, !block, !row],
            Self::OldestFirst => [time, block, row],
        }
    }
}

/// How to run a query.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The order of log entries. Default: newest first.
    pub order: Order,
    /// How many rows to leave out first. Default: none.
    pub offset: usize,
    /// The most rows to give to the sink, behind those. Default: no limit.
    pub limit: Option<usize>,
    /// How many threads may read blocks; 0 counts as 1. Default: 1.
    pub threads: usize,
    /// How many bytes sorting and grouping may hold. As many of decoded columns, about, are kept of blocks that overlap in
    /// time; where those have more, blocks are opened several times. Default: 128 MiB; see
    /// [`memory::share_of_machine_bytes`] for what a server gives.
    pub memory_limit_bytes: usize,
    /// How many rows the query may look at, of the blocks that it cannot pass over. Default: no limit.
    pub max_rows_scanned: Option<u64>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            order: Order::default(),
            offset: 0,
            limit: None,
            threads: 1,
            memory_limit_bytes: 128 << 20,
            max_rows_scanned: None,
        }
    }
}

/// What a run did.
#[derive(Debug, Default)]
pub struct RunStats {
    /// How many blocks it was given.
    pub blocks_total: u64,
    /// How many of them it read columns of.
    pub blocks_read: u64,
    /// How many rows those have.
    pub rows_scanned: u64,
    /// How many bytes the columns have that were read, decoded.
    pub bytes_read: u64,
    /// How many rows the filter found in the blocks it came to.
    pub rows_matched: u64,
    /// How many blocks could not be read (further). The answer is without their rows, or without some.
    pub blocks_failed: u64,
    /// Why the first of those could not.
    pub first_failure: Option<duramen::Error>,
    /// How long it took, if it was run with a [`Cancel`] that has a clock.
    pub elapsed: Option<std::time::Duration>,
}

impl RunStats {
    pub(crate) fn failed(&mut self, error: duramen::Error) {
        self.blocks_failed += 1;
        self.first_failure.get_or_insert(error);
    }

    /// Adds what another run did, but for its time.
    pub fn add(&mut self, other: Self) {
        self.blocks_total += other.blocks_total;
        self.blocks_read += other.blocks_read;
        self.rows_scanned += other.rows_scanned;
        self.bytes_read += other.bytes_read;
        self.rows_matched += other.rows_matched;
        self.blocks_failed += other.blocks_failed;
        if let (None, Some(e)) = (&self.first_failure, other.first_failure) {
            self.first_failure = Some(e);
        }
    }
}

/// Runs a query for whoever asked it.
pub(crate) fn run(
    query: &Query,
    blocks: &[Arc<dyn BlockHandle>],
    options: &RunOptions,
    cancel: &Cancel,
    sink: &mut dyn FnMut(&ResultRow) -> ControlFlow<()>,
) -> Result<RunStats> {
    let (left, skip) = (options.limit.unwrap_or(usize::MAX), options.offset);
    run_into(query, blocks, options, cancel, Last::Stage(Box::new(SinkStage { skip, left, sink })))
}

/// Runs a query whose answer is a text.
pub(crate) fn write(
    query: &Query,
    blocks: &[Arc<dyn BlockHandle>],
    options: &RunOptions,
    cancel: &Cancel,
    text: Text<'_>,
) -> Result<RunStats> {
    let cut = Cut { skip: options.offset, take: options.limit.unwrap_or(usize::MAX) };
    run_into(query, blocks, options, cancel, Last::Text(text, cut))
}

fn run_into(
    query: &Query,
    blocks: &[Arc<dyn BlockHandle>],
    options: &RunOptions,
    cancel: &Cancel,
    last: Last<'_>,
) -> Result<RunStats> {
    let memory = Memory::new(options.memory_limit_bytes);
    let stats = RunStats { blocks_total: blocks.len() as u64, ..RunStats::default() };
    let rows = RowLimit::new(options.max_rows_scanned);
    let cost = {
        let run = Run { blocks, options, memory: &memory, cancel, rows: &rows, cost: stats.into() };
        let limit = options.limit.map(|limit| limit.saturating_add(options.offset));
        execute(&run, query, limit, last)?;
        run.cost.into_inner()
    };
    Ok(RunStats { elapsed: cancel.elapsed(), ..cost })
}

/// Which blocks' rows are to be in order of time to be grouped so.
fn in_order(aggregate: &Aggregate) -> InOrder<'_> {
    if aggregate.looks_at_time() {
        InOrder::All
    } else if aggregate.by.iter().any(|by| *by.field == *names::TIME) {
        InOrder::UnlessInOneBucket(&aggregate.by)
    } else {
        InOrder::None
    }
}

/// Runs a query, alone or inside another, into a last stage that takes `limit` rows at most.
pub(crate) fn execute<'a>(
    run: &'a Run<'a>,
    query: &Query,
    limit: Option<usize>,
    last: Last<'a>,
) -> Result<()> {
    run.cancel.check()?;
    let filter = &*run.answered(query.filter())?;
    let pipes = &*prepared(query.pipes(), limit, run)?;
    let sample = match pipes.first() {
        Some(Pipe::Custom(custom)) => custom.pipe().thins_out(),
        _ => None,
    };
    let pipes = if sample.is_some() { &pipes[1..] } else { pipes };
    let (first, rest) = match pipes.split_first() {
        Some((first, rest)) => (Some(first), rest),
        None => (None, pipes),
    };
    let mut stats = RunStats::default();
    let of_pipes = Projection::of(pipes);
    let needs = match &of_pipes {
        // Of all fields those that the filter looks at come first, and others where it finds something.
        Projection::All => Projection::none(),
        only => only.clone(),
    };
    let needs = needs.and_of(filter);
    let told = told::Told::of(filter, &[]);
    let reader = read::Reader { sample, ..run.reader(&told, &needs, query.max_threads()) };
    let (each, behind) = piped::split(pipes);
    if let Some(grouping) = Grouping::of(behind) {
        let aggregate = grouping.aggregate();
        let mut next = chain(grouping.behind(), run, last.stage())?;
        let (order, memory) = (run.options.order, run.memory);
        let makers = makers::of(each, aggregate);
        let groups = if each.is_empty() || makers.as_ref().is_some_and(|makers| makers::are_certain(makers)) {
            let reader = read::Reader { in_order: in_order(aggregate), ..reader };
            aggregate::Aggregation { reader, pipes: each, aggregate, memory, order }
                .run(run.blocks, &mut stats)?
        } else {
            let in_order = match makers {
                // Columns may do for some blocks.
                Some(_) => in_order(aggregate),
                None if aggregate.is_ordered() => InOrder::All,
                None => InOrder::None,
            };
            let reader = read::Reader { in_order, ..reader };
            let (pipes, projection) = (each, &of_pipes);
            piped::PipedAggregation { reader, pipes, projection, aggregate, order }.run(run, &mut stats)?
        };
        run.spent(&mut stats);
        grouping.give(groups, &mut *next, run.cancel)?;
        return next.finish();
    }
    match first {
        Some(Pipe::Custom(custom)) if custom.pipe().over_blocks().is_some() => {
            let mut next = chain(rest, run, last.stage())?;
            if let Some(pipe) = custom.pipe().over_blocks() {
                pipe.run(run, &reader, &Projection::of(rest), &mut *next)?;
            }
            next.finish()
        }
        Some(Pipe::Sort(sort)) if !sort.is_only_by_time() => {
            let projection = &Projection::of(rest);
            let mut next = chain(rest, run, last.stage())?;
            let scan = sorted::SortedScan { reader, sort, projection, order: run.options.order };
            let mut sorter = scan.run(run, &mut stats)?;
            run.spent(&mut stats);
            sorter.drain(&mut *next)?;
            next.finish()
        }
        _ => {
            // Sorting by time is what the scan does anyway, and needs no memory then.
            let mut in_time = Vec::new();
            let order = run.options.order;
            let (order, pipes) = match first {
                Some(Pipe::Sort(sort)) => {
                    in_time.push(Pipe::Offset(sort.offset));
                    in_time.extend(sort.limit.map(Pipe::Limit));
                    in_time.extend_from_slice(rest);
                    let desc = sort.by_time_first().unwrap_or_default();
                    (if desc { Order::NewestFirst } else { Order::OldestFirst }, &*in_time)
                }
                Some(Pipe::Custom(custom)) => match custom.pipe().oldest_first(order) {
                    Some(pipe) => {
                        in_time.push(Pipe::Custom(pipe));
                        in_time.extend_from_slice(rest);
                        (Order::OldestFirst, &*in_time)
                    }
                    None => (order, pipes),
                },
                _ => (order, pipes),
            };
            let projection = &Projection::of(pipes);
            // A limit of none needs no row to say so, and a pipe behind it may make some.
            let wants_none = pipes.iter().any(|p| *p == Pipe::Limit(0)) || limit == Some(0);
            let budget_bytes = run.options.memory_limit_bytes;
            let enough_rows = crate::pipe::enough_rows(pipes, limit);
            let scan = scan::Scan { reader, projection, order, budget_bytes, enough_rows };
            let (each, behind) = piped::split(pipes);
            // A row of which a pipe makes several would make many on each thread before one is taken.
            let lets_through =
                each.iter().all(|pipe| matches!(pipe.passes(), Passes::Each | Passes::Filtered));
            let cut = match &last {
                Last::Text(_, cut) if lets_through => cut.behind(behind),
                _ => None,
            };
            match (last, cut) {
                (Last::Text(text, _), Some(cut)) => {
                    let mut out =
                        SideBySide { run, pipes: each, threads: reader.threads, text, cut, row_bytes: 0 };
                    if !wants_none {
                        scan.run(run.blocks, &mut out, &mut stats)?;
                    }
                    run.spent(&mut stats);
                    Ok(())
                }
                (last, _) => {
                    let mut next = chain(pipes, run, last.stage())?;
                    if !wants_none {
                        let (row, cancel) = (ResultRow::new(), run.cancel);
                        let mut out = scan::OneByOne { out: &mut *next, cancel, row };
                        scan.run(run.blocks, &mut out, &mut stats)?;
                    }
                    run.spent(&mut stats);
                    next.finish()
                }
            }
        }
    }
}

/// The end of the chain.
struct SinkStage<'a> {
    skip: usize,
    left: usize,
    sink: &'a mut dyn FnMut(&ResultRow) -> ControlFlow<()>,
}

impl Stage for SinkStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        if self.left == 0 {
            return Ok(Flow::Stop);
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(Flow::Continue);
        }
        self.left -= 1;
        let flow = (self.sink)(row);
        if flow.is_break() {
            self.left = 0;
        }
        Ok(if self.left == 0 { Flow::Stop } else { Flow::Continue })
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}
