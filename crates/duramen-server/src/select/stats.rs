//! `stats_query` and `stats_query_range`: what `stats` counts, in the form of Prometheus' query API.

use super::args::{Args, duration_ns, moment};
use crate::answer::run;
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use crate::json::ok;
use axum::Extension;
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use duramen_query::parse::time::parse_time;
use duramen_query::pipe::Pipe;
use duramen_query::{Query, ResultRow};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/select/logsql/stats_query", get(stats_query).post(stats_query))
        .route("/select/logsql/stats_query_range", get(stats_query_range).post(stats_query_range))
}

/// The names of the groups and of the counts of the query's last `stats`.
///
/// # Errors
/// 400 if it has none, or pipes behind it that do more than choose and order its rows.
fn stats_names(query: &Query) -> ApiResult<(Vec<String>, Vec<String>)> {
    let at = query.pipes().iter().rposition(|pipe| matches!(pipe, Pipe::Stats(_)));
    let Some(Pipe::Stats(stats)) = at.and_then(|at| query.pipes().get(at)) else {
        return Err(ApiError::bad_request("the query must end with the pipe `stats`"));
    };
    let texts = |names: &mut dyn Iterator<Item = &Box<str>>| names.map(|name| name.to_string()).collect();
    Ok((texts(&mut stats.aggregate.by.iter().map(|by| &by.field)), texts(&mut stats.names.iter())))
}

fn labels(row: &ResultRow, by: &[String], name: &str) -> Map<String, Value> {
    let named = std::iter::once(("__name__", name)).chain(
        by.iter().filter(|by| *by != "_time").map(|by| (by.as_str(), row.get(by).unwrap_or_default())),
    );
    named.map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// What was counted, if there is anything: `max(n)` of rows without `n` is empty, which is no number to those who asked.
fn figure<'r>(row: &'r ResultRow, name: &str) -> Option<&'r str> {
    row.get(name).filter(|value| !value.is_empty())
}

fn seconds(ns: i64) -> Value {
    if ns % 1_000_000_000 == 0 { json!(ns / 1_000_000_000) } else { json!(ns as f64 / 1e9) }
}

/// A vector, as of `time` (default: now): entries from `start`, if given, up to it.
async fn stats_query(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    args: Args,
) -> ApiResult<Response> {
    let now_ns = app.env.clock.now_unix_ns();
    let at =
        args.get("time").map(|time| moment("time", time, now_ns)).transpose()?.map_or(now_ns, |time| time.0);
    let question = args.question(&app, "")?;
    let (by, names) = stats_names(&question.query)?;
    let (result, _) = run(&app, &access, question, Vec::new(), move |result: &mut Vec<Value>, row| {
        for name in &names {
            if let Some(value) = figure(row, name) {
                result.push(json!({ "metric": labels(row, &by, name), "value": [seconds(at), value] }));
            }
        }
        ControlFlow::Continue(())
    })
    .await?;
    Ok(ok(&json!({ "status": "success", "data": { "resultType": "vector", "result": result } })))
}

/// A series' labels, and its values by time.
type Series = (Map<String, Value>, Vec<(i64, Value)>);

/// A matrix: the same for each `step` (default: a day) between `start` and `end`, in the days of `offset`.
async fn stats_query_range(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    args: Args,
) -> ApiResult<Response> {
    let step = args.get("step").unwrap_or("1d");
    let step_ns = match step.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds > 0.0 => (seconds * 1e9) as i64,
        _ => duration_ns("step", step)?,
    };
    let offset_ns = args.offset_ns()?;
    let query = args.query(&app, "")?.with_stats_by_time(step_ns, offset_ns).ok_or_else(|| {
        ApiError::bad_request(
            "the query must end with the pipe `stats`, and only filters may stand before it",
        )
    })?;
    let question = args.question_of(&app, query)?;
    let (by, names) = stats_names(&question.query)?;
    let start: BTreeMap<String, Series> = BTreeMap::new();
    let (series, _) = run(&app, &access, question, start, move |series, row| {
        let Some(at) = row.get("_time").and_then(parse_time) else {
            return ControlFlow::Continue(());
        };
        for name in &names {
            let Some(value) = figure(row, name) else { continue };
            let labels = labels(row, &by, name);
            let key = Value::Object(labels.clone()).to_string();
            let (_, values) = series.entry(key).or_insert_with(|| (labels, Vec::new()));
            values.push((at, json!([seconds(at), value])));
        }
        ControlFlow::Continue(())
    })
    .await?;
    let result: Vec<_> = series
        .into_values()
        .map(|(labels, mut values)| {
            values.sort_by_key(|(at, _)| *at);
            json!({ "metric": labels, "values": values.into_iter().map(|(_, v)| v).collect::<Vec<_>>() })
        })
        .collect();
    Ok(ok(&json!({ "status": "success", "data": { "resultType": "matrix", "result": result } })))
}
