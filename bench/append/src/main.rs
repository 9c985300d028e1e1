//! Measures `Store::append` in this process: entries that were built beforehand, from one thread, into a new
//! store, for each durability. The flush that runs beside it is included, as it is in a program that logs.

use clap::Parser;
use duramen::{Durability, EntryBuf, EntryRef, Level, StoreOptions};
use duramen_generate::{Format, Generator, Kind, Options};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Measures appending pre-built entries to a store.
#[derive(Debug, Parser)]
#[command(name = "bench-append", version)]
struct Args {
    /// Entries to append in each run
    #[arg(long, default_value_t = 10_000_000)]
    entries: u64,
    /// Runs of each durability; the median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Threads that encode blocks beside the appending one
    #[arg(long, default_value_t = 2)]
    flush_threads: usize,
    /// Where to put the stores: a directory on the disk to be measured
    #[arg(long, default_value = "bench/data")]
    work: PathBuf,
    /// The file for the table
    #[arg(long, default_value = "bench/results/append.md")]
    out: PathBuf,
}

/// As many different entries, used again and again: more than any cache holds.
const DISTINCT: u64 = 200_000;

/// One run's times.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// From the first append to the last one's return.
    append: Duration,
    /// Until everything was in tables and the store closed.
    closed: Duration,
    /// CPU time of the whole process, background threads included.
    cpu: Duration,
}

fn main() -> Result<()> {
    let args = Args::parse();
    std::fs::create_dir_all(&args.work)?;
    let entries = build()?;
    let mean_bytes = entries.iter().map(Vec::len).sum::<usize>() / entries.len();
    let mut out = String::new();
    writeln!(out, "# `Store::append`, one thread\n")?;
    writeln!(
        out,
        "{} entries of {mean_bytes} bytes on average ({DISTINCT} different ones), {} flush threads, median of {} runs, {} cores.\n",
        args.entries,
        args.flush_threads,
        args.repeat,
        std::thread::available_parallelism()?
    )?;
    writeln!(out, "| durability | entries/s until appended | MB/s | entries/s until in tables | CPU s |")?;
    writeln!(out, "|---|--:|--:|--:|--:|")?;
    for (name, durability) in [("none", Durability::None), ("process", Durability::Process)] {
        let mut runs = Vec::new();
        for _ in 0..args.repeat {
            runs.push(run(&args, durability, &entries)?);
        }
        runs.sort_by_key(|r| r.append);
        let r = runs[runs.len() / 2];
        let rate = |time: Duration| args.entries as f64 / time.as_secs_f64();
        writeln!(
            out,
            "| {name} | {:.0} | {:.0} | {:.0} | {:.1} |",
            rate(r.append),
            rate(r.append) * mean_bytes as f64 / 1e6,
            rate(r.closed),
            r.cpu.as_secs_f64()
        )?;
    }
    print!("{out}");
    if let Some(parent) = args.out.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(&args.out, out)?;
    Ok(())
}

/// Entries as a program would log them: a message and a few fields.
fn build() -> Result<Vec<Vec<u8>>> {
    let mut generator = Generator::new(Options { lines: DISTINCT, kind: Kind::App, ..Options::default() })?;
    let mut builder = EntryBuf::new(["app", "host"]);
    let mut entries = Vec::new();
    let mut line = Vec::new();
    while let Some(event) = generator.next() {
        line.clear();
        generator.render(&event, Format::Ndjson, &mut line);
        let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&line)?;
        builder.start(event.time_ns());
        builder.level(Level::parse(event.level().name()).unwrap_or_default());
        for (name, value) in &fields {
            match (&**name, value.as_str()) {
                ("_msg", Some(text)) => builder.message(text),
                ("app" | "host" | "trace_id", Some(text)) => builder.field(name, text),
                ("duration_ms", None) => builder.field(name, value.as_f64().unwrap_or_default()),
                ("status", None) => builder.field(name, value.as_i64().unwrap_or_default()),
                _ => &mut builder,
            };
        }
        let entry = builder.finish()?;
        EntryRef::decode(entry)?;
        entries.push(entry.to_vec());
    }
    Ok(entries)
}

fn run(args: &Args, durability: Durability, entries: &[Vec<u8>]) -> Result<Run> {
    let dir = tempfile::tempdir_in(&args.work)?;
    let store = StoreOptions::new()
        .durability(durability)
        .flush_threads(args.flush_threads)
        .open(dir.path().join("store"))?;
    let cpu = process_cpu()?;
    let begin = Instant::now();
    let mut left = args.entries;
    while left > 0 {
        let some = usize::try_from(left).unwrap_or(usize::MAX).min(entries.len());
        for entry in &entries[..some] {
            store.append(entry)?;
        }
        left -= some as u64;
    }
    let append = begin.elapsed();
    store.close()?;
    Ok(Run { append, closed: begin.elapsed(), cpu: process_cpu()?.saturating_sub(cpu) })
}

/// User and system time of this process so far.
fn process_cpu() -> Result<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Ok(Duration::new(u64::try_from(time.tv_sec)?, u32::try_from(time.tv_nsec)?))
}
