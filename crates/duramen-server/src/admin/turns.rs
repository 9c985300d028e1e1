//! Whose turn it is to change a store: one deletion or snapshot is made at a time, and tenants take turns.
//!
//! A tenant stands in the common queue twice at most, with what somebody waits for and with one of its tasks; its other
//! tasks stand in a queue of its own. So what a tenant has begun makes another wait for one deletion, not for all of them,
//! and its own snapshot does not wait for its tasks, either.

use crate::app::leave_of;
use crate::error::{ApiError, ApiResult};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The common queue.
#[derive(Clone, Debug)]
pub(crate) struct Turns(Arc<Semaphore>);

/// A tenant's places in it.
#[derive(Debug)]
pub(crate) struct Places {
    /// For what somebody waits for.
    asked: Arc<Semaphore>,
    /// For tasks.
    queued: Arc<Semaphore>,
    /// For a list of its snapshots.
    pub(super) lists: Arc<Semaphore>,
}

/// Lets the next go when it is dropped.
pub(crate) type Turn = Vec<OwnedSemaphorePermit>;

impl Default for Turns {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl Default for Places {
    fn default() -> Self {
        let [asked, queued, lists] = std::array::from_fn(|_| Arc::new(Semaphore::new(1)));
        Self { asked, queued, lists }
    }
}

impl Turns {
    /// For a request, within `patience`.
    ///
    /// # Errors
    /// 429 if the tenant has another request waiting or at work, or the turn does not come in time.
    pub(super) async fn soon(&self, places: &Places, patience: Duration) -> ApiResult<Turn> {
        let busy = "another snapshot or deletion is at work: send again later";
        let place = places.asked.clone().try_acquire_owned().map_err(|_| ApiError::busy(busy))?;
        match tokio::time::timeout(patience, self.0.clone().acquire_owned()).await {
            Ok(Ok(at_work)) => Ok(vec![place, at_work]),
            _ => Err(ApiError::busy(busy)),
        }
    }

    /// For a task, behind the tenant's other tasks.
    ///
    /// # Errors
    /// As [`leave_of`].
    pub(super) async fn in_order(&self, places: &Places) -> ApiResult<Turn> {
        leave_of([&places.queued, &self.0]).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    const PATIENCE: Duration = Duration::from_secs(60);

    fn look<T>(future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }

    #[test]
    fn tenants_take_turns_and_snapshots_do_not_wait_for_all_tasks() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _entered = runtime.enter();
        let (turns, shop, own) = (Turns::default(), Places::default(), Places::default());
        let mut first = pin!(turns.in_order(&shop));
        let at_work = look(first.as_mut()).unwrap();
        let mut second = pin!(turns.in_order(&shop));
        let mut third = pin!(turns.in_order(&shop));
        let mut snapshot = pin!(turns.soon(&shop, PATIENCE));
        let mut other = pin!(turns.in_order(&own));
        assert!(look(second.as_mut()).is_none() && look(third.as_mut()).is_none());
        assert!(look(snapshot.as_mut()).is_none() && look(other.as_mut()).is_none());
        let refused = look(pin!(turns.soon(&shop, PATIENCE))).unwrap();
        assert_eq!(refused.unwrap_err().status.as_u16(), 429, "one of a tenant's requests waits");

        // The tenant's second task joined the common queue only now, behind the others.
        drop(at_work);
        assert!(look(second.as_mut()).is_none() && look(other.as_mut()).is_none());
        let at_work = look(snapshot.as_mut()).unwrap().unwrap();
        drop(at_work);
        assert!(look(second.as_mut()).is_none() && look(third.as_mut()).is_none());
        let at_work = look(other.as_mut()).unwrap();
        drop(at_work);
        assert!(look(third.as_mut()).is_none());
        let at_work = look(second.as_mut()).unwrap();
        drop(at_work);
        assert!(look(third.as_mut()).is_some());
    }

    #[test]
    fn a_request_does_not_wait_for_ever() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (turns, shop, own) = (Turns::default(), Places::default(), Places::default());
        runtime.block_on(async {
            let _at_work = turns.in_order(&shop).await;
            let late = turns.soon(&own, Duration::from_millis(1)).await;
            assert_eq!(late.unwrap_err().status.as_u16(), 429);
        });
    }
}
