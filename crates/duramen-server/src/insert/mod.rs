//! Taking logs in, one file a protocol.
//!
//! A protocol reads what a [`Delivery`]'s parameters say, has it received, decoded and appended, and answers as its
//! clients expect. What is acknowledged is as safe as the durability setting says, and visible to queries.

pub(crate) mod datadog;
mod delivery;
mod direct;
pub(crate) mod elastic;
mod gelf;
mod journald;
mod jsonline;
mod kept;
mod loki;
mod native;
mod otlp;
pub(crate) mod otlp_grpc;
mod pieces;
pub(crate) mod splunk;
mod vlagent;

use crate::app::Shared;
use crate::error::ApiError;
use axum::Router;
use axum::http::{Method, StatusCode};
pub(crate) use delivery::Delivery;
use delivery::Taken;
pub(crate) use direct::Direct;

/// The routes of all protocols.
pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .merge(direct::routes())
        .merge(elastic::routes())
        .merge(splunk::routes())
        .merge(datadog::routes())
        .merge(journald::routes())
        .merge(gelf::routes())
        .merge(vlagent::routes())
}

/// What clients ask before they send, open to all.
pub(crate) fn probes() -> Router<Shared> {
    splunk::probes().merge(loki::probes())
}

/// Whether a request that is of no [`Direct`] route is one that brings logs, by its path.
pub(crate) fn brings_logs(method: &Method, path: &str) -> bool {
    const OTHERS: [&str; 6] =
        ["/_bulk", "/gelf", "/upload", "/api/v2/logs", "/insert/native", "/internal/insert"];
    let is_document = || path.ends_with("/_doc") || path.contains("/_doc/") || path.contains("/_create/");
    matches!(*method, Method::POST | Method::PUT)
        && (path.starts_with("/services/collector")
            || OTHERS.iter().any(|end| path.ends_with(end))
            || is_document())
}

impl From<duramen_wire::Error> for ApiError {
    fn from(e: duramen_wire::Error) -> Self {
        match e {
            duramen_wire::Error::Limit { .. } => Self::new(StatusCode::PAYLOAD_TOO_LARGE, e.to_string()),
            e => Self::bad_request(e.to_string()),
        }
    }
}
