//! How long each single call takes, the clock's own 50 ns included, while flush and compaction run beside.

use super::ingest::{check, warm_up};
use crate::Result;
use crate::case::Case;
use crate::sample::{Line, lines, pick};
use crate::targets::{System, Target};
use crate::usage;
use duramen::Level;
use shared::case::Figures;
use shared::process::Process;
use std::path::Path;
use std::time::{Duration, Instant};

/// Calls that take longer are counted.
pub(crate) const OVER_NS: u32 = 50_000;

/// Lines that a paced load logs at once, before it sleeps until the next ones are due.
const BURST: u64 = 100;

pub(crate) fn latency(case: &Case, dir: &Path) -> Result<Figures> {
    let sample = lines(Level::Info);
    let target = System::open(&case.system, dir)?;
    warm_up(&*target, &sample)?;
    let each = case.lines / u64::from(case.threads);
    let begin = Instant::now();
    let mut all = std::thread::scope(|scope| {
        let one = |thread| {
            let (target, sample, case) = (&*target, &sample, &case);
            scope.spawn(move || calls(target, sample, case, u64::from(thread) * each, each))
        };
        let threads: Vec<_> = (0..case.threads).map(one).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().unwrap_or_else(|_| Err("a thread panicked".into()))?);
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(all)
    })?;
    let elapsed = begin.elapsed();
    let mut figures = target.figures();
    all.sort_unstable();
    let at =
        |share: f64| all.get((all.len() as f64 * share) as usize).or(all.last()).copied().unwrap_or_default();
    for (name, share) in [("p50_ns", 0.5), ("p99_ns", 0.99), ("p999_ns", 0.999), ("max_ns", 1.0)] {
        figures.insert(name.into(), f64::from(at(share)));
    }
    figures.insert("over".into(), all.iter().filter(|&&ns| ns > OVER_NS).count() as f64);
    figures.insert("ns_per_line".into(), elapsed.as_nanos() as f64 / all.len() as f64);
    figures.insert("peak_bytes".into(), Process::This.memory()?.peak_bytes as f64);
    check(target, each * u64::from(case.threads))?;
    figures.insert("files".into(), usage::files_and_bytes(dir)?.0);
    Ok(figures)
}

/// One thread's calls, each with its time in ns.
fn calls(target: &dyn Target, sample: &[Line], case: &Case, from: u64, each: u64) -> Result<Vec<u32>> {
    let mut session = target.session()?;
    let mut times = Vec::with_capacity(each as usize);
    let begin = Instant::now();
    for n in 0..each {
        if case.rate > 0 && n % BURST == 0 {
            let due = Duration::from_nanos(n * 1_000_000_000 / case.rate);
            std::thread::sleep(due.saturating_sub(begin.elapsed()));
        }
        let seq = (from + n) as i64;
        let line = pick(sample, seq);
        let begin = Instant::now();
        session.log(line, seq)?;
        times.push(u32::try_from(begin.elapsed().as_nanos()).unwrap_or(u32::MAX));
    }
    session.finish()?;
    Ok(times)
}
