//! `labels`, `label/<name>/values`, `series`: what can be selected by.
//!
//! Labels that are offered are those of streams, and `service_name`; where no entry has a stream, all fields are. Selected
//! can be by any field, and values are told of any.

use super::ask::{self, View, bytes_of_labels, within};
use super::numbers::{Array, Labels};
use super::request::{Asked, LokiResult, Span};
use crate::answer::MEMBER_BYTES;
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
use std::ops::ControlFlow;

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
pub(super) fn streams(
    view: &mut View<'_>,
    query: &LogQuery,
    span: Span,
    bytes: bool,
) -> LokiResult<BTreeMap<LabelSet, Counted>> {
    let query = count_streams(within(span, query), bytes)?;
    let mut found = BTreeMap::<LabelSet, Counted>::new();
    view.rows(&query, |row, room| {
        let labels = stream_labels(row.get("_stream").unwrap_or_default());
        if !found.contains_key(&labels) {
            room.take(MEMBER_BYTES + bytes_of_labels(&labels))?;
        }
        let counted = found.entry(labels).or_default();
        counted.entries += hits_of(row);
        counted.bytes += bytes_of(row);
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

async fn labels(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    asked: Asked,
) -> LokiResult<Response> {
    let (query, span) = (asked.log_query()?.selector(), asked.span(DEFAULT_SPAN_NS)?);
    ask::answer(&app, &access, move |view| {
        let found = streams(view, &query, span, false)?;
        let mut names: BTreeSet<String> = found.keys().flatten().map(|(name, _)| name.to_string()).collect();
        if names.len() == 1 {
            let fields = Query::parse("* | field_names", &ParseOptions::default())?;
            let fields = Query::new(within(span, &query), fields.pipes().to_vec(), None);
            view.rows(&fields, |row, room| {
                let name = row.get("name").unwrap_or_default();
                if !name.starts_with('_') && !name.is_empty() {
                    room.take(MEMBER_BYTES + name.len())?;
                    names.insert(name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "_"));
                }
                ControlFlow::Continue(())
            })?;
        }
        view.success(&names)
    })
    .await
}

async fn values(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    Path(name): Path<String>,
    asked: Asked,
) -> LokiResult<Response> {
    let (query, span) = (asked.log_query()?.selector(), asked.span(DEFAULT_SPAN_NS)?);
    let query = count_by(within(span, &query), &[&name], false)?;
    ask::answer(&app, &access, move |view| {
        let mut found = BTreeSet::<String>::new();
        view.rows(&query, |row, room| {
            if let Some(value) = label_of(row, &name) {
                room.take(MEMBER_BYTES + value.len())?;
                found.insert(value);
            }
            ControlFlow::Continue(())
        })?;
        view.success(&found)
    })
    .await
}

async fn series(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    asked: Asked,
) -> LokiResult<Response> {
    let (selectors, span) = (asked.selectors()?, asked.span(DEFAULT_SPAN_NS)?);
    ask::answer(&app, &access, move |view| {
        let mut found: BTreeSet<LabelSet> = BTreeSet::new();
        for selector in &selectors {
            found.extend(streams(view, selector, span, false)?.into_keys());
        }
        view.success(&Array(|| found.iter().map(Labels)))
    })
    .await
}
