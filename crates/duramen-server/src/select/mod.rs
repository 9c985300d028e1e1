//! Answering queries as VictoriaLogs does: `/select/logsql/…`.
//!
//! | module | what it answers |
//! |---|---|
//! | [`args`] | (what requests ask for) |
//! | [`extra`] | (what every entry of an answer must be, besides) |
//! | [`query`] | `query`: entries, or what pipes make of them; `parquet`: the same as a file of columns |
//! | [`tail`] | `tail`: entries as they come |
//! | [`counts`] | `field_names`, `field_values`, `streams`, `stream_ids`, `stream_field_names`, `stream_field_values` |
//! | [`facets`] | `facets` |
//! | [`hits`] | `hits` |
//! | [`stats`] | `stats_query`, `stats_query_range` |

pub(crate) mod args;
mod counts;
pub(crate) mod extra;
mod facets;
mod hits;
#[cfg(feature = "parquet")]
mod parquet;
mod query;
mod stats;
mod tail;

use crate::app::Shared;
use axum::Router;

/// A name for how many rows have each of these fields' values: longer than all of theirs, so that it is none of them.
pub(crate) fn count_of(fields: &[String]) -> String {
    format!("hits of {}", fields.join(", "))
}

/// The routes.
pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .merge(query::routes())
        .merge(tail::routes())
        .merge(counts::routes())
        .merge(facets::routes())
        .merge(hits::routes())
        .merge(stats::routes())
}
