//! Every entry of a time range, in order: a merge over blocks that overlap in time, which are decoded side by side.
//!
//! A block is opened when its first row is due. Texts that lie on pages stay there until then, and go when the last row of
//! their page has passed: so what a scan holds of long texts is little, and is mostly still in the processor's cache when it
//! is looked at.

mod open;
mod pages;

use crate::block::BlockHandle;
use crate::column::IntText;
use crate::error::Result;
use crate::store::EntryId;
use crate::store::ahead::{Ahead, Job};
use crate::value::ValueKind;
use duramen_engine::io::Clock;
use open::{Next, Open};
pub(crate) use pages::Buffers;
use pages::{PageJob, PageMade};
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// So few rows of blocks that are open one thread begins to read alone…
const FEW_ROWS: f64 = 4096.0;
/// …until there are pages to read, or that has taken so long, about what it takes to start another.
const WORTH_HELP: Duration = Duration::from_micros(100);

/// An entry that a scan found.
#[derive(Debug)]
pub struct ScanRow<'a> {
    open: &'a Open,
    row: usize,
    id: EntryId,
    message: &'a str,
}

impl ScanRow<'_> {
    /// Its time stamp, ns since the epoch.
    pub fn time(&self) -> i64 {
        self.open.time(self.row)
    }

    /// What it is known by.
    pub fn id(&self) -> EntryId {
        self.id
    }

    /// Its message; empty if it has none.
    pub fn message(&self) -> &str {
        self.message
    }

    /// The text of a field, `level` and `_stream` included.
    pub fn field(&self, name: &str) -> Option<String> {
        self.open.field(self.row, name)
    }

    /// Calls `each` with the name, text and kind of every field it has, `level` included, in name order.
    pub fn for_each_field(&self, each: &mut dyn FnMut(&str, &str, ValueKind)) {
        self.open.for_each_field(self.row, each);
    }
}

/// Calls `each` with the rows of blocks from a time to a time, until it breaks.
pub(crate) fn scan(
    handles: Vec<Arc<dyn BlockHandle>>,
    clock: &dyn Clock,
    buffers: &Buffers,
    times: (i64, i64),
    each: &mut dyn FnMut(&ScanRow<'_>) -> ControlFlow<()>,
) -> Result<()> {
    let (min_time, max_time) = times;
    let is_soon_done = is_soon_done(&handles, min_time, max_time);
    let ahead = Ahead::default();
    ahead.add(handles.into_iter().map(|handle| (handle.min_time(), Due::Block { handle, times })));
    let began = clock.monotonic();
    std::thread::scope(|scope| {
        let _stop = StopAtEnd(&ahead);
        // One that begins alone may be enough for the reader.
        let first = ahead.due().map_or(0, |begin| ahead.due_by(begin.max(min_time)));
        ahead.start(scope, if first > 1 && !is_soon_done { first } else { 0 });
        let help = |has_pages| {
            if !is_soon_done || has_pages || clock.monotonic().saturating_sub(began) >= WORTH_HELP {
                ahead.start(scope, usize::MAX);
            }
        };
        merge(&ahead, &help, buffers, max_time, each)
    })
}

/// Whether all may be done in less time than it takes to start a thread: there are few rows, and all blocks are open.
fn is_soon_done(handles: &[Arc<dyn BlockHandle>], min_time: i64, max_time: i64) -> bool {
    let rows: f64 = handles.iter().map(|handle| rows_within(&**handle, min_time, max_time)).sum();
    rows <= FEW_ROWS && handles.iter().all(|handle| handle.is_open())
}

/// How many rows of a block are of a span of time, if they lie evenly.
fn rows_within(handle: &dyn BlockHandle, min_time: i64, max_time: i64) -> f64 {
    let (begin, end) = (handle.min_time() as f64, handle.max_time() as f64);
    let both = end.min(max_time as f64) - begin.max(min_time as f64);
    handle.rows() as f64 * if end > begin { both / (end - begin) } else { 1.0 }
}

/// What has to be there before a row is due.
enum Due<'a> {
    Block { handle: Arc<dyn BlockHandle>, times: (i64, i64) },
    Page(PageJob<'a>),
}

enum Came {
    Block(Open),
    Page(PageMade),
}

impl Job for Due<'_> {
    type Made = Came;

    fn is_small(&self) -> bool {
        matches!(self, Self::Page(_))
    }

    fn make(self) -> Result<Came> {
        match self {
            Self::Block { handle, times: (min, max) } => Open::new(&*handle, min, max).map(Came::Block),
            Self::Page(page) => page.make().map(Came::Page),
        }
    }
}

/// Who stops reading need not know what became of blocks it never came to, not even of a panic.
struct StopAtEnd<'a, 'b>(&'a Ahead<Due<'b>>);

impl Drop for StopAtEnd<'_, '_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Gives out the rows of blocks in order.
fn merge<'b>(
    ahead: &Ahead<Due<'b>>,
    help: &dyn Fn(bool),
    buffers: &'b Buffers,
    max_time: i64,
    each: &mut dyn FnMut(&ScanRow<'_>) -> ControlFlow<()>,
) -> Result<()> {
    let mut open: BTreeMap<usize, Open> = BTreeMap::new();
    let (mut opened, mut has_pages) = (0, false);
    let mut heap = BinaryHeap::new();
    let mut due = ahead.due();
    loop {
        // Whatever is due no later than the next row must be there before that row.
        while let Some(time) = due
            && heap.peek().is_none_or(|Reverse(next): &Reverse<Next>| time <= next.time)
        {
            if opened > 0 {
                help(has_pages);
            }
            match ahead.next().transpose()? {
                Some(Came::Block(block)) => {
                    if let Some(next) = block.first(opened, max_time)? {
                        heap.push(Reverse(next));
                        let pages = block.pages(opened, buffers).collect::<Vec<_>>();
                        // Few rows of long texts may take long.
                        has_pages |= pages.len() > 1;
                        ahead.add(pages.into_iter().map(|(time, page)| (time, Due::Page(page))));
                        open.insert(opened, block);
                    }
                    opened += 1;
                }
                Some(Came::Page(page)) => {
                    if let Some(block) = open.get_mut(&page.block) {
                        block.take(page);
                    }
                }
                None => break,
            }
            due = ahead.due();
        }
        let Some(mut first) = heap.peek_mut() else { return Ok(()) };
        let Reverse(next) = *first;
        let Some(block) = open.get_mut(&next.block) else { return Ok(()) };
        let mut digits = IntText::default();
        let message = block.message(next.row, &mut digits);
        if each(&ScanRow { open: block, row: next.row, id: next.id, message }).is_break() {
            return Ok(());
        }
        block.pass(next.row, buffers);
        match block.next(next.block, next.row + 1, max_time)? {
            Some(after) => *first = Reverse(after),
            None => {
                PeekMut::pop(first);
                open.remove(&next.block);
            }
        }
    }
}

#[cfg(test)]
mod tests;
