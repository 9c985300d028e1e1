//! Making what a reader of rows needs before the rows are due, on threads of its own, while the reader looks at others.

use crate::error::{Error, Result};
use crate::store::shared::lock;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

/// The most threads that work for one reader, its own among them.
const MAX_THREADS: usize = 4;
/// How many small things are made ahead.
const SMALL_AHEAD: usize = 16;
/// A thread that has nothing to do is woken for so many of them.
const WORTH_WAKING: usize = SMALL_AHEAD / 2;

/// How many do: as many as there are processors.
pub(crate) fn threads() -> usize {
    *THREADS
}

/// Asked once: the answer takes reading files about the process, and short scans are over soon.
static THREADS: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS));

/// Something to be made.
pub(crate) trait Job: Send {
    /// What it is then.
    type Made: Send;
    /// Whether it takes little time and memory: of such, some more are made ahead.
    fn is_small(&self) -> bool;
    /// Makes it, on whichever thread.
    fn make(self) -> Result<Self::Made>;
}

/// Jobs, in the order in which what they make is due, and what becomes of the next ones.
pub(crate) struct Ahead<J: Job> {
    queue: Mutex<Queue<J>>,
    /// Something was made.
    made: Condvar,
    /// There is more to do, or nothing any more.
    more: Condvar,
}

/// When something is due, and which of all that was added it is.
type Key = (i64, u64);

struct Queue<J: Job> {
    jobs: BTreeMap<Key, State<J>>,
    /// How many were added.
    added: u64,
    threads: usize,
    /// How many of them have nothing to do.
    idle: usize,
    /// Nobody wants any more.
    is_over: bool,
}

enum State<J: Job> {
    Waiting(J),
    /// Somebody is at it.
    Making {
        is_small: bool,
    },
    Made {
        what: Result<J::Made>,
        is_small: bool,
    },
}

impl<J: Job> State<J> {
    fn is_small(&self) -> bool {
        match self {
            Self::Waiting(job) => job.is_small(),
            Self::Making { is_small } | Self::Made { is_small, .. } => *is_small,
        }
    }
}

impl<J: Job> Queue<J> {
    /// Those that wait and are to be made ahead.
    fn soon(&self) -> impl Iterator<Item = (Key, bool)> {
        let (mut small, mut large) = (0, 0);
        let soon = self.jobs.iter().take_while(move |(_, state)| {
            let (count, most) =
                if state.is_small() { (&mut small, SMALL_AHEAD) } else { (&mut large, threads()) };
            *count += 1;
            *count <= most
        });
        let waiting = soon.filter(|(_, state)| matches!(state, State::Waiting(_)));
        waiting.map(|(&key, state)| (key, state.is_small()))
    }

    /// Whether one that has nothing to do should be woken.
    fn is_worth_waking(&self) -> bool {
        let weight = |(_, is_small)| if is_small { 1 } else { WORTH_WAKING };
        self.idle > 0 && self.soon().map(weight).sum::<usize>() >= WORTH_WAKING
    }

    /// A job, for one who makes it now.
    fn take(&mut self, key: Key) -> Option<J> {
        let state = self.jobs.get_mut(&key)?;
        let is_small = state.is_small();
        match std::mem::replace(state, State::Making { is_small }) {
            State::Waiting(job) => Some(job),
            other => {
                *state = other;
                None
            }
        }
    }
}

impl<J: Job> Default for Ahead<J> {
    fn default() -> Self {
        let queue = Queue { jobs: BTreeMap::new(), added: 0, threads: 0, idle: 0, is_over: false };
        Self { queue: Mutex::new(queue), made: Condvar::new(), more: Condvar::new() }
    }
}

impl<J: Job> Ahead<J> {
    /// Adds jobs, and when each is due.
    pub(crate) fn add(&self, jobs: impl IntoIterator<Item = (i64, J)>) {
        let mut queue = lock(&self.queue);
        for (due, job) in jobs {
            let key = (due, queue.added);
            queue.added += 1;
            queue.jobs.insert(key, State::Waiting(job));
        }
        self.wake(&queue);
    }

    fn wake(&self, queue: &MutexGuard<'_, Queue<J>>) {
        if queue.is_worth_waking() {
            self.more.notify_one();
        }
    }

    /// When the next one is due. Changes only with [`Ahead::add`] and [`Ahead::next`].
    pub(crate) fn due(&self) -> Option<i64> {
        lock(&self.queue).jobs.first_key_value().map(|(&(due, _), _)| due)
    }

    /// How many are due by then.
    pub(crate) fn due_by(&self, time: i64) -> usize {
        lock(&self.queue).jobs.range(..=(time, u64::MAX)).count()
    }

    /// What the next one made.
    pub(crate) fn next(&self) -> Option<Result<J::Made>> {
        let mut queue = lock(&self.queue);
        let key = *queue.jobs.first_key_value()?.0;
        if let Some(job) = queue.take(key) {
            queue.jobs.remove(&key);
            self.wake(&queue);
            drop(queue);
            return Some(job.make());
        }
        while matches!(queue.jobs.get(&key)?, State::Making { .. }) {
            // Rather than sleep: to be woken takes longer than a small job.
            let other = queue.soon().next();
            queue = match other {
                Some(other) => self.make_ahead(queue, other),
                None => self.made.wait(queue).unwrap_or_else(PoisonError::into_inner),
            };
        }
        let Some(State::Made { what, .. }) = queue.jobs.remove(&key) else { return None };
        self.wake(&queue);
        Some(what)
    }

