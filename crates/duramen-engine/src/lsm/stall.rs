//! Holding writes back when the background does not keep up: first slower, then not at all. As RocksDB does it
//! (its wiki, "Write Stalls"): too many tables in level 0 make reads slow, so writers pay before readers do.
//!
//! Full write buffers are another matter: there is nowhere to write to. The WAL waits for those itself.

use super::db::Inner;
use super::events::Event;
use super::listener::{StallCause, StallCondition, StallInfo};
use super::options::CompactionStyle;
use crate::wal::{Background, WriteOptions};
use crate::{Error, Result};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What writes have to expect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Pace {
    /// Nothing.
    #[default]
    Full = 0,
    /// They are held to `delayed_write_rate`.
    Delayed = 1,
    /// They wait: level 0 is full.
    Stopped = 2,
    /// They wait: ingested tables are being put into their place.
    Ingesting = 3,
}

impl Pace {
    fn condition(self) -> StallCondition {
        match self {
            Self::Full => StallCondition::Normal,
            Self::Delayed => StallCondition::Delayed,
            Self::Stopped | Self::Ingesting => StallCondition::Stopped,
        }
    }
}

/// Whether and how writes are held back.
#[derive(Debug, Default)]
pub(super) struct Stall {
    pace: AtomicU8,
    state: Mutex<State>,
    changed: Condvar,
    pub(super) delays: AtomicU64,
    pub(super) stops: AtomicU64,
    pub(super) stall_ns: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// When the bytes that were let through are paid for, on the monotonic clock.
    paid: Duration,
    /// What the listener was told of last: an ingestion is none of it.
    told: Pace,
}

/// The longest a delayed write waits at once.
const MAX_DELAY: Duration = Duration::from_secs(1);

