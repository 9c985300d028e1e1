//! Pipes: what happens to the rows that the filter found. One file per kind of pipe: how it is read, how it
//! prints, and the stage that does its work; `registry` lists them by name.
//!
//! Stages form a chain; a row is pushed into the first and falls through. Those that must see every row
//! before they know their first (`sort`, `stats`, `top`, `uniq`) hold them, within the query's memory limit,
//! and give on when the chain is finished.
//!
//! The executor knows some pipes by what they are, because it can do better than to push rows through them: it
//! groups straight from columns, and sorts by keys. All others are a [`Custom`] pipe to it.

pub mod blocks;
pub mod census;
pub mod collapse_nums;
pub(crate) mod custom;
pub mod decolorize;
pub mod drop_empty;
pub mod extract;
pub mod extract_regexp;
pub mod fields;
pub mod format;
pub(crate) mod grouping;
pub mod join;
pub mod limit;
pub(crate) mod maker;
pub mod math;
pub mod measure;
pub mod pack;
pub mod query_stats;
pub(crate) mod registry;
pub mod rename;
pub mod replace;
pub(crate) mod row_pipe;
pub mod sample;
pub mod select;
pub mod set_stream_fields;
pub mod sort;
pub mod stats;
pub mod stream_context;
pub(crate) mod template;
pub mod time_add;
pub mod top;
pub mod union;
pub mod uniq;
pub mod unpack;
pub mod unroll;
pub mod window;
pub mod words;
pub(crate) mod writes;

pub use custom::Custom;

use crate::error::Result;
use crate::exec::context::Run;
use crate::exec::project::Projection;
use crate::filter::Filter;
use crate::query::Query;
use crate::row::ResultRow;
use fields::Fields;
use grouping::Grouping;
use std::fmt;

/// A pipe.
#[derive(Clone, Debug, PartialEq)]
pub enum Pipe {
    /// `limit N`
    Limit(usize),
    /// `offset N`
    Offset(usize),
    /// `fields a, b*` and `delete a`
    Fields(Fields),
    /// `rename a as b` and `copy a as b`
    Rename(rename::Rename),
    /// `filter …`
    Filter(Filter),
    /// `sort by (…)`
    Sort(sort::Sort),
    /// `stats by (…) count()`
    Stats(stats::Stats),
    /// `top 5 by (…)`
    Top(top::Top),
    /// `uniq by (…)`
    Uniq(uniq::Uniq),
    /// Any other.
    Custom(Custom),
}

/// Whether more rows are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// More.
    Continue,
    /// No more; further rows would be dropped.
    Stop,
}

/// What becomes of each row in a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    /// One goes out for each that comes in, at once, and no row knows of another.
    Each,
    /// It goes out at once or not at all, and no row knows of another.
    Filtered,
    /// None or more go out for each that comes in, at once, and no row knows of another.
    Some,
    /// One goes out for each that comes in, at once, and knows how many came before.
    InTurn,
    /// It may depend on all rows.
    All,
}

/// A pipe at work.
pub trait Stage {
    /// Takes a row, and may change it: it is the caller's to use again.
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow>;
    /// Says that there are no more rows, once.
    fn finish(&mut self) -> Result<()>;
}

impl Pipe {
    /// What becomes of each row in it: whether rows that come in later can be put through it later.
    pub fn passes(&self) -> Passes {
        match self {
            Self::Fields(_) | Self::Rename(_) => Passes::Each,
            Self::Filter(_) => Passes::Filtered,
            Self::Custom(custom) => custom.pipe().passes(),
            Self::Limit(_)
            | Self::Offset(_)
            | Self::Sort(_)
            | Self::Stats(_)
            | Self::Top(_)
            | Self::Uniq(_) => Passes::All,
        }
    }

