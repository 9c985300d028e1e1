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
use duramen_logql::{LabelSet, LogQl, LogQuery, Steps, bytes_of, count_by, format_value, label_of};
use duramen_query::RunStats;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// How many series a volume has at most if the request does not say.
const DEFAULT_LIMIT: usize = 100;
/// The most labels by which volumes are counted; more are refused.
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
    if targets.len() > MAX_TARGET_LABELS {
        let told = format!("{} target labels are more than {MAX_TARGET_LABELS}", targets.len());
        return Err(LokiError::bad_request(told));
    }
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
            for set in counted_as(labels, by_labels) {
                *volumes.entry(set).or_default() += counted.bytes;
            }
        }
        return Ok((volumes, RunStats::default()));
    }
    let names: Vec<&str> = targets.iter().map(String::as_str).collect();
    let query = count_by(within(span, query), &names, true)?;
    rows(app, access, query, volumes, move |volumes, row| {
        let bytes = bytes_of(row);
        let of = |name: &String| label_of(row, name).map(|value| (name.as_str().into(), value.into()));
        let mut labels: LabelSet = targets.iter().filter_map(of).collect();
        labels.sort_unstable();
        if !labels.is_empty() {
            for set in counted_as(labels, by_labels) {
                *volumes.entry(set).or_default() += bytes;
            }
        }
    })
    .await
}

/// What lines of these labels count for: for the set, or for each label, whatever its value.
fn counted_as(labels: LabelSet, by_labels: bool) -> Vec<LabelSet> {
    match by_labels {
        true => labels.into_iter().map(|(name, _)| vec![(name, "".into())]).collect(),
        false => vec![labels],
    }
}

/// A matrix: the same for each step of the span, the last of which ends with it. Volumes have the time at which their step ends.
async fn volume_range(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    asked: Asked,
) -> LokiResult<Response> {
    let (query, span) = (asked.log_query()?.selector(), asked.span(DEFAULT_SPAN_NS)?);
    let (targets, by_labels) = targets(&asked, &query)?;
    let steps = steps_of(span, asked.step(span)?);
    let (volumes, run) = volumes_over_time(&app, &access, &query, span, steps, targets, by_labels).await?;
    let mut volumes: Vec<_> =
        volumes.into_iter().map(|(set, of)| (of.values().sum::<f64>(), set, of)).collect();
    volumes.sort_by(|(n, a, _), (m, b, _)| m.total_cmp(n).then_with(|| a.cmp(b)));
    volumes.truncate(asked.limit(DEFAULT_LIMIT)?);
    let values = |of: &OverTime| -> Vec<_> {
        of.iter().map(|(&end, &bytes)| json!([numbers::seconds(end), format_value(bytes)])).collect()
    };
    let result: Vec<_> = volumes
        .iter()
        .map(|(_, set, of)| json!({ "metric": numbers::labels(set), "values": values(of) }))
        .collect();
    let stats = stats(&run, result.len() as u64, 0);
    Ok(success(&json!({ "resultType": "matrix", "result": result, "stats": stats })))
}

/// Bytes by the ends of the steps.
type OverTime = BTreeMap<i64, f64>;

async fn volumes_over_time(
    app: &Shared,
    access: &Access,
    query: &LogQuery,
    span: Span,
    steps: Vec<(i64, Steps)>,
    mut targets: Vec<String>,
    by_labels: bool,
) -> LokiResult<(BTreeMap<LabelSet, OverTime>, RunStats)> {
    if targets.is_empty() {
        let found = streams(app, access, query, span, false).await?;
        let names: BTreeSet<Box<str>> = found.into_keys().flatten().map(|(name, _)| name).collect();
        targets = names.into_iter().map(String::from).collect();
    }
    let mut passes = Vec::new();
    for (range_ns, steps) in steps {
        let text = format!("sum by ({}) (bytes_over_time({query} [{range_ns}ns]))", targets.join(", "));
        match LogQl::parse(&text)? {
            LogQl::Metric(query) => passes.push((query, steps)),
            LogQl::Log(_) => return Err(LokiError::bad_request("volumes are of a selector")),
        }
    }
    let times: Vec<Steps> = passes.iter().map(|(_, steps)| *steps).collect();
    let answers = ask::all_numbers(app, access, passes).await?;
    let (mut volumes, mut run) = (BTreeMap::<LabelSet, OverTime>::new(), RunStats::default());
    for (answer, steps) in answers.into_iter().zip(times) {
        // All run against one clock.
        let elapsed = answer.stats.elapsed;
        run.add(answer.stats);
        run.elapsed = elapsed;
        for series in answer.series.into_iter().filter(|series| !series.labels.is_empty()) {
            for set in counted_as(series.labels, by_labels) {
                let of_set = volumes.entry(set).or_default();
                for (last, bytes) in steps.times().zip(&series.points) {
                    if let Some(bytes) = bytes {
                        *of_set.entry(last.saturating_add(1)).or_default() += bytes;
                    }
                }
            }
        }
    }
    Ok((volumes, run))
}

/// The steps of a span: those that are whole, and what is left behind them; each with its length, and the last nanosecond of each
/// such step as its time, for windows have their end in them, and the span does not.
fn steps_of(span: Span, step_ns: i64) -> Vec<(i64, Steps)> {
    let length_ns = span.end_ns.saturating_sub(span.start_ns);
    let (rest_ns, last_ns) = (length_ns % step_ns, span.end_ns.saturating_sub(1));
    let mut all = Vec::new();
    if length_ns >= step_ns {
        let start_ns = span.start_ns.saturating_add(step_ns - 1);
        all.push((step_ns, Steps { start_ns, end_ns: last_ns, step_ns }));
    }
    if rest_ns > 0 {
        all.push((rest_ns, Steps::at(last_ns)));
    }
    all
}
