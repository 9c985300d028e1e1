//! Queries on threads of their own, within the server's limits, that end when the client has gone.

use super::request::{LokiError, LokiResult, Span};
use crate::answer::{has_run, on_thread, options};
use crate::app::Shared;
use crate::auth::Access;
use duramen::Snapshot;
use duramen_logql::{Answer, Entry, Limits, LogQuery, MetricQuery, Steps};
use duramen_query::filter::Filter;
use duramen_query::filter::time::TimeRange;
use duramen_query::{Cancel, Query, ResultRow, RunOptions, RunStats};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Entries that are asked for.
#[derive(Debug)]
pub(super) struct Wanted {
    query: LogQuery,
    span: Span,
    pub options: RunOptions,
    /// The view of the store to ask; `None` for that of the moment when it is asked.
    pub snapshot: Option<Arc<Snapshot>>,
}

impl Wanted {
    /// With the server's limits, the newest first.
    pub fn new(app: &Shared, query: LogQuery, span: Span) -> Self {
        Self { query, span, options: options(app), snapshot: None }
    }
}

/// Does work over a snapshot, by default that of the moment, on a thread of its own.
async fn over<T: Send + 'static>(
    app: &Shared,
    access: &Access,
    snapshot: Option<Arc<Snapshot>>,
    work: impl FnOnce(&Shared, &Snapshot, &Cancel) -> LokiResult<T> + Send + 'static,
) -> LokiResult<T> {
    on_thread(app, access, app.limits.query_timeout, move |app, access, cancel| {
        let snapshot = match snapshot {
            Some(snapshot) => snapshot,
            None => Arc::new(access.tenant.store()?.snapshot()?),
        };
        work(app, &snapshot, cancel)
    })
    .await
}

/// Entries, each seen by `each`, until it breaks off.
pub(super) async fn entries<T: Send + 'static>(
    app: &Shared,
    access: &Access,
    wanted: Wanted,
    start: T,
    mut each: impl FnMut(&mut T, &Entry<'_>) -> LokiResult<ControlFlow<()>> + Send + 'static,
) -> LokiResult<(T, RunStats)> {
    let Wanted { query, span, options, snapshot } = wanted;
    over(app, access, snapshot, move |app, snapshot, cancel| {
        let (mut state, mut failed) = (start, None);
        let blocks = snapshot.blocks(span.start_ns, span.end_ns);
        let stats = query.run(blocks, span.start_ns, span.end_ns, &options, cancel, &mut |entry| {
            each(&mut state, entry).unwrap_or_else(|e| {
                failed = Some(e);
                ControlFlow::Break(())
            })
        })?;
        has_run(app, &stats);
        match failed {
            Some(e) => Err(e),
            None => Ok((state, stats)),
        }
    })
    .await
}

/// Numbers over time.
pub(super) async fn numbers(
    app: &Shared,
    access: &Access,
    query: MetricQuery,
    steps: Steps,
) -> LokiResult<Answer> {
    let limits = Limits { run: options(app), ..Limits::default() };
    over(app, access, None, move |app, snapshot, cancel| {
        answer(app, snapshot, cancel, &query, steps, &limits)
    })
    .await
}

/// Numbers that several queries find in one view of the store, of however many series.
pub(super) async fn all_numbers(
    app: &Shared,
    access: &Access,
    queries: Vec<(MetricQuery, Steps)>,
) -> LokiResult<Vec<Answer>> {
    let limits = Limits { run: options(app), max_series: usize::MAX };
    over(app, access, None, move |app, snapshot, cancel| {
        let answers =
            queries.iter().map(|(query, steps)| answer(app, snapshot, cancel, query, *steps, &limits));
        answers.collect()
    })
    .await
}

fn answer(
    app: &Shared,
    snapshot: &Snapshot,
    cancel: &Cancel,
    query: &MetricQuery,
    steps: Steps,
    limits: &Limits,
) -> LokiResult<Answer> {
    let answer = query.run(&|from, to| snapshot.blocks(from, to), steps, limits, cancel)?;
    has_run(app, &answer.stats);
    Ok(answer)
}

/// The rows of a query that counts.
pub(super) async fn rows<T: Send + 'static>(
    app: &Shared,
    access: &Access,
    query: Query,
    start: T,
    mut each: impl FnMut(&mut T, &ResultRow) + Send + 'static,
) -> LokiResult<(T, RunStats)> {
    let options = options(app);
    over(app, access, None, move |app, snapshot, cancel| {
        let mut state = start;
        let (from, to) = query.time_range();
        let stats = query.run(snapshot.blocks(from, to), &options, cancel, &mut |row| {
            each(&mut state, row);
            ControlFlow::Continue(())
        });
        let stats = stats.map_err(|e| LokiError::from(duramen_logql::Error::from(e)))?;
        has_run(app, &stats);
        Ok((state, stats))
    })
    .await
}

/// The entries of a time that a query finds.
pub(super) fn within(span: Span, query: &LogQuery) -> Filter {
    let time = TimeRange { min: span.start_ns, max: span.end_ns.saturating_sub(1) };
    Filter::Time(time).and(query.filter())
}
