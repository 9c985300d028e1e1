//! VictoriaLogs' JSON lines: `POST /insert/jsonline`.

use super::Delivery;
use super::kept::Kept;
use crate::error::ApiResult;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use duramen_wire::{Params, jsonline::JsonLines};
use std::cell::RefCell;

pub(super) async fn insert(delivery: Delivery) -> ApiResult<Response> {
    let (params, now_ns) = (delivery.params()?, delivery.now_ns);
    let taken = delivery.take("jsonline", move |received, out| {
        let body = received.decompressed()?;
        with_decoder(params, now_ns, body.len(), |lines| Ok(lines.lines(&body, now_ns, out)?))
    });
    let taken = taken.await?;
    if taken.accepted == 0 {
        taken.whole()?;
    }
    Ok(if taken.rejected.count == 0 { StatusCode::OK.into_response() } else { taken.told().into_response() })
}

thread_local! {
    static DECODER: RefCell<Option<Kept<JsonLines>>> = const { RefCell::new(None) };
}

/// Decodes with this thread's decoder, if it is one for these parameters, or another that it will have from now on.
pub(super) fn with_decoder<T>(
    params: Params,
    now_ns: i64,
    body_bytes: usize,
    decode: impl FnOnce(&mut JsonLines) -> T,
) -> T {
    Kept::decode(&DECODER, (params, now_ns), body_bytes, JsonLines::new, decode)
}
