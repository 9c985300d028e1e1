//! `index/stats`, `index/volume`, `index/volume_range`: how much there is, and of what.
//!
//! Volumes are bytes of lines, exact.

use super::ask::{self, rows, within};
use super::labels::{DEFAULT_SPAN_NS, streams};
use super::numbers;
use super::query::success;
use super::request::{Asked, LokiError, LokiResult, Span};
use super::streams::stats;
use crate::app::Shared;
use crate::auth::Access;
use crate::json::ok;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use duramen_logql::{LabelSet, LogQl, LogQuery, Steps, count_by, label_of};
use duramen_query::RunStats;
use serde_json::json;
use std::collections::BTreeMap;

/// How many series a volume has at most if the request does not say.
const DEFAULT_LIMIT: usize = 100;
/// The most labels by which volumes are counted.
const MAX_TARGET_LABELS: usize = 16;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/loki/api/v1/index/stats", get(index_stats).post(index_stats))
        .route("/loki/api/v1/index/volume", get(volume).post(volume))
        .route("/loki/api/v1/index/volume_range", get(volume_range).post(volume_range))
}

async fn index_stats(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    asked: Asked,
) -> LokiResult<Response> {
    let (query, span) = (asked.log_query()?.selector(), asked.span(DEFAULT_SPAN_NS)?);
    let found = streams(&app, &access, &query, span, true).await?;
    let store = access.tenant.store()?.snapshot()?;
    let chunks = store.blocks(span.start_ns, span.end_ns).len();
    let (entries, bytes) = found.values().fold((0, 0), |(n, b), c| (n + c.entries, b + c.bytes));
    Ok(ok(&json!({ "streams": found.len(), "chunks": chunks, "entries": entries, "bytes": bytes })))
}

/// By which labels volumes are counted, and whether each label is counted for itself.
fn targets(asked: &Asked, query: &LogQuery) -> LokiResult<(Vec<String>, bool)> {
    let by_labels = match asked.args.get("aggregateBy") {
        None | Some("series") => false,
        Some("labels") => true,
        Some(other) => return Err(LokiError::bad_request(format!("invalid aggregation option: '{other}'"))),
    };
    let named = asked.args.all("targetLabels").flat_map(|names| names.split(','));
    let mut targets: Vec<String> =
        named.map(|name| name.trim().to_owned()).filter(|n| !n.is_empty()).collect();
    if targets.is_empty() {
        targets = query.selected_labels().into_iter().map(str::to_owned).collect();
    }
    if let Some(wrong) = targets.iter().find(|t| t.contains(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
    {
        return Err(LokiError::bad_request(format!("`{wrong}` is no label")));
    }
    targets.truncate(MAX_TARGET_LABELS);
    Ok((targets, by_labels))
}

/// A vector of bytes: for each set of values of the target labels, or, if labels are asked for, for each label.
async fn volume(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    asked: Asked,
) -> LokiResult<Response> {
    let (query, span) = (asked.log_query()?.selector(), asked.span(DEFAULT_SPAN_NS)?);
    let (targets, by_labels) = targets(&asked, &query)?;
    let (volumes, run) = volumes(&app, &access, &query, span, targets, by_labels).await?;
    let mut volumes: Vec<(LabelSet, u64)> = volumes.into_iter().collect();
    volumes.sort_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
    volumes.truncate(asked.limit(DEFAULT_LIMIT)?);
    let at = numbers::seconds(span.end_ns);
    let result: Vec<_> = volumes
        .iter()
        .map(|(set, bytes)| json!({ "metric": numbers::labels(set), "value": [at, bytes.to_string()] }))
        .collect();
    let stats = stats(&run, result.len() as u64, 0);
    Ok(success(&json!({ "resultType": "vector", "result": result, "stats": stats })))
}

async fn volumes(
    app: &Shared,
    access: &Access,
    query: &LogQuery,
    span: Span,
    targets: Vec<String>,
    by_labels: bool,
) -> LokiResult<(BTreeMap<LabelSet, u64>, RunStats)> {
    let mut volumes: BTreeMap<LabelSet, u64> = BTreeMap::new();
    if targets.is_empty() {
        // Nothing is named: whole streams, or the labels that they have.
        for (labels, counted) in streams(app, access, query, span, true).await? {
            if by_labels {
                for (name, _) in labels {
                    *volumes.entry(vec![(name, "".into())]).or_default() += counted.bytes;
                }
            } else {
                *volumes.entry(labels).or_default() += counted.bytes;
            }
        }
        return Ok((volumes, RunStats::default()));
    }
    let names: Vec<&str> = targets.iter().map(String::as_str).collect();
    let query = count_by(within(span, query), &names, true)?;
    rows(app, access, query, volumes, move |volumes, row| {
        let bytes: u64 = row.get("bytes").and_then(|n| n.parse().ok()).unwrap_or(0);
        let of = |name: &String| label_of(row, name).map(|value| (name.as_str().into(), value.into()));
        let mut labels: LabelSet = targets.iter().filter_map(of).collect();
        labels.sort_unstable();
        if by_labels {
            for (name, _) in labels {
                *volumes.entry(vec![(name, "".into())]).or_default() += bytes;
            }
        } else if !labels.is_empty() {
            *volumes.entry(labels).or_default() += bytes;
        }
    })
    .await
}

/// A matrix: the same for each step.
async fn volume_range(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    asked: Asked,
) -> LokiResult<Response> {
    let (query, span) = (asked.log_query()?.selector(), asked.span(DEFAULT_SPAN_NS)?);
    let (targets, _) = targets(&asked, &query)?;
    let step_ns = asked.step(span)?;
    let text = format!("sum by ({}) (bytes_over_time({query} [{step_ns}ns]))", targets.join(", "));
    let LogQl::Metric(query) = LogQl::parse(&text)? else {
        return Err(LokiError::bad_request("volumes are of a selector"));
    };
    let steps = Steps { start_ns: span.start_ns.saturating_add(step_ns), end_ns: span.end_ns, step_ns };
    let answer = ask::numbers(&app, &access, query, steps).await?;
    let (kind, result) = numbers::range(&answer, &steps);
    let series = answer.series.len() as u64;
    Ok(success(&json!({ "resultType": kind, "result": result, "stats": stats(&answer.stats, series, 0) })))
}
