//! How fast compaction may write.

use super::Cancel;
use crate::io::Clock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What may be written at once after a pause: what comes in this time.
const BURST: Duration = Duration::from_millis(100);

/// A token bucket that all jobs of a store share. Whoever asks is served at once if there are tokens, and otherwise
/// waits for as long as it takes until there are; in the order of asking.
#[derive(Debug)]
pub(in crate::lsm) struct RateLimiter {
    bytes_per_s: u64,
    clock: Arc<dyn Clock>,
    may_wait: bool,
    bucket: Mutex<Bucket>,
    bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct Bucket {
    /// When everything that was asked for will have been served.
    paid_until: Duration,
    /// How far the clock is behind the time that was spent waiting: it may stand still in a test.
    behind: Duration,
}

impl RateLimiter {
    /// Of so many bytes per second; 0 is no limit. If it may not wait it only counts: for those who run jobs in a
    /// thread that is needed elsewhere, and simulated time.
    pub(in crate::lsm) fn new(bytes_per_s: u64, clock: Arc<dyn Clock>, may_wait: bool) -> Self {
        Self { bytes_per_s, clock, may_wait, bucket: Mutex::default(), bytes: AtomicU64::new(0) }
    }

    /// How many bytes were asked for so far.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Takes tokens for so many bytes, waiting for them unless cancelled. Says how long that took.
    pub(super) fn request(&self, bytes: u64, cancel: &Cancel) -> Duration {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if self.bytes_per_s == 0 || !self.may_wait {
            return Duration::ZERO;
        }
        let wait = self.book(bytes);
        if !wait.is_zero() {
            let before = self.clock.monotonic();
            cancel.wait(wait);
            let passed = self.clock.monotonic().saturating_sub(before);
            if !cancel.is_cancelled() {
                self.lock().behind += wait.saturating_sub(passed);
            }
        }
        wait
    }

    /// Notes what is asked for, and says how long that has to wait.
    fn book(&self, bytes: u64) -> Duration {
        let mut bucket = self.lock();
        let now = self.clock.monotonic() + bucket.behind;
        let cost_ns = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_s);
        let cost = Duration::from_nanos(u64::try_from(cost_ns).unwrap_or(u64::MAX));
        let from = bucket.paid_until.max(now.saturating_sub(BURST));
        bucket.paid_until = from.saturating_add(cost);
        bucket.paid_until.saturating_sub(now)
    }

    fn lock(&self) -> MutexGuard<'_, Bucket> {
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::SimClock;

    fn limiter(clock: &Arc<SimClock>) -> RateLimiter {
        RateLimiter::new(1_000_000, Arc::clone(clock) as Arc<dyn Clock>, true)
    }

    #[test]
    fn after_a_burst_it_keeps_to_the_rate() {
        let clock = Arc::new(SimClock::default());
        clock.advance(Duration::from_secs(1));
        let limiter = limiter(&clock);
        assert_eq!(limiter.book(100_000), Duration::ZERO, "saved up");
        assert_eq!(limiter.book(50_000), Duration::from_millis(50));
        assert_eq!(limiter.book(50_000), Duration::from_millis(100), "behind the one before");
        clock.advance(Duration::from_millis(150));
        assert_eq!(limiter.book(50_000), Duration::ZERO);
        assert_eq!(limiter.book(1_000), Duration::from_millis(1));
        clock.advance(Duration::from_secs(60));
        assert_eq!(limiter.book(100_000), Duration::ZERO);
        assert_eq!(limiter.book(1_000), Duration::from_millis(1), "no more than a burst is saved up");
    }

    #[test]
    fn a_wait_ends_though_the_clock_stands_still_and_counts_as_waited() {
        let limiter = limiter(&Arc::default());
        assert_eq!(limiter.request(2_000, &Cancel::default()), Duration::from_millis(2));
        assert_eq!(limiter.request(2_000, &Cancel::default()), Duration::from_millis(2), "not 4");
        assert_eq!(limiter.bytes(), 4_000);
    }

    #[test]
    fn whoever_waits_is_woken() {
        let (limiter, cancel) = (limiter(&Arc::default()), Cancel::default());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| limiter.request(u64::MAX, &cancel));
            cancel.cancel();
            assert!(waiting.join().unwrap() > Duration::from_secs(1 << 30));
        });
    }

    #[test]
    fn without_a_limit_or_where_it_may_not_wait_it_counts() {
        let clock: Arc<dyn Clock> = Arc::new(SimClock::default());
        for limiter in [RateLimiter::new(0, Arc::clone(&clock), true), RateLimiter::new(1, clock, false)] {
            assert_eq!(limiter.request(1 << 40, &Cancel::default()), Duration::ZERO);
            assert_eq!(limiter.bytes(), 1 << 40);
        }
    }
}
