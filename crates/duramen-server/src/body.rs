//! A request's body: read with a limit, decompressed with a limit, counted against the memory of all bodies together.

use crate::app::App;
use crate::auth::Access;
use crate::encoding::{Encoding, window_of_zstd};
use crate::error::{ApiError, ApiResult};
use crate::rooms::{Room, Rooms};
use crate::tenant::Tenant;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::FutureExt;
use http_body::Frame;
use http_body_util::BodyExt;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What the budget is counted in.
const UNIT_BYTES: usize = 1024;

/// After so long a body must have come by so many bytes a second: a pause has its own limit, but a byte now and then would hold
/// memory and a connection for as long as one likes.
const SLOW_AFTER: Duration = Duration::from_secs(60);
const LEAST_BYTES_PER_S: u64 = 1024;

/// So much room is made for a body that has only begun, if it was told to have as much.
const MOST_AHEAD: usize = 1 << 20;

/// The memory that all bodies together may take.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    units: Arc<Semaphore>,
    /// How many there are.
    all_units: usize,
    rooms: Rooms,
}

impl Budget {
    /// Of so many bytes.
    pub fn new(bytes: usize) -> Self {
        let all_units = (bytes / UNIT_BYTES).clamp(1, Semaphore::MAX_PERMITS);
        Self { units: Arc::new(Semaphore::new(all_units)), all_units, rooms: Rooms::default() }
    }

    /// How many bytes are left.
    pub fn left_bytes(&self) -> usize {
        self.units.available_permits() * UNIT_BYTES
    }

    /// Nothing yet of it, nor of what this tenant may take.
    pub fn share(&self, tenant: &Tenant) -> Share {
        Share {
            units: [tenant.bodies.units.clone(), self.units.clone()],
            most_units: tenant.bodies.all_units.min(self.all_units),
            permits: [None, None],
            bytes: 0,
            rooms: self.rooms.clone(),
        }
    }
}

/// A body's part of its tenant's budget, and of that of all; given back when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    units: [Arc<Semaphore>; 2],
    /// How many there are, if nobody else has any.
    most_units: usize,
    permits: [Option<OwnedSemaphorePermit>; 2],
    bytes: usize,
    /// Where they are put together.
    rooms: Rooms,
}

impl Share {
    /// How many bytes it is.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes `bytes` more.
    ///
    /// # Errors
    /// 429 if there are not so many left; 413 if there never are.
    pub fn grow(&mut self, bytes: usize) -> ApiResult<()> {
        let units = |bytes: usize| bytes.div_ceil(UNIT_BYTES);
        if units(self.bytes.saturating_add(bytes)) > self.most_units {
            let told =
                "the body takes more memory than there is for all (max_bodies_bytes): send it in parts";
            return Err(ApiError::too_large(told));
        }
        let more = units(self.bytes + bytes) - units(self.bytes);
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let [own, all] = self.units.each_ref().map(|units| units.clone().try_acquire_many_owned(more));
        let (Ok(own), Ok(all)) = (own, all) else {
            let told = "too many bytes of requests are in memory (max_bodies_bytes): send again later";
            return Err(ApiError::busy(told));
        };
        for (mine, permit) in self.permits.iter_mut().zip([own, all]) {
            match mine {
                Some(mine) => mine.merge(permit),
                None => *mine = Some(permit),
            }
        }
        self.bytes += bytes;
        Ok(())
    }

    /// Takes more or gives back, so that it is of `bytes`.
    ///
    /// # Errors
    /// As [`Share::grow`].
    pub fn resize(&mut self, bytes: usize) -> ApiResult<()> {
        if bytes >= self.bytes {
            return self.grow(bytes - self.bytes);
        }
        let less = self.bytes.div_ceil(UNIT_BYTES) - bytes.div_ceil(UNIT_BYTES);
        for permit in self.permits.iter_mut().flatten() {
            drop(permit.split(less));
        }
        self.bytes = bytes;
        Ok(())
    }
}

