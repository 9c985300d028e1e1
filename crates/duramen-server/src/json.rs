//! Answers that are JSON.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// What all of them say they are.
pub(crate) const JSON: &str = "application/json";

/// A value as an answer.
pub(crate) fn as_json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(text) => written(status, text),
        Err(e) => {
            let told = format!("the answer cannot be written: {e}\n");
            (StatusCode::INTERNAL_SERVER_ERROR, told).into_response()
        }
    }
}

/// A value as the answer to what went well.
pub(crate) fn ok(value: &impl Serialize) -> Response {
    as_json(StatusCode::OK, value)
}

/// JSON that is written already.
pub(crate) fn written(status: StatusCode, text: String) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}
