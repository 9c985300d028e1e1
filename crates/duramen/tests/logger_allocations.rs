//! A line costs no allocation: counted by the allocator itself, for the thread that logs.
#![allow(unsafe_code)] // an allocator is unsafe by nature

use duramen::{FrontEnd, Level, Logger, Value};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

/// The system's allocator, which counts what each thread asks of it.
struct Counting;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that ends has its counter no more.
    let _not_counted = ASKED.try_with(|asked| asked.set(asked.get() + 1));
}

// SAFETY: everything is the system allocator's doing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, new_bytes: usize) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.realloc(at, layout, new_bytes) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often `run` asks for memory, on this thread.
fn asked(run: impl FnOnce()) -> u64 {
    let before = ASKED.get();
    run();
    ASKED.get() - before
}

const WARM_UP: i64 = 200;
/// Enough to fill the segment that a writer begins with.
const LINES: i64 = 80_000;
/// More than that segment holds.
const BEYOND_THE_FIRST_BYTES: u64 = 5 << 20;

/// A message as programs put them together, without allocating one.
const MESSAGES: [&str; 3] = ["payment accepted", "cache miss, asked the database instead", ""];

#[test]
fn a_thread_that_logs_asks_for_no_memory_once_its_buffer_has_grown() {
    assert_eq!(asked(|| drop(std::hint::black_box(Box::new(1)))), 1, "it counts");
    let dir = tempfile::tempdir().unwrap();
    let logger = Logger::builder(dir.path()).field("app", "checkout").pid(true).open().unwrap();
    let log = |n: i64| {
        let fields = [
            ("order", Value::Int(n)),
            ("ms", Value::Float(n as f64 / 8.0)),
            ("user", Value::Str("ann")),
            ("new", Value::Bool(n % 2 == 0)),
            ("bank", Value::Null),
            ("host", Value::Str("web-1")),
        ];
        logger.log(Level::Info, MESSAGES[n as usize % 3], &fields).unwrap();
    };
    (0..WARM_UP).for_each(log);
    assert_eq!(asked(|| (0..LINES).for_each(log)), 0);
    assert_eq!(logger.stats().lines, (WARM_UP + LINES) as u64);
    let bytes = logger.store().unwrap().wal_metrics().unwrap().bytes;
    assert!(bytes > BEYOND_THE_FIRST_BYTES, "it went from one to the next: {bytes}");
}

#[test]
fn nor_does_a_front_end_that_puts_lines_together() {
    let dir = tempfile::tempdir().unwrap();
    let logger = Arc::new(Logger::builder(dir.path()).open().unwrap());
    let front = FrontEnd::new(logger.clone());
    let log = |n: i64| {
        front.log(Level::Debug, |line| {
            line.message.push_str(MESSAGES[n as usize % 3]);
            line.fields.push("request", Value::Int(n));
            line.fields.push_display("took", format_args!("{n}ms"));
            line.fields.push_debug("path", std::path::Path::new("/orders"));
            line.fields.put("request", Value::Int(n + 1));
        });
    };
    (0..WARM_UP).for_each(log);
    assert_eq!(asked(|| (0..LINES).for_each(log)), 0);
    assert_eq!((logger.stats().lines, front.refused()), ((WARM_UP + LINES) as u64, 0));
}
