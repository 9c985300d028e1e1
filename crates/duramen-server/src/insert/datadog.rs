//! Datadog's logs: `POST /api/v2/logs`, and the question whether a key is valid.

use super::Delivery;
use crate::app::Shared;
use crate::error::ApiResult;
use crate::json::{as_json, ok};
use axum::Router;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use duramen_wire::datadog::Logs;
use serde_json::json;

pub(super) fn routes() -> Router<Shared> {
    let validate = || get(async || ok(&json!({ "valid": true })));
    Router::new()
        .route("/api/v2/logs", post(logs))
        .route("/insert/datadog/api/v2/logs", post(logs))
        .route("/api/v1/validate", validate())
        .route("/insert/datadog/api/v1/validate", validate())
}

async fn logs(delivery: Delivery) -> Response {
    match taken(delivery).await {
        Ok(()) => as_json(StatusCode::ACCEPTED, &json!({})),
        Err(e) => {
            let status = e.status.as_u16().to_string();
            let error = json!({ "status": status, "title": "refused", "detail": e.message });
            e.with_json(&json!({ "errors": [error] }))
        }
    }
}

async fn taken(delivery: Delivery) -> ApiResult<()> {
    let (params, now_ns) = (delivery.params()?, delivery.now_ns);
    let taken = delivery.take("datadog", move |received, out| {
        Ok(Logs::new(&params, now_ns).read(&received.decompressed()?, now_ns, out)?)
    });
    taken.await?.whole()
}
