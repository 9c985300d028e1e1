#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use super::*;
use crate::block::Block;
use crate::{EntryBuf, Level, StoreOptions};
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
        scan((0..100).map(told).collect(), &clock, &Buffers::default(), (0, 10), &mut |_| {
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
        let scanned = scan(handles, &*clock, &Buffers::default(), (i64::MIN, i64::MAX), &mut |_| {
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

/// Words and numbers in no order.
fn free_text(seed: u64, bytes: usize) -> String {
    const WORDS: &str = "accepted account after cache client closed connection customer database delivered error failed \
        from index item message missing order payment queue received refused request response retry server session \
        started überlastet update user waiting";
    let words: Vec<&str> = WORDS.split(' ').collect();
    // Of seeds in a row, what comes of one tells nothing of the next.
    let mut n = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    n ^= n >> 29;
    let mut below = |most: u64| {
        n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (n >> 33) % most
    };
    let mut text = String::new();
    while text.len() < bytes {
        text += &match below(6) {
            0 => format!("{:08x} ", below(1 << 31)),
            1 => format!("{} ", below(100_000)),
            _ => format!("{} ", words[below(32) as usize]),
        };
    }
    text
}

/// The n-th line: its time, stream, message and a field that not all have, all but the stream long enough for pages. Times come in
/// steps of ten lines.
fn line(n: u64) -> (i64, String, String, Option<String>) {
    let message = if n % 53 == 7 { String::new() } else { free_text(n, 900 + n as usize % 300) };
    let trace =
        (n % 7 > 2).then(|| if n % 31 == 3 { String::new() } else { free_text(n + 1_000_000, 3_000) });
    (n as i64 / 10 * 1_000, format!("s{}", n * n % 11), message, trace)
}

#[test]
fn texts_on_pages_are_there_when_their_rows_are_due() {
    const LINES: u64 = 9_000;
    let dir = tempfile::tempdir().unwrap();
    let store = StoreOptions::new().background(false).open(dir.path()).unwrap();
    let mut buf = EntryBuf::new(["app"]);
    // Three tables with the same times.
    for part in 0..3 {
        for n in (part..LINES).step_by(3) {
            let (time, app, message, trace) = line(n);
            buf.start(time).level(Level::Info).message(&message).field("app", &*app);
            if let Some(trace) = trace {
                buf.field("trace", &*trace);
            }
            store.append(buf.finish().unwrap()).unwrap();
        }
        store.flush().unwrap();
    }
    let on_pages =
        |handle: &Arc<dyn BlockHandle>| handle.open().unwrap().column_on_pages("trace", true).unwrap();
    let handles = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
    let pages: Vec<usize> = handles.iter().filter_map(on_pages).map(|column| column.pages()).collect();
    assert!(pages.len() > 2 && pages.iter().all(|&pages| pages > 10), "{pages:?}");
    // From writers and lines to what they wrote: all lines are of one writer, in order of parts.
    let of_part = |part: u64| (part..LINES).step_by(3);
    let all: Vec<u64> = (0..3).flat_map(of_part).collect();
    let end = (LINES as i64 / 10) * 1_000;
    for (min, max) in [
        (i64::MIN, i64::MAX),
        (0, end / 2),
        (end / 3, end - 5_000),
        (end / 2, end / 2 + 3_000),
        (end, end - 1),
    ] {
        let mut due: Vec<u64> = all.clone();
        due.retain(|&n| (min..=max).contains(&line(n).0));
        due.sort_by_key(|&n| line(n).0);
        let mut due = due.into_iter();
        store
            .scan(min, max, &mut |row| {
                let (time, app, message, trace) = line(due.next().unwrap());
                assert_eq!((row.time(), row.message()), (time, &*message));
                assert_eq!((row.field("app"), row.field("trace")), (Some(app.clone()), trace.clone()));
                let mut fields = Vec::new();
                row.for_each_field(&mut |name, text, kind| {
                    fields.push((name.to_owned(), text.to_owned(), kind));
                });
                let expected = [
                    Some(("_stream", format!("{{app=\"{app}\"}}"))),
                    Some(("app", app)),
                    Some(("level", "info".to_owned())),
                    trace.map(|trace| ("trace", trace)),
                ];
                let expected = expected.into_iter().flatten();
                let expected: Vec<_> =
                    expected.map(|(name, text)| (name.to_owned(), text, ValueKind::String)).collect();
                assert_eq!(fields, expected);
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(due.next(), None, "{min} to {max}");
    }
}

#[test]
fn pages_go_when_their_last_row_has_passed() {
    const LINES: i64 = 6_000;
    let dir = tempfile::tempdir().unwrap();
    let store = StoreOptions::new().background(false).open(dir.path()).unwrap();
    for n in 0..LINES {
        store
            .append(EntryBuf::default().start(n).message(&free_text(n as u64, 1_000)).finish().unwrap())
            .unwrap();
    }
    store.flush().unwrap();
    for (min, max) in [(i64::MIN, i64::MAX), (LINES / 4, LINES / 2)] {
        let handles = store.snapshot().unwrap().blocks(min, max);
        let buffers = Buffers::default();
        let due = |handle: &Arc<dyn BlockHandle>| Due::Block { handle: handle.clone(), times: (min, max) };
        let ahead = Ahead::default();
        ahead.add(handles.iter().map(|handle| (handle.min_time(), due(handle))));
        let (mut rows, mut most) = (0, 0);
        merge(&ahead, &|_| (), &buffers, max, &mut |row| {
            rows += 1;
            most = most.max(row.open.pages_held());
            ControlFlow::Continue(())
        })
        .unwrap();
        let count = (max.min(LINES - 1) - min.max(0) + 1) as usize;
        assert_eq!((rows, most), (count, 1));
        assert_eq!(buffers.spare(), 1, "it is used again");
        assert!(ahead.due().is_none());
    }
}
