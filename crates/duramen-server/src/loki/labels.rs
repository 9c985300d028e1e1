//! `labels`, `label/<name>/values`, `series`: what can be selected by.
//!
//! Labels that are offered are those of streams, and `service_name`; where no entry has a stream, all fields are. Selected
//! can be by any field, and values are told of any.

use super::ask::{rows, within};
use super::numbers;
use super::query::success;
use super::request::{Asked, LokiResult, Span};
use crate::app::Shared;
use crate::auth::Access;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use duramen_logql::{
    LabelSet, LogQuery, bytes_of, count_by, count_streams, hits_of, label_of, stream_labels,
};
use duramen_query::{ParseOptions, Query};
use std::collections::{BTreeMap, BTreeSet};

/// How much of the past is looked at if the request does not say: six hours.
pub(super) const DEFAULT_SPAN_NS: i64 = 6 * 3_600_000_000_000;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/loki/api/v1/labels", get(labels).post(labels))
        .route("/loki/api/v1/label", get(labels).post(labels))
        .route("/loki/api/v1/label/{name}/values", get(values).post(values))
        .route("/loki/api/v1/series", get(series).post(series))
}

/// What there is of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub entries: u64,
    pub bytes: u64,
}

/// The streams of a time, and what there is of each; no stream has only `service_name`.
pub(super) async fn streams(
    app: &Shared,
    access: &Access,
    query: &LogQuery,
    span: Span,
    bytes: bool,
) -> LokiResult<BTreeMap<LabelSet, Counted>> {
    let query = count_streams(within(span, query), bytes)?;
    let (found, _) = rows(app, access, query, BTreeMap::<LabelSet, Counted>::new(), |found, row| {
        let counted = found.entry(stream_labels(row.get("_stream").unwrap_or_default())).or_default();
        counted.entries += hits_of(row);
        counted.bytes += bytes_of(row);
    })
    .await?;
    Ok(found)
}

async fn labels(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    asked: Asked,
) -> LokiResult<Response> {
    let (query, span) = (asked.log_query()?.selector(), asked.span(DEFAULT_SPAN_NS)?);
    let found = streams(&app, &access, &query, span, false).await?;
    let mut names: BTreeSet<String> = found.keys().flatten().map(|(name, _)| name.to_string()).collect();
    if names.len() == 1 {
        let fields = Query::parse("* | field_names", &ParseOptions::default())?;
        let fields = Query::new(within(span, &query), fields.pipes().to_vec(), None);
        let (fields, _) = rows(&app, &access, fields, BTreeSet::<String>::new(), |names, row| {
            let name = row.get("name").unwrap_or_default();
            if !name.starts_with('_') && !name.is_empty() {
                names.insert(name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "_"));
            }
        })
        .await?;
        names.extend(fields);
    }
    Ok(success(&names))
}

async fn values(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    Path(name): Path<String>,
    asked: Asked,
) -> LokiResult<Response> {
    let (query, span) = (asked.log_query()?.selector(), asked.span(DEFAULT_SPAN_NS)?);
    let query = count_by(within(span, &query), &[&name], false)?;
    let (found, _) = rows(&app, &access, query, BTreeSet::<String>::new(), move |found, row| {
        found.extend(label_of(row, &name));
    })
    .await?;
    Ok(success(&found))
}

async fn series(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    asked: Asked,
) -> LokiResult<Response> {
    let (selectors, span) = (asked.selectors()?, asked.span(DEFAULT_SPAN_NS)?);
    let mut found: BTreeSet<LabelSet> = BTreeSet::new();
    for selector in &selectors {
        found.extend(streams(&app, &access, selector, span, false).await?.into_keys());
    }
    Ok(success(&found.iter().map(numbers::labels).collect::<Vec<_>>()))
}
