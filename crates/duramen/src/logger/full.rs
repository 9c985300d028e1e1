//! No room: waiting for it, counting the lines that found none, and telling the log.

use super::builder::OnFull;
use super::encode::{Constants, encode};
use super::process::OfProcess;
use crate::error::{Error, Result};
use crate::logger::{LoggerStats, Record};
use crate::store::Batch;
use crate::store::shared::lock;
use crate::value::{Level, Value};
use duramen_engine::Error as EngineError;
use duramen_engine::io::Env;
use duramen_engine::wal::WriteOptions;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The field of the entry that says that lines were refused: how many.
pub const DROPPED_FIELD: &str = "dropped_lines";

/// The pause between two attempts while the disk is full: it is freed by somebody else, if at all.
const RETRY_EVERY: Duration = Duration::from_millis(10);

/// What went wrong, counted.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    truncated: AtomicU64,
    dropped: AtomicU64,
    errors: AtomicU64,
    /// Lines that are not in the log, and of which the log does not say so yet.
    untold: AtomicU64,
    /// Entries of our own.
    told: AtomicU64,
    last_error: Mutex<Option<String>>,
}

impl Refusals {
    #[inline]
    pub(super) fn are_untold(&self) -> bool {
        self.untold.load(Ordering::Relaxed) > 0
    }

    pub(super) fn count_truncated(&self) {
        self.truncated.fetch_add(1, Ordering::Relaxed);
    }

    #[cold]
    pub(super) fn count(&self, error: &Error) {
        let counter = if error.is_full() { &self.dropped } else { &self.errors };
        counter.fetch_add(1, Ordering::Relaxed);
        // One that waits for room will be in the log all the same, and so is not told to be missing.
        if !error.waits_for_room() {
            self.untold.fetch_add(1, Ordering::Relaxed);
        }
        *lock(&self.last_error) = Some(error.to_string());
    }

    /// Takes over lines that were refused before there was a store.
    pub(super) fn count_earlier(&self, lines: u64) {
        self.errors.fetch_add(lines, Ordering::Relaxed);
        self.untold.fetch_add(lines, Ordering::Relaxed);
    }

    pub(super) fn fill(&self, stats: &mut LoggerStats) {
        stats.truncated = self.truncated.load(Ordering::Relaxed);
        stats.dropped = self.dropped.load(Ordering::Relaxed);
        stats.errors = self.errors.load(Ordering::Relaxed);
        stats.lines = stats.lines.saturating_sub(self.told.load(Ordering::Relaxed));
        stats.last_error = lock(&self.last_error).clone();
    }
}

impl OnFull {
    /// How long a call may wait.
    fn patience(self) -> Duration {
        match self {
            Self::Block { timeout } => timeout,
            Self::Count => Duration::ZERO,
        }
    }
}

/// How an append is tried first. It is [`OfProcess::insist`] that waits: it alone knows since when.
pub(super) const AT_ONCE: WriteOptions =
    WriteOptions { durability: None, no_slowdown: true, stall_timeout: None };

impl OfProcess {
    /// Appends a line, if there is room or will be in time.
    #[inline]
    pub(super) fn append(
        &self,
        env: &Env,
        on_full: OnFull,
        bytes: &[u8],
        options: WriteOptions,
    ) -> Result<()> {
        match self.store.append_known(bytes, options) {
            Ok(_) => Ok(()),
            Err(e) => {
                self.insist(env, on_full, options, &mut |o| self.store.append_known(bytes, o).map(drop), e)
            }
        }
    }

    /// As [`Self::append`], for a batch.
    pub(super) fn append_batch(&self, env: &Env, on_full: OnFull, batch: &mut Batch) -> Result<()> {
        match self.store.append_batch_with(batch, None, AT_ONCE) {
            Ok(()) => Ok(()),
            Err(e) => {
                let mut again = |options| self.store.append_batch_with(batch, None, options);
                self.insist(env, on_full, AT_ONCE, &mut again, e)?;
                // What waited for room was appended at first.
                batch.clear();
                Ok(())
            }
        }
    }

    /// Tries again as long as there is no room, until the time is up; and once, if the writer has stopped, be it while
    /// room was waited for, and there is a new one. Whatever it waits for, it waits for `on_full`'s time in all.
    #[cold]
    fn insist(
        &self,
        env: &Env,
        on_full: OnFull,
        options: WriteOptions,
        again: &mut dyn FnMut(WriteOptions) -> Result<()>,
        mut error: Error,
    ) -> Result<()> {
        let started = env.clock.monotonic();
        let mut rested = Duration::ZERO;
        // What was rested counts even where the clock does not move.
        let left = |rested: Duration| {
            let passed = env.clock.monotonic().saturating_sub(started);
            on_full.patience().saturating_sub(rested.max(passed))
        };
        let is_stall = |error: &Error| matches!(error, Error::Engine(EngineError::Stalled { .. }));
        let mut renewed = false;
        loop {
            let left = left(rested);
            let outcome = if error.is_stopped() && !renewed {
                renewed = true;
                self.renew(env, left, error)?;
                again(options)
            } else if left.is_zero() {
                return Err(error);
            } else if is_stall(&error) {
                match again(WriteOptions { no_slowdown: false, stall_timeout: Some(left), ..options }) {
                    Err(e) if is_stall(&e) => return Err(e), // it has waited
                    other => other,
                }
            } else if error.is_full() || error.waits_for_room() {
                let pause = RETRY_EVERY.min(left);
                std::thread::park_timeout(pause);
                rested += pause;
                if error.waits_for_room() {
                    // Where that fails in another way, it is in doubt, and may not be appended again.
                    match self.store.publish(&error, options) {
                        Err(e) if !e.waits_for_room() => return Err(error),
                        other => other,
                    }
                } else {
                    again(options)
                }
            } else {
                return Err(error);
            };
            match outcome {
                Ok(()) => return Ok(()),
                Err(e) => error = e,
            }
        }
    }

