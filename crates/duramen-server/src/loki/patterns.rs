//! `patterns`: which kinds of lines there are, and how many of each over time.

use super::ask::{self, Wanted};
use super::clusters::Clusters;
use super::labels::DEFAULT_SPAN_NS;
use super::numbers::Array;
use super::request::{Asked, LokiResult};
use crate::app::Shared;
use crate::auth::Access;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use serde::Serialize;

/// The most lines that are looked at, the newest.
const MAX_LINES: usize = 100_000;
/// The shortest step: 10 seconds, as in Loki.
const MIN_STEP_NS: i64 = 10_000_000_000;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/loki/api/v1/patterns", get(patterns).post(patterns))
}

#[derive(Serialize)]
struct Pattern<S> {
    pattern: String,
    samples: S,
}

/// `[{"pattern":"<_> took <_>","samples":[[<s>,<count>]]}]`, the most frequent first.
async fn patterns(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    asked: Asked,
) -> LokiResult<Response> {
    let (query, span) = (asked.log_query()?, asked.span(DEFAULT_SPAN_NS)?);
    let step_ns = asked.step(span)?.max(MIN_STEP_NS);
    let mut wanted = Wanted::new(&app, query, span);
    wanted.options.limit = Some(MAX_LINES);
    ask::answer(&app, &access, move |view| {
        let mut clusters = Clusters::default();
        view.entries(&wanted, |entry, room| {
            let more = clusters.add(&entry.line, entry.time_ns - entry.time_ns.rem_euclid(step_ns));
            Ok(room.take(more))
        })?;
        view.room.was_enough()?;
        let clusters = clusters.into_sorted();
        let patterns = || {
            clusters.iter().map(|cluster| Pattern {
                pattern: cluster.pattern(),
                samples: Array(move || cluster.counts.iter().map(|(ns, count)| (ns / 1_000_000_000, *count))),
            })
        };
        view.success(&Array(patterns))
    })
    .await
}
