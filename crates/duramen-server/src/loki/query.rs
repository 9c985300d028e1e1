//! `query_range` and `query`: lines or numbers over time, and numbers at one time.

use super::ask::{self, Wanted};
use super::numbers::{self, Data, Success};
use super::request::{Asked, LokiError, LokiResult, Span};
use super::streams::{Streams, stats};
use crate::app::Shared;
use crate::auth::Access;
use crate::json::ok;
use axum::Extension;
use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use duramen_logql::{LogQl, LogQuery, Steps};
use duramen_query::Order;
use serde::Serialize;
use std::ops::ControlFlow;

/// How many entries are given if the request does not say.
const DEFAULT_LIMIT: usize = 100;
/// How much of the past is looked at if the request does not say.
const DEFAULT_SPAN_NS: i64 = 3_600_000_000_000;
/// The header by which a client asks that labels be told apart by where they come from, and its value.
const FLAGS: (&str, &str) = ("x-loki-response-encoding-flags", "categorize-labels");

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/loki/api/v1/query_range", get(query_range).post(query_range))
        .route("/loki/api/v1/query", get(query).post(query))
}

/// Whether labels are to be told apart.
pub(super) fn categorizes(headers: &HeaderMap) -> bool {
    let values = headers.get_all(FLAGS.0).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|flag| flag.trim() == FLAGS.1)
}

/// How an answer says that they are.
pub(super) fn encoding_flags(categorize: bool) -> Option<[&'static str; 1]> {
    categorize.then_some([FLAGS.1])
}

/// `{"status":"success","data":…}`
pub(super) fn success(data: &impl Serialize) -> Response {
    ok(&Success::of(data))
}

async fn query_range(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    headers: HeaderMap,
    asked: Asked,
) -> LokiResult<Response> {
    let query = asked.query()?;
    let span = asked.span(DEFAULT_SPAN_NS)?;
    let limit = asked.limit(DEFAULT_LIMIT)?;
    match query {
        LogQl::Log(query) => lines(&app, &access, query, span, &asked, limit, categorizes(&headers)).await,
        LogQl::Metric(query) => {
            // It plays no part, but what makes no sense is refused all the same.
            asked.direction()?;
            let steps = asked.steps(span)?;
            ask::answer(&app, &access, move |view| {
                let answer = view.numbers(&query, steps)?;
                let stats = stats(&answer.stats, answer.series.len() as u64, 0);
                view.success(&Data { result_type: "matrix", result: numbers::range(&answer, &steps), stats })
            })
            .await
        }
    }
}

async fn lines(
    app: &Shared,
    access: &Access,
    query: LogQuery,
    span: Span,
    asked: &Asked,
    limit: usize,
    categorize: bool,
) -> LokiResult<Response> {
    let order = asked.direction()?;
    let interval = asked.interval()?;
    let mut wanted = Wanted::new(app, query, span);
    wanted.options.order = order;
    // With an interval, entries are left out behind the query.
    wanted.options.limit = interval.is_none().then_some(limit);
    let limit_bytes = app.limits.query_memory_bytes;
    let mut last: Option<i64> = None;
    let mut each = move |streams: &mut Streams, entry: &duramen_logql::Entry<'_>| {
        if let Some(interval) = interval {
            let since = last.map(|last| match order {
                Order::NewestFirst => last.saturating_sub(entry.time_ns),
                Order::OldestFirst => entry.time_ns.saturating_sub(last),
            });
            if since.is_some_and(|since| since < interval) {
                return Ok(ControlFlow::Continue(()));
            }
            last = Some(entry.time_ns);
        }
        streams.add(entry)?;
        Ok(if streams.entries >= limit as u64 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    ask::answer(app, access, move |view| {
        let mut streams = Streams::new(categorize, limit_bytes);
        let run = view.entries(&wanted, |entry, _| each(&mut streams, entry))?;
        let stats = stats(&run, streams.entries, streams.bytes());
        // As much as was gathered is there once more when it is written.
        let mut text = view.text();
        text.raw(br#"{"status":"success","data":{"resultType":"streams","#)?;
        if let Some(flags) = encoding_flags(categorize) {
            text.raw(br#""encodingFlags":"#)?;
            text.value(&flags)?;
            text.raw(b",")?;
        }
        text.raw(br#""result":"#)?;
        streams.write(&mut text)?;
        text.raw(br#","stats":"#)?;
        text.value(&stats)?;
        text.raw(b"}}")?;
        Ok(text.into_bytes())
    })
    .await
}

async fn query(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    asked: Asked,
) -> LokiResult<Response> {
    let LogQl::Metric(query) = asked.query()? else {
        return Err(LokiError::bad_request(
            "log queries are not supported as an instant query type, please change your query to a range query type",
        ));
    };
    let time = asked.time()?;
    // There are no lines to be limited, but what makes no sense is refused all the same.
    asked.limit(DEFAULT_LIMIT)?;
    ask::answer(&app, &access, move |view| {
        let answer = view.numbers(&query, Steps::at(time))?;
        let (result_type, result) = numbers::instant(&answer, time);
        let stats = stats(&answer.stats, answer.series.len() as u64, 0);
        view.success(&Data { result_type, result, stats })
    })
    .await
}
