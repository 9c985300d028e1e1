//! Answering queries as Loki does: `/loki/api/v1/…`, for Grafana and `logcli`.
//!
//! | module | what it answers |
//! |---|---|
//! | [`request`] | (what requests ask for, and how they are refused) |
//! | [`ask`] | (queries on threads of their own) |
//! | [`query`] | `query`, `query_range` |
//! | [`streams`], [`numbers`] | (answers as JSON: lines, and values over time) |
//! | [`labels`] | `labels`, `label/<name>/values`, `series` |
//! | [`index`] | `index/stats`, `index/volume`, `index/volume_range` |
//! | [`detected`] | `detected_fields`, `detected_field/<name>/values`, `detected_labels` |
//! | [`patterns`], [`clusters`] | `patterns`: lines that are alike |
//! | [`tail`] | `tail`: entries as they come, over a WebSocket |
//! | [`status`] | `status/buildinfo`, `drilldown-limits`, `format_query` |

mod ask;
mod clusters;
mod detected;
mod index;
mod labels;
mod numbers;
mod patterns;
mod query;
mod request;
mod status;
mod streams;
mod tail;

use crate::app::Shared;
use axum::Router;

/// The routes.
pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .merge(query::routes())
        .merge(labels::routes())
        .merge(index::routes())
        .merge(detected::routes())
        .merge(patterns::routes())
        .merge(tail::routes())
        .merge(status::routes())
}
