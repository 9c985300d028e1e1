//! Loki's push: `POST /loki/api/v1/push`.
//!
//! 204 and nothing else if all lines were taken. Like Loki, a push of which lines were rejected is answered with 400 and
//! the reason, though the others were taken: clients do not send it again. Errors are plain text.

use super::Delivery;
use crate::app::Shared;
use crate::body::Encoding;
use crate::error::ApiResult;
use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use duramen_wire::loki::Push;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/loki/api/v1/push", post(push))
        .route("/insert/loki/api/v1/push", post(push))
        .route("/insert/loki/ready", get(async || "ready\n"))
}

async fn push(delivery: Delivery) -> Response {
    match pushed(delivery).await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(e) => e.as_text(),
    }
}

async fn pushed(delivery: Delivery) -> ApiResult<()> {
    let mut decoder = Push::new(&delivery.params()?);
    let (now_ns, is_json) = (delivery.now_ns, delivery.is_json());
    let taken = delivery.take("loki", move |received, out| {
        if is_json {
            return Ok(decoder.json(&received.decompressed()?, now_ns, out)?);
        }
        // The block of snappy belongs to the protocol, whether a header tells of it or not.
        let body = match received.encoding() {
            Encoding::Identity | Encoding::Snappy => received.decompressed_raw_snappy()?,
            _ => received.decompressed()?,
        };
        Ok(decoder.protobuf(&body, now_ns, out)?)
    });
    taken.await?.whole()
}
