//! OpenTelemetry's logs over gRPC: `LogsService/Export`, a unary call, which is a POST over HTTP/2.
//!
//! The frame around the message and the codes are `duramen_wire::grpc`'s. Everything else is what all protocols have:
//! limits, compression, tokens; [`told_as_grpc`] makes a status of gRPC of whatever they refuse.

use super::Delivery;
use crate::app::Shared;
use crate::error::{ApiError, ApiResult, Told};
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use duramen_wire::grpc::{Code, escaped, framed};
use duramen_wire::otlp::{Logs, reply_protobuf, retry_info, status_protobuf};
use http_body_util::{BodyExt, Full};

const GRPC: &str = "application/grpc";
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const ACCEPTED: HeaderName = HeaderName::from_static("grpc-accept-encoding");
const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
/// Where gRPC says that details of a status are.
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");
/// Where OpenTelemetry's SDK for Python looks for the time to wait.
const RETRY_INFO: HeaderName = HeaderName::from_static("google.rpc.retryinfo-bin");

/// The call; who may call is for others to say.
pub(crate) fn routes() -> Router<Shared> {
    Router::new().route("/opentelemetry.proto.collector.logs.v1.LogsService/Export", post(export))
}

async fn export(version: Version, mut delivery: Delivery) -> ApiResult<Response> {
    if version != Version::HTTP_2 {
        return Err(ApiError::bad_request("gRPC is spoken over HTTP/2: over HTTP/1.1, POST to /v1/logs"));
    }
    let mut decoder = Logs::new(&delivery.params().await?);
    // What compresses the message, not the body around it.
    delivery.headers.remove(header::CONTENT_ENCODING);
    if let Some(encoding) = delivery.headers.get(ENCODING).cloned() {
        delivery.headers.insert(header::CONTENT_ENCODING, encoding);
    }
    let now_ns = delivery.now_ns;
    let taken = delivery.take("otlp", move |received, out| {
        received.unframe_grpc()?;
        decoder.protobuf(&received.decompressed()?, now_ns, out)?;
        Ok(())
    });
    let reply = framed(&reply_protobuf(&taken.await?.rejected)).unwrap_or_default();
    let mut ended = HeaderMap::new();
    ended.insert(STATUS, HeaderValue::from(Code::Ok as u32));
    let body = Full::new(Bytes::from(reply)).with_trailers(std::future::ready(Some(Ok(ended))));
    Ok(([(header::CONTENT_TYPE, GRPC)], Body::new(body)).into_response())
}

/// Answers calls of gRPC, and makes of a refusal what their clients understand: status 200, without a body, and the
/// refusal in the head, which gRPC calls Trailers-Only.
pub(crate) async fn told_as_grpc(request: Request, next: Next) -> Response {
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_grpc = content_type
        .and_then(|value| value.strip_prefix(GRPC))
        .is_some_and(|format| format.is_empty() || format.starts_with("+proto") || format.starts_with(';'));
    if !is_grpc {
        let told = "Content-Type: application/grpc is expected: this is for gRPC";
        return ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, told).into_response();
    }
    let response = next.run(request).await;
    if response.status().is_success() {
        return response;
    }
    let code = Code::of_http(response.status().as_u16());
    let told = response.extensions().get::<Told>().cloned().unwrap_or_default();
    let mut refusal = ([(header::CONTENT_TYPE, GRPC)], Body::empty()).into_response();
    let headers = refusal.headers_mut();
    headers.insert(STATUS, HeaderValue::from(code as u32));
    let mut tell = |name: HeaderName, text: String| {
        if let Ok(value) = HeaderValue::try_from(text) {
            headers.insert(name, value);
        }
    };
    tell(MESSAGE, escaped(&told.message));
    if let Some(seconds) = told.retry_after_s {
        let status = status_protobuf(code as u32, &told.message, Some(seconds));
        tell(DETAILS, STANDARD_NO_PAD.encode(status));
        tell(RETRY_INFO, STANDARD_NO_PAD.encode(retry_info(seconds)));
    }
    if code == Code::Unimplemented {
        tell(ACCEPTED, "identity,gzip,deflate,zstd,snappy".to_owned());
    }
    refusal
}