impl Stall {
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.pace.load(Ordering::Relaxed) != Pace::Full as u8
    }

    pub(super) fn pace(&self) -> Pace {
        match self.pace.load(Ordering::Relaxed) {
            0 => Pace::Full,
            1 => Pace::Delayed,
            2 => Pace::Stopped,
            _ => Pace::Ingesting,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the pace, whatever it was, and wakes who waits. An ingestion begins with it.
    pub(super) fn set(&self, pace: impl FnOnce() -> Pace) {
        let _one_at_a_time = self.lock();
        self.pace.store(pace() as u8, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Sets the pace, unless tables are being ingested (and this is not the end of it), and wakes who waits. `changed` is given
    /// what it was when that was called last, and what it is.
    ///
    /// What it follows is looked at, and told, under the lock: of two who have changed it, the later has the last word.
    fn follow(&self, ingested: bool, pace: impl FnOnce() -> Pace, changed: impl FnOnce(Pace, Pace)) {
        let mut state = self.lock();
        if self.pace() == Pace::Ingesting && !ingested {
            return;
        }
        let now = pace();
        self.pace.store(now as u8, Ordering::Relaxed);
        self.changed.notify_all();
        let before = std::mem::replace(&mut state.told, now);
        if before != now {
            changed(before, now);
        }
    }

    /// Wakes who waits, to look whether it still makes sense.
    pub(super) fn wake(&self) {
        let _none_is_about_to_wait = self.lock();
        self.changed.notify_all();
    }
}

impl Inner {
    /// Sets the pace by how many tables level 0 has.
    pub(super) fn set_pace(&self) {
        self.follow_level0(false);
    }

    /// The same at the end of an ingestion, however it ends.
    pub(super) fn end_ingestion(&self) {
        self.follow_level0(true);
    }

    fn follow_level0(&self, ingested: bool) {
        let stall_info = |before: Pace, now: Pace| {
            let current = self.current.load();
            StallInfo {
                condition: now.condition(),
                previous: before.condition(),
                cause: StallCause::Level0FileCount,
                immutable_memtables: current.immutables.len(),
                level0_tables: current.version.levels[0].len(),
            }
        };
        self.stall.follow(
            ingested,
            || self.pace_by_level0(),
            |before, now| self.tell_later(|| Event::Stall(stall_info(before, now))),
        );
    }

    fn pace_by_level0(&self) -> Pace {
        if self.options.compaction == CompactionStyle::None {
            // Nobody would ever lessen them.
            return Pace::Full;
        }
        let files = self.current.load().version.levels[0].len();
        if files >= self.options.level0_stop_writes_trigger {
            Pace::Stopped
        } else if files >= self.options.level0_slowdown_writes_trigger {
            Pace::Delayed
        } else {
            Pace::Full
        }
    }

    /// Waits as long as the pace demands of a write of `bytes`, at most `stall_timeout`, and gives back its options
    /// with what is left of that.
    #[cold]
    pub(super) fn wait_for_stall(&self, bytes: usize, options: WriteOptions) -> Result<WriteOptions> {
        let clock = &self.options.env.clock;
        let started = clock.monotonic();
        let until = options.stall_timeout.map(|most| started.saturating_add(most));
        let done = self.held_back(bytes, options.no_slowdown, until);
        let ended = clock.monotonic();
        let waited = ended.saturating_sub(started).as_nanos();
        self.stall.stall_ns.fetch_add(u64::try_from(waited).unwrap_or(u64::MAX), Ordering::Relaxed);
        let stall_timeout = until.map(|until| until.saturating_sub(ended));
        done.map(|()| WriteOptions { stall_timeout, ..options })
    }

    /// Waits until a write of `bytes` may go on; not beyond `until`, on the monotonic clock.
    fn held_back(&self, bytes: usize, no_slowdown: bool, until: Option<Duration>) -> Result<()> {
        let clock = &self.options.env.clock;
        let mut counted = false;
        let mut timed_out = false;
        loop {
            self.writable()?;
            let pace = self.stall.pace();
            if pace == Pace::Full {
                return Ok(());
            }
            let stalled = || Error::Stalled { reason: self.why(pace).into() };
            if no_slowdown {
                return Err(stalled());
            }
            if !std::mem::replace(&mut counted, true) {
                let counter = if pace == Pace::Delayed { &self.stall.delays } else { &self.stall.stops };
                counter.fetch_add(1, Ordering::Relaxed);
            }
            if self.options.background == Background::Manual {
                // Whoever writes does the work, and then nothing is owed.
                if !self.background_step()? {
                    return if pace == Pace::Delayed { Ok(()) } else { Err(stalled()) };
                }
                continue;
            }
            let mut state = self.stall.lock();
            if self.stall.pace() != pace {
                continue;
            }
            // Who closes the store, or finds it poisoned, wakes after it is known: here nobody can miss that.
            self.writable()?;
            let now = clock.monotonic();
            let left = until.map_or(Duration::MAX, |until| until.saturating_sub(now));
            if pace == Pace::Delayed {
                let cost = bytes as u64 * 1_000_000_000 / self.options.delayed_write_rate.max(1);
                let due = state.paid.max(now) + Duration::from_nanos(cost);
                let wait = (due - now).min(MAX_DELAY);
                if wait > left {
                    // Nothing is written, and nothing is owed.
                    return Err(stalled());
                }
                state.paid = due;
                if wait > Duration::from_millis(1) {
                    drop(self.stall.changed.wait_timeout(state, wait));
                }
                return Ok(());
            }
            if let Some(reason) = self.background.compaction_error() {
                return Err(Error::Stalled { reason: format!("{}; {reason}", self.why(pace)).into() });
            }
            match until {
                Some(_) if left.is_zero() || timed_out => return Err(stalled()),
                Some(_) => {
                    let woken = self.stall.changed.wait_timeout(state, left);
                    timed_out = woken.unwrap_or_else(PoisonError::into_inner).1.timed_out();
                }
                None => drop(self.stall.changed.wait(state)),
            }
        }
    }

    fn why(&self, pace: Pace) -> String {
        let files = self.current.load().version.levels[0].len();
        match pace {
            Pace::Ingesting => "tables are being ingested".into(),
            _ => format!("level 0 has {files} tables and compaction has not caught up"),
        }
    }
}
