//! GELF over HTTP: `POST /gelf`, a message a request, or one a line.

use super::{Taken, params, take};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use axum::Extension;
use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use duramen_wire::gelf::Messages;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/gelf", post(gelf))
}

async fn gelf(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<StatusCode> {
    let params = params(&query, &headers)?;
    let now_ns = app.env.clock.now_unix_ns();
    let taken = take(&app, &access, "gelf", &headers, body, move |received, out| {
        Ok(Messages::new(&params).document(&received.decompressed()?, now_ns, out)?)
    });
    let Taken { accepted, rejected, .. } = taken.await?;
    if rejected.count == 0 {
        return Ok(StatusCode::ACCEPTED);
    }
    let all = accepted + rejected.count;
    Err(ApiError::bad_request(format!("{} of {all} messages rejected: {rejected}", rejected.count)))
}
