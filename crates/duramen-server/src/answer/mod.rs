//! A query, its rows as a streamed body: on a thread of its own, unless it is soon answered ([`brief`]).
//!
//! It ends soon after the client has gone, the token was revoked, or its time is up; an error before the first row is a
//! status, one after it breaks the answer off, so that no client takes a part for the whole.

mod brief;
mod gathered;
mod known;
mod latest;
mod pieces;
mod waiting;
mod whole;

use crate::app::{Shared, leave_of};
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use duramen::Snapshot;
use duramen::block::BlockHandle;
use duramen_query::{Cancel, Query, ResultRow, RunOptions, RunStats, TakeText, Text};
pub(crate) use gathered::{MEMBER_BYTES, OBJECT_BYTES, Room, gather};
pub(crate) use known::KnownQueries;
pub(crate) use latest::latest;
pub(crate) use pieces::Pieces;
use pieces::{PIECE_BYTES, PIECES_WAITING, PieceSender};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
pub(crate) use waiting::AnswerMemory;
pub(crate) use whole::{JsonText, whole};

/// A piece of an answer is sent when it has this many bytes, the first one sooner than [`PIECE_BYTES`],
const FIRST_PIECE_BYTES: usize = 32 << 10;
/// or when so long has passed since the last one.
const PIECE_EVERY: Duration = Duration::from_millis(50);

/// A query, and how it is to be run.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub query: Query,
    /// What [`KnownQueries`] knows it by.
    pub key: u64,
    pub options: RunOptions,
    pub timeout: Duration,
    /// The view of the store to ask; `None` for that of the moment when it is run.
    pub snapshot: Option<Arc<Snapshot>>,
}

impl Question {
    /// With the server's limits; `key` is what [`KnownQueries`] knows it by.
    pub fn new(app: &Shared, query: Query, key: u64) -> Self {
        Self { query, key, options: options(app), timeout: app.limits.query_timeout, snapshot: None }
    }

    /// Has each run of it see the same view of the store: that of now, if it has none yet.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn fix_view(&mut self, access: &Access) -> ApiResult<()> {
        let (this, access) = (self.clone(), access.clone());
        let view = tokio::task::spawn_blocking(move || this.view(&access));
        let view = view.await.map_err(|e| ApiError::unavailable(format!("the query broke off: {e}")))??;
        self.snapshot = Some(view);
        Ok(())
    }

    fn view(&self, access: &Access) -> ApiResult<Arc<Snapshot>> {
        match &self.snapshot {
            Some(snapshot) => Ok(snapshot.clone()),
            None => Ok(Arc::new(access.tenant.store()?.snapshot()?)),
        }
    }

    fn blocks_of(&self, view: &Snapshot) -> Vec<Arc<dyn BlockHandle>> {
        let (min_time, max_time) = self.query.time_range();
        view.blocks(min_time, max_time)
    }

    /// Lets go of its view: its blocks are enough, and only as long as the query runs, not until its client has read all.
    fn blocks(&mut self, access: &Access) -> ApiResult<Vec<Arc<dyn BlockHandle>>> {
        let view = self.view(access)?;
        self.snapshot = None;
        Ok(self.blocks_of(&view))
    }

    fn run(
        &mut self,
        app: &Shared,
        access: &Access,
        cancel: &Cancel,
        each: &mut dyn FnMut(&ResultRow) -> ControlFlow<()>,
    ) -> ApiResult<RunStats> {
        let blocks = self.blocks(access)?;
        let stats = self.query.run(blocks, &self.options, cancel, each)?;
        has_run(app, &stats);
        Ok(stats)
    }

    /// Runs it, and has its rows written.
    fn write(&mut self, app: &Shared, access: &Access, cancel: &Cancel, text: Text<'_>) -> ApiResult<()> {
        let blocks = self.blocks(access)?;
        let stats = self.query.write(blocks, &self.options, cancel, text)?;
        has_run(app, &stats);
        Ok(())
    }
}

/// The server's limits of a query.
pub(crate) fn options(app: &Shared) -> RunOptions {
    RunOptions {
        threads: app.limits.query_threads,
        memory_limit_bytes: app.limits.query_memory_bytes,
        ..RunOptions::default()
    }
}

