//! Following a store for any number of clients: one thread looks for new rows, and gives them to all who listen.

use crate::error::{ApiError, ApiResult};
use duramen::block::Block;
use duramen::{Store, Tail};
use duramen_engine::io::Clock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::Duration;
use tokio::sync::broadcast;

/// How many rounds of new rows a client may be behind before some are skipped for it.
const ROUNDS_KEPT: usize = 256;
/// How long the thread rests after it has found something, so that a flood of lines does not keep it looking.
const REST: Duration = Duration::from_millis(4);
/// How long it waits for rows before it looks whether anybody still listens.
const LOOK_UP: Duration = Duration::from_millis(500);

/// New rows of one look.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    /// How many rows came before, so that who missed rounds knows how many rows they had.
    pub rows_before: u64,
    pub rows: u64,
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
#[derive(Debug)]
pub(crate) struct Line {
    sender: broadcast::Sender<Round>,
    /// Rounds are sent, and listeners begin to listen, under this lock: so each knows which row comes first for it.
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    has_ended: bool,
    /// How many rows have been sent.
    rows: u64,
}

/// Rounds as they come, and how many rows came before the first of them.
#[derive(Debug)]
pub(crate) struct Listener {
    pub rounds: broadcast::Receiver<Round>,
    pub rows_before: u64,
}

impl Line {
    pub fn new() -> Self {
        let (sender, _) = broadcast::channel(ROUNDS_KEPT);
        Self { sender, state: Mutex::default(), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another listener, unless the thread has ended.
    pub fn listen(&self) -> Option<Listener> {
        let state = self.state();
        (!state.has_ended).then(|| Listener { rounds: self.sender.subscribe(), rows_before: state.rows })
    }

    /// Gives new rows to all who listen.
    pub fn send(&self, began: Duration, blocks: Vec<Arc<dyn Block>>) {
        let rows: u64 = blocks.iter().map(|block| block.rows() as u64).sum();
        let mut state = self.state();
        let round = Round { rows_before: state.rows, rows, began, blocks: Arc::new(blocks) };
        let _nobody_listens = self.sender.send(round);
        state.rows += rows;
    }

    /// Waits this long, or until the end; says whether it has come.
    fn wait(&self, at_most: Duration) -> bool {
        match self.changed.wait_timeout_while(self.state(), at_most, |state| !state.has_ended) {
            Ok((state, _)) => state.has_ended,
            Err(e) => e.into_inner().0.has_ended,
        }
    }

    fn end(&self) {
        self.state().has_ended = true;
        self.changed.notify_all();
    }

    /// Ends if nobody listens; says whether it did. Who begins to listen sees the end, or is seen.
    fn ends_unheard(&self) -> bool {
        let mut state = self.state();
        state.has_ended |= self.sender.receiver_count() == 0;
        state.has_ended
    }
}

impl TailHub {
    /// Listens: every row that is appended after this call comes, once.
    pub fn listen(&self, store: &Store, clock: &Arc<dyn Clock>) -> ApiResult<Listener> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listener) = running.as_ref().and_then(|running| running.line.listen()) {
            return Ok(listener);
        }
        let tail = store.tail()?;
        let line = Arc::new(Line::new());
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
            Ok(blocks) if blocks.is_empty() => {}
            Ok(blocks) => line.send(began, blocks),
            Err(e) => tracing::warn!(error = %e, "cannot look for new lines: trying again"),
        }
        if line.wait(REST) || line.ends_unheard() {
            return;
        }
    }
}
