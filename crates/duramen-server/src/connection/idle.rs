//! A connection on which nobody asks anything is ended: it would keep its place for ever.
//!
//! HTTP/1 has a deadline for the next request's head, but none before it is known which HTTP is spoken; HTTP/2 has none at
//! all, for a client that answers pings is there, though it may never ask.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// A body up to this size is on its way once its head is.
const QUICK_BYTES: u64 = 64 << 10;

/// The requests of a connection.
#[derive(Debug, Default)]
pub(super) struct Uses {
    running: AtomicUsize,
    /// How often one has begun or ended.
    turns: AtomicUsize,
}

/// A request, until it is answered.
#[derive(Debug)]
pub(super) struct Use(Arc<Uses>);

impl Uses {
    /// Notes that a request has begun.
    pub fn begin(self: &Arc<Self>) -> Use {
        self.running.fetch_add(1, Ordering::Relaxed);
        self.turns.fetch_add(1, Ordering::Relaxed);
        Use(self.clone())
    }

    /// Waits until there was none for so long, or for up to twice of it.
    pub async fn none_for(&self, time: Duration) {
        let mut turns = 0;
        loop {
            tokio::time::sleep(time).await;
            let before = std::mem::replace(&mut turns, self.turns.load(Ordering::Relaxed));
            if before == turns && self.running.load(Ordering::Relaxed) == 0 {
                return;
            }
        }
    }
}

impl Use {
    /// The answer, with which the request ends.
    pub fn until_sent(self, answer: Response) -> Response {
        match answer.body().size_hint().exact() {
            Some(..=QUICK_BYTES) => answer,
            _ => answer.map(|body| Body::new(Used { body, _request: self })),
        }
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        self.0.turns.fetch_add(1, Ordering::Relaxed);
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A body, and the request that it answers.
struct Used {
    body: Body,
    _request: Use,
}

impl http_body::Body for Used {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse;
    use futures_util::FutureExt;

    #[tokio::test]
    async fn a_request_that_is_being_answered_is_no_rest() {
        const MOMENT: Duration = Duration::from_millis(1);
        let uses = Arc::new(Uses::default());
        uses.none_for(MOMENT).await;
        let quick = uses.begin().until_sent("x".into_response());
        uses.none_for(MOMENT).await;
        let long = uses.begin().until_sent("x".repeat(1 << 20).into_response());
        assert_eq!(long.body().size_hint().exact(), Some(1 << 20));
        let mut rests = Box::pin(uses.none_for(MOMENT));
        for _ in 0..10 {
            tokio::time::sleep(MOMENT).await;
            assert!((&mut rests).now_or_never().is_none());
        }
        drop((quick, long));
        rests.await;
    }
}
