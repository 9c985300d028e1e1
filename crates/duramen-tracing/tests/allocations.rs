//! An event costs no allocation, and neither do the spans around it: counted by the allocator itself.
#![allow(unsafe_code)] // an allocator is unsafe by nature

use duramen::Logger;
use duramen_tracing::DuramenLayer;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use tracing_subscriber::layer::SubscriberExt;

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
const LINES: i64 = 5_000;

#[test]
fn an_event_in_spans_asks_for_no_memory_once_its_threads_line_has_grown() {
    assert_eq!(asked(|| drop(std::hint::black_box(Box::new(1)))), 1, "it counts");
    let dir = tempfile::tempdir().unwrap();
    let logger = Arc::new(Logger::builder(dir.path()).open().unwrap());
    let layer = DuramenLayer::new(logger.clone()).with_file_and_line(true);
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
        let outer = tracing::info_span!("request", id = 7, user = "ann");
        let inner = tracing::debug_span!("query", table = "orders");
        let log = |n: i64| {
            outer.in_scope(|| {
                inner.in_scope(|| tracing::info!(rows = n, ms = n as f64, took = ?n, user = %n, "it was asked {n} times"));
            });
        };
        (0..WARM_UP).for_each(log);
        assert_eq!(asked(|| (0..LINES).for_each(log)), 0);
    });
    assert_eq!(logger.stats().lines, (WARM_UP + LINES) as u64);
}
