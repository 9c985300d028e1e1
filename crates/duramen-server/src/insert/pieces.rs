//! Long bodies of lines, taken in pieces that end where lines do.
//!
//! A body is held until it has ended, or has more bytes than one that is stored whole. From then on it is stored as it comes, and
//! what was stored before it broke off stays. The client waits while the store, or its token's rate, does.

use super::Delivery;
use super::delivery::Taken;
use crate::app::{Shared, elsewhere};
use crate::auth::Access;
use crate::body::{Encoding, Share, discard, leave_to_send, next_data};
use crate::error::{ApiError, ApiResult};
use axum::body::Body;
use axum::http::header;
use bytes::{Bytes, BytesMut};
use duramen_wire::decoded::REJECTIONS_KEPT;
use duramen_wire::{Decoded, Rejected, Rejection, Treatment};
use std::sync::Arc;

/// So many bytes of a long body are stored at once, a long line more. That they are one batch, which is stored whole or not at
/// all, is the rule.
const PIECE_BYTES: usize = 4 << 20;

/// Whether a body may be longer than one that is stored whole, and be taken in pieces.
pub(super) fn may_be_long(delivery: &Delivery) -> bool {
    let header = |name| delivery.headers.get(name).and_then(|value| value.to_str().ok());
    if Encoding::of(&delivery.headers).ok() != Some(Encoding::Identity) {
        return false;
    }
    // Who gives a token less than others have means it.
    !delivery.access.limits_bodies()
        && header(header::CONTENT_LENGTH)
            .is_none_or(|len| len.parse().is_ok_and(|len: usize| len > delivery.app.limits.max_body_bytes))
}

/// What has become of a body that may be long.
pub(super) enum Outcome {
    /// It was not: this is it, and nothing was stored.
    Short(Box<Delivery>),
    /// It was taken.
    Taken(Taken<()>),
}

/// Makes entries of a piece that begins with a line.
pub(super) type Decode = dyn Fn(&Bytes, &mut Decoded) -> ApiResult<()> + Send + Sync;

/// Takes a body that may be long.
///
/// # Errors
/// As [`Delivery::take`]. 413 if some of it was stored, whatever kept the rest from it: nobody should send the same again.
pub(super) async fn take(
    delivery: Delivery,
    protocol: &'static str,
    decode: Arc<Decode>,
) -> ApiResult<Outcome> {
    let Delivery { app, access, mut body, uri, headers, now_ns, treatment } = delivery;
    let share = app.bodies.share(&access.tenant);
    let knows_length = headers.contains_key(header::CONTENT_LENGTH);
    let mut pieces = Pieces {
        app: &app,
        access: &access,
        protocol,
        decode,
        treatment: treatment.clone(),
        share,
        pending: BytesMut::new(),
        lines_end: 0,
        is_long: knows_length,
        lines: 0,
        taken: Taken { accepted: 0, rejected: Rejected::default(), answer: () },
    };
    match pieces.take(&mut body).await {
        Ok(()) if pieces.is_long => Ok(Outcome::Taken(pieces.taken)),
        Ok(()) => {
            let body = Body::from(pieces.pending.freeze());
            Ok(Outcome::Short(Box::new(Delivery { app, access, uri, headers, body, now_ns, treatment })))
        }
        Err(e) => {
            Box::pin(discard(&app, &mut body)).await;
            Err(pieces.told(e))
        }
    }
}

/// A body on its way.
struct Pieces<'a> {
    app: &'a Shared,
    access: &'a Access,
    protocol: &'static str,
    decode: Arc<Decode>,
    treatment: Treatment,
    share: Share,
    /// What has come and is not stored yet.
    pending: BytesMut,
    /// Where the last whole line in it ends.
    lines_end: usize,
    /// Whether the body is known to have more bytes than one that is stored whole.
    is_long: bool,
    /// How many lines were stored or rejected, empty ones counted.
    lines: u64,
    taken: Taken<()>,
}

