//! Time that stands still until the test moves it.

use crate::io::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// 2026-01-01T00:00:00Z.
const START_UNIX_NS: i64 = 1_767_225_600 * 1_000_000_000;

/// A wall clock and a monotonic clock that move only when told to.
#[derive(Debug)]
pub struct SimClock {
    unix_ns: AtomicI64,
    monotonic_ns: AtomicU64,
    boot_id: AtomicU64,
}

impl Default for SimClock {
    /// 2026-01-01T00:00:00Z, and no time passed.
    fn default() -> Self {
        Self {
            unix_ns: AtomicI64::new(START_UNIX_NS),
            monotonic_ns: AtomicU64::new(0),
            boot_id: AtomicU64::new(1),
        }
    }
}

impl SimClock {
    /// Sets the wall clock, in nanoseconds since 1970-01-01T00:00:00Z. No time passes.
    pub fn set(&self, unix_ns: i64) {
        self.unix_ns.store(unix_ns, Ordering::SeqCst);
    }

    /// Lets time pass, on both clocks. They stop at the end of their range.
    pub fn advance(&self, by: Duration) {
        self.move_wall(|now, by| now.saturating_add(by), by);
        let by = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        let _always_some = self
            .monotonic_ns
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| Some(now.saturating_add(by)));
    }

    /// Sets the wall clock back, as an administrator or NTP might. No time passes.
    pub fn step_back(&self, by: Duration) {
        self.move_wall(|now, by| now.saturating_sub(by), by);
    }

    /// The machine starts anew.
    pub(super) fn reboot(&self) {
        self.boot_id.fetch_add(1, Ordering::SeqCst);
    }

    fn move_wall(&self, moved: impl Fn(i64, i64) -> i64, by: Duration) {
        let by = i64::try_from(by.as_nanos()).unwrap_or(i64::MAX);
        let _always_some =
            self.unix_ns.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| Some(moved(now, by)));
    }
}

impl Clock for SimClock {
    fn now_unix_ns(&self) -> i64 {
        self.unix_ns.load(Ordering::SeqCst)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_nanos(self.monotonic_ns.load(Ordering::SeqCst))
    }

    fn boot_id(&self) -> u64 {
        self.boot_id.load(Ordering::SeqCst)
    }
}

/// The same clock for whoever is to find that time has passed: it goes on by so much each time that the monotonic one is read.
#[derive(Debug)]
pub(super) struct Ticking {
    pub(super) clock: Arc<SimClock>,
    pub(super) by: Duration,
}

impl Clock for Ticking {
    fn now_unix_ns(&self) -> i64 {
        self.clock.now_unix_ns()
    }

    fn monotonic(&self) -> Duration {
        self.clock.advance(self.by);
        self.clock.monotonic()
    }

    fn boot_id(&self) -> u64 {
        self.clock.boot_id()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wall_clock_steps_back_and_the_monotonic_one_never() {
        let clock = SimClock::default();
        clock.advance(Duration::from_secs(3));
        clock.step_back(Duration::from_secs(10));
        assert_eq!(clock.now_unix_ns(), START_UNIX_NS - 7_000_000_000);
        clock.set(5);
        assert_eq!((clock.now_unix_ns(), clock.monotonic()), (5, Duration::from_secs(3)));
    }

    #[test]
    fn time_stops_at_the_end_of_its_range() {
        let clock = SimClock::default();
        clock.advance(Duration::MAX);
        assert_eq!(clock.now_unix_ns(), i64::MAX);
        clock.set(i64::MIN);
        clock.step_back(Duration::MAX);
        assert_eq!(clock.now_unix_ns(), i64::MIN);
        assert_eq!(clock.monotonic(), Duration::from_nanos(u64::MAX));
    }
}
