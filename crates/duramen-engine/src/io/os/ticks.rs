//! The wall clock by the processor's counter, for some microseconds after each look at the kernel's.
//!
//! A log line asks for the time, and asking the kernel was a quarter of what the line costs. The counter is read in a
//! third of that. So each thread keeps when it last asked, by both, and adds what the counter has gone on since; after
//! [`WINDOW`] ticks it asks again. Whatever may happen to the counter or to the wall clock, a step, another
//! processor, a move to another machine: no time is wrong by more than such a window and [`AT_ONCE`].
//!
//! The kernel must trust the counter itself: it is its source of time, runs on while the processor sleeps, and at one
//! speed. How fast is measured once, in the first half a millisecond. What was measured is taken a thousandth
//! slower, more than the measuring and the kernel's own adjusting come to, so that the next look at the kernel's clock
//! never finds that it was ahead.
#![allow(unsafe_code)] // the counter and the processor's description are only reachable through intrinsics

use super::clock::kernel_unix_ns;
use std::arch::x86_64::{__cpuid, _rdtsc, CpuidResult};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// For how many ticks the kernel is not asked again: 13 to 65 µs at 5 to 1 GHz.
const WINDOW: u64 = 1 << 16;

/// How sure the speed must be: to one part in so many.
const SURE_TO: u64 = 1 << 12;

/// By how much less is added than was measured: one part in so many.
const SLOWER_BY: u64 = 1 << 10;

/// Nanoseconds in a tick, in parts of 2^32; 0 as long as that is not known.
static SPEED: AtomicU64 = AtomicU64::new(0);

/// What the measuring began with; nothing where the counter is no clock.
static BEGAN: OnceLock<Option<Moment>> = OnceLock::new();

thread_local! {
    static ASKED: Cell<Asked> = const { Cell::new(Asked { ticks: 0, unix_ns: 0, speed: 0, window: 0 }) };
}

/// Begins to measure how fast the counter is.
pub(super) fn begin() {
    BEGAN.get_or_init(|| is_a_clock().then(|| Moment::tightest(16)));
}

/// Nanoseconds since 1970 by the wall clock.
#[inline]
pub(super) fn now_unix_ns() -> i64 {
    let asked = ASKED.get();
    if asked.window == 0 {
        return ask();
    }
    asked.at(counter()).unwrap_or_else(ask)
}

#[inline]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and reading changes nothing.
    unsafe { _rdtsc() }
}

/// How many ticks may pass while the kernel is asked for what it says to be remembered: where more do, somebody else had the
/// processor meanwhile, and nobody knows when it was that the kernel said so.
const AT_ONCE: u64 = 1 << 12;

/// Asks the kernel, and remembers when that was. Its time is that of the counter behind it: what is added is too little then, not
/// too much.
fn ask() -> i64 {
    let known = match SPEED.load(Ordering::Relaxed) {
        0 => measured(),
        speed => Some(speed),
    };
    let Some(speed) = known else { return kernel_unix_ns() };
    let before = counter();
    let unix_ns = kernel_unix_ns();
    let ticks = counter();
    let window = if ticks.wrapping_sub(before) < AT_ONCE { WINDOW } else { 0 };
    ASKED.set(Asked { ticks, unix_ns, speed, window });
    unix_ns
}

/// What the kernel said, and what the counter was then.
#[derive(Debug, Clone, Copy)]
struct Asked {
    ticks: u64,
    unix_ns: i64,
    speed: u64,
    /// For how many ticks it is good: none before the first time.
    window: u64,
}

impl Asked {
    /// The time at `ticks`, unless the kernel is to be asked again.
    #[inline]
    fn at(self, ticks: u64) -> Option<i64> {
        let passed = ticks.wrapping_sub(self.ticks);
        (passed < self.window).then(|| self.unix_ns.wrapping_add(((passed * self.speed) >> 32) as i64))
    }
}

/// The speed, if enough has passed since [`begin`] to be sure of it.
#[cold]
fn measured() -> Option<u64> {
    let speed = speed(&(*BEGAN.get()?)?, &Moment::tightest(1))?;
    SPEED.store(speed, Ordering::Relaxed);
    Some(speed)
}

/// A moment by the kernel's clock that nobody adjusts, which was between two readings of the counter.
#[derive(Debug, Clone, Copy)]
struct Moment {
    before: u64,
    ns: u64,
    after: u64,
}

impl Moment {
    /// Of some tries the one that nothing came between.
    fn tightest(tries: usize) -> Self {
        let mut best = Self::now();
        for _ in 1..tries {
            let next = Self::now();
            if next.width() < best.width() {
                best = next;
            }
        }
        best
    }

