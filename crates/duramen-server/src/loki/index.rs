//! `index/stats`, `index/volume`, `index/volume_range`: how much there is, and of what.
//!
//! Volumes are bytes of lines, exact.

use super::ask::{self, View, bytes_of_labels, within};
use super::labels::{DEFAULT_SPAN_NS, streams};
use super::numbers::{self, Array, Data, Labels, Sample, Samples};
use super::request::{Asked, LokiError, LokiResult, Span};
use super::streams::stats;
use crate::answer::MEMBER_BYTES;
use crate::app::Shared;
use crate::auth::Access;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use duramen_logql::{LabelSet, LogQl, LogQuery, Steps, bytes_of, count_by, format_value, label_of};
use duramen_query::RunStats;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

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
    ask::answer(&app, &access, move |view| {
        let found = streams(view, &query, span, true)?;
        let (entries, bytes) = found.values().fold((0, 0), |(n, b), c| (n + c.entries, b + c.bytes));
        let (streams, chunks) = (found.len(), view.blocks(span));
        view.json(&json!({ "streams": streams, "chunks": chunks, "entries": entries, "bytes": bytes }))
    })
    .await
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
    let limit = asked.limit(DEFAULT_LIMIT)?;
    ask::answer(&app, &access, move |view| {
        let (volumes, run) = volumes(view, &query, span, &targets, by_labels)?;
        let mut volumes: Vec<(LabelSet, u64)> = volumes.into_iter().collect();
        volumes.sort_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
        volumes.truncate(limit);
        let stats = stats(&run, volumes.len() as u64, 0);
        let (at, volumes) = (&numbers::seconds(span.end_ns), &volumes);
        let result = Array(move || {
            volumes.iter().map(move |(set, bytes)| Sample {
                metric: Labels(set),
                value: (at.clone(), bytes.to_string()),
            })
        });
        view.success(&Data { result_type: "vector", result, stats })
    })
    .await
}

fn volumes(
    view: &mut View<'_>,
    query: &LogQuery,
    span: Span,
    targets: &[String],
    by_labels: bool,
) -> LokiResult<(BTreeMap<LabelSet, u64>, RunStats)> {
    let mut volumes: BTreeMap<LabelSet, u64> = BTreeMap::new();
    if targets.is_empty() {
        // Nothing is named: whole streams, or the labels that they have.
        for (labels, counted) in streams(view, query, span, true)? {
            for set in counted_as(labels, by_labels) {
                *volumes.entry(set).or_default() += counted.bytes;
            }
        }
        return Ok((volumes, RunStats::default()));
    }
    let names: Vec<&str> = targets.iter().map(String::as_str).collect();
    let query = count_by(within(span, query), &names, true)?;
    let run = view.rows(&query, |row, room| {
        let bytes = bytes_of(row);
        let of = |name: &String| label_of(row, name).map(|value| (name.as_str().into(), value.into()));
        let mut labels: LabelSet = targets.iter().filter_map(of).collect();
        labels.sort_unstable();
        if !labels.is_empty() {
            for set in counted_as(labels, by_labels) {
                if !volumes.contains_key(&set) {
                    room.take(MEMBER_BYTES + bytes_of_labels(&set))?;
                }
                *volumes.entry(set).or_default() += bytes;
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok((volumes, run))
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
    let limit = asked.limit(DEFAULT_LIMIT)?;
    ask::answer(&app, &access, move |view| {
        let (volumes, run) = volumes_over_time(view, &query, span, steps, targets, by_labels)?;
        let mut volumes: Vec<_> =
            volumes.into_iter().map(|(set, of)| (of.values().sum::<f64>(), set, of)).collect();
        volumes.sort_by(|(n, a, _), (m, b, _)| m.total_cmp(n).then_with(|| a.cmp(b)));
        volumes.truncate(limit);
        let result = Array(|| {
            volumes.iter().map(|(_, set, of)| {
                let value = |(&end, &bytes): (&i64, &f64)| (numbers::seconds(end), format_value(bytes));
                Samples { metric: Labels(set), values: Array(move || of.iter().map(value)) }
            })
        });
        let stats = stats(&run, volumes.len() as u64, 0);
        view.success(&Data { result_type: "matrix", result, stats })
    })
    .await
}

/// Bytes by the ends of the steps.
type OverTime = BTreeMap<i64, f64>;

fn volumes_over_time(
    view: &mut View<'_>,
    query: &LogQuery,
    span: Span,
    steps: Vec<(i64, Steps)>,
    mut targets: Vec<String>,
    by_labels: bool,
) -> LokiResult<(BTreeMap<LabelSet, OverTime>, RunStats)> {
    if targets.is_empty() {
        let found = streams(view, query, span, false)?;
        let names: BTreeSet<Box<str>> = found.into_keys().flatten().map(|(name, _)| name).collect();
        targets = names.into_iter().map(String::from).collect();
    }
    let (mut volumes, mut run) = (BTreeMap::<LabelSet, OverTime>::new(), RunStats::default());
    for (range_ns, steps) in steps {
        let text = format!("sum by ({}) (bytes_over_time({query} [{range_ns}ns]))", targets.join(", "));
        let LogQl::Metric(query) = LogQl::parse(&text)? else {
            return Err(LokiError::bad_request("volumes are of a selector"));
        };
        let answer = view.all_numbers(&query, steps)?;
        // All run against one clock.
        let elapsed = answer.stats.elapsed;
        run.add(answer.stats);
        run.elapsed = elapsed;
        for series in answer.series.into_iter().filter(|series| !series.labels.is_empty()) {
            for set in counted_as(series.labels, by_labels) {
                let mut more = if volumes.contains_key(&set) { 0 } else { bytes_of_labels(&set) };
                let of_set = volumes.entry(set).or_default();
                let before = of_set.len();
                for (last, bytes) in steps.times().zip(&series.points) {
                    if let Some(bytes) = bytes {
                        *of_set.entry(last.saturating_add(1)).or_default() += bytes;
                    }
                }
                more += (of_set.len() - before) * size_of::<(i64, f64)>() * 2 + MEMBER_BYTES;
                let _enough = view.room.take(more);
                view.room.was_enough()?;
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