    /// Says in the log how many lines are not there.
    #[cold]
    pub(super) fn tell(&self, time_ns: i64, stream_fields: &[Box<str>]) {
        let refusals = &self.refusals;
        let lines = refusals.untold.swap(0, Ordering::Relaxed);
        if lines == 0 {
            return;
        }
        let reason = lock(&refusals.last_error).clone().unwrap_or_default();
        let message = format!("{lines} lines dropped: {reason}");
        let fields = [(DROPPED_FIELD, Value::Int(i64::try_from(lines).unwrap_or(i64::MAX)))];
        let record = Record { time_ns, level: Level::Warn, message: &message, fields: &fields };
        if !self.tell_entry(&record, stream_fields) {
            refusals.untold.fetch_add(lines, Ordering::Relaxed);
        }
    }

    /// Logs an entry of our own, unless there is no room at once. Whether it is in the log.
    pub(super) fn tell_entry(&self, record: &Record<'_>, stream_fields: &[Box<str>]) -> bool {
        let mut bytes = Vec::new();
        let told = encode(&mut bytes, stream_fields, self.constants(), record, (record.message, None))
            .and_then(|len| self.store.append_known(bytes.get(..len).unwrap_or_default(), AT_ONCE));
        if told.is_ok() {
            self.refusals.told.fetch_add(1, Ordering::Relaxed);
        }
        told.is_ok()
    }

    fn constants(&self) -> &Constants {
        &self.constants
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logger::Logger;
    use duramen_engine::io::sim::Sim;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn what_waits_for_room_in_its_file_is_in_the_log_once() -> Result<()> {
        let sim = Sim::new(1);
        sim.refuse_reserving(true);
        let on_full = OnFull::Block { timeout: Duration::from_secs(60) };
        let process = OfProcess::open(&Logger::builder("/logs").env(sim.env()).on_full(on_full))?;
        let mut batch = Batch::new();
        for nth in 0..3 {
            let mut entry = crate::EntryBuf::new(["app"]);
            entry.start(nth).message(&"line ".repeat(10_000));
            batch.push(entry.finish()?)?;
            // The file is there, and its pages are not.
            sim.set_capacity_bytes((nth > 0).then(|| sim.used_bytes()));
            let has_room = AtomicBool::new(nth == 0);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::park_timeout(Duration::from_millis(100));
                    has_room.store(true, Ordering::SeqCst);
                    sim.set_capacity_bytes(None);
                });
                process.append_batch(&sim.env(), on_full, &mut batch)?;
                assert!(has_room.load(Ordering::SeqCst), "it has waited");
                Ok::<(), Error>(())
            })?;
            assert!(batch.is_empty());
        }
        let mut lines = Vec::new();
        process.store.scan(i64::MIN, i64::MAX, &mut |row| {
            lines.push(row.time());
            std::ops::ControlFlow::Continue(())
        })?;
        assert_eq!(lines, [0, 1, 2]);
        Ok(())
    }

    #[test]
    fn who_waits_for_room_goes_on_with_a_new_writer() -> Result<()> {
        let sim = Sim::new(1);
        let on_full = OnFull::Block { timeout: Duration::from_secs(5) };
        let process = OfProcess::open(&Logger::builder("/logs").env(sim.env()).on_full(on_full))?;
        let stalled = || Error::Engine(EngineError::Stalled { reason: "full".into() });
        let stopped = || Error::Engine(EngineError::Poisoned { reason: "a sync failed".into() });
        let full = || Error::Engine(EngineError::FlushFails { reason: "full".into() });
        for (first, then) in
            [(stalled(), vec![stopped()]), (full(), vec![stopped()]), (stalled(), vec![full(), stopped()])]
        {
            let mut answers = then.into_iter();
            let mut again = |_| answers.next().map_or(Ok(()), Err);
            process.insist(&sim.env(), on_full, AT_ONCE, &mut again, first)?;
        }
        let mut asked = 0;
        let mut again = |_| {
            asked += 1;
            Err(stopped())
        };
        let told = process.insist(&sim.env(), on_full, AT_ONCE, &mut again, stalled());
        assert!(told.is_err_and(|e| e.is_stopped()));
        assert_eq!(asked, 2, "one new writer is enough");
        Ok(())
    }
}
