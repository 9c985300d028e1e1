//! The same work on several threads.

use super::ahead::Ahead;
use crate::error::Result;
use duramen::block::BlockHandle;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

/// Does the work so many times, each on a thread, this one among them, and gives what each made of it. Where the system has no
/// more threads, this one does it more than once.
pub(crate) fn side_by_side<T: Send>(threads: usize, work: impl Fn() -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let spawned: Vec<_> = (1..threads).map_while(|_| beside(scope, &work)).collect();
        let mut results: Vec<T> = (spawned.len()..threads.max(1)).map(|_| work()).collect();
        results.extend(spawned.into_iter().map(join));
        results
    })
}

/// How long a thread works alone on blocks that are open before it has others help it with the rest, if that will take
/// twice as long: what they take to start, and to be waited for, is no more than that.
const WORTH_HELP: Duration = Duration::from_micros(200);

/// Blocks that threads take one after another, until one of the threads fails.
struct Shared<'b> {
    ahead: Ahead<'b>,
    next: AtomicUsize,
    stop: AtomicBool,
}

/// A thread's access to them.
pub(crate) struct Taker<'s, 'b> {
    shared: &'s Shared<'b>,
    /// Until the other threads are started.
    help: Cell<Option<Help<'s>>>,
}

/// How a thread gets help.
#[derive(Clone, Copy)]
struct Help<'s> {
    /// Starts the other threads.
    start: &'s dyn Fn(),
    /// When the thread began, if there is a clock.
    began: Option<Duration>,
}

impl<'b> Taker<'_, 'b> {
    /// The next block that nobody has taken, and its number. Those that are known not to match are passed over.
    pub fn take(&self) -> Option<(usize, &'b dyn BlockHandle)> {
        let Shared { ahead, next, stop } = self.shared;
        loop {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let number = next.fetch_add(1, Ordering::Relaxed);
            ahead.of(number);
            let handle = &**ahead.blocks.get(number)?;
            // Whoever is stopped is told so by the next block that is opened.
            let is_taken = !ahead.is_passed_over(number) || ahead.reader.cancel.check().is_err();
            if let Some(Help { start, began }) = self.help.get()
                && number + 1 < ahead.blocks.len()
                && self.is_worth_help(began, number, is_taken)
            {
                self.help.set(None);
                start();
            }
            if is_taken {
                return Some((number, handle));
            }
        }
    }

    /// Whether there is more to do than one thread soon does, after so many blocks: the next is opened, or passed over.
    /// Whoever has no clock does not wait to find out. That a block has to be opened is reason enough, if its filter says
    /// so: that is read now, and known when it is the block's turn.
    fn is_worth_help(&self, began: Option<Duration>, done: usize, is_opened: bool) -> bool {
        let ahead = &self.shared.ahead;
        let Ahead { reader, blocks, .. } = ahead;
        let took = || Some(reader.cancel.elapsed()?.saturating_sub(began?));
        let rest = |took: Duration| took.mul_f64((blocks.len() - done) as f64 / done.max(1) as f64);
        let is_opened = is_opened && !reader.cancel.is_brief();
        took().is_none_or(|took| took >= WORTH_HELP && rest(took) >= 2 * WORTH_HELP)
            || is_opened
                && !blocks[done].is_open()
                && ahead.may_match(done)
                && ahead.may_have_words(done, true)
    }
}

/// Does the work, which takes blocks while there are any, on as many threads as the reader may use; gives what each made of
/// its blocks. Of little that is in memory, one thread makes all.
pub(crate) fn over_blocks<T: Send>(
    ahead: Ahead<'_>,
    work: impl Fn(&Taker<'_, '_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let threads = ahead.reader.threads.min(ahead.blocks.len());
    let began = ahead.reader.cancel.elapsed();
    let shared = Shared { ahead, next: AtomicUsize::new(0), stop: AtomicBool::new(false) };
    let run = |taker: Taker<'_, '_>| {
        let made = work(&taker);
        if made.is_err() {
            shared.stop.store(true, Ordering::Relaxed);
        }
        made
    };
    let run_beside = || run(Taker { shared: &shared, help: Cell::new(None) });
    std::thread::scope(|scope| {
        let spawned = RefCell::new(Vec::new());
        let start = || spawned.borrow_mut().extend((1..threads).map_while(|_| beside(scope, run_beside)));
        let help = (threads > 1).then_some(Help { start: &start, began });
        let mut made = vec![run(Taker { shared: &shared, help: Cell::new(help) })];
        made.extend(spawned.take().into_iter().map(join));
        made.into_iter().collect()
    })
}

/// Another thread, if there is one: `Scope::spawn` would panic.
fn beside<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    Builder::new().spawn_scoped(scope, work).ok()
}

/// What a thread made, or its panic.
fn join<T>(handle: ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}
