//! Answers that are JSON.

use axum::http::{StatusCode, header};
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
    (status, [(header::CONTENT_TYPE, JSON)], text).into_response()
}
