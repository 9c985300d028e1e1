//! Doing a job.
//!
//! ```text
//!  tables of level 0 ──────────┐
//!  level n: one after another ─┴▶ MergeCursor ─▶ CompactionIter ─▶ Outputs ─▶ tables ─▶ manifest edit
//!           their deleted ranges ─▶ surviving_tombstones ───────────┘
//! ```

use super::base_level::BaseLevel;
use super::outputs::Outputs;
use super::{Cancel, Job, RateLimiter};
use crate::kv::OpKind;
use crate::lsm::listener::{CompactionInfo, CompactionKind};
use crate::lsm::options::LsmOptions;
use crate::lsm::read::{
    CompactionIter, ForwardSource, FromStart, LevelCursor, MergeCursor, RangeTombstones, TableFiles,
    surviving_tombstones,
};
use crate::lsm::table::TableCache;
use crate::lsm::version::{TableFacts, TableFile};
use crate::manifest::{Edit, TableMeta};
use crate::{Error, Result};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// After so many versions a job asks whether it is still wanted.
const VERSIONS_BETWEEN_LOOKS: u32 = 1024;

/// What a job works with.
#[derive(Clone)]
pub(in crate::lsm) struct Context<'a> {
    pub(in crate::lsm) options: &'a LsmOptions,
    /// The store's directory.
    pub(in crate::lsm) dir: &'a Path,
    pub(in crate::lsm) tables: &'a TableCache,
    /// The sequence numbers of the snapshots that live now, after the job was picked; ascending.
    pub(in crate::lsm) snapshots: Vec<u64>,
    /// The number of the next new table.
    pub(in crate::lsm) next_table: &'a AtomicU64,
    /// The path of a table's file, relative to `dir`.
    pub(in crate::lsm) table_path: fn(u64) -> String,
    pub(in crate::lsm) limiter: &'a RateLimiter,
    pub(in crate::lsm) cancel: &'a Cancel,
    /// Called now and then: comes back when nothing more urgent is to be done.
    pub(in crate::lsm) give_way: &'a dyn Fn(),
}

impl Context<'_> {
    pub(super) fn next_table(&self) -> u64 {
        self.next_table.fetch_add(1, Ordering::Relaxed)
    }
}

/// What a job came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lsm) struct Outcome {
    /// Puts its outputs in the place of its inputs.
    pub(in crate::lsm) edit: Edit,
    pub(in crate::lsm) info: CompactionInfo,
}

/// Does a claimed job: writes its outputs, durably, and says which edit makes them count. May take long; hold no lock.
/// On an error nothing is left of the outputs, or else orphans.
///
/// # Errors
/// [`Error::Corruption`] where an input is damaged; [`Error::Io`]; [`Error::InvalidArgument`] once cancelled.
pub(in crate::lsm) fn run(job: &Job, context: &Context<'_>) -> Result<Outcome> {
    let clock = &context.options.env.clock;
    let started = clock.monotonic();
    let input_tables: Vec<u64> = job.tables().map(|t| t.meta.number).collect();
    let mut info = CompactionInfo {
        reason: job.reason,
        kind: job.kind,
        input_levels: job.inputs.iter().map(|&(level, _)| level).collect(),
        input_tables: input_tables.clone(),
        output_level: job.output_level,
        ..CompactionInfo::default()
    };
    let edit = match job.kind {
        CompactionKind::Merge => {
            let add_tables = merge(job, context, &mut info)?;
            Edit { remove_tables: input_tables, add_tables, ..Edit::default() }
        }
        CompactionKind::TrivialMove => {
            info.output_tables = input_tables;
            Edit { set_table_user: moved(job), ..Edit::default() }
        }
        CompactionKind::DropExpired => {
            info.entries_dropped = entries(job);
            Edit { remove_tables: input_tables, ..Edit::default() }
        }
    };
    info.duration_ns = nanoseconds(clock.monotonic().saturating_sub(started));
    Ok(Outcome { edit, info })
}

fn moved(job: &Job) -> Vec<(u64, Vec<u8>)> {
    let level = u8::try_from(job.output_level).unwrap_or(u8::MAX);
    let away = job.tables().filter(|t| t.facts.level != level);
    away.map(|t| (t.meta.number, TableFacts { level, ..t.facts }.encode())).collect()
}

/// Merges the inputs into new tables.
fn merge(job: &Job, context: &Context<'_>, info: &mut CompactionInfo) -> Result<Vec<TableMeta>> {
    let mut listed = Vec::new();
    for table in job.tables().filter(|t| t.facts.range_deletes > 0) {
        listed.push(context.tables.reader(table)?.range_tombstones()?);
    }
    let tombstones = Arc::new(RangeTombstones::new(listed.iter().flat_map(|ranges| ranges.iter())));
    let survivors = surviving_tombstones(&tombstones, &context.snapshots, job.is_bottommost);
    let mut base_level = BaseLevel::new(&job.older);
    let mut versions = CompactionIter::new(
        Watched { source: FromStart::new(merged(job, context)), context, left: 0 },
        context.snapshots.clone(),
        tombstones,
        job.is_bottommost,
        |key| base_level.is_base_for(key),
    );
    let mut outputs = Outputs::new(job, context, survivors);
    while versions.advance()? {
        let key_is_new = versions.key_is_new();
        outputs.add(&versions, key_is_new)?;
    }
    let (tables, throttled) = outputs.finish()?;
    info.bytes_read = job.input_bytes();
    info.bytes_written = tables.iter().map(|t| t.file_bytes).sum();
    info.entries_read = entries(job);
    info.entries_dropped = info.entries_read.saturating_sub(tables.iter().map(|t| t.entries).sum());
    info.output_tables = tables.iter().map(|t| t.number).collect();
    info.throttled_ns = nanoseconds(throttled);
    Ok(tables)
}

/// The inputs' versions in order, newer tables first. Blocks that are read do not go to the cache: nobody will ask for
/// them again.
fn merged(job: &Job, context: &Context<'_>) -> MergeCursor<impl crate::lsm::cursor::Cursor> {
    let tables = context.tables;
    let open = move |table: &Arc<TableFile>| table.cursor(tables, false);
    let runs = job.inputs.iter().flat_map(|(level, tables)| match level {
        0 => tables.chunks(1),
        _ => tables.chunks(usize::MAX),
    });
    MergeCursor::new(runs.map(|run| LevelCursor::new(TableFiles::new(run.to_vec(), open))).collect())
}

/// A source that gives way, and that ends with an error once nobody wants the job any more: it may drop versions for
/// long.
struct Watched<'a, S> {
    source: S,
    context: &'a Context<'a>,
    left: u32,
}

impl<S: ForwardSource> ForwardSource for Watched<'_, S> {
    #[inline]
    fn advance(&mut self) -> Result<bool> {
        if self.left == 0 {
            (self.context.give_way)();
            if self.context.cancel.is_cancelled() {
                return Err(given_up());
            }
            self.left = VERSIONS_BETWEEN_LOOKS;
        }
        self.left -= 1;
        self.source.advance()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.source.key()
    }

    #[inline]
    fn seq(&self) -> u64 {
        self.source.seq()
    }

    #[inline]
    fn kind(&self) -> OpKind {
        self.source.kind()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.source.value()
    }
}

/// Why a cancelled job has no outcome.
#[cold]
pub(super) fn given_up() -> Error {
    Error::InvalidArgument("the store is being closed: the compaction was given up".into())
}

fn entries(job: &Job) -> u64 {
    job.tables().map(|t| t.meta.entries).sum()
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
