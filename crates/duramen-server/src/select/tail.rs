//! `tail`: entries as they come, an object a line, until the client goes.
//!
//! A client that is too slow is told how many lines were skipped for it. What cannot be shown breaks the answer off; but for the
//! past that a tail begins with where none was asked for, without which it goes on.

use super::args::{Args, duration_ns};
use super::query::write_texts;
use crate::answer::{Pieces, Question, latest, options, pieces};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use crate::following::{Follower, News, on_thread};
use axum::Extension;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use duramen::Snapshot;
use duramen_query::filter::time::TimeRange;
use duramen_query::number::parse_duration_ns;
use duramen_query::pipe::Passes;
use duramen_query::{Cancel, Order, Query, ResultRow, RunOptions};
use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::json;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// An empty line is sent so often when nothing comes, so that a client that has gone is noticed.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
/// More text than this is not made of what has come at once, which is less by itself: a pipe may make much of a line.
const MAX_TEXT_BYTES: usize = 64 << 20;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/select/logsql/tail", get(tail).post(tail))
}

/// How much of the past to begin with if the request does not say: what was just appended when somebody began to look, as
/// VictoriaLogs has it.
const START_OFFSET_NS: i64 = 5_000_000_000;
/// Of this past, if it was not asked for, so much text is kept for a client that does not read: the last.
const MAX_LATEST_BYTES: usize = 4 << 20;
/// And it may take so long,
const LATEST_WITHIN: Duration = Duration::from_secs(5);
/// once there is a place for it among the queries, which is waited for so long.
const PLACE_WITHIN: Duration = Duration::from_secs(1);

/// `start_offset` is how much of the past to begin with; `offset`, by how much VictoriaLogs would stay behind, is more of it. Nothing
/// is waited for here: lines are followed as they are appended, whatever their time, so that none is missed for being late. So
/// `refresh_interval` plays no part.
async fn tail(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    args: Args,
) -> ApiResult<Response> {
    let query = args.query(&app, "")?;
    check(&query)?;
    let past_ns = past_ns(&args)?;
    let was_asked_for = ["start_offset", "offset"].iter().any(|name| args.get(name).is_some());
    let mut follower = Follower::begin(&app, &access).await?;
    let past = match past_ns {
        0 => Past::NONE,
        ns if was_asked_for => {
            let snapshot = follower.past(&app, &access).await?;
            let question = past(&app, &args, ns, snapshot)?;
            let write = writer(&question);
            Past::Asked(pieces(&app, &access, question, Vec::new(), write).await?)
        }
        ns => just_now(&app, &access, &args, ns, &mut follower).await?,
    };
    let following = Following { app, access, args, follower };
    let coming = stream::try_unfold(following, |mut following| async move {
        Ok::<_, io::Error>(following.next().await?.map(|piece| (piece, following)))
    });
    let pieces = past.into_stream().chain(coming);
    let body = Body::from_stream(pieces.filter(|piece| {
        let is_empty = piece.as_ref().is_ok_and(Bytes::is_empty);
        async move { !is_empty }
    }));
    Ok(([(header::CONTENT_TYPE, "application/stream+json"), (header::CACHE_CONTROL, "no-cache")], body)
        .into_response())
}

/// How much of the past is asked for.
fn past_ns(args: &Args) -> ApiResult<i64> {
    let duration = |name: &str, default: i64| match args.get(name) {
        None => Ok(default),
        Some(text) if parse_duration_ns(text) == Some(0) => Ok(0),
        Some(text) => match text.parse::<f64>() {
            Ok(seconds) if (0.0..=i64::MAX as f64 / 1e9).contains(&seconds) => Ok((seconds * 1e9) as i64),
            _ => duration_ns(name, text),
        },
    };
    duration("refresh_interval", 0)?;
    Ok(duration("start_offset", START_OFFSET_NS)?.saturating_add(duration("offset", 0)?))
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

/// What a tail begins with.
enum Past {
    /// A query's answer, as it is made.
    Asked(Pieces),
    /// Text that is there, and its share of what waits to be read.
    Kept(Vec<Bytes>, Vec<OwnedSemaphorePermit>),
}

impl Past {
    const NONE: Self = Self::Kept(Vec::new(), Vec::new());

    fn into_stream(self) -> BoxStream<'static, io::Result<Bytes>> {
        match self {
            Self::Asked(pieces) => pieces.into_stream().boxed(),
            Self::Kept(parts, share) => {
                let end = stream::once(async move {
                    drop(share);
                    Ok(Bytes::new())
                });
                stream::iter(parts.into_iter().map(Ok)).chain(end).boxed()
            }
        }
    }
}

