//! Loki's push: `POST /loki/api/v1/push`.
//!
//! 204 and nothing else if all lines were taken. Like Loki, a push of which lines were rejected is answered with 400 and
//! the reason, though the others were taken: clients do not send it again, but for [one](repeats_refused). Errors are plain text.

use super::Delivery;
use super::delivery::Taken;
use super::kept::Kept;
use crate::app::Shared;
use crate::body::Encoding;
use crate::error::{ApiError, ApiResult};
use crate::json::ok;
use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use duramen_wire::{Params, loki::Push};
use serde_json::json;
use std::cell::RefCell;

/// What is asked without a token.
pub(super) fn probes() -> Router<Shared> {
    Router::new()
        .route("/insert/loki/ready", get(async || "ready\n"))
        .route("/insert/ready", get(async || ok(&json!({ "status": "ok" }))))
}

thread_local! {
    static DECODER: RefCell<Option<Kept<Push>>> = const { RefCell::new(None) };
}

pub(super) async fn push(delivery: Delivery) -> Response {
    let repeats = repeats_refused(&delivery.headers);
    match pushed(delivery).await {
        Ok(taken) if repeats || taken.rejected.count == 0 => StatusCode::NO_CONTENT.into_response(),
        Ok(taken) => ApiError::bad_request(taken.told()).as_text(),
        Err(e) => e.as_text(),
    }
}

/// Telegraf sends whatever was not answered with success again, for ever, and nothing behind it: the lines of a push that were
/// taken were there more often each second.
fn repeats_refused(headers: &HeaderMap) -> bool {
    headers.get(header::USER_AGENT).is_some_and(|agent| agent.as_bytes().starts_with(b"Telegraf"))
}

async fn pushed(mut delivery: Delivery) -> ApiResult<Taken<()>> {
    let (params, now_ns, is_json) = (delivery.params().await?, delivery.now_ns, delivery.is_json());
    let taken = delivery.take("loki", move |received, out| {
        // The block of snappy belongs to the protocol of protobuf, whether a header tells of it or not.
        let body = match received.encoding() {
            Encoding::Identity | Encoding::Snappy if !is_json => received.decompressed_raw_snappy()?,
            _ => received.decompressed()?,
        };
        let make = |params: &Params, _| Push::new(params);
        let outcome = Kept::decode(&DECODER, (params, now_ns), body.len(), make, |decoder| match is_json {
            true => decoder.json(&body, now_ns, out),
            false => decoder.protobuf(&body, now_ns, out),
        });
        Ok(outcome?)
    });
    taken.await
}
