//! Questions to one view of the store, on a thread of their own, within the server's limits, that end when the client has gone.

use super::numbers;
use super::request::{LokiError, LokiResult, Span};
use crate::answer::{JsonText, Room, has_run, on_thread, options, whole};
use crate::app::Shared;
use crate::auth::Access;
use axum::response::Response;
use duramen::Snapshot;
use duramen_logql::{Answer, Entry, LabelSet, Limits, LogQuery, MAX_STEPS, MetricQuery, Steps};
use duramen_query::filter::Filter;
use duramen_query::filter::time::TimeRange;
use duramen_query::{Cancel, Query, ResultRow, RunOptions, RunStats};
use serde::Serialize;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Entries that are asked for.
#[derive(Debug)]
pub(super) struct Wanted {
    query: LogQuery,
    span: Span,
    pub options: RunOptions,
}

impl Wanted {
    /// With the server's limits, the newest first.
    pub fn new(app: &Shared, query: LogQuery, span: Span) -> Self {
        Self { query, span, options: options(app) }
    }
}

/// A view of the store, and what an answer that is made of it may take.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub app: &'a Shared,
    snapshot: &'a Snapshot,
    pub cancel: &'a Cancel,
    /// For what is gathered, and for the answer's text.
    pub room: Room,
}

/// Answers with the JSON that `make` makes of the store as it is now.
pub(super) async fn answer(
    app: &Shared,
    access: &Access,
    make: impl FnOnce(&mut View<'_>) -> LokiResult<Vec<u8>> + Send + 'static,
) -> LokiResult<Response> {
    let answer = whole(app, access, app.limits.query_timeout, move |app, access, cancel| {
        let snapshot = access.tenant.store()?.snapshot()?;
        make(&mut View::new(app, &snapshot, cancel)).map_err(|LokiError(e)| LokiError::limit(e).0)
    });
    Ok(answer.await?)
}

/// What `make` makes of this view of the store.
pub(super) async fn of_view<T: Send + 'static>(
    app: &Shared,
    access: &Access,
    snapshot: Arc<Snapshot>,
    make: impl FnOnce(&mut View<'_>) -> LokiResult<T> + Send + 'static,
) -> LokiResult<T> {
    on_thread(app, access, app.limits.query_timeout, move |app, _, cancel| {
        make(&mut View::new(app, &snapshot, cancel)).map_err(|LokiError(e)| LokiError::limit(e))
    })
    .await
}

impl<'a> View<'a> {
    fn new(app: &'a Shared, snapshot: &'a Snapshot, cancel: &'a Cancel) -> Self {
        Self { app, snapshot, cancel, room: Room::new(app.limits.query_memory_bytes) }
    }

    /// Entries, each seen by `each`, until it breaks off.
    pub fn entries(
        &mut self,
        wanted: &Wanted,
        mut each: impl FnMut(&Entry<'_>, &mut Room) -> LokiResult<ControlFlow<()>>,
    ) -> LokiResult<RunStats> {
        let Wanted { query, span, options } = wanted;
        let mut failed = None;
        let blocks = self.snapshot.blocks(span.start_ns, span.end_ns);
        let room = &mut self.room;
        let stats = query.run(blocks, span.start_ns, span.end_ns, options, self.cancel, &mut |entry| {
            each(entry, room).unwrap_or_else(|e| {
                failed = Some(e);
                ControlFlow::Break(())
            })
        })?;
        has_run(self.app, &stats);
        failed.map_or(Ok(stats), Err)
    }

    /// Numbers over time, of as many series as Loki would give.
    pub fn numbers(&self, query: &MetricQuery, steps: Steps) -> LokiResult<Answer> {
        // How many steps were asked for was looked at before they were moved to multiples: see `Asked::steps`.
        let limits = Limits { max_steps: MAX_STEPS + 1, ..Limits::default() };
        self.numbers_of(query, steps, limits)
    }

    /// The same, of however many series, of steps as they were asked for.
    pub fn all_numbers(&self, query: &MetricQuery, steps: Steps) -> LokiResult<Answer> {
        self.numbers_of(query, steps, Limits { max_series: usize::MAX, ..Limits::default() })
    }

    fn numbers_of(&self, query: &MetricQuery, steps: Steps, limits: Limits) -> LokiResult<Answer> {
        let limits = Limits { run: options(self.app), ..limits };
        let answer = query.run(&|from, to| self.snapshot.blocks(from, to), steps, &limits, self.cancel)?;
        has_run(self.app, &answer.stats);
        Ok(answer)
    }

    /// The rows of a query that counts, each seen by `each`, while there is room for what it gathers.
    pub fn rows(
        &mut self,
        query: &Query,
        mut each: impl FnMut(&ResultRow, &mut Room) -> ControlFlow<()>,
    ) -> LokiResult<RunStats> {
        let (from, to) = query.time_range();
        let (blocks, options) = (self.snapshot.blocks(from, to), options(self.app));
        let room = &mut self.room;
        let stats = query.run(blocks, &options, self.cancel, &mut |row| each(row, room));
        let stats = stats.map_err(|e| LokiError::from(duramen_logql::Error::from(e)))?;
        has_run(self.app, &stats);
        self.room.was_enough()?;
        Ok(stats)
    }

    /// How many blocks there are in a time.
    pub fn blocks(&self, span: Span) -> usize {
        self.snapshot.blocks(span.start_ns, span.end_ns).len()
    }

    /// A value as the answer.
    pub fn json(&mut self, value: &impl Serialize) -> LokiResult<Vec<u8>> {
        let mut text = self.text();
        text.value(value)?;
        Ok(text.into_bytes())
    }

    /// `{"status":"success","data":…}`
    pub fn success(&mut self, data: &impl Serialize) -> LokiResult<Vec<u8>> {
        self.json(&numbers::Success::of(data))
    }

    /// An answer, to be written.
    pub fn text(&mut self) -> JsonText<'_> {
        JsonText::new(&mut self.room, self.cancel)
    }
}

/// What labels take that are kept until the answer is made, about.
pub(super) fn bytes_of_labels(labels: &LabelSet) -> usize {
    labels.iter().map(|(name, value)| name.len() + value.len() + LABEL_BYTES).sum()
}

/// What a label takes beside its text.
const LABEL_BYTES: usize = 64;

/// The entries of a time that a query finds.
pub(super) fn within(span: Span, query: &LogQuery) -> Filter {
    let time = TimeRange { min: span.start_ns, max: span.end_ns.saturating_sub(1) };
    Filter::Time(time).and(query.filter())
}
