//! Memory that queries work with is kept from one block, and one query, to the next.
//!
//! Each block that a query looks into is decoded into buffers of some megabytes. A process that gives those back at once,
//! to be small while it takes lines in, has the system zero new pages for the next block. So its allocator is told when
//! queries run, and when none has run for a while. Those that are over in a moment, and those who follow, do with what there is.

use crate::app::App;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How the process's allocator is told. The default is one that needs no telling.
///
/// ```
/// use duramen_server::Allocator;
///
/// fn give_back() {}
/// let allocator = Allocator { trim: give_back, ..Allocator::default() };
/// (allocator.keep)(true);
/// (allocator.trim)();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Allocator {
    /// Has it keep memory that is freed (`true`), or give back what is freed from now on (`false`). It is called from any
    /// thread, from one at a time, and should not take long.
    pub keep: fn(bool),
    /// Has it give back what it has kept. It may take as long as that takes.
    pub trim: fn(),
}

impl Default for Allocator {
    fn default() -> Self {
        Self { keep: |_| (), trim: || () }
    }
}

/// How often to look whether queries run. What is kept is given back after once to twice as long without one.
const REST: Duration = Duration::from_secs(1);

/// Whether memory is kept.
#[derive(Debug)]
pub(crate) struct WorkingMemory {
    allocator: Allocator,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    /// Whether a query has run since the last look.
    was_used: bool,
    is_kept: bool,
}

impl WorkingMemory {
    pub fn new(allocator: Allocator) -> Self {
        Self { allocator, state: Mutex::default() }
    }

    /// A query, or what works as one, begins, and goes on until what is returned is dropped.
    pub fn in_use(&self) -> InUse<'_> {
        let mut state = self.state();
        state.running += 1;
        state.was_used = true;
        if !state.is_kept {
            state.is_kept = true;
            (self.allocator.keep)(true);
        }
        InUse(self)
    }

    /// Keeps no more if no query runs, and none has since it was looked at last. Whether there may be memory to trim now.
    fn look(&self) -> bool {
        let mut state = self.state();
        let is_over = state.is_kept && state.running == 0 && !state.was_used;
        state.was_used = state.running > 0;
        if is_over {
            state.is_kept = false;
            (self.allocator.keep)(false);
        }
        is_over
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A query that runs.
#[derive(Debug)]
pub(crate) struct InUse<'a>(&'a WorkingMemory);

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.0.state().running -= 1;
    }
}

/// Looks after it until the server stops.
pub(crate) async fn keep(app: Arc<App>) {
    let mut tick = tokio::time::interval(REST);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = tick.tick() => {}
            () = app.stopped() => return,
        }
        if app.working_memory.look() {
            // A query that begins meanwhile has new pages zeroed, at worst.
            tokio::task::block_in_place(app.working_memory.allocator.trim);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn it_is_given_back_when_no_query_has_run_for_a_while() {
        static KEPT: AtomicU32 = AtomicU32::new(0);
        static GIVEN_BACK: AtomicU32 = AtomicU32::new(0);
        let told = || (KEPT.load(Ordering::Relaxed), GIVEN_BACK.load(Ordering::Relaxed));
        let keep: fn(bool) = |is_kept| {
            (if is_kept { &KEPT } else { &GIVEN_BACK }).fetch_add(1, Ordering::Relaxed);
        };
        let memory = WorkingMemory::new(Allocator { keep, ..Allocator::default() });
        assert!(!memory.look());
        assert_eq!(told(), (0, 0));
        let (first, second) = (memory.in_use(), memory.in_use());
        assert_eq!(told(), (1, 0));
        drop(first);
        assert!(!memory.look() && !memory.look());
        assert_eq!(told(), (1, 0), "the second runs");
        let broken = std::panic::AssertUnwindSafe(|| {
            let _second = second;
            std::panic::resume_unwind(Box::new("it broke off"))
        });
        assert!(std::panic::catch_unwind(broken).is_err());
        assert!(!memory.look());
        assert_eq!(told(), (1, 0), "it ran a moment ago");
        drop(memory.in_use());
        assert!(!memory.look());
        assert_eq!(told(), (1, 0), "another did");
        assert!(memory.look() && !memory.look());
        assert_eq!(told(), (1, 1));
        drop(memory.in_use());
        assert_eq!(told(), (2, 1));
    }
}
