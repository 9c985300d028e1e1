//! What waits to be written, and when it is due.

use crate::error::{Error, Result};
use crate::line::Line;
use crate::options::{SinkOptions, WhenFull};
use crate::stats::SinkStats;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many numbers of lost lines are remembered.
const REMEMBERED_LOSSES: usize = 4096;

/// The queue. Callers put lines in, one writer takes them out.
#[derive(Debug)]
pub(super) struct Waiting {
    pub options: SinkOptions,
    state: Mutex<State>,
    /// Something may be due.
    due: Condvar,
    /// Lines are settled, or all has ended.
    progress: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Lines nobody has taken yet, and when each came.
    lines: VecDeque<(Line, Duration)>,
    /// Bytes of those, and of the ones being written.
    bytes: usize,
    /// The number of the last line that was taken in.
    accepted: u64,
    /// The number of the last line that is committed, or lost.
    settled: u64,
    /// All lines up to this number are due now.
    due_to: u64,
    closing: bool,
    /// Whoever closes has waited long enough.
    abandoned: bool,
    /// The writer has ended.
    ended: bool,
    failed: Option<Arc<str>>,
    /// Lines lost since the last time a caller was told.
    lost: u64,
    /// The numbers of the last of them, for eager callers: each asks for its own.
    lost_numbers: VecDeque<u64>,
    /// All from this number on were lost when the writer ended.
    lost_from: Option<u64>,
    why: Option<Arc<str>>,
    stats: SinkStats,
}

/// What a writer that looks for work finds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Lines, the first with this number.
    Lines(u64),
    /// Nothing is due.
    Nothing,
    /// Nothing ever will be.
    End,
}

