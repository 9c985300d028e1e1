//! Every entry of a time range, in order: a merge over blocks that overlap in time, which are decoded side by side.

use crate::block::{Block, BlockHandle, is_few, names};
use crate::column::{Column, IntText};
use crate::error::Result;
use crate::store::EntryId;
use crate::store::ahead::Blocks;
use crate::store::snapshot::Snapshot;
use crate::value::ValueKind;
use duramen_engine::io::Clock;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// So few rows of blocks that are open one thread begins to read alone…
const FEW_ROWS: f64 = 4096.0;
/// …until that has taken so long, about what it takes to start another.
const WORTH_HELP: Duration = Duration::from_micros(100);

/// A block with all its columns, while rows of it are due.
#[derive(Debug)]
struct Open {
    block: Arc<dyn Block>,
    times: Arc<Vec<i64>>,
    columns: Vec<(String, Arc<Column>)>,
    /// Which of them has the messages.
    message: Option<usize>,
}

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
        self.open.times[self.row]
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
        let (_, column) = self.open.columns.iter().find(|(n, _)| n == name)?;
        column.text(self.row, &mut IntText::default()).map(str::to_owned)
    }

    /// Calls `each` with the name, text and kind of every field it has, `level` included, in name order.
    pub fn for_each_field(&self, each: &mut dyn FnMut(&str, &str, ValueKind)) {
        let mut buf = IntText::default();
        for (i, (name, column)) in self.open.columns.iter().enumerate() {
            if Some(i) != self.open.message
                && let Some(text) = column.text(self.row, &mut buf)
            {
                each(name, text, column.kind_at(column.slot(self.row)));
            }
        }
    }
}

/// The next row of an open block: the heap's order is that of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    time: i64,
    id: EntryId,
    block: usize,
    row: usize,
}

