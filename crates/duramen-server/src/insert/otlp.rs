//! OpenTelemetry's logs over HTTP: `POST /v1/logs`, protobuf and JSON, answered in kind. Over gRPC: `otlp_grpc`.

use super::{content_type, params, take};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::ApiResult;
use axum::Extension;
use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, header};
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

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/x-protobuf";

async fn logs(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let is_json = content_type(&headers).contains("json");
    match taken(&app, &access, &query, &headers, body, is_json).await {
        Ok(rejected) if is_json => ([(header::CONTENT_TYPE, JSON)], reply_json(&rejected)).into_response(),
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

async fn taken(
    app: &Shared,
    access: &Access,
    query: &[(String, String)],
    headers: &HeaderMap,
    body: Body,
    is_json: bool,
) -> ApiResult<Rejected> {
    let mut decoder = Logs::new(&params(query, headers)?);
    let now_ns = app.env.clock.now_unix_ns();
    let taken = take(app, access, "otlp", headers, body, move |received, out| {
        let body = received.decompressed()?;
        match is_json {
            true => decoder.json(&body, now_ns, out)?,
            false => decoder.protobuf(&body, now_ns, out)?,
        }
        Ok(())
    });
    Ok(taken.await?.rejected)
}