/// The question after what was there already, the oldest first.
fn past(app: &Shared, args: &Args, offset_ns: i64, snapshot: Arc<Snapshot>) -> ApiResult<Question> {
    let now_ns = app.env.clock.now_unix_ns();
    let asked = args.within(now_ns)?.unwrap_or(TimeRange { min: i64::MIN, max: i64::MAX });
    let within = TimeRange { min: asked.min.max(now_ns.saturating_sub(offset_ns)), max: asked.max };
    let mut question = args.question_of(app, args.query_within(now_ns, "", Some(within))?)?;
    question.options.order = Order::OldestFirst;
    question.snapshot = Some(snapshot);
    Ok(question)
}

/// What writes the rows of a question.
fn writer(question: &Question) -> impl Fn(&ResultRow, &mut Vec<u8>) + Send + Sync + 'static {
    let is_entry = question.query.pipes().is_empty();
    move |row, text| write_texts(row, is_entry, text)
}

/// The last of what was just appended; nothing if that cannot be had now: who did not ask for it is not to be refused for it.
async fn just_now(
    app: &Shared,
    access: &Access,
    args: &Args,
    offset_ns: i64,
    follower: &mut Follower,
) -> ApiResult<Past> {
    let snapshot = match follower.past(app, access).await {
        Ok(snapshot) => snapshot,
        Err(e) => return Ok(without_past(&e)),
    };
    let mut question = past(app, args, offset_ns, snapshot)?;
    question.timeout = question.timeout.min(LATEST_WITHIN);
    let write = writer(&question);
    let latest = latest(app, access, question, PLACE_WITHIN, MAX_LATEST_BYTES, write).await;
    let kept = latest.and_then(|latest| {
        let too_many = || ApiError::busy("too many answers wait to be read");
        Ok((app.answers.share(latest.bytes()).ok_or_else(too_many)?, latest))
    });
    let (share, latest) = match kept {
        Ok(kept) => kept,
        Err(e) => {
            follower.forget_past();
            return Ok(without_past(&e));
        }
    };
    let mut told = Vec::new();
    if latest.left_out > 0 {
        app.metrics.skipped(latest.left_out);
        tell_skipped(latest.left_out, "too much was there at once", &mut told);
    }
    let parts = std::iter::once(told).chain(latest.into_parts()).map(Bytes::from);
    Ok(Past::Kept(parts.collect(), share))
}

fn without_past(e: &ApiError) -> Past {
    tracing::info!(reason = %e.message, "a tail begins without what was just appended");
    Past::NONE
}

/// Somebody who follows.
#[derive(Debug)]
struct Following {
    app: Shared,
    access: Access,
    /// What is asked for: `_time:5m` is another span whenever something comes.
    args: Args,
    follower: Follower,
}

impl Following {
    /// The next piece of the answer; `None` at its end.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            if self.access.is_withdrawn(&self.app) {
                return Ok(None);
            }
            let news = tokio::select! {
                () = self.app.stopped() => return Ok(None),
                news = tokio::time::timeout(SIGN_OF_LIFE, self.follower.next()) => news,
            };
            let news = match news {
                Err(_) => {
                    self.follower.let_go_of_past();
                    return Ok(Some(Bytes::from_static(b"\n")));
                }
                Ok(Some(news)) => news,
                Ok(None) => return Ok(None),
            };
            let mut text = Vec::new();
            if news.skipped > 0 {
                self.app.metrics.skipped(news.skipped);
                tell_skipped(news.skipped, "too slow to follow", &mut text);
            }
            let query = self.args.query(&self.app, "").map_err(|e| io::Error::other(e.message))?;
            let app = self.app.clone();
            let found = on_thread(&self.app, move |cancel| {
                rows(&app, &query, &news, cancel, &mut text)?;
                Ok::<_, ApiError>(text)
            });
            let text = found.await.map_err(|e| {
                tracing::error!(error = %e.message, "a tail broke off");
                io::Error::other(e.message)
            })?;
            if !text.is_empty() {
                return Ok(Some(text.into()));
            }
        }
    }
}

/// Those of the new rows that the query finds.
fn rows(app: &Shared, query: &Query, news: &News, cancel: &Cancel, text: &mut Vec<u8>) -> ApiResult<()> {
    let options = RunOptions { order: Order::OldestFirst, ..options(app) };
    let is_entry = query.pipes().is_empty();
    let mut too_many = 0;
    news.read(|handles| -> ApiResult<_> {
        Ok(query.run(handles, &options, cancel, &mut |row| {
            match text.len() < MAX_TEXT_BYTES {
                true => write_texts(row, is_entry, text),
                false => too_many += 1,
            }
            ControlFlow::Continue(())
        })?)
    })?;
    if too_many > 0 {
        app.metrics.skipped(too_many);
        tell_skipped(too_many, "too much came at once", text);
    }
    Ok(())
}

fn tell_skipped(lines: u64, why: &str, text: &mut Vec<u8>) {
    let told = json!({ "_msg": format!("{lines} lines skipped: {why}"), "skipped_lines": lines.to_string() });
    text.extend_from_slice(told.to_string().as_bytes());
    text.push(b'\n');
}