    /// What it makes of which fields, one after another, if that is all it does, to every row.
    pub(crate) fn makers(&self) -> Option<Vec<maker::Maker<'_>>> {
        match self {
            Self::Custom(custom) => custom.pipe().makers(),
            Self::Rename(rename) => rename.makers(),
            _ => None,
        }
    }

    /// Adds a duration to every time stamp.
    pub(crate) fn time_shift(offset_ns: i64) -> Self {
        row_pipe::pipe(None, time_add::TimeAdd::of_time(offset_ns))
    }

    /// Calls `see` with every query inside it, but not with those inside these.
    pub(crate) fn for_each_query<'p>(&'p self, see: &mut dyn FnMut(&'p Query)) {
        match self {
            Self::Filter(filter) => filter.for_each_subquery(&mut |s| see(&s.query)),
            Self::Stats(stats) => {
                stats.aggregate.for_each_condition(&mut |c| c.for_each_subquery(&mut |s| see(&s.query)));
            }
            Self::Custom(custom) => custom.pipe().for_each_query(see),
            _ => {}
        }
    }

    /// The pipe with the subqueries of its filters, and its own, answered.
    fn answered(&self, run: &Run<'_>) -> Result<Self> {
        Ok(match self {
            Self::Filter(filter) => Self::Filter(run.answered(filter)?.into_owned()),
            Self::Stats(stats) => Self::Stats(stats.answered(run)?),
            Self::Custom(custom) => Self::Custom(match custom.pipe().answered(run)? {
                Some(answered) => answered,
                None => custom.clone(),
            }),
            other => other.clone(),
        })
    }
}

impl fmt::Display for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(n) => write!(f, "limit {n}"),
            Self::Offset(n) => write!(f, "offset {n}"),
            Self::Fields(p) => p.fmt(f),
            Self::Rename(p) => p.fmt(f),
            Self::Filter(filter) => write!(f, "filter {filter}"),
            Self::Sort(p) => p.fmt(f),
            Self::Stats(p) => p.fmt(f),
            Self::Top(p) => p.fmt(f),
            Self::Uniq(p) => p.fmt(f),
            Self::Custom(p) => fmt::Display::fmt(p.pipe(), f),
        }
    }
}

/// How many rows at the front of all that go into these pipes are all that anybody sees of them; nothing if no limit
/// says so. `limit` is what is taken behind the last.
pub(crate) fn enough_rows(pipes: &[Pipe], limit: Option<usize>) -> Option<usize> {
    let mut dropped = 0usize;
    for pipe in pipes {
        match pipe {
            Pipe::Limit(n) => return Some(dropped.saturating_add(*n)),
            Pipe::Offset(n) => dropped = dropped.saturating_add(*n),
            other if other.passes() == Passes::Each => {}
            _ => return None,
        }
    }
    limit.map(|n| dropped.saturating_add(n))
}

/// The pipes as they run: subqueries, and what joins ask, answered, and every sort, and what makes groups, told how many rows will
/// be taken of it at most: by a `limit` behind it, or by `limit`, that of the whole query, so that it holds no more.
pub(crate) fn prepared(pipes: &[Pipe], limit: Option<usize>, run: &Run<'_>) -> Result<Vec<Pipe>> {
    let mut wanted = limit;
    let mut prepared = pipes.iter().map(|pipe| pipe.answered(run)).collect::<Result<Vec<_>>>()?;
    for pipe in prepared.iter_mut().rev() {
        match pipe {
            Pipe::Limit(n) => wanted = Some(wanted.map_or(*n, |w| w.min(*n))),
            Pipe::Offset(n) => wanted = wanted.map(|w| w.saturating_add(*n)),
            Pipe::Sort(sort) => {
                if let Some(w) = wanted.take()
                    && sort.partition.is_empty()
                {
                    sort.limit = Some(sort.limit.map_or(w, |n| n.min(w)));
                }
            }
            Pipe::Stats(stats::Stats { aggregate, .. }) | Pipe::Uniq(uniq::Uniq { aggregate }) => {
                if let Some(w) = wanted.take()
                    && aggregate.functions.iter().all(|f| f.kind.remembers_little())
                {
                    aggregate.keep = Some(aggregate.keep.map_or(w, |n| n.min(w)));
                }
            }
            other if other.passes() == Passes::Each => {}
            _ => wanted = None,
        }
    }
    Ok(needed(prepared))
}

