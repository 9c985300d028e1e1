//! `duramen query`.

use crate::allocator::keep_for_queries;
use crate::args::{OrderArg, QueryArgs};
use crate::failure::{Failure, NOTHING_MATCHED, Outcome, complain, say};
use crate::interrupt::Interrupt;
use crate::render::units::{bytes, count, counted, duration};
use crate::verbs::show::{self, Delivery};
use duramen::block::BlockHandle;
use duramen::store::Damage;
use duramen::{BlockCache, Store, StoreOptions};
use duramen_engine::io::Env;
use duramen_query::exec::memory::share_of_machine_bytes;
use duramen_query::{Cancel, Error, Order, Query, RunOptions, RunStats, Text};
#[cfg(any(feature = "sqlite", feature = "postgres"))]
use duramen_sinks::SqlLogs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Runs the query and writes what it finds.
pub(crate) fn run(args: &QueryArgs, dir: &Path, env: &Env, interrupt: &Interrupt) -> Outcome {
    let now = show::now(&args.show, env);
    let query = Arc::new(show::parse_within(&args.query, &now, &args.span)?);
    let started = env.clock.monotonic();
    keep_for_queries(true);
    let cancel = Cancel::timed(env.clock.clone(), args.timeout);
    let (source, blocks) = Source::open(args, dir, &query, interrupt, &cancel)?;
    let options = RunOptions {
        order: match args.order {
            OrderArg::Newest => Order::NewestFirst,
            OrderArg::Oldest => Order::OldestFirst,
        },
        limit: args.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
        threads: args.threads.map_or_else(cores, usize::from),
        memory_limit_bytes: args.max_memory.unwrap_or_else(|| share_of_machine_bytes(1)),
        max_rows_scanned: args.max_rows,
        ..RunOptions::default()
    };
    #[cfg(feature = "parquet")]
    if args.parquet {
        let (mut lacking, mut cost) = (Vec::new(), None);
        let rows = super::parquet::write(&mut |each| {
            let stats = show::cancellable(interrupt, &cancel, |cancel| {
                query.run(blocks.clone(), &options, cancel, each)
            });
            let stats = finished(stats, interrupt)?;
            lacking.extend(source.incomplete(&stats));
            cost = Some(stats);
            Ok(())
        })?;
        if let Some(stats) = cost.filter(|_| args.stats) {
            say(&summary(&stats, rows, env.clock.monotonic().saturating_sub(started)));
        }
        lacking.dedup();
        return ended(&source, lacking, args.fail_empty && rows == 0);
    }
    let mut writer = show::writer(&args.show);
    let mut delivery = Delivery { writer: &mut writer, failed: None };
    let outcome = show::cancellable(interrupt, &cancel, |cancel| {
        if delivery.writer.writes_json() {
            let (write, mut text) = (show::write_json, Vec::new());
            let take = Box::new(|text: &mut Vec<u8>, rows| delivery.text(text, rows));
            query.write(blocks, &options, cancel, Text { write: &write, text: &mut text, take })
        } else {
            query.run(blocks, &options, cancel, &mut |row| delivery.row(row))
        }
    });
    if let Some(error) = delivery.failed {
        return Err(Failure::output(error));
    }
    writer.flush().map_err(Failure::output)?;
    let stats = finished(outcome, interrupt)?;
    if args.stats {
        say(&summary(&stats, writer.rows(), env.clock.monotonic().saturating_sub(started)));
    }
    let lacking = source.incomplete(&stats).into_iter().collect();
    ended(&source, lacking, args.fail_empty && writer.rows() == 0)
}

/// What a run that went well has cost.
fn finished(outcome: Result<RunStats, Error>, interrupt: &Interrupt) -> Result<RunStats, Failure> {
    match outcome {
        Ok(stats) => Ok(stats),
        Err(Error::Cancelled) => {
            interrupt.check()?;
            Err(Failure::Failed(Error::Cancelled.to_string()))
        }
        Err(e) => Err(Failure::Failed(e.to_string())),
    }
}