impl Pieces<'_> {
    async fn take(&mut self, body: &mut Body) -> ApiResult<()> {
        let max_body_bytes = self.app.limits.max_body_bytes;
        loop {
            let data = tokio::select! {
                data = next_data(self.app, body) => data?,
                () = self.app.stopped() => return Err(ApiError::unavailable("the server is stopping")),
            };
            let Some(data) = data else { break };
            self.share.resize(self.pending.len() + data.len())?;
            if let Some(at) = memchr::memrchr(b'\n', &data) {
                self.lines_end = self.pending.len() + at + 1;
            }
            self.pending.extend_from_slice(&data);
            self.is_long |= self.pending.len() > max_body_bytes;
            if self.is_long {
                self.whole_lines(PIECE_BYTES.min(max_body_bytes)).await?;
            }
            if self.pending.len() > max_body_bytes {
                let told = format!("a line has more than {max_body_bytes} bytes (max_body_bytes)");
                return Err(ApiError::too_large(told));
            }
        }
        if self.is_long { self.piece(self.pending.len()).await } else { Ok(()) }
    }

    /// Takes pieces until less than one has come.
    async fn whole_lines(&mut self, piece_bytes: usize) -> ApiResult<()> {
        while self.pending.len() >= piece_bytes && self.lines_end > 0 {
            let end = match memchr::memrchr(b'\n', &self.pending[..piece_bytes]) {
                Some(at) => at + 1,
                None => match memchr::memchr(b'\n', &self.pending[piece_bytes..]) {
                    Some(at) => piece_bytes + at + 1,
                    None => return Ok(()),
                },
            };
            self.piece(end).await?;
            // What is left is little, and the memory of what was much is given back.
            self.pending = BytesMut::from(&self.pending[..]);
            self.share.resize(self.pending.len())?;
        }
        Ok(())
    }

    /// Takes what has come up to there.
    async fn piece(&mut self, end: usize) -> ApiResult<()> {
        self.lines_end = self.lines_end.saturating_sub(end);
        let piece = self.pending.split_to(end).freeze();
        leave_to_send(self.app, self.access, piece.len()).await?;
        let (tenant, decode) = (self.access.tenant.clone(), self.decode.clone());
        let treatment = self.treatment.clone();
        let bytes = piece.len() as u64;
        let lines = memchr::memchr_iter(b'\n', &piece).count() as u64;
        let append = move |app: &Shared| {
            let mut decoded = Decoded::new(app.limits.decoding());
            decoded.treat(treatment);
            decode(&piece, &mut decoded)?;
            let appended = tenant.append(decoded.batches(), app.limits.stall_timeout);
            // Those that were stored are empty.
            let left: usize = decoded.batches().iter().map(duramen::Batch::len).sum();
            let stored = decoded.accepted() - appended.as_ref().map_or(left as u64, |()| 0);
            Ok::<_, ApiError>((appended, stored, decoded.rejected().clone()))
        };
        let (appended, stored, rejected) = elsewhere(self.app, &self.access.tenant, append).await??;
        self.app.metrics.taken(self.protocol, bytes, stored, rejected.count);
        let Taken { accepted, rejected: all, .. } = &mut self.taken;
        if let Err(e) = appended {
            let mut e = ApiError::from(e);
            if stored > 0 {
                *accepted += stored;
                e.message = format!(
                    "{}; of the lines behind the first {}, {stored} were stored",
                    e.message, self.lines
                );
            }
            return Err(e);
        }
        self.lines += lines;
        let rows_before = *accepted + all.count;
        *accepted += stored;
        all.count += rejected.count;
        let first = rejected.first.into_iter().take(REJECTIONS_KEPT.saturating_sub(all.first.len()));
        all.first.extend(first.map(|row| Rejection { index: rows_before + row.index, ..row }));
        Ok(())
    }

    /// What the client is told of an error.
    fn told(&self, e: ApiError) -> ApiError {
        if self.lines == 0 && self.taken.accepted == 0 {
            return e;
        }
        ApiError::too_large(format!(
            "{}; the body has more bytes than one that is stored whole (max_body_bytes), and its first {} lines were taken: go \
             on behind them",
            e.message, self.lines
        ))
    }
}
