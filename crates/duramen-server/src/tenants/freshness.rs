//! Puts lines into tables while they are fresh.
//!
//! The store does so when a WAL segment is full. A server waits less long: lines in tables are found by index, those in
//! the WAL one by one. Many lines go once they have been there for a moment, few when `flush_after_ms` is over.

use super::Tenant;
use crate::app::App;
use std::sync::Arc;
use std::time::Duration;

/// How often to look.
const EVERY: Duration = Duration::from_millis(500);
/// So many lines
const MANY_LINES: u64 = 20_000;
/// wait so long at most.
const MANY_WAIT: Duration = Duration::from_secs(2);

/// What is known of a store's lines in the WAL.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Freshness {
    /// Lines that had been appended when it was flushed last.
    flushed: u64,
    /// Since when there have been others, by the monotonic clock.
    since: Option<Duration>,
}

impl Freshness {
    /// Whether to flush now, with so many lines appended in all.
    fn is_due(&mut self, lines: u64, now: Duration, flush_after: Duration) -> bool {
        let waiting = lines.saturating_sub(self.flushed);
        if waiting == 0 {
            self.since = None;
            return false;
        }
        let waited = now.saturating_sub(*self.since.get_or_insert(now));
        let is_due = waited >= flush_after || waiting >= MANY_LINES && waited >= MANY_WAIT.min(flush_after);
        if is_due {
            *self = Self { flushed: lines, since: None };
        }
        is_due
    }
}

/// Looks after all tenants until the server stops.
pub(crate) async fn keep(app: Arc<App>) {
    let mut tick = tokio::time::interval(EVERY);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = tick.tick() => {}
            () = app.stopped() => return,
        }
        for tenant in app.tenants.all() {
            let now = app.env.clock.monotonic();
            if tenant.is_due(|freshness, lines| freshness.is_due(lines, now, app.limits.flush_after)) {
                // A failure is in the store's incidents, and in the next append's error if it lasts.
                let _flushed = tokio::task::spawn_blocking(move || flush(&tenant)).await;
            }
        }
    }
}

fn flush(tenant: &Tenant) {
    if let Err(e) = tenant.store().and_then(|store| store.flush()) {
        tracing::warn!(error = %e, "lines stay in the WAL for now");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_wait_longer_than_many() {
        let s = Duration::from_secs;
        let mut few = Freshness::default();
        assert!(!few.is_due(0, s(0), s(30)));
        assert!(!few.is_due(5, s(1), s(30)));
        assert!(!few.is_due(9, s(30), s(30)));
        assert!(few.is_due(9, s(31), s(30)));
        assert!(!few.is_due(9, s(99), s(30)), "they are in tables");
        assert!(!few.is_due(10, s(100), s(30)));
        assert!(few.is_due(10, s(130), s(30)));
        let mut many = Freshness::default();
        assert!(!many.is_due(MANY_LINES, s(1), s(30)));
        assert!(many.is_due(MANY_LINES, s(3), s(30)));
        let mut none = Freshness::default();
        assert!(none.is_due(1, s(0), s(0)), "at once, if so it is set");
    }
}