/// What a stream of snappy's frames begins with.
const SNAPPY_STREAM: &[u8] = b"\xff\x06\x00\x00sNaPpY";

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
    let began = app.env.clock.monotonic();
    let mut first = Bytes::new();
    let mut all = None;
    while let Some(data) = next_data(app, body).await? {
        if share.bytes() + data.len() > limit_bytes {
            return Err(over_limit(limit_bytes));
        }
        share.grow(data.len())?;
        if is_too_slow(share.bytes(), app.env.clock.monotonic().saturating_sub(began)) {
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

fn is_too_slow(bytes: usize, elapsed: Duration) -> bool {
    elapsed > SLOW_AFTER && (bytes as u64) < elapsed.as_secs().saturating_mul(LEAST_BYTES_PER_S)
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

/// The body, if it is all that there is: deflate is one stream, and what follows it would be dropped.
fn nothing_behind(mut rest: impl BufRead, all: Bytes) -> ApiResult<Bytes> {
    match rest.fill_buf() {
        Ok([]) => Ok(all),
        _ => Err(ApiError::bad_request("the body is not deflate: something follows its end")),
    }
}

/// 413.
pub(crate) fn over_limit(limit_bytes: usize) -> ApiError {
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

    /// Its bytes, decompressed.
    ///
    /// # Errors
    /// 413 if they are more than a body may have, 429 if more than there is memory for, 400 if they do not decompress.
    pub fn decompressed(&mut self) -> ApiResult<Bytes> {
        let bytes = self.bytes.clone();
        let from = BufReader::with_capacity(64 << 10, &*bytes);
        // No deflate begins so.
        if self.encoding == Encoding::Deflate && bytes.starts_with(&[0x1f, 0x8b]) {
            self.encoding = Encoding::Gzip;
        }
        let name = match self.encoding {
            Encoding::Identity => return Ok(bytes),
            Encoding::Gzip => "gzip",
            Encoding::Deflate => "deflate",
            Encoding::Zstd => "zstd",
            Encoding::Snappy => "snappy",
        };
        match self.encoding {
            Encoding::Identity => Ok(bytes.clone()),
            Encoding::Gzip => self.read_all(name, 0, flate2::bufread::MultiGzDecoder::new(from)),
            // What HTTP calls deflate is zlib's format; some send the bare one.
            Encoding::Deflate if bytes.first().is_some_and(|b| b & 0x0f == 8) => {
                let mut decoder = flate2::bufread::ZlibDecoder::new(from);
                let all = self.read_all(name, 0, &mut decoder)?;
                nothing_behind(decoder.into_inner(), all)
            }
            Encoding::Deflate => {
                let mut decoder = flate2::bufread::DeflateDecoder::new(from);
                let all = self.read_all(name, 0, &mut decoder)?;
                nothing_behind(decoder.into_inner(), all)
            }
            Encoding::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(from)
                    .and_then(|mut decoder| decoder.window_log_max(27).map(|()| decoder));
                let decoder = decoder.map_err(|e| ApiError::unavailable(format!("zstd: {e}")))?;
                self.read_all(name, window_of_zstd(&bytes), decoder)
            }
            Encoding::Snappy if bytes.starts_with(SNAPPY_STREAM) => {
                self.read_all(name, 0, snap::read::FrameDecoder::new(from))
            }
            Encoding::Snappy => self.decompressed_raw_snappy(),
        }
    }

    /// Decompresses snappy's raw format, which tells its length first.
    ///
    /// # Errors
    /// As [`Self::decompressed`].
    pub fn decompressed_raw_snappy(&mut self) -> ApiResult<Bytes> {
        let malformed = |e: snap::Error| ApiError::bad_request(format!("the body is not snappy: {e}"));
        let len = snap::raw::decompress_len(&self.bytes).map_err(malformed)?;
        if len > self.limit_bytes {
            return Err(over_limit(self.limit_bytes));
        }
        self.share.grow(len)?;
        Ok(snap::raw::Decoder::new().decompress_vec(&self.bytes).map_err(malformed)?.into())
    }

    /// Reads it to its end. The decoder keeps up to `window_bytes` of it for itself meanwhile, which are counted, too.
    fn read_all(&mut self, name: &str, window_bytes: usize, mut from: impl Read) -> ApiResult<Bytes> {
        let before = self.share.bytes();
        let mut all = self.share.rooms.take(self.bytes.len().saturating_mul(4).min(1 << 20));
        let mut piece = vec![0; 64 << 10];
        loop {
            let n = from
                .read(&mut piece)
                .map_err(|e| ApiError::bad_request(format!("the body is not {name}: {e}")))?;
            if n == 0 {
                self.share.resize(before + all.len())?;
                return Ok(all.into_bytes());
            }
            if all.len() + n > self.limit_bytes {
                return Err(over_limit(self.limit_bytes));
            }
            let kept = window_bytes.min(all.len() + n) - window_bytes.min(all.len());
            self.share.grow(n + kept)?;
            all.extend_from_slice(&piece[..n]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use duramen::BlockCache;
    use duramen_engine::io::Env;

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
    fn what_never_fits_is_not_to_be_sent_again() {
        let (dir, settings) = (tempfile::tempdir().unwrap(), Settings::default().complete());
        let mut tenant = Tenant::open(&Env::os(), "", dir.path(), &settings, &BlockCache::new(0)).unwrap();
        for (own, all) in [(64 << 10, 1 << 20), (1 << 20, 64 << 10)] {
            tenant.bodies = Budget::new(own);
            let all = Budget::new(all);
            let status = |share: &mut Share, bytes| share.grow(bytes).map_err(|e| e.status.as_u16());
            let (mut one, mut other) = (all.share(&tenant), all.share(&tenant));
            assert_eq!(status(&mut one, 40 << 10), Ok(()));
            assert_eq!(status(&mut other, 40 << 10), Err(429));
            assert_eq!(status(&mut one, 30 << 10), Err(413));
            assert_eq!(status(&mut one, usize::MAX), Err(413));
            drop(one);
            assert_eq!(status(&mut other, 64 << 10), Ok(()), "all of it");
        }
        tenant.close().unwrap();
    }

    #[test]
    fn a_body_may_pause_and_may_not_trickle() {
        let too_slow = |bytes, s| is_too_slow(bytes, Duration::from_secs(s));
        assert!(!too_slow(1, 60) && !too_slow(64 << 10, 61) && !too_slow(1 << 20, 1024));
        assert!(too_slow(60 << 10, 61) && too_slow(64 << 10, 65) && too_slow(75, 61));
    }
}
