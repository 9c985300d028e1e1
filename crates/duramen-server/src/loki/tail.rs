//! `tail`: entries as they come, over a WebSocket, until the client goes.
//!
//! A client that is too slow is told how many lines were left out for it, and when. What cannot be shown closes the
//! socket, with the reason.

use super::ask::{self, Wanted};
use super::query::{categorizes, encoding_flags};
use super::request::{Asked, LokiError, LokiResult, Span};
use super::streams::Streams;
use crate::answer::{JsonText, Room, options};
use crate::app::Shared;
use crate::auth::Access;
use crate::following::{Follower, News, on_thread};
use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use duramen_logql::LogQuery;
use duramen_query::{Cancel, Order, RunOptions};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::MissedTickBehavior;

/// How often the client is asked whether it is still there.
const PING_EVERY: Duration = Duration::from_secs(1);
/// How many lines of the past a tail begins with if the request does not say.
const DEFAULT_LIMIT: usize = 100;
/// How much of the past is looked at if the request does not say: an hour.
const DEFAULT_SPAN_NS: i64 = 3_600_000_000_000;
/// The most seconds that entries may be held back.
const MAX_DELAY_S: u64 = 5;

/// A client has nothing to say; a message of it has this many bytes at most.
const MAX_MESSAGE_BYTES: usize = 4 << 10;
/// A message has so many bytes, and up to an entry more: the socket keeps the memory of the longest as long as it is open.
const MESSAGE_BYTES: usize = 256 << 10;
/// The most bytes of the reason for which a socket is closed.
const MAX_REASON_BYTES: usize = 123;

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
    let follower = Follower::begin(&following.app, &following.access).await?;
    let upgrade = upgrade.max_message_size(MAX_MESSAGE_BYTES).max_frame_size(MAX_MESSAGE_BYTES);
    Ok(upgrade.on_upgrade(move |mut socket| async move {
        if let Err(LokiError(e)) = following.run(&mut socket, follower).await {
            tracing::warn!(error = %e.message, "a tail broke off");
            let reason: String = e.message.chars().take(MAX_REASON_BYTES / 4).collect();
            let close = CloseFrame { code: close_code::ERROR, reason: reason.into() };
            let _client_has_gone = socket.send(Message::Close(Some(close))).await;
        }
    }))
}

/// Messages of the protocol; none if there is nothing to tell.
fn messages(
    mut streams: Streams,
    categorize: bool,
    mut dropped: Option<Value>,
    room: &mut Room,
    cancel: &Cancel,
) -> LokiResult<Vec<Message>> {
    let mut messages = Vec::new();
    while !streams.is_empty() || dropped.is_some() {
        let mut text = JsonText::new(room, cancel);
        text.raw(br#"{"streams":"#)?;
        streams.write_part(&mut text, MESSAGE_BYTES)?;
        if let Some(flags) = encoding_flags(categorize) {
            text.raw(br#","encodingFlags":"#)?;
            text.value(&flags)?;
        }
        if let Some(dropped) = dropped.take() {
            text.raw(br#","dropped_entries":"#)?;
            text.value(&[dropped])?;
        }
        text.raw(b"}")?;
        let text = Utf8Bytes::try_from(text.into_bytes());
        messages.extend(text.ok().map(Message::Text));
    }
    Ok(messages)
}

/// Sends them; whether the client is still there.
async fn send(messages: Vec<Message>, socket: &mut WebSocket) -> bool {
    for message in messages {
        if socket.send(message).await.is_err() {
            return false;
        }
    }
    true
}

impl Following {
    async fn run(self, socket: &mut WebSocket, mut follower: Follower) -> LokiResult<()> {
        if !send(self.past(&mut follower).await?, socket).await {
            return Ok(());
        }
        let mut ping = tokio::time::interval(PING_EVERY);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let news = tokio::select! {
                () = self.app.stopped() => return Ok(()),
                _ = ping.tick() => {
                    follower.let_go_of_past();
                    let withdrawn = self.access.is_withdrawn(&self.app);
                    if withdrawn || socket.send(Message::Ping(Vec::new().into())).await.is_err() {
                        return Ok(());
                    }
                    continue;
                }
                came = socket.recv() => match came {
                    Some(Ok(Message::Close(_))) => {
                        // The answer to it waits for the next read. A client that misses it takes the end of the
                        // connection for an accident, and comes again.
                        let _nothing_comes_after_it = socket.recv().await;
                        return Ok(());
                    }
                    Some(Err(_)) | None => return Ok(()),
                    Some(Ok(_)) => continue,
                },
                news = follower.next() => match news {
                    Some(news) => news,
                    None => return Ok(()),
                },
            };
            let (skipped, age) = (news.skipped, self.app.env.clock.monotonic().saturating_sub(news.began));
            if !self.delay.is_zero() && age < self.delay {
                tokio::time::sleep(self.delay - age).await;
            }
            let dropped = (skipped > 0).then(|| {
                self.app.metrics.skipped(skipped);
                let now_ns = self.app.env.clock.now_unix_ns();
                json!({ "labels": { "skipped_lines": skipped.to_string() }, "timestamp": now_ns.to_string() })
            });
            let this = self.clone();
            let found = on_thread(&self.app, move |cancel| this.found(&news, dropped, cancel));
            if !send(found.await?, socket).await {
                return Ok(());
            }
        }
    }

    /// The last of what was there already, the oldest first.
    async fn past(&self, follower: &mut Follower) -> LokiResult<Vec<Message>> {
        let snapshot = follower.past(&self.app, &self.access).await?;
        let span = Span { start_ns: self.start_ns, end_ns: i64::MAX };
        let mut wanted = Wanted::new(&self.app, (*self.query).clone(), span);
        wanted.options.limit = Some(self.limit);
        let (mut streams, categorize) = (self.streams(), self.categorize);
        ask::of_view(&self.app, &self.access, snapshot, move |view| {
            view.entries(&wanted, |entry, _| {
                streams.add(entry)?;
                Ok(ControlFlow::Continue(()))
            })?;
            streams.reverse();
            messages(streams, categorize, None, &mut view.room, view.cancel)
        })
        .await
    }

    fn streams(&self) -> Streams {
        Streams::new(self.categorize, self.app.limits.query_memory_bytes)
    }

    /// Those of the new rows that the query finds.
    fn found(&self, news: &News, dropped: Option<Value>, cancel: &Cancel) -> LokiResult<Vec<Message>> {
        let options = RunOptions { order: Order::OldestFirst, ..options(&self.app) };
        let mut streams = self.streams();
        news.read(|handles| {
            let mut failed = None;
            let stats = self.query.run(handles, i64::MIN, i64::MAX, &options, cancel, &mut |entry| {
                failed = streams.add(entry).err();
                if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            failed.map_or(Ok(stats), Err)
        })?;
        messages(
            streams,
            self.categorize,
            dropped,
            &mut Room::new(self.app.limits.query_memory_bytes),
            cancel,
        )
    }
}
