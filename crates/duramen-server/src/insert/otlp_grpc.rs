//! OpenTelemetry's logs over gRPC: `LogsService/Export`, a unary call, which is a POST over HTTP/2.
//!
//! The frame around the message and the codes are `duramen_wire::grpc`'s. Everything else is what all protocols have:
//! limits, compression, tokens; [`Dialect`](crate::dialect::Dialect) makes a status of gRPC of whatever they refuse.

use super::Delivery;
use crate::app::Shared;
use crate::dialect::{GRPC, GRPC_STATUS, is_grpc};
use crate::error::{ApiError, ApiResult};
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use duramen_wire::grpc::{Code, framed};
use duramen_wire::otlp::{Logs, reply_protobuf};
use http_body_util::{BodyExt, Full};

const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

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
    ended.insert(GRPC_STATUS, HeaderValue::from(Code::Ok as u32));
    let body = Full::new(Bytes::from(reply)).with_trailers(std::future::ready(Some(Ok(ended))));
    Ok(([(header::CONTENT_TYPE, GRPC)], Body::new(body)).into_response())
}

/// Refuses what is no call of gRPC.
pub(crate) async fn only_grpc(request: Request, next: Next) -> Response {
    if is_grpc(request.headers()) {
        return next.run(request).await;
    }
    let told = "Content-Type: application/grpc is expected: this is for gRPC";
    ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, told).into_response()
}
