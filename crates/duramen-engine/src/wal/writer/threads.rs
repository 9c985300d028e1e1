//! Who does it: two threads, because one thing must not wait for the other.
//!
//! A sync of a full segment takes as long as the device does, and meanwhile the next segment fills.

use super::Inner;
use super::background::FULL_AGAIN;
use super::state::State;
use crate::{Error, Result};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often to look whether another process has flushed our segments: often while somebody waits for it.
const POLL: Duration = Duration::from_millis(250);
const POLL_STALLED: Duration = Duration::from_millis(10);

/// What one of the threads is there for.
#[derive(Clone, Copy, Debug)]
enum Duty {
    /// Having the next segment, and its memory, when it is needed.
    Prepare,
    /// Sealing, syncing at intervals, noticing flushes.
    Settle,
}

/// Signalled when there is something to do.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) prepare: Condvar,
    pub(super) settle: Condvar,
}

impl Work {
    pub(super) fn notify_all(&self) {
        self.prepare.notify_all();
        self.settle.notify_all();
    }
}

/// The threads of a log; none with [`crate::wal::Background::Manual`].
#[derive(Debug, Default)]
pub(super) struct Threads(Mutex<Vec<JoinHandle<()>>>);

impl Threads {
    pub(super) fn start(inner: &Arc<Inner>) -> Result<Self> {
        let threads = Self::default();
        for (name, duty) in [("duramen-wal", Duty::Prepare), ("duramen-wal-sync", Duty::Settle)] {
            let own = Arc::clone(inner);
            match std::thread::Builder::new().name(name.into()).spawn(move || own.run(duty)) {
                Ok(thread) => threads.lock().push(thread),
                Err(e) => {
                    threads.stop(inner);
                    return Err(Error::io("start a thread for", "the WAL")(e));
                }
            }
        }
        Ok(threads)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes them. In a forked child they do not exist, and must not be waited for.
    pub(super) fn take(&self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut *self.lock())
    }

    pub(super) fn stop(&self, inner: &Inner) {
        let threads = self.take();
        if threads.is_empty() {
            return;
        }
        inner.state().stop = true;
        inner.work.notify_all();
        for thread in threads {
            // `on_sealed` may hold the last reference; a thread cannot wait for itself.
            if thread.thread().id() != std::thread::current().id() {
                let _it_reports_through_the_state = thread.join();
            }
        }
    }
}

impl Inner {
    fn run(&self, duty: Duty) {
        let work = match duty {
            Duty::Prepare => &self.work.prepare,
            Duty::Settle => &self.work.settle,
        };
        loop {
            let mut state = self.state();
            loop {
                if state.stop || self.poison.get().is_some() {
                    return;
                }
                let due_in = match duty {
                    Duty::Prepare => state.is_to_prepare().then_some(Duration::ZERO),
                    Duty::Settle => self.settles_in(&state),
                };
                match due_in {
                    Some(Duration::ZERO) => break,
                    None => state = work.wait(state).unwrap_or_else(PoisonError::into_inner),
                    Some(wait) => {
                        let woken = work.wait_timeout(state, wait);
                        let (guard, timeout) = woken.unwrap_or_else(PoisonError::into_inner);
                        state = guard;
                        if timeout.timed_out() {
                            break;
                        }
                    }
                }
            }
            drop(state);
            // Whoever appends next is told: the state remembers it.
            let _told_to_appends = match duty {
                Duty::Prepare => self.make_ready(),
                Duty::Settle => self.settle(false),
            };
        }
    }

    /// How long until something is to be sealed, synced or looked at; `None` if nothing is.
    pub(super) fn settles_in(&self, state: &State) -> Option<Duration> {
        if state.immutable.iter().any(|i| !i.sealed) {
            return Some(if state.seals_later { FULL_AGAIN } else { Duration::ZERO });
        }
        let sync = state.sync_due.map(|due| due.saturating_sub(self.env.clock.monotonic()));
        let poll = (!state.immutable.is_empty() && self.dir.is_some()).then_some(if state.waiting > 0 {
            POLL_STALLED
        } else {
            POLL
        });
        sync.into_iter().chain(poll).min()
    }
}
