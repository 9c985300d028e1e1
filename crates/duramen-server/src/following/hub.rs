//! Following a store for any number of clients: one thread looks for new rows, and gives them to all who listen.

use crate::error::{ApiError, ApiResult};
use duramen::block::Block;
use duramen::{Store, Tail};
use duramen_engine::io::Clock;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::Duration;
use tokio::sync::Notify;

/// How many rows a client may be behind before further ones are skipped for it.
const MAX_ROWS_BEHIND: u64 = 100_000;
/// And how many bytes: a row may have a MiB.
const MAX_BYTES_BEHIND: usize = 64 << 20;
/// How long the thread rests after it has found something, so that a flood of lines does not keep it looking.
const REST: Duration = Duration::from_millis(4);
/// How long it waits for rows before it looks whether anybody still listens.
const LOOK_UP: Duration = Duration::from_millis(500);

/// New rows of one look.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    /// How many rows came before, so that who missed rounds knows how many rows they had.
    rows_before: u64,
    rows: u64,
    /// What it takes in memory, about.
    bytes: usize,
    /// When the look began that found them, by the monotonic clock: all that was there by then is in this round or before.
    pub began: Duration,
    pub blocks: Arc<Vec<Arc<dyn Block>>>,
}

/// A store's one follower, running while somebody listens.
#[derive(Debug, Default)]
pub(crate) struct TailHub {
    running: Mutex<Option<Running>>,
    /// Whether there is a thread to wake.
    is_running: AtomicBool,
}

#[derive(Debug)]
struct Running {
    line: Arc<Line>,
    thread: Thread,
}

/// What the thread tells those who listen by, and how it is told to end.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// Rounds are sent, and listeners begin to listen, under this lock: so each knows which row comes first for it.
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    has_ended: bool,
    /// How many rows have been sent.
    rows: u64,
    listeners: Vec<Arc<Queue>>,
}

/// What a listener has not taken yet.
#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    rounds: VecDeque<Round>,
    rows: u64,
    bytes: usize,
    has_ended: bool,
    /// When the last look that found nothing began: what was there by then is in a round before.
    looked: Duration,
}

/// Somebody who listens.
#[derive(Debug)]
pub(crate) struct Listener {
    queue: Arc<Queue>,
    /// The number of the row that should come next.
    next_row: u64,
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether anybody will take what is in it.
    fn is_heard(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) > 1
    }

    /// Adds a round, unless too much waits already.
    fn push(&self, round: &Round) {
        let mut waiting = self.waiting();
        let has_room = waiting.rows + round.rows <= MAX_ROWS_BEHIND
            && waiting.bytes.saturating_add(round.bytes) <= MAX_BYTES_BEHIND;
        if waiting.rows == 0 || has_room {
            waiting.rows += round.rows;
            waiting.bytes += round.bytes;
            waiting.rounds.push_back(round.clone());
            self.changed.notify_one();
        }
    }

    fn end(&self) {
        self.waiting().has_ended = true;
        self.changed.notify_one();
    }

    /// Takes the next round, if there is one; else, whether there will be.
    fn pop(&self) -> Result<Round, bool> {
        let mut waiting = self.waiting();
        let round = waiting.rounds.pop_front().ok_or(!waiting.has_ended)?;
        waiting.rows -= round.rows;
        waiting.bytes -= round.bytes;
        Ok(round)
    }
}

impl Listener {
    /// Whether all that was there at this time, by the monotonic clock, has come, and been taken.
    pub fn has_heard_of(&self, time: Duration) -> bool {
        let waiting = self.queue.waiting();
        waiting.rounds.is_empty() && waiting.looked > time
    }

    /// The next round, and how many rows were skipped before it; `None` at the end. Nothing is lost if this is dropped
    /// before it is ready.
    pub async fn next(&mut self) -> Option<(Round, u64)> {
        loop {
            match self.queue.pop() {
                Ok(round) => {
                    let skipped = round.rows_before.saturating_sub(self.next_row);
                    self.next_row = round.rows_before + round.rows;
                    return Some((round, skipped));
                }
                Err(true) => self.queue.changed.notified().await,
                Err(false) => return None,
            }
        }
    }
}

impl Line {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another listener, unless the thread has ended.
    pub fn listen(&self) -> Option<Listener> {
        let mut state = self.state();
        if state.has_ended {
            return None;
        }
        let queue = Arc::new(Queue::default());
        state.listeners.push(queue.clone());
        Some(Listener { queue, next_row: state.rows })
    }

