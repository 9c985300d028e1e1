//! `stats_query` and `stats_query_range`: what `stats` counts, in the form of Prometheus' query API.

use super::args::{Args, step_ns};
use super::query::rows;
use crate::answer::{MEMBER_BYTES, OBJECT_BYTES, Room, gather};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use crate::json::text_of;
use axum::Extension;
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use duramen_query::parse::time::parse_time;
use duramen_query::{ResultRow, Series};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/select/logsql/stats_query", get(stats_query).post(stats_query))
        .route("/select/logsql/stats_query_range", get(stats_query_range).post(stats_query_range))
}

fn labels<'a>(row: &ResultRow, by: impl Iterator<Item = &'a String>, name: &str) -> Map<String, Value> {
    let by = by.map(|by| (by.as_str(), row.get(by).unwrap_or_default()));
    let named = std::iter::once(("__name__", name)).chain(by);
    named.map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// What was counted, if there is anything: `max(n)` of rows without `n` is empty, which is no number to those who asked.
fn figure<'r>(row: &'r ResultRow, name: &str) -> Option<&'r str> {
    row.get(name).filter(|value| !value.is_empty())
}

fn seconds(ns: i64) -> Value {
    if ns % 1_000_000_000 == 0 { json!(ns / 1_000_000_000) } else { json!(ns as f64 / 1e9) }
}

/// A vector, as of `time` (default: `end`, or now): of the entries from `start` to `end`, if given.
async fn stats_query(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    args: Args,
) -> ApiResult<Response> {
    let at = args.as_of(app.env.clock.now_unix_ns())?;
    let mut question = args.question(&app, "")?;
    question.options.limit = args.number("limit")?.filter(|limit| *limit > 0).map(rows);
    let Series { labels: by, figures } = question.query.series().map_err(ApiError::bad_request)?;
    let each = move |result: &mut Vec<Value>, row: &ResultRow, room: &mut Room| {
        for name in &figures {
            if let Some(value) = figure(row, name) {
                room.take(OBJECT_BYTES + 3 * bytes_of(row))?;
                result.push(json!({ "metric": labels(row, by.iter(), name), "value": [seconds(at), value] }));
            }
        }
        ControlFlow::Continue(())
    };
    gather(&app, &access, question, Vec::new, each, |result| {
        text_of(&json!({ "status": "success", "data": { "resultType": "vector", "result": result } }))
    })
    .await
}

/// How many bytes of text a row has.
fn bytes_of(row: &ResultRow) -> usize {
    row.iter().map(|(name, text, _)| name.len() + text.len()).sum()
}

/// A series' labels, and its values by time.
type Points = (Map<String, Value>, Vec<(i64, Value)>);

/// A matrix: the same for each `step` (default: a day) between `start` and `end`, in the days of `offset`.
async fn stats_query_range(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    args: Args,
) -> ApiResult<Response> {
    let (step_ns, offset_ns) = (step_ns(&args)?, args.offset_ns()?);
    let query = args.query(&app, "")?;
    let query = query.with_stats_by_time(step_ns, offset_ns).map_err(ApiError::bad_request)?;
    let question = args.question_of(&app, query)?;
    let Series { labels: by, figures } = question.query.series().map_err(ApiError::bad_request)?;
    if !by.iter().any(|by| by == "_time") {
        return Err(ApiError::bad_request(
            "a pipe behind `stats` takes away `_time`, by which steps are told apart",
        ));
    }
    let each = move |series: &mut BTreeMap<String, Points>, row: &ResultRow, room: &mut Room| {
        let Some(at) = row.get("_time").and_then(parse_time) else {
            return ControlFlow::Continue(());
        };
        for name in &figures {
            let Some(value) = figure(row, name) else { continue };
            let labels = labels(row, by.iter().filter(|by| *by != "_time"), name);
            let key = Value::Object(labels.clone()).to_string();
            room.take(if series.contains_key(&key) { 0 } else { OBJECT_BYTES + 3 * bytes_of(row) })?;
            room.take(MEMBER_BYTES + 2 * value.len())?;
            let (_, values) = series.entry(key).or_insert_with(|| (labels, Vec::new()));
            values.push((at, json!([seconds(at), value])));
        }
        ControlFlow::Continue(())
    };
    gather(&app, &access, question, BTreeMap::new, each, matrix).await
}

fn matrix(series: BTreeMap<String, Points>) -> ApiResult<Vec<u8>> {
    let result: Vec<_> = series
        .into_values()
        .map(|(labels, mut values)| {
            values.sort_by_key(|(at, _)| *at);
            json!({ "metric": labels, "values": values.into_iter().map(|(_, v)| v).collect::<Vec<_>>() })
        })
        .collect();
    text_of(&json!({ "status": "success", "data": { "resultType": "matrix", "result": result } }))
}
