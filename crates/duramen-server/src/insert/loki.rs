//! Loki's push: `POST /loki/api/v1/push`.
//!
//! 204 and nothing else if all lines were taken. Like Loki, a push of which lines were rejected is answered with 400 and
//! the reason, though the others were taken: clients do not send it again. Errors are plain text.

use super::{Taken, params, take};
use crate::app::Shared;
use crate::auth::Access;
use crate::body::Encoding;
use crate::error::{ApiError, ApiResult};
use axum::Extension;
use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use duramen_wire::loki::Push;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/loki/api/v1/push", post(push))
        .route("/insert/loki/api/v1/push", post(push))
        .route("/insert/loki/ready", get(async || "ready\n"))
}

async fn push(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    match pushed(&app, &access, &query, &headers, body).await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(e) => e.as_text(),
    }
}

async fn pushed(
    app: &Shared,
    access: &Access,
    query: &[(String, String)],
    headers: &HeaderMap,
    body: Body,
) -> ApiResult<()> {
    let mut decoder = Push::new(&params(query, headers)?);
    let now_ns = app.env.clock.now_unix_ns();
    let is_json = super::content_type(headers).contains("json");
    let taken = take(app, access, "loki", headers, body, move |received, out| {
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
    let Taken { accepted, rejected, .. } = taken.await?;
    if rejected.count == 0 {
        return Ok(());
    }
    let all = accepted + rejected.count;
    Err(ApiError::bad_request(format!("{} of {all} lines rejected: {rejected}", rejected.count)))
}
