//! The same work on several threads.

use super::ahead::Ahead;
use crate::error::Result;
use duramen::block::BlockHandle;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Does the work on so many threads at once, this one among them, and gives what each made of it.
pub(crate) fn side_by_side<T: Send>(threads: usize, work: impl Fn() -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let spawned: Vec<_> = (1..threads).map(|_| scope.spawn(&work)).collect();
        let mut results = vec![work()];
        for handle in spawned {
            results.push(handle.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload)));
        }
        results
    })
}

/// Blocks that threads take one after another, until one of the threads fails.
pub(crate) struct Shared<'b> {
    ahead: Ahead<'b>,
    next: AtomicUsize,
    stop: AtomicBool,
}

impl<'b> Shared<'b> {
    /// The next block that nobody has taken, and its number.
    pub fn take(&self) -> Option<(usize, &'b dyn BlockHandle)> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.ahead.of(number);
        self.ahead.blocks.get(number).map(|handle| (number, &**handle))
    }
}

/// Does the work, which takes blocks while there are any, on as many threads as the reader may use; gives what each made of
/// its blocks.
pub(crate) fn over_blocks<T: Send>(
    ahead: Ahead<'_>,
    work: impl Fn(&Shared<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let shared = Shared { ahead, next: AtomicUsize::new(0), stop: AtomicBool::new(false) };
    let made = side_by_side(ahead.reader.threads.min(ahead.blocks.len()), || {
        let made = work(&shared);
        if made.is_err() {
            shared.stop.store(true, Ordering::Relaxed);
        }
        made
    });
    made.into_iter().collect()
}
