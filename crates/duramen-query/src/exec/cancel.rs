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
    is_brief: bool,
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
        Self { watch: Some(Watch { clock, started, limit }), ..Self::default() }
    }

    /// For whoever would rather ask again elsewhere than wait: queries with it end with [`Error::NotBrief`] when they take
    /// longer than that, which is looked at between blocks, when they come to a block that has to be opened
    /// ([`BlockHandle::is_open`](duramen::block::BlockHandle::is_open)), or when it is cancelled. After that it is spent.
    pub fn brief(clock: Arc<dyn Clock>, limit: Duration) -> Self {
        Self { is_brief: true, ..Self::timed(clock, Some(limit)) }
    }

    /// Whether it is only for blocks that are open.
    pub(crate) fn is_brief(&self) -> bool {
        self.is_brief
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
    /// [`Error::Cancelled`], [`Error::TimeLimit`] and [`Error::NotBrief`].
    pub fn check(&self) -> Result<()> {
        let limit = self.watch.as_ref().and_then(|watch| watch.limit);
        let over = limit.filter(|limit| self.elapsed().is_some_and(|elapsed| elapsed > *limit));
        match (self.is_cancelled(), over) {
            (false, None) => Ok(()),
            _ if self.is_brief => Err(Error::NotBrief),
            (true, _) => Err(Error::Cancelled),
            (false, Some(limit)) => Err(Error::TimeLimit { limit }),
        }
    }
}