/// Complains of what the answer lacks, and gives the exit code.
fn ended(source: &Source, incomplete: Vec<String>, is_empty: bool) -> Outcome {
    let mut lacking = source.incidents();
    lacking.extend(incomplete);
    lacking.extend(source.lost());
    if !lacking.is_empty() {
        lacking.iter().for_each(|why| complain(why));
        return Ok(ExitCode::from(1));
    }
    Ok(ExitCode::from(if is_empty { NOTHING_MATCHED } else { 0 }))
}

/// What is asked.
enum Source {
    Store(Box<Store>),
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    Sql,
}

/// The blocks that a query must look at.
type Blocks = Vec<Arc<dyn BlockHandle>>;

impl Source {
    /// Opens what is asked, and finds what the query must look at there.
    fn open(
        args: &QueryArgs,
        dir: &Path,
        query: &Arc<Query>,
        interrupt: &Interrupt,
        cancel: &Cancel,
    ) -> Result<(Self, Blocks), Failure> {
        #[cfg(feature = "sqlite")]
        if let Some(path) = args.sqlite.clone() {
            let query = query.clone();
            return show::abandonable(interrupt, cancel, move || {
                Ok((Self::Sql, SqlLogs::sqlite(path)?.blocks(&query)?))
            });
        }
        #[cfg(feature = "postgres")]
        if let Some(url) = args.postgres.clone() {
            let query = query.clone();
            return show::abandonable(interrupt, cancel, move || {
                Ok((Self::Sql, SqlLogs::postgres(&url)?.blocks(&query)?))
            });
        }
        let _only_a_store = (args, interrupt, cancel);
        // It reads each block once.
        let options = StoreOptions::new().block_cache(BlockCache::new(0));
        let store = options.open_read_only(dir)?;
        let (min_time, max_time) = query.time_range();
        let blocks = store.snapshot()?.blocks(min_time, max_time);
        Ok((Self::Store(Box::new(store)), blocks))
    }

    /// What went wrong meanwhile.
    fn incidents(&self) -> Vec<String> {
        match self {
            Self::Store(store) => store.incidents().messages,
            #[cfg(any(feature = "sqlite", feature = "postgres"))]
            Self::Sql => Vec::new(),
        }
    }

    /// What no answer has, because the manifest has lost its end. Looked for last: the answer is out.
    fn lost(&self) -> Vec<String> {
        let told = |table: Damage| format!("no answer has {}: {}", table.path.display(), table.detail);
        match self {
            Self::Store(store) => match store.lost_tables() {
                Ok(lost) => lost.into_iter().map(told).collect(),
                Err(e) => vec![e.to_string()],
            },
            #[cfg(any(feature = "sqlite", feature = "postgres"))]
            Self::Sql => Vec::new(),
        }
    }

    /// What to say of an answer that lacks something.
    fn incomplete(&self, stats: &RunStats) -> Option<String> {
        match self {
            Self::Store(_) => incomplete(stats),
            #[cfg(any(feature = "sqlite", feature = "postgres"))]
            Self::Sql => stats.first_failure.as_ref().map(|why| format!("the answer is incomplete: {why}")),
        }
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn summary(stats: &RunStats, rows: u64, elapsed: Duration) -> String {
    format!(
        "{} shown; {} matched of {} scanned in {} of {}, {} read, in {}",
        counted(rows, "row", "rows"),
        count(stats.rows_matched),
        counted(stats.rows_scanned, "row", "rows"),
        count(stats.blocks_read),
        counted(stats.blocks_total, "block", "blocks"),
        bytes(stats.bytes_read),
        duration(elapsed)
    )
}

/// What to say of an answer that lacks something.
pub(super) fn incomplete(stats: &RunStats) -> Option<String> {
    let why = stats.first_failure.as_ref()?;
    Some(format!(
        "the answer is incomplete: {} could not be read ({why}); `duramen verify` tells what is damaged",
        counted(stats.blocks_failed, "block", "blocks")
    ))
}
