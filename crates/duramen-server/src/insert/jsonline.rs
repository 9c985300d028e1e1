//! VictoriaLogs' JSON lines: `POST /insert/jsonline`.

use super::{Taken, params, take};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use axum::Extension;
use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use duramen_wire::{Params, jsonline::JsonLines};
use std::cell::RefCell;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/insert/jsonline", post(insert).put(insert))
}

async fn insert(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    let params = params(&query, &headers)?;
    let now_ns = app.env.clock.now_unix_ns();
    let taken = take(&app, &access, "jsonline", &headers, body, move |received, out| {
        let body = received.decompressed()?;
        with_decoder(&params, now_ns, |lines| Ok(lines.lines(&body, now_ns, out)?))
    });
    let Taken { accepted, rejected, .. } = taken.await?;
    if rejected.count == 0 {
        return Ok(StatusCode::OK.into_response());
    }
    let told = format!("{} of {} lines rejected: {rejected}", rejected.count, accepted + rejected.count);
    if accepted == 0 { Err(ApiError::bad_request(told)) } else { Ok((StatusCode::OK, told).into_response()) }
}

thread_local! {
    /// The last decoder of this thread: most requests have the same parameters as the one before.
    static DECODER: RefCell<Option<(Params, JsonLines)>> = const { RefCell::new(None) };
}

/// Decodes with this thread's decoder, if it is one for these parameters, or another that it will have from now on.
pub(super) fn with_decoder<T>(params: &Params, now_ns: i64, decode: impl FnOnce(&mut JsonLines) -> T) -> T {
    DECODER.with_borrow_mut(|kept| match kept {
        Some((of, lines)) if of == params => decode(lines),
        kept => {
            let (_, lines) = kept.insert((params.clone(), JsonLines::new(params, now_ns)));
            decode(lines)
        }
    })
}
