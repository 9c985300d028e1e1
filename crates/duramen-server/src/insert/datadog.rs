//! Datadog's logs: `POST /api/v2/logs`, and the question whether a key is valid.

use super::Delivery;
use crate::app::Shared;
use crate::error::ApiResult;
use crate::json::{as_json, ok};
use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use duramen_wire::datadog::{Beside, Logs};
use serde_json::{Value, json};

pub(super) fn routes() -> Router<Shared> {
    let valid = async || ok(&json!({ "valid": true }));
    let validate = move || get(valid).post(valid);
    Router::new()
        .route("/api/v2/logs", post(logs))
        .route("/insert/datadog/api/v2/logs", post(logs))
        .route("/api/v1/validate", validate())
        .route("/insert/datadog/api/v1/validate", validate())
}

async fn logs(delivery: Delivery) -> Response {
    match taken(delivery).await {
        Ok(None) => as_json(StatusCode::ACCEPTED, &json!({})),
        Ok(Some(told)) => as_json(StatusCode::ACCEPTED, &refused(400, &told)),
        Err(e) => {
            let errors = refused(e.status.as_u16(), &e.message);
            e.with_json(&errors)
        }
    }
}

/// A refusal as Datadog tells it.
pub(crate) fn refused(status: u16, detail: &str) -> Value {
    json!({ "errors": [{ "status": status.to_string(), "title": "refused", "detail": detail }] })
}

/// What was rejected, if not everything was: an answer of 400 would have clients send the others again and again.
///
/// # Errors
/// 400 if nothing was taken.
async fn taken(mut delivery: Delivery) -> ApiResult<Option<String>> {
    let (params, now_ns) = (delivery.params().await?, delivery.now_ns);
    let at_ns = sent_ns(&delivery.headers).unwrap_or(now_ns);
    let beside = Beside::of(delivery.query());
    let taken = delivery.take("datadog", move |received, out| {
        Ok(Logs::new(&params, now_ns).with(beside).read(&received.decompressed()?, at_ns, out)?)
    });
    let taken = taken.await?;
    if taken.accepted == 0 {
        taken.whole()?;
    }
    Ok((taken.rejected.count > 0).then(|| taken.told()))
}

/// The time of lines that have none, where the sender says it: ms since the epoch, and not 0.
fn sent_ns(headers: &HeaderMap) -> Option<i64> {
    let ms: i64 = headers.get("dd-message-timestamp")?.to_str().ok()?.trim().parse().ok()?;
    ms.checked_mul(1_000_000).filter(|ns| *ns > 0)
}
