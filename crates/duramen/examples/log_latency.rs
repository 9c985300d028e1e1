//! What a log call costs: ns per line and the slowest thousandth, by durability and number of threads.
//!
//! `cargo run --release -p duramen --example log_latency [LINES]`
#![allow(clippy::unwrap_used)] // a measurement may end early

use duramen::{Durability, Level, Logger, OnFull, Value};
use duramen_engine::io::Env;
use std::time::Duration;

/// The message, the six fields and the time of a line are about 170 bytes as JSON.
fn log(logger: &Logger, n: i64) {
    let fields = [
        ("app", Value::Str("checkout")),
        ("user_id", Value::Int(n)),
        ("request_id", Value::Str("req-8f14e45fceea167a")),
        ("duration_ms", Value::Float(12.5)),
        ("status", Value::Int(200)),
        ("cached", Value::Bool(false)),
    ];
    logger.log(Level::Info, "payment accepted by the bank after one retry", &fields).unwrap();
}

/// How many lines are timed together, to find what a line costs while nothing else has the core.
const BATCH: i64 = 50;

/// In ns: the mean, wall clock; the median over batches; and what 99.9 % of the calls stay below.
struct Measured {
    mean: f64,
    median: f64,
    p999: u64,
}

fn measure(durability: Durability, threads: i64, lines: i64, write_buffer_size: usize) -> Measured {
    let env = Env::os();
    let dir = tempfile::tempdir().unwrap();
    let timeout = Duration::from_secs(60);
    let logger = Logger::builder(dir.path())
        .write_buffer_size(write_buffer_size)
        .durability(durability)
        .on_full(OnFull::Block { timeout })
        .open()
        .unwrap();
    let batches = |size: i64, lines: i64| {
        let of_thread = || {
            let mut each = Vec::with_capacity((lines / threads / size) as usize);
            for batch in 0..lines / threads / size {
                let started = env.clock.monotonic();
                (0..size).for_each(|n| log(&logger, batch * size + n));
                each.push((env.clock.monotonic() - started).as_nanos() as u64);
            }
            each
        };
        let mut all: Vec<u64> = std::thread::scope(|s| {
            let running: Vec<_> = (0..threads).map(|_| s.spawn(of_thread)).collect();
            running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        all.sort_unstable();
        all
    };
    let started = env.clock.monotonic();
    let of_batches = batches(BATCH, lines);
    let mean = (env.clock.monotonic() - started).as_nanos() as f64 / lines as f64;
    let median = of_batches[of_batches.len() / 2] as f64 / BATCH as f64;
    let of_calls = batches(1, lines);
    Measured { mean, median, p999: of_calls[of_calls.len() - 1 - of_calls.len() / 1000] }
}

fn main() {
    let lines = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(200_000);
    println!(
        "ns per line, best of 5 runs: median of batches of {BATCH} lines | mean | 99.9 % of single calls"
    );
    println!("threads  durability   {lines} lines at once           {} lines, flushed meanwhile", 10 * lines);
    for threads in [1, 2] {
        for (name, durability) in [("none", Durability::None), ("process", Durability::Process)] {
            let best = |buffer: usize, lines: i64| {
                let runs = (0..5).map(|_| measure(durability, threads, lines, buffer));
                let Measured { mean, median, p999 } =
                    runs.min_by(|a, b| a.median.total_cmp(&b.median)).unwrap();
                format!("{median:8.1} | {mean:8.1} | {p999:8}")
            };
            println!("{threads:7}  {name:10} {} {}", best(256 << 20, lines), best(64 << 20, 10 * lines));
        }
    }
}
