//! Following a store for any number of clients: one thread looks for new rows, and gives them to all who listen.

use crate::error::{ApiError, ApiResult};
use duramen::block::Block;
use duramen::{Store, Tail};
use duramen_engine::io::Clock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
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
    sender: broadcast::Sender<Round>,
    thread: Thread,
    end: Arc<End>,
}

#[derive(Debug, Default)]
struct End {
    ended: Mutex<bool>,
    changed: Condvar,
}

impl End {
    /// Waits this long, or until the end; says whether it has come.
    fn wait(&self, at_most: Duration) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        match self.changed.wait_timeout_while(ended, at_most, |ended| !*ended) {
            Ok((ended, _)) => *ended,
            Err(e) => *e.into_inner().0,
        }
    }

    fn set(&self) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }
}

impl TailHub {
    /// Listens: every row that is appended after this call comes, once.
    pub fn listen(&self, store: &Store, clock: &Arc<dyn Clock>) -> ApiResult<broadcast::Receiver<Round>> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(receiver) = running.as_ref().and_then(Running::listen) {
            return Ok(receiver);
        }
        let tail = store.tail()?;
        let (sender, receiver) = broadcast::channel(ROUNDS_KEPT);
        let end = Arc::new(End::default());
        let (for_thread, ends, clock) = (sender.clone(), end.clone(), clock.clone());
        let thread = std::thread::Builder::new()
            .name("duramen-tail".into())
            .spawn(move || follow(tail, &*clock, &for_thread, &ends))
            .map_err(|e| ApiError::unavailable(format!("cannot start a thread to follow the store: {e}")))?;
        *running = Some(Running { sender, thread: thread.thread().clone(), end });
        self.is_running.store(true, Ordering::Release);
        Ok(receiver)
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
            running.end.set();
            running.thread.unpark();
        }
        self.is_running.store(false, Ordering::Release);
    }
}

impl Running {
    /// Another listener, unless the thread has ended for want of one.
    fn listen(&self) -> Option<broadcast::Receiver<Round>> {
        let ended = self.end.ended.lock().unwrap_or_else(PoisonError::into_inner);
        (!*ended).then(|| self.sender.subscribe())
    }
}

fn follow(mut tail: Tail, clock: &dyn Clock, to: &broadcast::Sender<Round>, end: &End) {
    let mut rows_before = 0;
    loop {
        let began = clock.monotonic();
        match tail.poll(LOOK_UP) {
            Ok(blocks) if blocks.is_empty() => {}
            Ok(blocks) => {
                let rows = blocks.iter().map(|block| block.rows() as u64).sum();
                let _nobody_listens = to.send(Round { rows_before, rows, began, blocks: Arc::new(blocks) });
                rows_before += rows;
            }
            Err(e) => tracing::warn!(error = %e, "cannot look for new lines: trying again"),
        }
        if end.wait(REST) {
            return;
        }
        // Who begins to listen does so under this lock, and sees the end, or is seen.
        let mut ended = end.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if to.receiver_count() == 0 {
            *ended = true;
            return;
        }
    }
}