    /// Gives new rows to all who listen.
    pub fn send(&self, began: Duration, blocks: Vec<Arc<dyn Block>>) {
        let rows: u64 = blocks.iter().map(|block| block.rows() as u64).sum();
        let bytes = blocks.iter().map(|block| bytes_of(&**block)).sum();
        let mut state = self.state();
        let round = Round { rows_before: state.rows, rows, bytes, began, blocks: Arc::new(blocks) };
        state.listeners.iter().for_each(|queue| queue.push(&round));
        state.rows += rows;
    }

    /// There was nothing new.
    fn looked(&self, began: Duration) {
        self.state().listeners.iter().for_each(|queue| queue.waiting().looked = began);
    }

    /// Waits this long, or until the end; says whether it has come.
    fn wait(&self, at_most: Duration) -> bool {
        match self.changed.wait_timeout_while(self.state(), at_most, |state| !state.has_ended) {
            Ok((state, _)) => state.has_ended,
            Err(e) => e.into_inner().0.has_ended,
        }
    }

    pub fn end(&self) {
        let mut state = self.state();
        state.has_ended = true;
        state.listeners.drain(..).for_each(|queue| queue.end());
        self.changed.notify_all();
    }

    /// Ends if nobody listens; says whether it did. Who begins to listen sees the end, or is seen.
    fn ends_unheard(&self) -> bool {
        let mut state = self.state();
        state.listeners.retain(Queue::is_heard);
        state.has_ended |= state.listeners.is_empty();
        state.has_ended
    }
}

/// What a block takes in memory, about; its columns are there already. Who follows is told of what cannot be read.
fn bytes_of(block: &dyn Block) -> usize {
    let of = |name: &str| block.column(name).ok().flatten().map_or(0, |column| column.bytes());
    let names = block.field_names().unwrap_or_default();
    block.rows() * size_of::<[u64; 3]>() + names.iter().map(|name| of(name)).sum::<usize>()
}

impl TailHub {
    /// Listens: every row that is appended after this call comes, once.
    pub fn listen(&self, store: &Store, clock: &Arc<dyn Clock>) -> ApiResult<Listener> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listener) = running.as_ref().and_then(|running| running.line.listen()) {
            return Ok(listener);
        }
        let tail = store.tail()?;
        let line = Arc::new(Line::default());
        let listener = line.listen().ok_or_else(|| ApiError::unavailable("the server is stopping"))?;
        let (of_thread, clock) = (line.clone(), clock.clone());
        let thread = std::thread::Builder::new()
            .name("duramen-tail".into())
            .spawn(move || follow(tail, &*clock, &of_thread))
            .map_err(|e| ApiError::unavailable(format!("cannot start a thread to follow the store: {e}")))?;
        *running = Some(Running { line, thread: thread.thread().clone() });
        self.is_running.store(true, Ordering::Release);
        Ok(listener)
    }

    /// There are new rows: look at once.
    #[inline]
    pub fn wake(&self) {
        if self.is_running.load(Ordering::Acquire) {
            self.wake_now();
        }
    }

    #[cold]
    fn wake_now(&self) {
        if let Some(running) = &*self.running.lock().unwrap_or_else(PoisonError::into_inner) {
            running.thread.unpark();
        }
    }

    /// Ends the thread, and with it all who listen.
    pub fn stop(&self) {
        if let Some(running) = self.running.lock().unwrap_or_else(PoisonError::into_inner).take() {
            running.line.end();
            running.thread.unpark();
        }
        self.is_running.store(false, Ordering::Release);
    }
}

fn follow(mut tail: Tail, clock: &dyn Clock, line: &Line) {
    loop {
        let began = clock.monotonic();
        match tail.poll(LOOK_UP) {
            Ok(blocks) if blocks.is_empty() => line.looked(began),
            Ok(blocks) => line.send(began, blocks),
            Err(e) => tracing::warn!(error = %e, "cannot look for new lines: trying again"),
        }
        if line.wait(REST) || line.ends_unheard() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_has_come_once_nothing_more_is_found_and_all_is_taken() {
        let line = Line::default();
        let mut listener = line.listen().unwrap();
        let (early, late) = (Duration::from_secs(1), Duration::from_secs(3));
        assert!(!listener.has_heard_of(early), "nobody has looked yet");
        line.send(Duration::from_secs(2), Vec::new());
        line.looked(late);
        assert!(!listener.has_heard_of(early), "it is not taken yet");
        assert!(futures_util::FutureExt::now_or_never(listener.next()).is_some());
        assert!(listener.has_heard_of(early) && !listener.has_heard_of(late));
    }
}
