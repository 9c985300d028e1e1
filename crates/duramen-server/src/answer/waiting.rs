//! Answers that are made, and wait for their clients to read them: in memory of their own, so that a query's place is free for
//! others once its answer is there. One for which there is no such memory keeps its place until it is read, for as long as a query
//! may run at most: so there is an end to what waits.

use super::pieces::PIECE_BYTES;
use crate::app::Shared;
use crate::auth::Access;
use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

/// What the memory is counted in.
const UNIT_BYTES: usize = 1024;

/// The memory that answers take which wait to be read.
#[derive(Debug)]
pub(crate) struct AnswerMemory(Arc<Semaphore>);

impl AnswerMemory {
    /// Of so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new((bytes / UNIT_BYTES).min(Semaphore::MAX_PERMITS))))
    }

    /// So many bytes of it, if there are as many left. What is sent in one piece needs none.
    pub fn share(&self, bytes: usize) -> Option<Vec<OwnedSemaphorePermit>> {
        if bytes <= PIECE_BYTES {
            return Some(Vec::new());
        }
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).ok()?;
        Some(vec![self.0.clone().try_acquire_many_owned(units).ok()?])
    }
}

/// What an answer holds until it is read.
#[derive(Debug)]
pub(super) struct Held {
    _permits: Vec<OwnedSemaphorePermit>,
    /// Whether they are its query's place, for which others wait.
    is_place: bool,
}

impl Held {
    /// Memory of those that wait.
    pub fn memory(permits: Vec<OwnedSemaphorePermit>) -> Self {
        Self { _permits: permits, is_place: false }
    }

    /// Its query's place.
    pub fn place(permits: Vec<OwnedSemaphorePermit>) -> Self {
        Self { _permits: permits, is_place: true }
    }
}

/// An answer's body, which holds this until it is sent. Its client is waited for: until it has taken nothing for as long as a query
/// may run; or, where that keeps others waiting, until it has been read for so long.
pub(super) fn body(app: &Shared, access: &Access, text: Vec<u8>, held: Held) -> Body {
    if text.len() <= PIECE_BYTES {
        return Body::from(text);
    }
    let left_bytes = text.len();
    let (to, from) = mpsc::channel(1);
    let (app, access) = (app.clone(), access.clone());
    tokio::spawn(async move {
        let limit = app.limits.query_timeout;
        let is_withdrawn = || access.is_withdrawn(&app);
        let sending = send(&text, &to, limit, is_withdrawn);
        let _cut_short = match held.is_place {
            true => timeout(limit, sending).await.unwrap_or(None),
            false => sending.await,
        };
        drop((text, held));
    });
    Body::new(Unread { from, left_bytes })
}

/// Sends a text in pieces, which are copied: those that are on their way do not keep the whole in memory. `None` if its client has
/// gone, or has taken nothing for so long.
async fn send(
    text: &[u8],
    to: &mpsc::Sender<Bytes>,
    limit: Duration,
    is_withdrawn: impl Fn() -> bool,
) -> Option<()> {
    for piece in text.chunks(PIECE_BYTES) {
        let place = timeout(limit, to.reserve()).await.ok()?.ok()?;
        if is_withdrawn() {
            return None;
        }
        place.send(Bytes::copy_from_slice(piece));
    }
    Some(())
}

/// What is left of an answer whose length is told before it.
#[derive(Debug)]
struct Unread {
    from: mpsc::Receiver<Bytes>,
    left_bytes: usize,
}

impl http_body::Body for Unread {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.left_bytes == 0 {
            return Poll::Ready(None);
        }
        let piece = ready!(self.from.poll_recv(cx));
        self.left_bytes -= piece.as_ref().map_or(self.left_bytes, Bytes::len);
        let broken = || io::Error::other("nobody read it in time, or may any more");
        Poll::Ready(Some(piece.map(Frame::data).ok_or_else(broken)))
    }

    fn is_end_stream(&self) -> bool {
        self.left_bytes == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left_bytes as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    #[tokio::test]
    async fn an_answer_comes_whole_or_breaks_off() {
        let text: Vec<u8> = (0..2 * PIECE_BYTES + 5).map(|i| i as u8).collect();
        let (long, short) = (Duration::from_secs(60), Duration::from_millis(1));
        for (limit, is_withdrawn) in [(long, false), (short, false), (long, true)] {
            let (to, from) = mpsc::channel(1);
            let mut unread = Unread { from, left_bytes: text.len() };
            let sending = send(&text, &to, limit, || is_withdrawn);
            if limit == short || is_withdrawn {
                assert_eq!(sending.await, None);
                drop(to);
                let (mut frames, mut ended) = (0, None);
                while let Some(frame) = unread.frame().await {
                    (frames, ended) = (frames + 1, Some(frame));
                }
                assert!(frames == 2 - usize::from(is_withdrawn) && ended.unwrap().is_err());
                continue;
            }
            assert_eq!(http_body::Body::size_hint(&unread).exact(), Some(text.len() as u64));
            let (sent, all) = tokio::join!(sending, unread.collect());
            assert_eq!(sent, Some(()));
            assert!(all.unwrap().to_bytes() == text);
        }
    }

    #[test]
    fn memory_is_shared() {
        let memory = AnswerMemory::new(4 * PIECE_BYTES);
        let first = memory.share(3 * PIECE_BYTES).unwrap();
        assert!(memory.share(2 * PIECE_BYTES).is_none());
        assert!(memory.share(PIECE_BYTES).is_some(), "small ones are not counted");
        drop(first);
        assert!(memory.share(4 * PIECE_BYTES).is_some() && memory.share(usize::MAX).is_none());
    }
}
