//! `tail`: entries as they come, over a WebSocket, until the client goes.
//!
//! Following begins before what is there already is looked at, and what is in both is left out: so nothing is lost in
//! between, and nothing comes twice. A client that is too slow is told how many lines were left out for it, and when.

use super::ask;
use super::query::categorizes;
use super::request::{Asked, LokiError, LokiResult};
use super::streams::Streams;
use crate::app::Shared;
use crate::auth::Access;
use crate::tail_hub::Round;
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use duramen::Snapshot;
use duramen::block::{Block, OpenBlock};
use duramen_logql::LogQuery;
use duramen_query::{Cancel, Order, RunOptions};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::MissedTickBehavior;

/// How often the client is asked whether it is still there.
const PING_EVERY: Duration = Duration::from_secs(1);
/// How many lines of the past a tail begins with if the request does not say.
const DEFAULT_LIMIT: usize = 100;
/// How much of the past is looked at if the request does not say: an hour.
const DEFAULT_SPAN_NS: i64 = 3_600_000_000_000;
/// The most seconds that entries may be held back.
const MAX_DELAY_S: u64 = 5;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/loki/api/v1/tail", get(tail))
}

/// What one who follows asks for.
#[derive(Clone, Debug)]
struct Following {
    app: Shared,
    access: Access,
    query: Arc<LogQuery>,
    categorize: bool,
    start_ns: i64,
    limit: usize,
    delay: Duration,
}

async fn tail(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
    asked: Asked,
) -> LokiResult<Response> {
    let query = Arc::new(asked.log_query()?);
    let delay = asked.args.number("delay_for")?.unwrap_or(0);
    if delay > MAX_DELAY_S {
        return Err(LokiError::bad_request(format!("delay_for can't be greater than {MAX_DELAY_S}")));
    }
    let (start_ns, limit) = (asked.span(DEFAULT_SPAN_NS)?.start_ns, asked.limit(DEFAULT_LIMIT)?);
    let categorize = categorizes(&headers);
    let delay = Duration::from_secs(delay);
    let following = Following { app, access, query, categorize, start_ns, limit, delay };
    // Before the answer: what comes from here on is seen.
    let listener =
        following.access.tenant.hub.listen(following.access.tenant.store()?, &following.app.env.clock)?;
    Ok(upgrade.on_upgrade(move |socket| async move {
        if let Err(LokiError(e)) = following.run(socket, listener).await {
            tracing::debug!(error = %e.message, "a tail broke off");
        }
    }))
}

/// A message of the protocol.
fn message(streams: Box<RawValue>, dropped: Option<Value>) -> Option<Message> {
    #[derive(Serialize)]
    struct Body {
        streams: Box<RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        dropped_entries: Option<[Value; 1]>,
    }
    let body = Body { streams, dropped_entries: dropped.map(|dropped| [dropped]) };
    serde_json::to_string(&body).ok().map(|text| Message::Text(text.into()))
}

