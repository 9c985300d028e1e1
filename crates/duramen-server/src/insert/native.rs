//! Duramen's own: `POST /api/v1/ingest` takes an object, an array of objects, or NDJSON.

use super::jsonline::with_decoder;
use super::{Delivery, Taken};
use crate::error::ApiResult;
use crate::json::{as_json, written};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

/// 202 with how many were taken; 422 if none was. Rows that were not are named.
pub(super) async fn ingest(mut delivery: Delivery) -> ApiResult<Response> {
    let (params, now_ns) = (delivery.params().await?, delivery.now_ns);
    let taken = delivery.take("native", move |received, out| {
        let body = received.decompressed()?;
        with_decoder(params, now_ns, body.len(), |rows| Ok(rows.document(&body, now_ns, out)?))
    });
    let Taken { accepted, rejected, .. } = taken.await?;
    let (code, status) = match (accepted, rejected.count) {
        (0, 1..) => (StatusCode::UNPROCESSABLE_ENTITY, "rejected"),
        _ => (StatusCode::ACCEPTED, "accepted"),
    };
    if rejected.count == 0 {
        return Ok(written(code, format!("{{\"status\":\"{status}\",\"count\":{accepted}}}")));
    }
    let errors: Vec<_> =
        rejected.first.iter().map(|row| json!({ "row": row.index, "error": row.reason })).collect();
    let answer = json!({ "status": status, "count": accepted, "rejected": rejected.count, "errors": errors });
    Ok(as_json(code, &answer))
}
