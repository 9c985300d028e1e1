//! `status/buildinfo`, `drilldown-limits`, `format_query`: what clients ask before they ask.

use super::query::success;
use super::request::{Asked, LokiResult};
use crate::app::Shared;
use crate::json::ok;
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use serde_json::json;

/// The version of Loki whose answers these are: clients ask for nothing that it did not have.
const LOKI_VERSION: &str = "3.5.0";

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/loki/api/v1/status/buildinfo", get(build_info))
        .route("/loki/api/v1/drilldown-limits", get(drilldown_limits))
        .route("/loki/api/v1/format_query", get(format_query).post(format_query))
}

async fn build_info() -> Response {
    ok(&json!({
        "version": LOKI_VERSION,
        "revision": env!("CARGO_PKG_VERSION"),
        "branch": "duramen",
        "buildUser": "",
        "buildDate": "",
        "goVersion": "",
    }))
}

/// What Grafana's Logs Drilldown may ask for.
async fn drilldown_limits(State(app): State<Shared>) -> Response {
    let timeout = format!("{}s", app.limits.query_timeout.as_secs());
    ok(&json!({
        "limits": {
            "discover_log_levels": true,
            "discover_service_name": ["service", "app", "application", "name", "container"],
            "log_level_fields": ["level"],
            "max_entries_limit_per_query": 0,
            "max_line_size_truncate": false,
            "max_query_bytes_read": "0B",
            "max_query_length": "0s",
            "max_query_lookback": "0s",
            "max_query_range": "0s",
            "max_query_series": duramen_logql::Limits::default().max_series,
            "metric_aggregation_enabled": false,
            "pattern_persistence_enabled": false,
            "query_timeout": timeout,
            "retention_period": "0s",
            "retention_stream": [],
            "volume_enabled": true,
            "volume_max_series": 1000,
        },
        "pattern_ingester_enabled": true,
        "version": LOKI_VERSION,
    }))
}

/// The query, written in one way.
async fn format_query(asked: Asked) -> LokiResult<Response> {
    Ok(success(&asked.query()?.to_string()))
}
