//! `tail`: entries as they come, an object a line, until the client goes.
//!
//! Following begins before what is there already is looked at, and what is in both is left out: so nothing is lost in
//! between, and nothing comes twice. A client that is too slow is told how many lines were skipped for it.

use super::args::{Args, duration_ns};
use super::query::write_texts;
use crate::answer::{Question, run};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use crate::tail_hub::Round;
use axum::Extension;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use duramen::Snapshot;
use duramen::block::{Block, OpenBlock};
use duramen_query::filter::time::TimeRange;
use duramen_query::pipe::Passes;
use duramen_query::{Cancel, Order, Query, RunOptions};
use futures_util::stream::{self, StreamExt};
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// An empty line is sent so often when nothing comes, so that a client that has gone is noticed.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
/// Most lines of the past that a tail begins with.
const MAX_PAST_ROWS: usize = 1_000_000;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/select/logsql/tail", get(tail).post(tail))
}

/// `start_offset` is how much of the past to begin with.
async fn tail(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    args: Args,
) -> ApiResult<Response> {
    let query = args.query(&app, "")?;
    check(&query)?;
    let listener = access.tenant.hub.listen(access.tenant.store()?, &app.env.clock)?;
    let past = match args.get("start_offset") {
        Some(text) => past(&app, &access, &args, duration_ns("start_offset", text)?).await?,
        None => Past::default(),
    };
    let follower =
        Follower { app, access, query: Arc::new(query), listener, past: past.seen, next_row: None };
    let coming = stream::unfold(follower, |mut follower| async move {
        let piece = follower.next().await?;
        Some((Ok::<_, Infallible>(piece), follower))
    });
    let first = stream::once(async move { Ok(past.text.into()) });
    let body = Body::from_stream(first.chain(coming).filter(|piece| {
        let is_empty = piece.as_ref().is_ok_and(|piece: &Bytes| piece.is_empty());
        async move { !is_empty }
    }));
    Ok(([(header::CONTENT_TYPE, "application/stream+json"), (header::CACHE_CONTROL, "no-cache")], body)
        .into_response())
}

/// Whether a query can be followed.
fn check(query: &Query) -> ApiResult<()> {
    if query.looks_beyond_filter() {
        return Err(ApiError::bad_request("tail cannot follow a query inside a query"));
    }
    match query.pipes().iter().find(|pipe| pipe.passes() == Passes::All) {
        Some(pipe) => {
            Err(ApiError::bad_request(format!("tail cannot follow `| {pipe}`, which needs all entries")))
        }
        None => Ok(()),
    }
}

/// What was there already, and the view of the store that it is from.
#[derive(Debug, Default)]
struct Past {
    text: Vec<u8>,
    seen: Option<Seen>,
}

/// What a follower has been shown already.
#[derive(Clone, Debug)]
struct Seen {
    snapshot: Arc<Snapshot>,
    /// When the snapshot had been taken, by the monotonic clock.
    at: Duration,
}

async fn past(app: &Shared, access: &Access, args: &Args, offset_ns: i64) -> ApiResult<Past> {
    let now_ns = app.env.clock.now_unix_ns();
    let asked = args.within(now_ns)?.unwrap_or(TimeRange { min: i64::MIN, max: i64::MAX });
    let within = TimeRange { min: asked.min.max(now_ns.saturating_sub(offset_ns)), max: asked.max };
    let mut question = Question::new(app, args.query_within(now_ns, "", Some(within))?);
    question.options =
        RunOptions { order: Order::OldestFirst, limit: Some(MAX_PAST_ROWS), ..question.options };
    let snapshot = Arc::new(access.tenant.store()?.snapshot()?);
    let seen = Seen { snapshot: snapshot.clone(), at: app.env.clock.monotonic() };
    question.snapshot = Some(snapshot);
    let is_entry = question.query.pipes().is_empty();
    let (text, _) = run(app, access, question, Vec::new(), move |text, row| {
        write_texts(row, is_entry, text);
        ControlFlow::Continue(())
    })
    .await?;
    Ok(Past { text, seen: Some(seen) })
}

/// Somebody who follows.
#[derive(Debug)]
struct Follower {
    app: Shared,
    access: Access,
    query: Arc<Query>,
    listener: Receiver<Round>,
    past: Option<Seen>,
    /// The number of the row that should come next, once one has come.
    next_row: Option<u64>,
}

impl Follower {
    /// The next piece of the answer; `None` at its end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.access.is_withdrawn(self.app.env.clock.now_unix_ns()) {
                return None;
            }
            let round = tokio::select! {
                () = self.app.stopped() => return None,
                round = tokio::time::timeout(SIGN_OF_LIFE, self.listener.recv()) => round,
            };
            let round = match round {
                Err(_) => return Some(Bytes::from_static(b"\n")),
                Ok(Ok(round)) => round,
                Ok(Err(RecvError::Lagged(_))) => continue, // the next round tells how many rows that were
                Ok(Err(RecvError::Closed)) => return None,
            };
            let skipped = self.next_row.map_or(0, |next| round.rows_before.saturating_sub(next));
            self.next_row = Some(round.rows_before + round.rows);
            let (query, past) = (self.query.clone(), self.past.clone());
            // The first round that was looked for after the snapshot is the last that can have a row of it.
            if past.as_ref().is_some_and(|seen| round.began > seen.at) {
                self.past = None;
            }
            let known = past.map(|seen| seen.snapshot);
            let found = tokio::task::spawn_blocking(move || rows(&query, &round, known.as_deref())).await;
            let mut text = Vec::new();
            if skipped > 0 {
                self.app.metrics.skipped(skipped);
                let told = serde_json::json!({ "_msg": format!("{skipped} lines skipped: too slow to follow"), "skipped_lines": skipped.to_string() });
                text.extend_from_slice(told.to_string().as_bytes());
                text.push(b'\n');
            }
            match found {
                Ok(Ok(found)) => text.extend_from_slice(&found),
                Ok(Err(e)) => tracing::error!(error = %e.message, "new lines cannot be shown"),
                Err(e) => tracing::error!(error = %e, "new lines cannot be shown"),
            }
            if !text.is_empty() {
                return Some(text.into());
            }
        }
    }
}

/// Those of the new rows that the query finds, and that were not there before.
fn rows(query: &Query, round: &Round, known: Option<&Snapshot>) -> ApiResult<Vec<u8>> {
    let mut blocks: Vec<Arc<dyn Block>> = round.blocks.to_vec();
    if let Some(known) = known {
        blocks = known.without_known(blocks)?;
    }
    let handles = blocks.into_iter().map(OpenBlock::handle).collect::<duramen::Result<Vec<_>>>()?;
    let mut text = Vec::new();
    let options = RunOptions { order: Order::OldestFirst, ..RunOptions::default() };
    let is_entry = query.pipes().is_empty();
    query.run(handles, &options, &Cancel::new(), &mut |row| {
        write_texts(row, is_entry, &mut text);
        ControlFlow::Continue(())
    })?;
    Ok(text)
}