impl Waiting {
    pub fn new(options: SinkOptions) -> Self {
        Self { options, state: Mutex::default(), due: Condvar::new(), progress: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change of the state is whole before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn now(&self) -> Duration {
        self.options.env.clock.monotonic()
    }

    /// Until when a call that begins now may wait, on the monotonic clock.
    pub fn deadline(&self) -> Duration {
        self.now().saturating_add(Duration::from_millis(self.options.timeout_ms))
    }

    /// Takes a line in, waiting for room if that is the policy, and gives its number; with `due_now`, it and all
    /// before it are due. Without a thread that writes, `drive` does, and says whether it got anywhere.
    pub fn push(
        &self,
        line: Line,
        due_now: bool,
        deadline: Duration,
        drive: &dyn Fn() -> bool,
    ) -> Result<u64> {
        let bytes = line.bytes();
        let mut state = self.lock();
        let refused = loop {
            if let Some(why) = &state.failed {
                break Error::Failed(why.clone());
            }
            if state.closing {
                break Error::Closed;
            }
            if state.has_room(bytes, &self.options) {
                let number = state.take_in(line, self.now());
                if due_now {
                    state.due_to = number;
                }
                // The writer sleeps until the first line's time, so it has to know of a first line, too.
                if due_now || state.lines.len() == 1 || state.lines.len() == self.options.batch_size {
                    self.due.notify_one();
                }
                return Ok(number);
            }
            state.due_to = state.accepted;
            self.due.notify_one();
            let waited;
            if self.options.when_full == WhenFull::Block {
                (state, waited) = self.wait_for_progress(state, deadline, drive);
            } else {
                waited = false;
            }
            if !waited {
                break Error::QueueFull { queued: state.stats.queued, why: state.why.clone() };
            }
        };
        state.stats.dropped += 1;
        Err(refused)
    }

    /// Counts a line that is not taken.
    pub fn refuse(&self) {
        self.lock().stats.dropped += 1;
    }

    /// Makes everything up to a number due, and waits until it is settled.
    pub fn settle(&self, number: u64, deadline: Duration, drive: &dyn Fn() -> bool) -> Result<()> {
        let mut state = self.lock();
        state.due_to = state.due_to.max(number);
        self.due.notify_one();
        while state.settled < number && state.failed.is_none() {
            let waited;
            (state, waited) = self.wait_for_progress(state, deadline, drive);
            if !waited {
                let (queued, why) = (state.stats.queued, state.why.clone());
                return Err(Error::Timeout { timeout_ms: self.options.timeout_ms, queued, why });
            }
        }
        let is_lost =
            state.lost_numbers.contains(&number) || state.lost_from.is_some_and(|from| from <= number);
        match (&state.why, is_lost) {
            (Some(why), true) => Err(Error::LinesLost { count: 1, why: why.clone() }),
            _ => state.outcome(),
        }
    }

    /// The number of the last line that was taken in.
    pub fn accepted(&self) -> u64 {
        self.lock().accepted
    }

    /// Takes no more lines; what waits is due. `false` if that was so before.
    pub fn begin_closing(&self) -> bool {
        let mut state = self.lock();
        state.due_to = state.accepted;
        self.due.notify_one();
        !std::mem::replace(&mut state.closing, true)
    }

    /// Makes the writer end, even if lines wait: they are lost, and counted.
    pub fn abandon(&self) {
        let mut state = self.lock();
        state.abandoned = true;
        self.due.notify_one();
    }

    /// Waits until the writer has ended; `false` if it has not in time.
    pub fn wait_for_end(&self, most: Duration) -> bool {
        let deadline = self.now().saturating_add(most);
        let mut state = self.lock();
        while !state.ended {
            let waited;
            (state, waited) = self.wait_for_progress(state, deadline, &|| false);
            if !waited {
                return state.ended;
            }
        }
        true
    }

    /// Waits for any change, and says `false` if the time is up. The caller looks if it is the change it waits for.
    fn wait_for_progress<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        deadline: Duration,
        drive: &dyn Fn() -> bool,
    ) -> (MutexGuard<'a, State>, bool) {
        if state.ended {
            return (state, false);
        }
        if !self.options.background {
            drop(state);
            let moved = drive();
            let state = self.lock();
            let changed = moved || state.ended;
            return (state, changed);
        }
        let left = deadline.saturating_sub(self.now());
        if left.is_zero() {
            return (state, false);
        }
        let (state, _) = self.progress.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        (state, true)
    }

    /// Moves lines that are due into `batch`, which is empty: a full batch, what is due by time, or what somebody
    /// waits for. With `wait`, sleeps until there is work or all has ended.
    pub fn take(&self, batch: &mut VecDeque<Line>, wait: bool) -> Work {
        let mut state = self.lock();
        loop {
            if state.abandoned || (state.closing && state.lines.is_empty()) || state.failed.is_some() {
                return Work::End;
            }
            let first = state.accepted - state.lines.len() as u64 + 1;
            let now = self.now();
            let interval = Duration::from_millis(self.options.flush_interval_ms);
            let in_time = state.lines.front().map(|(_, came)| came.saturating_add(interval));
            if state.due_to >= first && !state.lines.is_empty()
                || state.lines.len() >= self.options.batch_size
                || in_time.is_some_and(|time| time <= now)
            {
                let n = state.lines.len().min(self.options.batch_size);
                batch.extend(state.lines.drain(..n).map(|(line, _)| line));
                return Work::Lines(first);
            }
            if !wait {
                return Work::Nothing;
            }
            state = match in_time {
                Some(time) => {
                    self.due.wait_timeout(state, time - now).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.due.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Whether nobody waits for what is left any more.
    pub fn is_abandoned(&self) -> bool {
        self.lock().abandoned
    }

    /// Sleeps until `time`, or until the sink is abandoned.
    pub fn sleep_until(&self, time: Duration) {
        let mut state = self.lock();
        while !state.abandoned {
            let left = time.saturating_sub(self.now());
            if left.is_zero() {
                return;
            }
            state = self.due.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// These lines are committed, in one transaction.
    pub fn written(&self, lines: impl Iterator<Item = Line>) {
        let mut state = self.lock();
        let n = state.settle(lines);
        state.stats.written += n;
        state.stats.batches += 1;
        self.progress.notify_all();
    }

    /// An attempt failed and will be repeated.
    pub fn retrying(&self, why: String) {
        let mut state = self.lock();
        state.stats.retries += 1;
        state.says(why);
    }

    /// The database refuses these lines.
    pub fn lost(&self, lines: impl Iterator<Item = Line>, why: String) {
        let mut state = self.lock();
        let before = state.settled;
        let n = state.settle(lines);
        state.stats.failed += n;
        state.lost += n;
        let numbers = before + 1..=before + n;
        state.lost_numbers.extend(numbers);
        let forgotten = state.lost_numbers.len().saturating_sub(REMEMBERED_LOSSES);
        state.lost_numbers.drain(..forgotten);
        state.says(why);
        self.progress.notify_all();
    }

    /// The writer ends: by itself, or because of a failure that will not go away. What waits is lost.
    pub fn end(&self, batch: &mut VecDeque<Line>, why: Option<String>) {
        let mut state = self.lock();
        if state.ended {
            return;
        }
        let waiting: Vec<Line> = batch.drain(..).collect();
        let more: Vec<Line> = state.lines.drain(..).map(|(line, _)| line).collect();
        let n = state.settle(waiting.into_iter().chain(more));
        state.stats.failed += n;
        state.ended = true;
        if let Some(why) = why {
            state.says(why);
            state.failed = state.why.clone();
        } else if n > 0 {
            state.lost += n;
            state.lost_from = Some(state.settled - n + 1);
            state.why.get_or_insert_with(|| "the sink was closed before they were written".into());
        }
        self.progress.notify_all();
    }

    /// What callers are to be told: that all has failed, or that lines were lost since they were last told.
    pub fn outcome(&self) -> Result<()> {
        self.lock().outcome()
    }

    pub fn stats(&self) -> SinkStats {
        let state = self.lock();
        SinkStats { last_error: state.why.as_deref().map(str::to_owned), ..state.stats.clone() }
    }
}

impl State {
    fn has_room(&self, bytes: usize, options: &SinkOptions) -> bool {
        let few = self.stats.queued < options.max_queue_lines as u64;
        self.stats.queued == 0 || few && self.bytes.saturating_add(bytes) <= options.max_queue_bytes
    }

    fn take_in(&mut self, line: Line, now: Duration) -> u64 {
        self.accepted += 1;
        self.bytes += line.bytes();
        self.stats.queued += 1;
        self.lines.push_back((line, now));
        self.accepted
    }

    /// Is done with lines, and says how many.
    fn settle(&mut self, lines: impl Iterator<Item = Line>) -> u64 {
        let mut n = 0;
        for line in lines {
            self.bytes -= line.bytes();
            n += 1;
        }
        self.settled += n;
        self.stats.queued -= n;
        n
    }

    fn says(&mut self, why: String) {
        self.why = Some(why.into());
    }

    fn outcome(&mut self) -> Result<()> {
        if let Some(why) = &self.failed {
            return Err(Error::Failed(why.clone()));
        }
        match (std::mem::take(&mut self.lost), &self.why) {
            (count @ 1.., Some(why)) => Err(Error::LinesLost { count, why: why.clone() }),
            _ => Ok(()),
        }
    }
}
