//! Datadog's logs: `POST /api/v2/logs`, and the question whether a key is valid.

use super::{Taken, params, take};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use axum::Extension;
use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use duramen_wire::datadog::Logs;
use serde_json::json;

pub(super) fn routes() -> Router<Shared> {
    let validate = || get(async || answer(StatusCode::OK, r#"{"valid":true}"#.to_owned()));
    Router::new()
        .route("/api/v2/logs", post(logs))
        .route("/insert/datadog/api/v2/logs", post(logs))
        .route("/api/v1/validate", validate())
        .route("/insert/datadog/api/v1/validate", validate())
}

async fn logs(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    match taken(&app, &access, &query, &headers, body).await {
        Ok(()) => answer(StatusCode::ACCEPTED, "{}".to_owned()),
        Err(e) => {
            let status = e.status.as_u16().to_string();
            let error = json!({ "status": status, "title": "refused", "detail": e.message });
            e.response_with("application/json", json!({ "errors": [error] }).to_string())
        }
    }
}

async fn taken(
    app: &Shared,
    access: &Access,
    query: &[(String, String)],
    headers: &HeaderMap,
    body: Body,
) -> ApiResult<()> {
    let params = params(query, headers)?;
    let now_ns = app.env.clock.now_unix_ns();
    let taken = take(app, access, "datadog", headers, body, move |received, out| {
        Ok(Logs::new(&params, now_ns).read(&received.decompressed()?, now_ns, out)?)
    });
    let Taken { accepted, rejected, .. } = taken.await?;
    if rejected.count == 0 {
        return Ok(());
    }
    let all = accepted + rejected.count;
    Err(ApiError::bad_request(format!("{} of {all} lines rejected: {rejected}", rejected.count)))
}

fn answer(status: StatusCode, body: String) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
