//! Whether it goes, for those who watch: open to all, and telling nothing of what is in the store.

use crate::app::Shared;
use crate::json::as_json;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;

pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .route("/health", get(health))
        .route("/-/healthy", get(health))
        .route("/ready", get(ready))
        .route("/-/ready", get(ready))
}

/// 200 while lines can be taken, 503 with the reason while they cannot.
async fn health(State(app): State<Shared>) -> Response {
    let troubles: Vec<_> = app
        .tenants
        .all()
        .iter()
        .filter_map(|tenant| {
            let trouble = tenant.trouble()?;
            Some(if tenant.name.is_empty() { trouble.to_owned() } else { format!("a tenant: {trouble}") })
        })
        .collect();
    let stopping = *app.stopping.borrow();
    let status = match (stopping, troubles.is_empty()) {
        (true, _) => "stopping",
        (false, true) => "ok",
        (false, false) => "failing",
    };
    let code = if status == "ok" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = json!({ "status": status, "version": env!("CARGO_PKG_VERSION"), "reasons": troubles });
    as_json(code, &body)
}

/// 200 once requests are answered, 503 when the server stops.
async fn ready(State(app): State<Shared>) -> Response {
    if *app.stopping.borrow() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response();
    }
    (StatusCode::OK, "ready\n").into_response()
}
