//! The answer to a request, in the making; to one that brings logs it is made though the client has gone.
//!
//! Some clients send a line, close the connection and look at no answer. HTTP/1.1's connection sees that together with the
//! end of the body, before that was looked at, and drops what is to answer. What has come whole is kept all the same; a body
//! that breaks off still ends with an error. A question is not answered to nobody.
//!
//! What its connection holds, such a request holds on to: a client that goes has no more of them under way than one that
//! stays, and a stop waits for both. But not for long: while the store takes nothing, clients that give up and send again must
//! not fill the queue with what nobody waits for.

use axum::response::Response;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Handle;

/// What becomes an answer.
pub(crate) type Making = Pin<Box<dyn Future<Output = Response> + Send>>;

/// See [the module](self).
pub(crate) struct Answering<H: Send + Sync + 'static> {
    making: Option<Making>,
    outliving: Option<Outliving<H>>,
}

/// How an answer is made for nobody.
pub(crate) struct Outliving<H> {
    /// What is held meanwhile.
    pub held: Arc<H>,
    /// How long after its client has gone.
    pub at_most: Duration,
}

impl<H: Send + Sync + 'static> Answering<H> {
    /// The answer that `making` becomes: also to nobody, if it may outlive who waits.
    pub fn new(making: Making, outliving: Option<Outliving<H>>) -> Self {
        Self { making: Some(making), outliving }
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
        if let (Some(Outliving { held, at_most }), Some(making), Ok(runtime)) =
            (self.outliving.take(), self.making.take(), Handle::try_current())
        {
            runtime.spawn(async move {
                if tokio::time::timeout(at_most, making).await.is_err() {
                    tracing::debug!("logs were not taken in time after their client had gone");
                }
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
            let outliving = || Outliving { held: held.clone(), at_most: Duration::from_secs(3600) };
            let mut answer = Answering::new(Box::pin(making), outlives.then(outliving));
            assert!(!polled || (&mut answer).now_or_never().is_none());
            drop(answer);
            assert_eq!(Arc::strong_count(&held), 1 + usize::from(outlives));
            assert_eq!(has_come.send(()).is_ok(), outlives);
            assert_eq!(is_kept.await.is_ok(), outlives);
        }
    }

    #[tokio::test]
    async fn who_has_gone_is_not_served_for_ever() {
        let held = Arc::new(());
        let (hangs, ended) = oneshot::channel::<()>();
        let making = async {
            let _ends_with_it = hangs;
            std::future::pending::<Response>().await
        };
        let outliving = Outliving { held: held.clone(), at_most: Duration::from_millis(1) };
        drop(Answering::new(Box::pin(making), Some(outliving)));
        assert!(ended.await.is_err());
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
