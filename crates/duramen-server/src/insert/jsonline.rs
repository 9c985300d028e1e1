//! VictoriaLogs' JSON lines: `POST /insert/jsonline`.
//!
//! A body within `max_body_bytes` is stored once it has come whole. A longer one, which whoever imports files sends, is taken in
//! [pieces](super::pieces).

use super::Delivery;
use super::delivery::Taken;
use super::kept::Kept;
use super::pieces::{self, Outcome};
use crate::error::ApiResult;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use duramen_wire::{Decoded, Params, jsonline::JsonLines};
use std::cell::RefCell;
use std::sync::Arc;

const PROTOCOL: &str = "jsonline";

pub(super) async fn insert(mut delivery: Delivery) -> ApiResult<Response> {
    let params = delivery.params().await?;
    let taken = if pieces::may_be_long(&delivery) {
        let (of_pieces, clock) = (params.clone(), delivery.app.env.clock.clone());
        let decode = move |piece: &Bytes, out: &mut Decoded| {
            let now_ns = clock.now_unix_ns();
            with_decoder(of_pieces.clone(), now_ns, piece.len(), |lines| Ok(lines.lines(piece, now_ns, out)?))
        };
        match pieces::take(delivery, PROTOCOL, Arc::new(decode)).await? {
            Outcome::Taken(taken) => taken,
            Outcome::Short(delivery) => whole(*delivery, params).await?,
        }
    } else {
        whole(delivery, params).await?
    };
    if taken.accepted == 0 {
        taken.whole()?;
    }
    Ok(if taken.rejected.count == 0 { StatusCode::OK.into_response() } else { taken.told().into_response() })
}

async fn whole(delivery: Delivery, params: Params) -> ApiResult<Taken<()>> {
    let now_ns = delivery.now_ns;
    let taken = delivery.take(PROTOCOL, move |received, out| {
        let body = received.decompressed()?;
        with_decoder(params, now_ns, body.len(), |lines| Ok(lines.whole(&body, now_ns, out)?))
    });
    taken.await
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