/// Leaves out what makes, or computes, only what nobody behind it looks at, and what chooses fields for those who look at none but
/// the chosen ones.
fn needed(pipes: Vec<Pipe>) -> Vec<Pipe> {
    let (mut wanted, mut needed) = (Projection::All, Vec::new());
    // Whether all that is behind looks at fields by their names, whatever others there are, and in whatever order.
    let mut goes_by_names = false;
    for mut pipe in pipes.into_iter().rev() {
        if let Pipe::Stats(stats) = &mut pipe {
            stats.only(&|name| wanted.wants(name));
        }
        let makes_unwanted = |makers: Vec<maker::Maker<'_>>| {
            makers.iter().flat_map(maker::Maker::changes).all(|name| !wanted.wants(name))
        };
        let leaves_all = |fields: &fields::Fields| goes_by_names && fields.leave_all_of(&wanted);
        let is_unwanted = match &pipe {
            _ if pipe.passes() != Passes::Each => false,
            Pipe::Fields(fields) if leaves_all(fields) => true,
            _ => wanted == Projection::none() || pipe.makers().is_some_and(makes_unwanted),
        };
        if !is_unwanted {
            goes_by_names = match &pipe {
                Pipe::Stats(_) | Pipe::Top(_) | Pipe::Uniq(_) => true,
                Pipe::Fields(_) | Pipe::Filter(_) => goes_by_names,
                _ => goes_by_names && pipe.makers().is_some(),
            };
            wanted = wanted.before(&pipe);
            let both = match (&pipe, needed.last()) {
                (Pipe::Custom(pipe), Some(Pipe::Custom(next))) => next.pipe().behind(pipe.pipe()),
                _ => None,
            };
            if both.is_some() {
                needed.pop();
            }
            needed.push(both.map_or(pipe, Pipe::Custom));
        }
    }
    needed.reverse();
    needed
}

/// Whether it makes no difference in which order rows come into these pipes.
pub(crate) fn take_any_order(pipes: &[Pipe]) -> bool {
    for (i, pipe) in pipes.iter().enumerate() {
        if let Some(grouping) = Grouping::of(&pipes[i..]) {
            return !grouping.aggregate().is_ordered();
        }
        if matches!(pipe.passes(), Passes::InTurn | Passes::All) {
            return false;
        }
    }
    false
}

/// Puts the stages of some pipes before a last one.
pub(crate) fn chain<'a>(
    pipes: &'a [Pipe],
    run: &'a Run<'a>,
    last: Box<dyn Stage + 'a>,
) -> Result<Box<dyn Stage + 'a>> {
    (0..pipes.len()).rev().try_fold(last, |next, i| -> Result<Box<dyn Stage + 'a>> {
        if let Some(grouping) = Grouping::of(&pipes[i..]) {
            return Ok(Box::new(grouping::GroupingStage::new(grouping, run, next)));
        }
        Ok(match &pipes[i] {
            Pipe::Limit(n) => Box::new(limit::LimitStage { left: *n, next }),
            Pipe::Offset(n) => Box::new(limit::OffsetStage { left: *n, next }),
            Pipe::Fields(fields) => Box::new(fields::FieldsStage { fields, next }),
            Pipe::Rename(rename) => Box::new(rename::RenameStage { rename, next }),
            Pipe::Filter(filter) => Box::new(select::SelectStage { filter, next }),
            Pipe::Sort(sort) => Box::new(sort::SortStage::new(sort, run, next)),
            Pipe::Custom(custom) => custom.pipe().stage(run, next)?,
            // Those that group rows.
            Pipe::Stats(_) | Pipe::Top(_) | Pipe::Uniq(_) => next,
        })
    })
}
