//! A request's body: read with a limit, decompressed with a limit, counted against the memory of all bodies together.

mod budget;
mod decompress;
mod encoding;
mod rooms;

use crate::app::App;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::FutureExt;
use http_body::Frame;
use http_body_util::BodyExt;
use rooms::Room;
use std::time::Duration;

pub(crate) use budget::{Budget, Share};
pub(crate) use encoding::Encoding;

/// In each time of this length a body must come by so many bytes a second: a pause has its own limit, but a byte now and then would
/// hold memory and a connection for as long as one likes, be it that most of it came at once.
const SLOW_AFTER: Duration = Duration::from_secs(60);
pub(crate) const LEAST_BYTES_PER_S: u64 = 1024;

/// So much room is made for a body that has only begun, if it was told to have as much.
const MOST_AHEAD: usize = 1 << 20;

/// A body in memory, as it was sent.
#[derive(Debug)]
pub(crate) struct Received {
    bytes: Bytes,
    encoding: Encoding,
    limit_bytes: usize,
    share: Share,
}

/// Reads a body.
///
/// # Errors
/// 413 over the limit or over all the memory of bodies, 429 over what is left of that or the token's rate, 408 if the client pauses for too long,
/// 415 for an encoding that is not known.
pub(crate) async fn receive(
    app: &App,
    access: &Access,
    headers: &HeaderMap,
    mut body: Body,
) -> ApiResult<Received> {
    let received = read(app, access, headers, &mut body).await;
    if received.is_err() {
        Box::pin(discard(app, &mut body)).await;
    }
    received
}

/// The answer to a request whose body is not looked at: given once that has come, for a client whose connection is closed
/// while it is still sending sees none. One that asks before it sends is answered at once.
pub(crate) async fn unread(app: &App, request: Request, answer: impl IntoResponse) -> Response {
    if !request.headers().contains_key(header::EXPECT) {
        Box::pin(discard(app, &mut request.into_body())).await;
    }
    answer.into_response()
}

/// Reads on for a while and keeps nothing: a client that is still sending would not look at the answer.
pub(crate) async fn discard(app: &App, body: &mut Body) {
    const MOST_BYTES: usize = 64 << 20;
    let discarding = async {
        let mut bytes = 0;
        while let Some(Ok(frame)) = body.frame().await {
            bytes += frame.into_data().map_or(0, |data| data.len());
            if bytes > MOST_BYTES {
                return;
            }
        }
    };
    // Whether it has ended or not, it is answered now. A server that stops has no more time than this.
    let stopped = async {
        app.stopped().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    tokio::select! {
        _ended = tokio::time::timeout(app.limits.read_timeout, discarding) => {}
        () = stopped => {}
    }
}

async fn read(app: &App, access: &Access, headers: &HeaderMap, body: &mut Body) -> ApiResult<Received> {
    let encoding = Encoding::of(headers)?;
    let limit_bytes = access.max_body_bytes(app.limits.max_body_bytes);
    let told = headers.get(header::CONTENT_LENGTH).and_then(|len| len.to_str().ok()?.parse::<usize>().ok());
    if told.is_some_and(|len| len > limit_bytes) {
        return Err(over_limit(limit_bytes));
    }
    let mut share = app.bodies.share(&access.tenant);
    let mut pace = Pace::new(app.env.clock.monotonic());
    let mut first = Bytes::new();
    let mut all = None;
    while let Some(data) = next_data(app, body).await? {
        if share.bytes() + data.len() > limit_bytes {
            return Err(over_limit(limit_bytes));
        }
        share.grow(data.len())?;
        if pace.is_too_slow(share.bytes(), app.env.clock.monotonic()) {
            let told = format!("the body comes slower than {LEAST_BYTES_PER_S} bytes a second");
            return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, told));
        }
        if first.is_empty() && all.is_none() {
            first = data; // most bodies are one piece, and not copied
            continue;
        }
        let all = all.get_or_insert_with(|| {
            let mut all = share.rooms.take(room_for(share.bytes(), told));
            all.extend_from_slice(&std::mem::take(&mut first));
            all
        });
        if all.len() + data.len() > all.capacity() {
            let more = room_for(share.bytes(), told).saturating_sub(all.len());
            all.reserve_exact(more);
        }
        all.extend_from_slice(&data);
    }
    let bytes = all.map_or(first, Room::into_bytes);
    access.spend(&app.env, bytes.len())?;
    Ok(Received { bytes, encoding, limit_bytes, share })
}

/// How much room a body of which so many bytes have come gets: as much as it was told to have, but no more than [`MOST_AHEAD`] or
/// some times what has come, for what is only told is counted nowhere.
fn room_for(come: usize, told: Option<usize>) -> usize {
    let most = come.saturating_mul(4).max(MOST_AHEAD);
    told.map_or(come.saturating_mul(2), |told| told.min(most)).max(come)
}

/// How quickly a body comes.
struct Pace {
    since: Duration,
    /// How many bytes had come by then.
    bytes: usize,
}

impl Pace {
    fn new(now: Duration) -> Self {
        Self { since: now, bytes: 0 }
    }

