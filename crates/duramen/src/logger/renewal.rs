//! Going on by itself after a failed write or sync: when to try, and what is said of it.

use super::process::OfProcess;
use super::{LoggerStats, Record};
use crate::error::{Error, Result};
use crate::store::shared::lock;
use crate::value::{Level, Value};
use duramen_engine::Error as EngineError;
use duramen_engine::io::Env;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The field of the entry that says that the writer was replaced: how many lines were acknowledged before, and not
/// known to be on the device.
pub const UNSYNCED_FIELD: &str = "unsynced_lines";

/// How long after an attempt the next may be made: at first this long, then twice as long each time,
const MIN_PAUSE: Duration = Duration::from_secs(1);
/// and at most this long. A writer that has lived so much longer than its pause begins anew with the shortest.
pub(super) const MAX_PAUSE: Duration = Duration::from_secs(30);

/// When a stopped writer may be replaced, and how often it was.
#[derive(Debug, Default)]
pub(super) struct Renewal {
    /// Whether a thread is at it.
    busy: AtomicBool,
    /// The last attempt, and the pause that follows it.
    last: Mutex<Option<(Duration, Duration)>>,
    reopened: AtomicU64,
    unsynced: AtomicU64,
    /// What the log does not say yet: why the writer stopped, and how many lines that concerns.
    untold: Mutex<Option<(String, u64)>>,
    is_untold: AtomicBool,
}

/// Given back however an attempt ends.
struct Busy<'a>(&'a AtomicBool);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Renewal {
    /// Whether an attempt may be made now; then it counts as made.
    fn is_due(&self, now: Duration) -> bool {
        let mut last = lock(&self.last);
        let pause = match *last {
            None => MIN_PAUSE,
            Some((at, pause)) if now < at.saturating_add(pause) => return false,
            Some((at, pause)) if now >= at.saturating_add(pause + MAX_PAUSE) => MIN_PAUSE,
            Some((_, pause)) => MAX_PAUSE.min(pause * 2),
        };
        *last = Some((now, pause));
        true
    }

    #[inline]
    pub(super) fn is_untold(&self) -> bool {
        self.is_untold.load(Ordering::Relaxed)
    }

    pub(super) fn fill(&self, stats: &mut LoggerStats) {
        stats.reopened = self.reopened.load(Ordering::Relaxed);
        stats.unsynced = self.unsynced.load(Ordering::Relaxed);
    }
}

impl OfProcess {
    /// Replaces the writer, if it is time to try. Waits for another thread that is at it, `patience` long at most.
    ///
    /// # Errors
    /// `stopped`, if there is no writer to go on with; with what kept the new one from being made, if it was tried.
    #[cold]
    pub(super) fn renew(&self, env: &Env, patience: Duration, stopped: Error) -> Result<()> {
        let renewal = &self.renewal;
        let mut waited = Duration::ZERO;
        const LOOK_EVERY: Duration = Duration::from_millis(1);
        while renewal.busy.compare_exchange(false, true, Ordering::AcqRel, Ordering::Acquire).is_err() {
            if waited >= patience {
                return Err(stopped);
            }
            std::thread::park_timeout(LOOK_EVERY);
            waited += LOOK_EVERY;
        }
        let _busy = Busy(&renewal.busy);
        if !self.store.has_stopped() {
            return Ok(()); // the other thread has done it
        }
        if !renewal.is_due(env.clock.monotonic()) {
            return Err(stopped);
        }
        let Error::Engine(EngineError::Poisoned { reason }) = stopped else { return Err(stopped) };
        match self.store.renew_writer() {
            Ok(lines) => {
                if let Some(lines) = lines {
                    renewal.reopened.fetch_add(1, Ordering::Relaxed);
                    renewal.unsynced.fetch_add(lines, Ordering::Relaxed);
                    let mut untold = lock(&renewal.untold);
                    let earlier = untold.take().map_or(0, |(_, lines)| lines);
                    *untold = Some((reason, earlier.saturating_add(lines)));
                    renewal.is_untold.store(true, Ordering::Relaxed);
                }
                Ok(())
            }
            Err(Error::Engine(EngineError::Poisoned { reason })) => {
                Err(EngineError::Poisoned { reason }.into())
            }
            Err(e) => Err(EngineError::Poisoned { reason: format!("{reason}; and now: {e}") }.into()),
        }
    }

    /// Says in the log that the writer was replaced, and why.
    #[cold]
    pub(super) fn tell_renewed(&self, time_ns: i64, stream_fields: &[Box<str>]) {
        let renewal = &self.renewal;
        renewal.is_untold.store(false, Ordering::Relaxed);
        let Some((reason, lines)) = lock(&renewal.untold).take() else { return };
        let message = format!(
            "the log goes on after a failure ({reason}); {lines} lines before it may not be on the device"
        );
        let fields = [(UNSYNCED_FIELD, Value::Int(i64::try_from(lines).unwrap_or(i64::MAX)))];
        let record = Record { time_ns, level: Level::Warn, message: &message, fields: &fields };
        if !self.tell_entry(&record, stream_fields) {
            *lock(&renewal.untold) = Some((reason, lines));
            renewal.is_untold.store(true, Ordering::Relaxed);
        }
    }
}