    /// Has threads make what comes next: one for two of `count` jobs, of which the reader does some itself. With one processor there is
    /// one all the same, for it may wait for a device. Where there are no more threads the reader does all.
    pub(crate) fn start<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, count: usize) {
        let mut queue = lock(&self.queue);
        let threads = (threads() - 1).max(1).min(count.min(queue.jobs.len()) / 2);
        while queue.threads < threads
            && std::thread::Builder::new().spawn_scoped(scope, || self.work_until_over()).is_ok()
        {
            queue.threads += 1;
        }
    }

    /// What a thread does.
    fn work_until_over(&self) {
        let mut queue = lock(&self.queue);
        while !queue.is_over {
            let next = queue.soon().next();
            queue = match next {
                Some(next) => {
                    let queue = self.make_ahead(queue, next);
                    self.made.notify_one();
                    queue
                }
                None => {
                    queue.idle += 1;
                    let mut queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
                    queue.idle -= 1;
                    queue
                }
            };
        }
    }

    /// Makes one that waits, without the lock.
    fn make_ahead<'q>(
        &'q self,
        mut queue: MutexGuard<'q, Queue<J>>,
        (key, is_small): (Key, bool),
    ) -> MutexGuard<'q, Queue<J>> {
        let Some(job) = queue.take(key) else { return queue };
        drop(queue);
        // The reader is to know of a panic only if it comes to this one.
        let made = catch_unwind(AssertUnwindSafe(|| job.make()));
        let panicked = |_| Err(Error::decode("a block", "the thread that read it panicked"));
        let mut queue = lock(&self.queue);
        queue.jobs.insert(key, State::Made { what: made.unwrap_or_else(panicked), is_small });
        queue
    }

    /// Nothing is wanted any more.
    pub(crate) fn stop(&self) {
        lock(&self.queue).is_over = true;
        self.more.notify_all();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)] // all of this is test code

    use super::*;

    /// Gives its number, or fails, or panics.
    struct Number {
        number: i64,
        is_small: bool,
    }

    impl Job for Number {
        type Made = i64;

        fn is_small(&self) -> bool {
            self.is_small
        }

        fn make(self) -> Result<i64> {
            match self.number % 100 {
                98 => Err(Error::Invalid(format!("{} fails", self.number))),
                99 => panic!("{} panics", self.number),
                _ => Ok(self.number),
            }
        }
    }

    struct Stop<'a>(&'a Ahead<Number>);

    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.stop();
        }
    }

    fn number(number: i64) -> (i64, Number) {
        (number, Number { number, is_small: number % 3 > 0 })
    }

    #[test]
    fn what_is_due_comes_in_order_whoever_made_it() {
        for helpers in [0, usize::MAX] {
            let ahead = Ahead::default();
            // Each brings more, as a block that is opened brings its pages.
            ahead.add((0..100).map(|n| number(n * 100)));
            std::thread::scope(|scope| {
                let _stop = Stop(&ahead);
                ahead.start(scope, helpers);
                let (mut came, mut last) = (0, i64::MIN);
                while let Some(due) = ahead.due() {
                    assert!(due >= last && ahead.due_by(due) > 0);
                    last = due;
                    match catch_unwind(AssertUnwindSafe(|| ahead.next().unwrap())) {
                        Ok(Ok(number)) => assert!(number == due && due % 100 < 98),
                        Ok(Err(e)) if due % 100 == 98 => assert!(e.to_string().contains("fails"), "{e}"),
                        Ok(Err(e)) => assert!(due % 100 == 99 && e.to_string().contains("panicked"), "{e}"),
                        // The reader made it.
                        Err(_panic) => assert_eq!(due % 100, 99),
                    }
                    if due % 100 == 0 {
                        ahead.add((1..100).map(|n| number(due + n)));
                    }
                    came += 1;
                }
                assert_eq!(came, 10_000);
                assert!(ahead.next().is_none());
            });
        }
    }

    #[test]
    fn so_much_is_made_ahead_and_no_more() {
        let ahead = Ahead::default();
        ahead.add((0..1_000).map(number));
        let queue = lock(&ahead.queue);
        let soon: Vec<bool> = queue.soon().map(|(_, is_small)| is_small).collect();
        let (small, large): (Vec<bool>, Vec<bool>) = soon.iter().partition(|&&is_small| is_small);
        assert!(large.len() == threads() || small.len() == SMALL_AHEAD, "{soon:?}");
        assert!(large.len() <= threads() && small.len() <= SMALL_AHEAD, "{soon:?}");
        drop(queue);
        let none: Ahead<Number> = Ahead::default();
        none.add([number(1)]);
        assert_eq!(lock(&none.queue).soon().count(), 1);
    }
}
