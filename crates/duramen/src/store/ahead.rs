//! Opening blocks before they are due, on threads of their own, while who reads them looks at rows of others.

use crate::block::BlockHandle;
use crate::error::{Error, Result};
use crate::store::shared::lock;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};
use std::thread::Scope;

/// The most threads that open blocks for one reader.
const MAX_THREADS: usize = 4;
/// How many do.
pub(crate) fn threads() -> usize {
    *THREADS
}

/// Asked once: the answer takes reading files about the process, and short scans are over soon.
static THREADS: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS));

/// Blocks, in the order in which they begin, and what becomes of those that are due next.
pub(crate) struct Blocks<'a, T> {
    open: &'a (dyn Fn(&dyn BlockHandle) -> Result<T> + Sync),
    queue: Mutex<Queue<T>>,
    changed: Condvar,
}

struct Queue<T> {
    /// Those to come; of the first few of them, some are being opened or are open.
    blocks: VecDeque<Due<T>>,
    /// How many came.
    taken: usize,
    threads: usize,
    /// Nobody wants any more.
    is_over: bool,
}

struct Due<T> {
    begin: i64,
    state: State<T>,
}

enum State<T> {
    Waiting(Arc<dyn BlockHandle>),
    /// Somebody is at it.
    Opening,
    Open(Result<T>),
}

impl<T> State<T> {
    fn take(&mut self) -> Option<Arc<dyn BlockHandle>> {
        match std::mem::replace(self, Self::Opening) {
            Self::Waiting(handle) => Some(handle),
            other => {
                *self = other;
                None
            }
        }
    }
}

impl<'a, T: Send> Blocks<'a, T> {
    /// These blocks, which `open` opens.
    pub(crate) fn new(
        mut handles: Vec<Arc<dyn BlockHandle>>,
        open: &'a (dyn Fn(&dyn BlockHandle) -> Result<T> + Sync),
    ) -> Self {
        handles.sort_by_key(|handle| handle.min_time());
        let due =
            |handle: Arc<dyn BlockHandle>| Due { begin: handle.min_time(), state: State::Waiting(handle) };
        let blocks = handles.into_iter().map(due).collect();
        Self {
            open,
            queue: Mutex::new(Queue { blocks, taken: 0, threads: 0, is_over: false }),
            changed: Condvar::new(),
        }
    }

    /// When the next one begins.
    pub(crate) fn begin(&self) -> Option<i64> {
        lock(&self.queue).blocks.front().map(|due| due.begin)
    }

    /// How many of those to come begin by then.
    pub(crate) fn begin_by(&self, time: i64) -> usize {
        lock(&self.queue).blocks.partition_point(|due| due.begin <= time)
    }

    /// The next one, opened.
    pub(crate) fn next(&self) -> Option<Result<T>> {
        let mut queue = lock(&self.queue);
        if let Some(handle) = queue.blocks.front_mut()?.state.take() {
            queue.blocks.pop_front();
            queue.taken += 1;
            drop(queue);
            self.changed.notify_all();
            return Some((self.open)(&*handle));
        }
        while matches!(queue.blocks.front()?.state, State::Opening) {
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let State::Open(opened) = queue.blocks.pop_front()?.state else { return None };
        queue.taken += 1;
        self.changed.notify_all();
        Some(opened)
    }

    /// Has threads open what comes next: one for two of `count` blocks, of which who reads opens some itself. Where there are no
    /// more threads it opens all.
    pub(crate) fn open_ahead<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, count: usize) {
        let mut queue = lock(&self.queue);
        let threads = threads().min(count.min(queue.blocks.len()) / 2);
        while queue.threads < threads
            && std::thread::Builder::new().spawn_scoped(scope, || self.open_until_over()).is_ok()
        {
            queue.threads += 1;
        }
    }

    /// What a thread does.
    fn open_until_over(&self) {
        let mut queue = lock(&self.queue);
        while !queue.is_over {
            let soon = queue.blocks.iter_mut().take(threads()).enumerate();
            let next = soon.filter_map(|(i, due)| Some((i, due.state.take()?))).next();
            if let Some((i, handle)) = next {
                let number = queue.taken + i;
                drop(queue);
                // Who reads is to know of a panic only if it comes to this block.
                let opened = catch_unwind(AssertUnwindSafe(|| (self.open)(&*handle)));
                let panicked = |_| Err(Error::decode("a block", "the thread that opened it panicked"));
                queue = lock(&self.queue);
                let at = number - queue.taken;
                queue.blocks[at].state = State::Open(opened.unwrap_or_else(panicked));
                self.changed.notify_all();
            } else if queue.blocks.len() > threads() {
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            } else {
                return;
            }
        }
    }

    /// No block is wanted any more.
    pub(crate) fn stop(&self) {
        lock(&self.queue).is_over = true;
        self.changed.notify_all();
    }
}