pub(crate) fn scan(
    snapshot: &Snapshot,
    clock: &dyn Clock,
    min_time: i64,
    max_time: i64,
    each: &mut dyn FnMut(&ScanRow<'_>) -> ControlFlow<()>,
) -> Result<()> {
    scan_blocks(snapshot.blocks(min_time, max_time), clock, (min_time, max_time), each)
}

/// The same of these blocks.
pub(crate) fn scan_blocks(
    handles: Vec<Arc<dyn BlockHandle>>,
    clock: &dyn Clock,
    (min_time, max_time): (i64, i64),
    each: &mut dyn FnMut(&ScanRow<'_>) -> ControlFlow<()>,
) -> Result<()> {
    let is_soon_done = is_soon_done(&handles, min_time, max_time);
    let open = |handle: &dyn BlockHandle| Open::new(handle, min_time, max_time);
    let blocks = Blocks::new(handles, &open);
    let began = clock.monotonic();
    std::thread::scope(|scope| {
        let _stop = StopAtEnd(&blocks);
        // One that begins alone may be enough for whoever reads.
        let first = blocks.begin().map_or(0, |begin| blocks.begin_by(begin.max(min_time)));
        blocks.open_ahead(scope, if first > 1 && !is_soon_done { first } else { 0 });
        let open_ahead = || {
            if !is_soon_done || clock.monotonic().saturating_sub(began) >= WORTH_HELP {
                blocks.open_ahead(scope, usize::MAX);
            }
        };
        merge(&blocks, &open_ahead, (min_time, max_time), each)
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

/// Who stops reading need not know what became of blocks it never came to, not even of a panic.
struct StopAtEnd<'a, 'b>(&'a Blocks<'b, Open>);

impl Drop for StopAtEnd<'_, '_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Gives out the rows of blocks in order.
fn merge(
    blocks: &Blocks<'_, Open>,
    open_ahead: &dyn Fn(),
    (min_time, max_time): (i64, i64),
    each: &mut dyn FnMut(&ScanRow<'_>) -> ControlFlow<()>,
) -> Result<()> {
    let mut open: BTreeMap<usize, Open> = BTreeMap::new();
    let mut opened = 0;
    let mut heap = BinaryHeap::new();
    loop {
        // Whatever begins no later than the next row must be open before that row is due.
        while let Some(begin) = blocks.begin()
            && heap.peek().is_none_or(|Reverse(next): &Reverse<Next>| begin <= next.time)
        {
            if opened > 0 {
                open_ahead();
            }
            let Some(block) = blocks.next() else { break };
            let block = block?;
            let first = block.times.partition_point(|&t| t < min_time);
            if let Some(next) = block.next(opened, first, max_time)? {
                heap.push(Reverse(next));
                open.insert(opened, block);
            }
            opened += 1;
        }
        let Some(mut due) = heap.peek_mut() else { return Ok(()) };
        let Reverse(next) = *due;
        let Some(block) = open.get(&next.block) else { return Ok(()) };
        let mut digits = IntText::default();
        let message = block.message(next.row, &mut digits);
        if each(&ScanRow { open: block, row: next.row, id: next.id, message }).is_break() {
            return Ok(());
        }
        match block.next(next.block, next.row + 1, max_time)? {
            Some(next) => *due = Reverse(next),
            None => {
                PeekMut::pop(due);
                open.remove(&next.block);
            }
        }
    }
}

impl Open {
    /// Opens a block for its rows from `min_time` to `max_time`: of few only what they need is decoded.
    fn new(handle: &dyn BlockHandle, min_time: i64, max_time: i64) -> Result<Self> {
        let block = handle.open()?;
        let times = block.times()?;
        let due = times.partition_point(|&t| t < min_time)..times.partition_point(|&t| t <= max_time);
        if due.is_empty() {
            return Ok(Self { block, times, columns: Vec::new(), message: None });
        }
        let few = is_few(due.len(), times.len()).then(|| {
            let mut rows = vec![0u64; times.len().div_ceil(64)];
            due.for_each(|row| rows[row / 64] |= 1 << (row % 64));
            rows
        });
        let mut columns = Vec::new();
        let mut field_names = block.field_names()?;
        field_names.push(names::STREAM.to_owned());
        field_names.sort();
        for name in field_names {
            let column = match &few {
                Some(rows) => block.column_at(&name, rows)?,
                None => block.column(&name)?,
            };
            if let Some(column) = column {
                columns.push((name, column));
            }
        }
        let message = columns.iter().position(|(name, _)| name == names::MESSAGE);
        Ok(Self { block, times, columns, message })
    }

    fn next(&self, block: usize, row: usize, max_time: i64) -> Result<Option<Next>> {
        match self.times.get(row) {
            Some(&time) if time <= max_time => {
                let (writer, seq) = self.block.identity(row)?;
                Ok(Some(Next { time, id: EntryId { writer, seq }, block, row }))
            }
            _ => Ok(None),
        }
    }

    fn message<'a>(&'a self, row: usize, digits: &'a mut IntText) -> &'a str {
        let column = self.message.and_then(|i| self.columns.get(i));
        column.and_then(|(_, column)| column.text(row, digits)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EntryBuf, StoreOptions};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::channel;
    use std::sync::{Condvar, Mutex};

    /// A block of one row, which is opened as the test says.
    struct OneRow<F> {
        time: i64,
        is_open: bool,
        open: F,
    }

    impl<F> std::fmt::Debug for OneRow<F> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("OneRow").field("time", &self.time).finish_non_exhaustive()
        }
    }

    impl<F: Fn() -> Result<Arc<dyn Block>> + Send + Sync> BlockHandle for OneRow<F> {
        fn rows(&self) -> usize {
            1
        }

        fn min_time(&self) -> i64 {
            self.time
        }

        fn max_time(&self) -> i64 {
            self.time
        }

        fn open(&self) -> Result<Arc<dyn Block>> {
            (self.open)()
        }

        fn is_open(&self) -> bool {
            self.is_open
        }
    }

    /// A clock that goes on by so much each time that it is looked at.
    #[derive(Debug)]
    struct Steps(Duration, Mutex<Duration>);

    impl Clock for Steps {
        fn now_unix_ns(&self) -> i64 {
            0
        }

        fn monotonic(&self) -> Duration {
            let mut now = self.1.lock().unwrap();
            *now += self.0;
            *now
        }

        fn boot_id(&self) -> u64 {
            0
        }
    }

    #[test]
    fn few_rows_are_read_alone_until_that_takes_long() {
        let dir = tempfile::tempdir().unwrap();
        let store = StoreOptions::new().background(false).open(dir.path()).unwrap();
        store.append(EntryBuf::default().start(7).message("line").finish().unwrap()).unwrap();
        let block = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX)[0].open().unwrap();
        let is_more = std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
        for (step, is_helped) in [(Duration::ZERO, false), (WORTH_HELP, is_more)] {
            // How many were opened by this thread, and by others.
            let counts = Arc::<(Mutex<(usize, usize)>, Condvar)>::default();
            let reader = std::thread::current().id();
            let told = |_| {
                let (block, counts) = (block.clone(), counts.clone());
                let open = move || {
                    let (opened, changed) = &*counts;
                    let mut opened = opened.lock().unwrap();
                    if std::thread::current().id() == reader {
                        opened.0 += 1;
                        // After its first two, the reader waits for others to have opened one.
                        let alone = |opened: &mut (usize, usize)| is_helped && opened.0 > 2 && opened.1 == 0;
                        let (_opened, waited) =
                            changed.wait_timeout_while(opened, Duration::from_secs(60), alone).unwrap();
                        assert!(!waited.timed_out(), "nobody helps");
                    } else {
                        opened.1 += 1;
                        changed.notify_all();
                    }
                    Ok(block.clone())
                };
                Arc::new(OneRow { time: 7, is_open: true, open }) as _
            };
            let mut rows = 0;
            let clock = Steps(step, Mutex::default());
            scan_blocks((0..100).map(told).collect(), &clock, (0, 10), &mut |_| {
                rows += 1;
                ControlFlow::Continue(())
            })
            .unwrap();
            let (by_reader, by_others) = *counts.0.lock().unwrap();
            assert_eq!((rows, by_reader + by_others), (100, 100));
            assert_eq!(by_others > 0, is_helped, "{step:?}");
        }
    }

    #[test]
    fn few_rows_of_open_blocks_may_soon_be_done() {
        let dir = tempfile::tempdir().unwrap();
        let store = StoreOptions::new().background(false).open(dir.path()).unwrap();
        for n in 0..10_000 {
            store.append(EntryBuf::default().start(n).message("line").finish().unwrap()).unwrap();
        }
        store.flush().unwrap();
        let handles = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
        assert!(!is_soon_done(&handles, 0, 10), "they are not open");
        store.scan(i64::MIN, i64::MAX, &mut |_| ControlFlow::Continue(())).unwrap();
        let handles = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
        assert!(is_soon_done(&handles, 0, 10) && is_soon_done(&handles, 5000, 8000));
        assert!(!is_soon_done(&handles, 0, 5000) && !is_soon_done(&handles, i64::MIN, i64::MAX));
        let rows = |min, max| handles.iter().map(|handle| rows_within(&**handle, min, max)).sum::<f64>();
        assert!((rows(1000, 1999) - 1000.0).abs() < 2.0, "{}", rows(1000, 1999));
        assert!((rows(i64::MIN, i64::MAX) - 10_000.0).abs() < 2.0);
    }

    #[test]
    fn what_became_of_blocks_that_were_opened_ahead_is_told_if_the_scan_comes_to_them() {
        const DAY_NS: i64 = 86_400_000_000_000;
        let dir = tempfile::tempdir().unwrap();
        let store = StoreOptions::new().background(false).open(dir.path()).unwrap();
        for day in [0, 100] {
            store.append(EntryBuf::default().start(day * DAY_NS).message("line").finish().unwrap()).unwrap();
            store.flush().unwrap();
        }
        for stops in [true, false] {
            let (let_go_on, go_on) = channel();
            let (begins, begun) = channel();
            let is_over = Arc::<AtomicBool>::default();
            let go_on = Mutex::new(go_on);
            let is_set = is_over.clone();
            let open = move || {
                begins.send(()).unwrap();
                let _either_way = go_on.lock().unwrap().recv();
                is_set.store(true, Ordering::SeqCst);
                panic!("a block that cannot be opened");
            };
            let mut handles = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
            assert_eq!(handles.len(), 2);
            handles.push(Arc::new(OneRow { time: 200 * DAY_NS, is_open: false, open }));
            let mut rows = 0;
            let clock = store.snapshots.shared().env.clock.clone();
            let scanned = scan_blocks(handles, &*clock, (i64::MIN, i64::MAX), &mut |_| {
                rows += 1;
                if rows == 1 {
                    return ControlFlow::Continue(());
                }
                begun.recv_timeout(Duration::from_secs(60)).expect("it is opened ahead");
                let_go_on.send(()).unwrap();
                if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            assert_eq!(rows, 2);
            assert!(is_over.load(Ordering::SeqCst), "no thread is left behind");
            match scanned {
                Ok(()) => assert!(stops),
                Err(e) => assert!(!stops && e.to_string().contains("panicked"), "{e}"),
            }
        }
    }
}
