//! VictoriaLogs' JSON lines: `POST /insert/jsonline`.
//!
//! A body within `max_body_bytes` is stored whole, or, if the store has no room in time, not at all. A longer one, which
//! whoever imports files sends, is taken in pieces as it comes; what was stored before it broke off stays, and the error says
//! how many lines that is.

use super::Delivery;
use super::delivery::Taken;
use super::kept::Kept;
use crate::app::{Shared, elsewhere};
use crate::auth::Access;
use crate::body::{Share, discard, next_data, over_limit};
use crate::error::{ApiError, ApiResult};
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::BytesMut;
use duramen_wire::decoded::REJECTIONS_KEPT;
use duramen_wire::{Decoded, Params, Rejected, Rejection, jsonline::JsonLines};
use std::cell::RefCell;

/// From so many bytes on, what has come of a long body is stored.
const PIECE_BYTES: usize = 4 << 20;

pub(super) async fn insert(delivery: Delivery) -> ApiResult<Response> {
    let params = delivery.params()?;
    let taken = match piece_bytes(&delivery) {
        Some(piece_bytes) => streamed(delivery, params, piece_bytes).await?,
        None => whole(delivery, params).await?,
    };
    if taken.accepted == 0 {
        taken.whole()?;
    }
    Ok(if taken.rejected.count == 0 { StatusCode::OK.into_response() } else { taken.told().into_response() })
}

/// How many bytes of the body are stored at once, if it may be longer than a body that is stored whole. Until so many have
/// come, one that does not tell its length is like one that does.
fn piece_bytes(delivery: &Delivery) -> Option<usize> {
    let header = |name| delivery.headers.get(name).and_then(|value| value.to_str().ok());
    if header(header::CONTENT_ENCODING).is_some_and(|encoding| !matches!(encoding.trim(), "" | "identity")) {
        return None;
    }
    // Who gives a token less than others have means it.
    if delivery.access.limits_bodies() {
        return None;
    }
    let limit_bytes = delivery.app.limits.max_body_bytes;
    match header(header::CONTENT_LENGTH) {
        Some(len) => (len.parse::<usize>().ok()? > limit_bytes).then_some(PIECE_BYTES.min(limit_bytes)),
        None => Some(limit_bytes),
    }
}

async fn whole(delivery: Delivery, params: Params) -> ApiResult<Taken<()>> {
    let now_ns = delivery.now_ns;
    let taken = delivery.take("jsonline", move |received, out| {
        let body = received.decompressed()?;
        with_decoder(params, now_ns, body.len(), |lines| Ok(lines.lines(&body, now_ns, out)?))
    });
    taken.await
}

/// Takes the body in pieces that end where lines do.
async fn streamed(delivery: Delivery, params: Params, piece_bytes: usize) -> ApiResult<Taken<()>> {
    let Delivery { app, access, mut body, .. } = delivery;
    let share = app.bodies.share(&access.tenant);
    let taken = Taken { accepted: 0, rejected: Rejected::default(), answer: () };
    let mut stream = Stream { params, piece_bytes, share, pending: BytesMut::new(), taken };
    match stream.take(&app, &access, &mut body).await {
        Ok(()) => Ok(stream.taken),
        Err(mut e) => {
            Box::pin(discard(&app, &mut body)).await;
            let rows = stream.taken.accepted + stream.taken.rejected.count;
            if rows > 0 {
                e.message = format!("{}; the first {rows} lines were taken: go on behind them", e.message);
            }
            Err(e)
        }
    }
}

/// A body on its way.
struct Stream {
    params: Params,
    piece_bytes: usize,
    share: Share,
    /// What has come and is not taken yet.
    pending: BytesMut,
    taken: Taken<()>,
}

impl Stream {
    async fn take(&mut self, app: &Shared, access: &Access, body: &mut Body) -> ApiResult<()> {
        while let Some(data) = next_data(app, body).await? {
            access.spend(&app.env, data.len())?;
            if access.is_withdrawn(app.env.clock.now_unix_ns()) {
                return Err(ApiError::new(StatusCode::UNAUTHORIZED, "the token has ended"));
            }
            let held = self.pending.len() + data.len();
            self.share.grow(held.saturating_sub(self.share.bytes()))?;
            self.pending.extend_from_slice(&data);
            if self.pending.len() < self.piece_bytes {
                continue;
            }
            match self.pending.iter().rposition(|&b| b == b'\n') {
                Some(end) => self.piece(app, access, end + 1).await?,
                // No line is so long.
                None if self.pending.len() > app.limits.max_body_bytes => {
                    return Err(over_limit(app.limits.max_body_bytes));
                }
                None => {}
            }
        }
        self.piece(app, access, self.pending.len()).await
    }

    /// Takes what has come up to there.
    async fn piece(&mut self, app: &Shared, access: &Access, end: usize) -> ApiResult<()> {
        let piece = self.pending.split_to(end).freeze();
        let (bytes, params, now_ns) = (piece.len(), self.params.clone(), app.env.clock.now_unix_ns());
        let tenant = access.tenant.clone();
        let append = move |app: &Shared| {
            let mut decoded = Decoded::new(app.limits.decoding());
            with_decoder(params, now_ns, bytes, |lines| lines.lines(&piece, now_ns, &mut decoded))?;
            tenant.append(decoded.batches(), app.limits.stall_timeout)?;
            Ok::<_, ApiError>((decoded.accepted(), decoded.rejected().clone()))
        };
        let (accepted, rejected) = elsewhere(app, &access.tenant, append).await??;
        app.metrics.taken("jsonline", bytes as u64, accepted, rejected.count);
        let Taken { accepted: before, rejected: all, .. } = &mut self.taken;
        let rows_before = *before + all.count;
        *before += accepted;
        all.count += rejected.count;
        let first = rejected.first.into_iter().take(REJECTIONS_KEPT.saturating_sub(all.first.len()));
        all.first.extend(first.map(|row| Rejection { index: rows_before + row.index, ..row }));
        Ok(())
    }
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
