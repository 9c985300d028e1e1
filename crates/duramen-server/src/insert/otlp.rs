//! OpenTelemetry's logs over HTTP: `POST /v1/logs`, protobuf and JSON, answered in kind. Over gRPC: `otlp_grpc`.

use super::Delivery;
use super::kept::Kept;
use crate::error::ApiResult;
use crate::json::{JSON, written};
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use duramen_wire::grpc::Code;
use duramen_wire::otlp::{Logs, reply_json, reply_protobuf, status_json, status_protobuf};
use duramen_wire::{Params, Rejected};
use std::cell::RefCell;

const PROTOBUF: &str = "application/x-protobuf";

thread_local! {
    static DECODER: RefCell<Option<Kept<Logs>>> = const { RefCell::new(None) };
}

pub(super) async fn logs(delivery: Delivery) -> Response {
    let is_json = delivery.is_json();
    match taken(delivery, is_json).await {
        Ok(rejected) if is_json => written(StatusCode::OK, reply_json(&rejected)),
        Ok(rejected) => ([(header::CONTENT_TYPE, PROTOBUF)], reply_protobuf(&rejected)).into_response(),
        Err(mut e) => {
            // The protocol's clients send again for 429, 502, 503 and 504, and drop what any other status is told of.
            if e.status == StatusCode::INSUFFICIENT_STORAGE {
                e.status = StatusCode::SERVICE_UNAVAILABLE;
            }
            let code = Code::of_http(e.status.as_u16()) as u32;
            if is_json {
                return e.response_with(JSON, status_json(code, &e.message));
            }
            let mut response = e.response_with(PROTOBUF, String::new());
            *response.body_mut() = Body::from(status_protobuf(code, &e.message, e.retry_after_s));
            response
        }
    }
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
