//! OpenTelemetry's logs over HTTP: `POST /v1/logs`, protobuf and JSON, answered in kind. Over gRPC: `otlp_grpc`.

use super::Delivery;
use super::kept::Kept;
use crate::dialect::PROTOBUF;
use crate::error::ApiResult;
use crate::json::written;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use duramen_wire::otlp::{Logs, reply_json, reply_protobuf};
use duramen_wire::{Params, Rejected};
use std::cell::RefCell;

thread_local! {
    static DECODER: RefCell<Option<Kept<Logs>>> = const { RefCell::new(None) };
}

/// What is refused, [`Dialect`](crate::dialect::Dialect) tells.
pub(super) async fn logs(delivery: Delivery) -> ApiResult<Response> {
    let is_json = delivery.is_json();
    let rejected = taken(delivery, is_json).await?;
    Ok(match is_json {
        true => written(StatusCode::OK, reply_json(&rejected)),
        false => ([(header::CONTENT_TYPE, PROTOBUF)], reply_protobuf(&rejected)).into_response(),
    })
}

async fn taken(mut delivery: Delivery, is_json: bool) -> ApiResult<Rejected> {
    let (params, now_ns) = (delivery.params().await?, delivery.now_ns);
    let taken = delivery.take("otlp", move |received, out| {
        let body = received.decompressed()?;
        let make = |params: &Params, _| Logs::new(params);
        let outcome = Kept::decode(&DECODER, (params, now_ns), body.len(), make, |decoder| match is_json {
            true => decoder.json(&body, now_ns, out),
            false => decoder.protobuf(&body, now_ns, out),
        });
        Ok(outcome?)
    });
    Ok(taken.await?.rejected)
}
