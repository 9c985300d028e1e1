//! The answer to a request, in the making; to one that brings logs it is made though the client has gone.
//!
//! Some clients send a line, close the connection and look at no answer. HTTP/1.1's connection sees that together with the
//! end of the body, before that was looked at, and drops what is to answer. What has come whole is kept all the same; a body
//! that breaks off still ends with an error. A question is not answered to nobody.
//!
//! What its connection holds, such a request holds on to: a client that goes has no more of them under way than one that
//! stays, and a stop waits for both.

use axum::response::Response;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::runtime::Handle;

/// What becomes an answer.
pub(crate) type Making = Pin<Box<dyn Future<Output = Response> + Send>>;

/// See [the module](self).
pub(crate) struct Answering<H: Send + Sync + 'static> {
    making: Option<Making>,
    held: Option<Arc<H>>,
}

impl<H: Send + Sync + 'static> Answering<H> {
    /// The answer that `making` becomes: also to nobody, if this is what is held meanwhile.
    pub fn new(making: Making, held: Option<Arc<H>>) -> Self {
        Self { making: Some(making), held }
    }
}

impl<H: Send + Sync + 'static> Future for Answering<H> {
    type Output = Result<Response, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // Taken out, so that one that panics is not begun again.
        let Some(mut making) = self.making.take() else { return Poll::Pending };
        let answer = making.as_mut().poll(cx);
        if answer.is_pending() {
            self.making = Some(making);
        }
        answer.map(Ok)
    }
}

impl<H: Send + Sync + 'static> Drop for Answering<H> {
    fn drop(&mut self) {
        if let (Some(held), Some(making), Ok(runtime)) =
            (self.held.take(), self.making.take(), Handle::try_current())
        {
            runtime.spawn(async move {
                making.await;
                drop(held);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse;
    use futures_util::FutureExt;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn logs_are_taken_though_nobody_waits() {
        for (outlives, polled) in [(true, false), (true, true), (false, false), (false, true)] {
            let held = Arc::new(());
            let (has_come, body) = oneshot::channel::<()>();
            let (kept, is_kept) = oneshot::channel::<()>();
            let making = async {
                body.await.unwrap();
                kept.send(()).unwrap();
                ().into_response()
            };
            let mut answer = Answering::new(Box::pin(making), outlives.then(|| held.clone()));
            assert!(!polled || (&mut answer).now_or_never().is_none());
            drop(answer);
            assert_eq!(Arc::strong_count(&held), 1 + usize::from(outlives));
            assert_eq!(has_come.send(()).is_ok(), outlives);
            assert_eq!(is_kept.await.is_ok(), outlives);
        }
    }
}