    /// Whether it has become too slow, now that so many bytes have come.
    fn is_too_slow(&mut self, bytes: usize, now: Duration) -> bool {
        let elapsed = now.saturating_sub(self.since);
        if elapsed <= SLOW_AFTER {
            return false;
        }
        let before = std::mem::replace(self, Self { since: now, bytes });
        let come = bytes.saturating_sub(before.bytes) as u64;
        come < elapsed.as_secs().saturating_mul(LEAST_BYTES_PER_S)
    }
}

/// Waits until the token may send so many bytes: for bodies that are taken as they come.
///
/// # Errors
/// 401 if the token was revoked or has ended, 503 if the server stops.
pub(crate) async fn leave_to_send(app: &App, access: &Access, bytes: usize) -> ApiResult<()> {
    loop {
        if access.is_withdrawn(app) {
            return Err(ApiError::new(StatusCode::UNAUTHORIZED, "the token has ended"));
        }
        if access.spend(&app.env, bytes).is_ok() {
            return Ok(());
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(100)) => {}
            () = app.stopped() => return Err(ApiError::unavailable("the server is stopping")),
        }
    }
}

/// The next bytes of a body; nothing behind its end.
///
/// # Errors
/// 400 if it breaks off, 408 if the client pauses for too long.
pub(crate) async fn next_data(app: &App, body: &mut Body) -> ApiResult<Option<Bytes>> {
    loop {
        // A small body has come with its head, and needs no timer.
        let frame = match body.frame().now_or_never() {
            Some(frame) => frame,
            None => within(app.limits.read_timeout, body).await?,
        };
        let Some(frame) = frame else { return Ok(None) };
        let frame = frame.map_err(|e| ApiError::bad_request(format!("the body broke off: {e}")))?;
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
}

/// The next piece of a body, if it comes in time.
async fn within(timeout: Duration, body: &mut Body) -> ApiResult<Option<Result<Frame<Bytes>, axum::Error>>> {
    tokio::time::timeout(timeout, body.frame()).await.map_err(|_| {
        let ms = timeout.as_millis();
        ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            format!("nothing of the body came for {ms} ms (read_timeout_ms)"),
        )
    })
}

/// 413.
fn over_limit(limit_bytes: usize) -> ApiError {
    ApiError::too_large(format!(
        "the body has more than {limit_bytes} bytes (max_body_bytes): send it in parts"
    ))
}

impl Received {
    /// Whether the rest is quick enough for a thread that serves others, too.
    pub fn is_small(&self) -> bool {
        const SMALL_BYTES: usize = 32 << 10;
        self.encoding == Encoding::Identity && self.bytes.len() <= SMALL_BYTES
    }

    /// Counts so many bytes more, of what was made of it, until it is dropped.
    ///
    /// # Errors
    /// 429 if there is no memory for them, 413 if there never is.
    pub fn hold(&mut self, bytes: usize) -> ApiResult<()> {
        self.share.grow(bytes)
    }

    /// How it is compressed.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// As it was sent, compressed or not, for protocols that know better.
    pub fn raw(&self) -> &Bytes {
        &self.bytes
    }

    /// Takes the frame of a unary call of gRPC off, which says whether the message in it is compressed at all.
    ///
    /// # Errors
    /// 400 if the body is not one frame, or is compressed and does not say how.
    pub fn unframe_grpc(&mut self) -> ApiResult<()> {
        let frame = duramen_wire::grpc::frame(&self.bytes)?;
        if frame.is_compressed && self.encoding == Encoding::Identity {
            return Err(ApiError::bad_request(
                "the message is compressed, and grpc-encoding does not say how",
            ));
        }
        if !frame.is_compressed {
            self.encoding = Encoding::Identity;
        }
        self.bytes = self.bytes.slice(frame.message);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_made_for_what_has_come_and_not_for_what_is_told() {
        const MIB: usize = 1 << 20;
        assert_eq!(room_for(20_000, Some(700_000)), 700_000);
        assert_eq!(room_for(20_000, Some(64 * MIB)), MIB);
        assert_eq!(room_for(MIB, Some(64 * MIB)), 4 * MIB);
        assert_eq!(room_for(16 * MIB, Some(64 * MIB)), 64 * MIB);
        assert_eq!(room_for(16 * MIB, Some(20 * MIB)), 20 * MIB);
        assert_eq!(room_for(20_000, Some(10)), 20_000);
        assert_eq!(room_for(20_000, None), 40_000);
    }

    #[test]
    fn a_body_may_pause_and_may_not_trickle() {
        let too_slow = |come: &[(usize, u64)]| {
            let mut pace = Pace::new(Duration::from_secs(7));
            come.iter().any(|(bytes, s)| pace.is_too_slow(*bytes, Duration::from_secs(7 + s)))
        };
        assert!(!too_slow(&[(1, 60)]) && !too_slow(&[(64 << 10, 61)]) && !too_slow(&[(1 << 20, 1024)]));
        assert!(too_slow(&[(60 << 10, 61)]) && too_slow(&[(64 << 10, 65)]) && too_slow(&[(75, 61)]));
        // What came at once does not make up for what trickles behind it.
        let most = 63 << 20;
        assert!(!too_slow(&[(most, 1), (most + 1, 9), (most + 2, 61)]));
        assert!(too_slow(&[(most, 1), (most + 1, 61), (most + 2, 100), (most + 3, 122)]));
        assert!(!too_slow(&[(most, 1), (most + 1, 61), (most + (64 << 10), 122)]));
    }
}
