//! Duramen's own: `POST /api/v1/ingest` takes an object, an array of objects, or NDJSON.

use super::jsonline::with_decoder;
use super::{Taken, params, take};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::ApiResult;
use axum::Extension;
use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::json;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/api/v1/ingest", post(ingest))
}

/// 202 with how many were taken; 422 if none was. Rows that were not are named.
async fn ingest(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    let params = params(&query, &headers)?;
    let now_ns = app.env.clock.now_unix_ns();
    let taken = take(&app, &access, "native", &headers, body, move |received, out| {
        let body = received.decompressed()?;
        with_decoder(&params, now_ns, |rows| Ok(rows.document(&body, now_ns, out)?))
    });
    let Taken { accepted, rejected, .. } = taken.await?;
    let (code, status) = match (accepted, rejected.count) {
        (0, 1..) => (StatusCode::UNPROCESSABLE_ENTITY, "rejected"),
        _ => (StatusCode::ACCEPTED, "accepted"),
    };
    let mut answer = json!({ "status": status, "count": accepted });
    if rejected.count > 0 {
        let errors = rejected.first.iter().map(|row| json!({ "row": row.index, "error": row.reason }));
        answer["rejected"] = json!(rejected.count);
        answer["errors"] = errors.collect();
    }
    Ok((code, [(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response())
}
