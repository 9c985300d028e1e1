//! OpenTelemetry's logs over HTTP: `POST /v1/logs`, protobuf and JSON, answered in kind. Over gRPC: `otlp_grpc`.

use super::Delivery;
use crate::app::Shared;
use crate::error::ApiResult;
use crate::json::{JSON, written};
use axum::Router;
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use duramen_wire::Rejected;
use duramen_wire::grpc::Code;
use duramen_wire::otlp::{Logs, reply_json, reply_protobuf, status_json, status_protobuf};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/v1/logs", post(logs))
        .route("/otlp/v1/logs", post(logs))
        .route("/insert/opentelemetry/v1/logs", post(logs))
}

const PROTOBUF: &str = "application/x-protobuf";

async fn logs(delivery: Delivery) -> Response {
    let is_json = delivery.is_json();
    match taken(delivery, is_json).await {
        Ok(rejected) if is_json => written(StatusCode::OK, reply_json(&rejected)),
        Ok(rejected) => ([(header::CONTENT_TYPE, PROTOBUF)], reply_protobuf(&rejected)).into_response(),
        Err(e) => {
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

async fn taken(delivery: Delivery, is_json: bool) -> ApiResult<Rejected> {
    let mut decoder = Logs::new(&delivery.params()?);
    let now_ns = delivery.now_ns;
    let taken = delivery.take("otlp", move |received, out| {
        let body = received.decompressed()?;
        match is_json {
            true => decoder.json(&body, now_ns, out)?,
            false => decoder.protobuf(&body, now_ns, out)?,
        }
        Ok(())
    });
    Ok(taken.await?.rejected)
}