impl Following {
    async fn run(self, mut socket: WebSocket, mut listener: Receiver<Round>) -> LokiResult<()> {
        let (snapshot, at, past) = self.past().await?;
        if past.entries > 0
            && let Some(message) = message(past.into_json(), None)
            && socket.send(message).await.is_err()
        {
            return Ok(());
        }
        let mut known = Some((snapshot, at));
        let mut next_row: Option<u64> = None;
        let mut ping = tokio::time::interval(PING_EVERY);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let round = tokio::select! {
                () = self.app.stopped() => return Ok(()),
                _ = ping.tick() => {
                    let withdrawn = self.access.is_withdrawn(self.app.env.clock.now_unix_ns());
                    if withdrawn || socket.send(Message::Ping(Vec::new().into())).await.is_err() {
                        return Ok(());
                    }
                    continue;
                }
                came = socket.recv() => match came {
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return Ok(()),
                    Some(Ok(_)) => continue,
                },
                round = listener.recv() => match round {
                    Ok(round) => round,
                    Err(RecvError::Lagged(_)) => continue, // the next round tells how many rows that were
                    Err(RecvError::Closed) => return Ok(()),
                },
            };
            let skipped = next_row.map_or(0, |next| round.rows_before.saturating_sub(next));
            next_row = Some(round.rows_before + round.rows);
            let age = self.app.env.clock.monotonic().saturating_sub(round.began);
            if !self.delay.is_zero() && age < self.delay {
                tokio::time::sleep(self.delay - age).await;
            }
            let seen = known.as_ref().map(|(snapshot, _)| snapshot.clone());
            // The first round that was looked for after the snapshot is the last that can have a row of it.
            if known.as_ref().is_some_and(|(_, at)| round.began > *at) {
                known = None;
            }
            let this = self.clone();
            let found = tokio::task::spawn_blocking(move || this.found(&round, seen.as_deref())).await;
            let found = found.map_err(|e| crate::error::ApiError::unavailable(e.to_string()))??;
            let dropped = (skipped > 0).then(|| {
                self.app.metrics.skipped(skipped);
                let now_ns = self.app.env.clock.now_unix_ns();
                json!({ "labels": { "skipped_lines": skipped.to_string() }, "timestamp": now_ns.to_string() })
            });
            if (found.entries > 0 || dropped.is_some())
                && let Some(message) = message(found.into_json(), dropped)
                && socket.send(message).await.is_err()
            {
                return Ok(());
            }
        }
    }

    /// The last of what was there already, and the view of the store that it is from.
    async fn past(&self) -> LokiResult<(Arc<Snapshot>, Duration, Streams)> {
        let this = self.clone();
        let work = move || -> LokiResult<_> {
            let snapshot = Arc::new(this.access.tenant.store()?.snapshot()?);
            let at = this.app.env.clock.monotonic();
            let limits = RunOptions { limit: Some(this.limit), ..ask::options(&this.app) };
            let cancel = Cancel::timed(this.app.env.clock.clone(), Some(this.app.limits.query_timeout));
            let blocks = snapshot.blocks(this.start_ns, i64::MAX);
            let mut oldest = i64::MAX;
            // The newest are wanted, and are shown from the oldest on.
            this.query.run(blocks, this.start_ns, i64::MAX, &limits, &cancel, &mut |entry| {
                oldest = entry.time_ns;
                ControlFlow::Continue(())
            })?;
            let mut streams = this.streams();
            let options = RunOptions { order: Order::OldestFirst, ..limits };
            let (blocks, mut failed) = (snapshot.blocks(oldest, i64::MAX), None);
            this.query.run(blocks, oldest, i64::MAX, &options, &cancel, &mut |entry| {
                failed = streams.add(entry).err();
                if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            match failed {
                Some(e) => Err(e),
                None => Ok((snapshot, at, streams)),
            }
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|e| crate::error::ApiError::unavailable(e.to_string()))?
    }

    fn streams(&self) -> Streams {
        Streams::new(self.categorize, self.app.limits.query_memory_bytes)
    }

    /// Those of the new rows that the query finds, and that were not there before.
    fn found(&self, round: &Round, known: Option<&Snapshot>) -> LokiResult<Streams> {
        let mut blocks: Vec<Arc<dyn Block>> = round.blocks.to_vec();
        if let Some(known) = known {
            blocks = known.without_known(blocks)?;
        }
        let handles = blocks.into_iter().map(OpenBlock::handle).collect::<duramen::Result<Vec<_>>>()?;
        let options = RunOptions { order: Order::OldestFirst, ..ask::options(&self.app) };
        let (mut streams, mut failed) = (self.streams(), None);
        self.query.run(handles, i64::MIN, i64::MAX, &options, &Cancel::new(), &mut |entry| {
            failed = streams.add(entry).err();
            if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        failed.map_or(Ok(streams), Err)
    }
}
