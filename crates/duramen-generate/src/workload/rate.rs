//! How many events come per second: by the hour of the day, with bursts.

use crate::math::diurnal;
use crate::rng::mix;

/// The rate of events over time.
#[derive(Clone, Debug)]
pub(crate) struct Rate {
    seed: u64,
    /// Mean time between events when the busyness is 1, in nanoseconds.
    gap_ns: f64,
}

/// A burst lasts this long.
const BURST_NS: i64 = 60_000_000_000;

impl Rate {
    /// A rate at which `lines` events take `span_ns` from `start_ns` on, by and large.
    pub(crate) fn new(seed: u64, start_ns: i64, span_ns: f64, lines: u64) -> Self {
        let mut rate = Self { seed, gap_ns: 0.0 };
        const SAMPLES: u32 = 4096;
        let step_ns = span_ns / f64::from(SAMPLES);
        let sum: f64 = (0..SAMPLES)
            .map(|i| rate.busyness(start_ns.saturating_add((f64::from(i) * step_ns) as i64)))
            .sum();
        rate.gap_ns = span_ns / lines.max(1) as f64 * (sum / f64::from(SAMPLES));
        rate
    }

    /// The mean time to the next event now, in nanoseconds.
    pub(crate) fn event_gap_ns(&self, now_ns: i64) -> f64 {
        self.gap_ns / self.busyness(now_ns)
    }

    fn busyness(&self, now_ns: i64) -> f64 {
        let slot = (now_ns / BURST_NS) as u64;
        let bits = mix(self.seed ^ mix(slot));
        let burst = if bits.is_multiple_of(40) { 2.0 + ((bits >> 8) % 4) as f64 } else { 1.0 };
        diurnal(now_ns) * burst
    }
}
