//! `query_range` and `query`: lines or numbers over time, and numbers at one time.

use super::ask::{self, Wanted};
use super::numbers;
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
use serde_json::value::RawValue;
use serde_json::{Value, json};
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

/// `{"status":"success","data":…}`
pub(super) fn success(data: &impl Serialize) -> Response {
    #[derive(Serialize)]
    struct Body<'a, T> {
        status: &'static str,
        data: &'a T,
    }
    ok(&Body { status: "success", data })
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
            let steps = Steps { start_ns: span.start_ns, end_ns: span.end_ns, step_ns: asked.step(span)? };
            let answer = ask::numbers(&app, &access, query, steps).await?;
            let (kind, result) = numbers::range(&answer, &steps);
            let series = answer.series.len() as u64;
            Ok(success(
                &json!({ "resultType": kind, "result": result, "stats": stats(&answer.stats, series, 0) }),
            ))
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
    let each = move |streams: &mut Streams, entry: &duramen_logql::Entry<'_>| {
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
    let start = Streams::new(categorize, limit_bytes);
    let (streams, run) = ask::entries(app, access, wanted, start, each).await?;
    let stats = stats(&run, streams.entries, streams.bytes());
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data {
        result_type: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        encoding_flags: Option<[&'static str; 1]>,
        result: Box<RawValue>,
        stats: Value,
    }
    let encoding_flags = categorize.then_some([FLAGS.1]);
    Ok(success(&Data { result_type: "streams", encoding_flags, result: streams.into_json(), stats }))
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
    let answer = ask::numbers(&app, &access, query, Steps::at(time)).await?;
    let (kind, result) = numbers::instant(&answer, time);
    let series = answer.series.len() as u64;
    Ok(success(&json!({ "resultType": kind, "result": result, "stats": stats(&answer.stats, series, 0) })))
}