/// Counts a query that has run; blocks that it could not read are told of, because its answer is without them.
pub(crate) fn has_run(app: &Shared, stats: &RunStats) {
    app.metrics.query(stats);
    if let Some(e) = &stats.first_failure {
        tracing::error!(blocks = stats.blocks_failed, error = %e, "an answer lacks damaged blocks");
    }
}

/// Cancels a query, or other work, when whoever waits for it has gone.
#[derive(Debug)]
pub(crate) struct CancelOnDrop(pub Arc<Cancel>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Leave to run a query, held while it runs; and what cancels it, when whoever waits for it has gone or its time is up.
#[derive(Debug)]
struct Leave {
    permits: Vec<OwnedSemaphorePermit>,
    cancel: Arc<Cancel>,
    guard: CancelOnDrop,
    /// How long it may run, and its client be waited for.
    timeout: Duration,
}

impl Leave {
    /// For a query that may run so long.
    ///
    /// # Errors
    /// 429 if there is none in time; 503 if the server stops.
    async fn take(app: &Shared, access: &Access, timeout: Duration) -> ApiResult<Self> {
        Self::take_within(app, access, timeout, timeout).await
    }

    /// The same, if there is one within this time.
    ///
    /// # Errors
    /// As [`Self::take`].
    async fn take_within(
        app: &Shared,
        access: &Access,
        wait: Duration,
        timeout: Duration,
    ) -> ApiResult<Self> {
        let leave = leave_of([&access.tenant.queries, &app.queries]);
        let late = |_| ApiError::busy("too many queries run already (max_queries): ask again later");
        let permits = tokio::time::timeout(wait, leave).await.map_err(late)??;
        let cancel = Arc::new(Cancel::timed(app.env.clock.clone(), Some(timeout)));
        Ok(Self { permits, guard: CancelOnDrop(cancel.clone()), cancel, timeout })
    }
}

/// Does what looks at the store on a thread of its own, as one of the queries that may run at once, for `timeout` at most.
///
/// # Errors
/// As `work`; 429 if too many queries run already, 503 if the server stops.
pub(crate) async fn on_thread<T: Send + 'static, E: From<ApiError> + Send + 'static>(
    app: &Shared,
    access: &Access,
    timeout: Duration,
    work: impl FnOnce(&Shared, &Access, &Cancel) -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    on_thread_by(app, access, Leave::take(app, access, timeout).await?, work).await
}

/// The same, by leave that was taken before.
async fn on_thread_by<T: Send + 'static, E: From<ApiError> + Send + 'static>(
    app: &Shared,
    access: &Access,
    Leave { permits, cancel, guard: _guard, .. }: Leave,
    work: impl FnOnce(&Shared, &Access, &Cancel) -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    let (app, access) = (app.clone(), access.clone());
    let task = tokio::task::spawn_blocking(move || {
        let _permits = permits;
        let _memory = app.working_memory.in_use();
        work(&app, &access, &cancel)
    });
    task.await.map_err(|e| ApiError::unavailable(format!("the query broke off: {e}")))?
}

/// An error if nobody waits for the answer any more, or its time is up.
///
/// # Errors
/// 503.
pub(crate) fn still_wanted(cancel: &Cancel) -> ApiResult<()> {
    Ok(cancel.check()?)
}

/// Runs a query to its end; `each` sees its rows, and what it has made so far of what `start` began. Both may be begun twice.
///
/// # Errors
/// As [`Question::run`] and [`on_thread`].
pub(crate) async fn run<T: Send + 'static>(
    app: &Shared,
    access: &Access,
    mut question: Question,
    start: impl Fn() -> T + Send + 'static,
    each: impl Fn(&mut T, &ResultRow) -> ControlFlow<()> + Send + 'static,
) -> ApiResult<(T, RunStats)> {
    let leave = Leave::take(app, access, question.timeout).await?;
    let made = brief::attempt(app, access, &mut question, |question, blocks, cancel| {
        let mut state = start();
        let mut each = |row: &ResultRow| each(&mut state, row);
        let stats = question.query.run(blocks, &question.options, cancel, &mut each)?;
        Ok((Some(state), stats))
    })?;
    if let Some(made) = made {
        return Ok(made);
    }
    on_thread_by(app, access, leave, move |app, access, cancel| {
        let mut state = start();
        let stats = question.run(app, access, cancel, &mut |row| each(&mut state, row))?;
        Ok((state, stats))
    })
    .await
}

