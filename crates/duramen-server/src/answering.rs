//! The answer to a request, in the making; to one that brings logs it is made though the client has gone.
//!
//! Some clients send a line, close the connection and look at no answer. HTTP/1.1's connection sees that together with the
//! end of the body, before that was looked at, and drops what is to answer. What has come whole is kept all the same; a body
//! that breaks off still ends with an error. A question is not answered to nobody.

use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::runtime::Handle;

/// See [the module](self).
pub(crate) struct Answering<F>
where
    F: Future<Output: Send> + Send + 'static,
{
    making: Option<Pin<Box<F>>>,
    brings_logs: bool,
}

impl<F> Answering<F>
where
    F: Future<Output: Send> + Send + 'static,
{
    /// The answer that `making` becomes.
    pub fn new(making: F, brings_logs: bool) -> Self {
        Self { making: Some(Box::pin(making)), brings_logs }
    }
}

impl<F> Future for Answering<F>
where
    F: Future<Output: Send> + Send + 'static,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // Taken out, so that one that panics is not begun again.
        let Some(mut making) = self.making.take() else { return Poll::Pending };
        let answer = making.as_mut().poll(cx);
        if answer.is_pending() {
            self.making = Some(making);
        }
        answer
    }
}

impl<F> Drop for Answering<F>
where
    F: Future<Output: Send> + Send + 'static,
{
    fn drop(&mut self) {
        if let (true, Some(making), Ok(runtime)) =
            (self.brings_logs, self.making.take(), Handle::try_current())
        {
            runtime.spawn(making);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn logs_are_taken_though_nobody_waits() {
        for (brings_logs, polled) in [(true, false), (true, true), (false, false), (false, true)] {
            let (has_come, body) = oneshot::channel::<()>();
            let (kept, is_kept) = oneshot::channel::<()>();
            let making = async {
                body.await.unwrap();
                kept.send(()).unwrap();
            };
            let mut answer = Answering::new(making, brings_logs);
            assert!(!polled || (&mut answer).now_or_never().is_none());
            drop(answer);
            assert_eq!(has_come.send(()).is_ok(), brings_logs);
            assert_eq!(is_kept.await.is_ok(), brings_logs);
        }
    }
}
