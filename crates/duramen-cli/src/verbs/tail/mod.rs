//! `duramen tail`: the last entries, and those that come.

mod reader;

use crate::args::TailArgs;
use crate::failure::{Failure, Outcome, complain};
use crate::interrupt::Interrupt;
use crate::render::rows::RowWriter;
use crate::verbs::query::incomplete;
use crate::verbs::show::{self, Delivery};
use duramen::Store;
use duramen::block::{BlockHandle, OpenBlock};
use duramen_engine::io::Env;
use duramen_query::pipe::{Passes, Pipe};
use duramen_query::{Cancel, Error, Order, Query, ResultRow, RunOptions};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// How long to wait for entries before looking for a signal.
const LOOK_UP: Duration = Duration::from_millis(200);

/// Shows the last entries, oldest of them first, and then what comes.
pub(crate) fn run(args: &TailArgs, dir: &Path, env: &Env, interrupt: &Interrupt) -> Outcome {
    let query = show::parse(&args.query, &show::now(&args.show, env))?;
    let wanted = row_by_row(&query)?;
    let store = Store::open_read_only(dir)?;
    let mut writer = show::writer(&args.show);
    // First the ear to the door, then the look inside: what is in both is dealt with at the seam.
    let tail = if args.follow { Some(store.tail()?) } else { None };
    let snapshot = store.snapshot()?;
    let (min_time, max_time) = query.time_range();
    let last = usize::try_from(args.lines.min(wanted)).unwrap_or(usize::MAX);
    let mut whole = true;
    let blocks = snapshot.blocks(min_time, max_time);
    let mut given = show_last(&query, blocks, last, &mut writer, interrupt, &mut whole)?;
    let Some(mut tail) = tail else {
        return Ok(ExitCode::from(u8::from(!whole)));
    };
    let mut fresh = snapshot.without_known(tail.poll(Duration::ZERO)?)?;
    drop(snapshot);
    loop {
        if !fresh.is_empty() {
            let handles = fresh.drain(..).map(OpenBlock::handle).collect::<duramen::Result<_>>()?;
            let left = usize::try_from(wanted.saturating_sub(given)).unwrap_or(usize::MAX);
            // `_time:5m` is another span by now.
            let query = show::parse(&args.query, &show::now(&args.show, env))?;
            given += show_coming(&query, handles, left, &mut writer, interrupt)?;
        }
        interrupt.check()?;
        if given >= wanted {
            return Ok(ExitCode::from(u8::from(!whole)));
        }
        if reader::is_gone() {
            return Err(Failure::ClosedPipe);
        }
        fresh = tail.poll(LOOK_UP)?;
    }
}

/// How many rows the query wants at most; an error if it has pipes that cannot be followed.
fn row_by_row(query: &Query) -> Result<u64, Failure> {
    let mut wanted = u64::MAX;
    if query.looks_beyond_filter() {
        return Err(Failure::Usage(
            "tail cannot follow a query inside a query: use `duramen query`".to_owned(),
        ));
    }
    for pipe in query.pipes() {
        match (pipe, pipe.passes()) {
            (Pipe::Limit(n), _) => wanted = wanted.min(*n as u64),
            (_, Passes::Each | Passes::Filtered | Passes::Some | Passes::InTurn) => {}
            (_, Passes::All) => {
                return Err(Failure::Usage(format!(
                    "tail cannot follow `| {pipe}`, which needs all entries: tail takes a filter, limit, and the \
                     pipes that look at each entry by itself; use `duramen query`"
                )));
            }
        }
    }
    Ok(wanted)
}

/// Shows the last `last` rows, oldest first; how many there were.
fn show_last<W: Write>(
    query: &Query,
    blocks: Vec<Arc<dyn BlockHandle>>,
    last: usize,
    writer: &mut RowWriter<W>,
    interrupt: &Interrupt,
    whole: &mut bool,
) -> Result<u64, Failure> {
    let mut rows: Vec<ResultRow> = Vec::new();
    let options = RunOptions { order: Order::NewestFirst, limit: Some(last), ..RunOptions::default() };
    let outcome = show::cancellable(interrupt, &Cancel::new(), |cancel| {
        query.run(blocks, &options, cancel, &mut |row| {
            rows.push(row.clone());
            std::ops::ControlFlow::Continue(())
        })
    });
    let stats = checked(outcome, interrupt)?;
    for row in rows.iter().rev() {
        writer.row(row).map_err(Failure::output)?;
    }
    writer.flush().map_err(Failure::output)?;
    if let Some(why) = incomplete(&stats) {
        complain(&why);
        *whole = false;
    }
    Ok(rows.len() as u64)
}

/// Shows what has come, in its order; how many rows that was.
fn show_coming<W: Write>(
    query: &Query,
    blocks: Vec<Arc<dyn BlockHandle>>,
    limit: usize,
    writer: &mut RowWriter<W>,
    interrupt: &Interrupt,
) -> Result<u64, Failure> {
    let before = writer.rows();
    let options = RunOptions { order: Order::OldestFirst, limit: Some(limit), ..RunOptions::default() };
    let mut delivery = Delivery { writer, failed: None };
    let outcome = show::cancellable(interrupt, &Cancel::new(), |cancel| {
        query.run(blocks, &options, cancel, &mut |row| delivery.row(row))
    });
    if let Some(error) = delivery.failed {
        return Err(Failure::output(error));
    }
    checked(outcome, interrupt)?;
    writer.flush().map_err(Failure::output)?;
    Ok(writer.rows() - before)
}

fn checked<T>(outcome: Result<T, Error>, interrupt: &Interrupt) -> Result<T, Failure> {
    if matches!(outcome, Err(Error::Cancelled)) {
        interrupt.check()?;
    }
    outcome.map_err(|e| Failure::Failed(e.to_string()))
}