    fn now() -> Self {
        let before = counter();
        let raw = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicRaw);
        let after = counter();
        Self {
            before,
            ns: (raw.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(raw.tv_nsec as u64),
            after,
        }
    }

    fn width(&self) -> u64 {
        self.after.wrapping_sub(self.before)
    }
}

/// Nanoseconds in a tick, in parts of 2^32, a little less than between two moments; none if they are too close to be
/// sure, or no counter of 0.2 to 10 GHz was seen.
fn speed(from: &Moment, to: &Moment) -> Option<u64> {
    let ticks = to.before.checked_sub(from.before)?;
    let unsure = from.width().checked_add(to.width())?;
    if unsure.checked_mul(SURE_TO)? > ticks {
        return None;
    }
    let ns = u128::from(to.ns.checked_sub(from.ns)?);
    let exact = u64::try_from((ns << 32) / u128::from(ticks.max(1))).ok()?;
    let speed = exact - exact / SLOWER_BY;
    ((1 << 32) / 10..=5 << 32).contains(&speed).then_some(speed)
}

/// Whether the counter is a clock: the kernel takes the time from it, and the processor says that it never rests.
fn is_a_clock() -> bool {
    const POWER: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;
    let source = std::fs::read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    source.is_ok_and(|name| name.trim_ascii() == b"tsc")
        && described(0x8000_0000).eax >= POWER
        && described(POWER).edx & INVARIANT != 0
}

#[allow(unused_unsafe)] // newer compilers know that it is safe
fn described(leaf: u32) -> CpuidResult {
    // SAFETY: every x86-64 processor has the instruction, and answers any number.
    unsafe { __cpuid(leaf) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GHZ_3: u64 = (1 << 32) / 3;

    fn moment(before: u64, ns: u64) -> Moment {
        Moment { before, ns, after: before + 100 }
    }

    #[test]
    fn the_counter_is_believed_for_a_window_and_never_backwards() {
        let asked = Asked { ticks: 1_000, unix_ns: -5, speed: GHZ_3, window: WINDOW };
        assert_eq!(asked.at(1_000), Some(-5));
        assert_eq!(asked.at(1_000 + 3_001), Some(995));
        assert_eq!(asked.at(1_000 + WINDOW - 1), Some(21_839));
        for elsewhere in [999, 0, u64::MAX, 1_000 + WINDOW, 1 << 63] {
            assert_eq!(asked.at(elsewhere), None, "{elsewhere}");
        }
        let never = Asked { ticks: 0, unix_ns: 0, speed: 0, window: 0 };
        assert_eq!(never.at(0), None);
    }

    #[test]
    fn the_speed_is_a_thousandth_below_what_was_measured_and_only_known_when_sure() {
        let from = moment(7_000, 50);
        assert_eq!(speed(&from, &moment(7_000 + 200 * SURE_TO - 1, 300_000)), None, "too soon");
        let known = speed(&from, &moment(7_000 + 3_000_000, 1_000_050)).unwrap();
        assert!((GHZ_3 - GHZ_3 / 1_000..GHZ_3 - GHZ_3 / 1_050).contains(&known), "{known} of {GHZ_3}");
        let interrupted = Moment { after: 7_000_000, ..from };
        assert_eq!(
            speed(&interrupted, &moment(7_000 + 3_000_000, 1_000_050)),
            None,
            "anything may have come between"
        );
        // A counter that stood still, went back, or is no clock at all.
        for (ticks, ns) in
            [(7_000, 1_000_050), (1_000, 1_000_050), (7_000 + 3_000_000, 40), (7_000 + 3_000_000, 50)]
        {
            assert_eq!(speed(&from, &moment(ticks, ns)), None, "{ticks} {ns}");
        }
        assert_eq!(speed(&from, &moment(7_000 + 3_000_000, 1 << 60)), None);
    }

    /// Between two looks at the kernel's clock, whatever came between: an interruption, another processor.
    #[test]
    fn it_is_the_kernels_time() {
        begin();
        let off_by_ns = |ns: i64, from: i64, to: i64| (from - ns).max(ns - to);
        let mut worst = i64::MIN;
        // Who steps the clock just now is not in the way for three windows.
        for _ in 0..3 {
            worst = (0..300_000).fold(i64::MIN, |worst, _| {
                let from = kernel_unix_ns();
                let between = now_unix_ns();
                worst.max(off_by_ns(between, from, kernel_unix_ns()))
            });
            if worst < 5_000 {
                break;
            }
        }
        assert!(worst < 5_000, "off by {worst} ns");
        assert_eq!(
            is_a_clock(),
            SPEED.load(Ordering::Relaxed) != 0,
            "where it is a clock, its speed is known by now"
        );
    }
}
