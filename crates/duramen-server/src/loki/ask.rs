//! Queries on threads of their own, within the server's limits, that end when the client has gone.

use super::request::{LokiError, LokiResult, Span};
use crate::answer::{CancelOnDrop, leave};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::ApiError;
use duramen::Snapshot;
use duramen_logql::{Answer, Entry, Limits, LogQuery, MetricQuery, Steps};
use duramen_query::filter::Filter;
use duramen_query::filter::time::TimeRange;
use duramen_query::{Cancel, Query, ResultRow, RunOptions, RunStats};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The server's limits.
pub(super) fn options(app: &Shared) -> RunOptions {
    RunOptions {
        threads: app.limits.query_threads,
        memory_limit_bytes: app.limits.query_memory_bytes,
        ..RunOptions::default()
    }
}

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

/// Does work over a snapshot, by default that of the moment, on a thread of its own, with leave to run a query.
async fn on_thread<T: Send + 'static>(
    app: &Shared,
    access: &Access,
    snapshot: Option<Arc<Snapshot>>,
    work: impl FnOnce(&Snapshot, &Cancel) -> LokiResult<(T, RunStats)> + Send + 'static,
) -> LokiResult<(T, RunStats)> {
    let permit = leave(app).await?;
    let cancel = Arc::new(Cancel::timed(app.env.clock.clone(), Some(app.limits.query_timeout)));
    let _guard = CancelOnDrop(cancel.clone());
    let (app, access) = (app.clone(), access.clone());
    let task = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let snapshot = match snapshot {
            Some(snapshot) => snapshot,
            None => Arc::new(access.tenant.store()?.snapshot()?),
        };
        let (done, stats) = work(&snapshot, &cancel)?;
        app.metrics.query(&stats);
        if let Some(e) = &stats.first_failure {
            tracing::error!(blocks = stats.blocks_failed, error = %e, "an answer lacks damaged blocks");
        }
        Ok((done, stats))
    });
    task.await.map_err(|e| ApiError::unavailable(format!("the query broke off: {e}")))?
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
    on_thread(app, access, snapshot, move |snapshot, cancel| {
        let (mut state, mut failed) = (start, None);
        let blocks = snapshot.blocks(span.start_ns, span.end_ns);
        let stats = query.run(blocks, span.start_ns, span.end_ns, &options, cancel, &mut |entry| {
            each(&mut state, entry).unwrap_or_else(|e| {
                failed = Some(e);
                ControlFlow::Break(())
            })
        })?;
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
    let (answer, _) = on_thread(app, access, None, move |snapshot, cancel| {
        let mut answer = query.run(&|from, to| snapshot.blocks(from, to), steps, &limits, cancel)?;
        let stats = std::mem::take(&mut answer.stats);
        let elapsed = stats.elapsed;
        let told = RunStats { elapsed, first_failure: None, ..copy(&stats) };
        answer.stats = told;
        Ok((answer, stats))
    })
    .await?;
    Ok(answer)
}

/// The numbers of what a run did.
fn copy(stats: &RunStats) -> RunStats {
    RunStats {
        blocks_total: stats.blocks_total,
        blocks_read: stats.blocks_read,
        rows_scanned: stats.rows_scanned,
        bytes_read: stats.bytes_read,
        rows_matched: stats.rows_matched,
        blocks_failed: stats.blocks_failed,
        ..RunStats::default()
    }
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
    on_thread(app, access, None, move |snapshot, cancel| {
        let mut state = start;
        let (from, to) = query.time_range();
        let stats = query.run(snapshot.blocks(from, to), &options, cancel, &mut |row| {
            each(&mut state, row);
            ControlFlow::Continue(())
        });
        let stats = stats.map_err(|e| LokiError::from(duramen_logql::Error::from(e)))?;
        Ok((state, stats))
    })
    .await
}

/// The entries of a time that a query finds.
pub(super) fn within(span: Span, query: &LogQuery) -> Filter {
    let time = TimeRange { min: span.start_ns, max: span.end_ns.saturating_sub(1) };
    Filter::Time(time).and(query.filter())
}