/// Runs a query; `write` appends each row to the answer's text, which begins with `head`. Returns when the first piece of
/// it is there. A client that does not read is waited for until the query's time is up: others want to ask, too.
///
/// # Errors
/// As [`run`], before the first row.
pub(crate) async fn pieces(
    app: &Shared,
    access: &Access,
    mut question: Question,
    head: Vec<u8>,
    write: impl Fn(&ResultRow, &mut Vec<u8>) + Send + Sync + 'static,
) -> ApiResult<Pieces> {
    let leave = Leave::take(app, access, question.timeout).await?;
    if let Some(text) = brief::text(app, access, &mut question, &head, &write)? {
        return Ok(Pieces::whole(text));
    }
    made(app, access, leave, head, move |app, access, cancel, text, take| {
        question.write(app, access, cancel, Text { write: &write, text, take: Box::new(take) })
    })
    .await
}

/// The same where rows must be written one after another.
///
/// # Errors
/// As [`pieces`].
#[cfg(feature = "parquet")]
pub(crate) async fn pieces_in_turn(
    app: &Shared,
    access: &Access,
    mut question: Question,
    mut write: impl FnMut(&ResultRow, &mut Vec<u8>) + Send + 'static,
) -> ApiResult<Pieces> {
    let leave = Leave::take(app, access, question.timeout).await?;
    made(app, access, leave, Vec::new(), move |app, access, cancel, text, take| {
        let mut each = |row: &ResultRow| {
            write(row, text);
            take(text, 1)
        };
        question.run(app, access, cancel, &mut each).map(drop)
    })
    .await
}

/// What `make` makes in a text, which begins with `head`; it shows the text whenever there is more of it.
async fn made(
    app: &Shared,
    access: &Access,
    leave: Leave,
    head: Vec<u8>,
    make: impl FnOnce(&Shared, &Access, &Cancel, &mut Vec<u8>, &mut TakeText<'_>) -> ApiResult<()>
    + Send
    + 'static,
) -> ApiResult<Pieces> {
    let Leave { permits, cancel, guard, timeout } = leave;
    let (to, mut from) = mpsc::channel(PIECES_WAITING);
    let (app, access) = (app.clone(), access.clone());
    let runtime = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || {
        let _permits = permits;
        let _memory = app.working_memory.in_use();
        let left = || timeout.saturating_sub(cancel.elapsed().unwrap_or_default());
        let mut to = PieceSender::new(to, runtime, left);
        let clock = app.env.clock.clone();
        let mut text = head;
        let (mut sent, mut enough_bytes) = (clock.monotonic(), FIRST_PIECE_BYTES);
        let mut take = |text: &mut Vec<u8>, _rows: usize| {
            if text.len() < enough_bytes && clock.monotonic().saturating_sub(sent) < PIECE_EVERY {
                return ControlFlow::Continue(());
            }
            (sent, enough_bytes) = (clock.monotonic(), PIECE_BYTES);
            if access.is_withdrawn(&app) {
                cancel.cancel();
            }
            to.send(std::mem::take(text), false)
        };
        let outcome = make(&app, &access, &cancel, &mut text, &mut take);
        let _client_has_gone = match outcome {
            Ok(()) => to.send(text, true),
            Err(e) => to.send_error(e),
        };
    });
    match from.recv().await {
        Some(Ok(first)) => Ok(Pieces::new(first, from, guard)),
        Some(Err(e)) => Err(e),
        None => Err(ApiError::unavailable("the query broke off")),
    }
}

/// Runs a query and answers with its [`pieces`].
///
/// # Errors
/// As [`pieces`].
pub(crate) async fn stream(
    app: &Shared,
    access: &Access,
    question: Question,
    content_type: &'static str,
    head: Vec<u8>,
    write: impl Fn(&ResultRow, &mut Vec<u8>) + Send + Sync + 'static,
) -> ApiResult<Response> {
    let pieces = pieces(app, access, question, head, write).await?;
    Ok(([(header::CONTENT_TYPE, content_type)], pieces.into_body()).into_response())
}
