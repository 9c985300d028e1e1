//! What is measured: one module per study, run in a child process.

mod disk;
mod durable;
mod load;
mod mixed;
mod queue;
mod read;
mod structures;

pub(crate) use structures::NAMES as STRUCTURES;

use crate::Result;
use crate::case::{Case, Study};
use crate::data::{Entries, Fold, Order, Random, VALUE_BYTES, fill, key};
use crate::store::{Reader, Store};
use shared::case::Figures;
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs a case in this process.
pub(crate) fn run(case: &Case, dir: &Path) -> Result<Figures> {
    match case.study {
        Study::Load => load::run(case, dir),
        Study::Structures => structures::run(case),
        Study::Prepare => read::prepare(case, dir),
        Study::Read => read::run(case, dir),
        Study::Mixed => mixed::run(case, dir),
        Study::Queue => queue::run(case, dir),
        Study::Disk => disk::run(case, dir),
        Study::Durable => durable::run(case, dir),
    }
}

fn figures<const N: usize>(named: [(&str, f64); N]) -> Figures {
    named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Nanoseconds for each of `n`.
fn ns_each(time: Duration, n: u64) -> f64 {
    time.as_nanos() as f64 / n.max(1) as f64
}

/// Repeats `step`, which says how many operations it did, for a while; nanoseconds for each of them.
fn repeat(seconds: f64, mut step: impl FnMut() -> Result<u64>) -> Result<f64> {
    let limit = Duration::from_secs_f64(seconds);
    let begin = Instant::now();
    let mut done = 0;
    loop {
        done += step()?;
        let elapsed = begin.elapsed();
        if elapsed >= limit {
            return Ok(ns_each(elapsed, done));
        }
    }
}

/// How many operations lie between two looks at the clock, for operations that take about so long.
fn stride(ns: f64) -> u64 {
    (200_000.0 / ns.max(1.0)).clamp(1.0, 1_000.0) as u64
}

/// Checks that the store holds these entries, and nothing else.
fn check_all(store: &dyn Store, mut entries: Entries) -> Result<()> {
    let expected = Fold::of(&mut entries);
    store.read(&mut |reader| {
        let found = reader.scan()?;
        if found == expected {
            return Ok(());
        }
        Err(format!(
            "wrong contents: {} entries of {}, {found:?} is not {expected:?}",
            found.count, expected.count
        )
        .into())
    })
}

/// Compares some values, byte by byte.
fn check_some(reader: &mut dyn Reader, order: Order, entries: u64, how_many: u64) -> Result<()> {
    let mut random = Random::new(7);
    let mut expected = [0; VALUE_BYTES];
    for _ in 0..how_many {
        let n = random.below(entries);
        fill(n, 0, &mut expected);
        if reader.get_value(&key(order, n))?.as_deref() != Some(&expected) {
            return Err(format!("the value of entry {n} is not the one that was written").into());
        }
    }
    Ok(())
}
