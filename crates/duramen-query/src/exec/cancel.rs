//! Stopping a query: from another thread, or when its time is up.

use crate::error::{Error, Result};
use duramen_engine::io::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Stops a running query from another thread, and when a time limit is over. A query looks at it before every block,
/// and every thousand rows.
#[derive(Debug, Default)]
pub struct Cancel {
    cancelled: AtomicBool,
    watch: Option<Watch>,
}

#[derive(Debug)]
struct Watch {
    clock: Arc<dyn Clock>,
    started: Duration,
    limit: Option<Duration>,
}

impl Cancel {
    /// Not cancelled, without a time limit.
    pub fn new() -> Self {
        Self::default()
    }

    /// Not cancelled, by a clock that starts now: queries with it say how long they took, and with a limit, those that
    /// take longer end with [`Error::TimeLimit`].
    pub fn timed(clock: Arc<dyn Clock>, limit: Option<Duration>) -> Self {
        let started = clock.monotonic();
        Self { cancelled: AtomicBool::new(false), watch: Some(Watch { clock, started, limit }) }
    }

    /// Makes queries with this flag end soon, with [`Error::Cancelled`].
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// How long ago it was made, if it has a clock.
    pub fn elapsed(&self) -> Option<Duration> {
        self.watch.as_ref().map(|watch| watch.clock.monotonic().saturating_sub(watch.started))
    }

    /// That the query may go on.
    ///
    /// # Errors
    /// [`Error::Cancelled`] and [`Error::TimeLimit`].
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() {
            return Err(Error::Cancelled);
        }
        match self.watch.as_ref().and_then(|watch| watch.limit) {
            Some(limit) if self.elapsed().is_some_and(|elapsed| elapsed > limit) => {
                Err(Error::TimeLimit { limit })
            }
            _ => Ok(()),
        }
    }
}
