//! Single writes, each durable before the next of its thread begins. Afterwards the store is opened again, and
//! must hold all of them.

use super::figures;
use crate::Result;
use crate::case::Case;
use crate::data::{Entries, Fold};
use crate::store::Store;
use crate::systems::named;
use shared::case::Figures;
use std::ops::Range;
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// What one thread did.
struct Written {
    numbers: Range<u64>,
    /// Of each write, in nanoseconds.
    latencies: Vec<u32>,
}

pub(super) fn run(case: &Case, dir: &Path) -> Result<Figures> {
    let system = named(&case.system)?;
    let store = system.open(dir)?;
    let (_, warm_up) = write(&*store, case, 0.25, 0)?;
    let (elapsed, measured) = write(&*store, case, 1.0, 1)?;
    store.close()?;

    let mut expected = Fold::default();
    for written in warm_up.iter().chain(&measured) {
        expected.merge(Fold::of(&mut Entries::of(case.order, written.numbers.clone())));
    }
    system.open(dir)?.read(&mut |reader| match reader.scan()? {
        found if found == expected => Ok(()),
        found => Err(format!("{} entries are there of {} acknowledged", found.count, expected.count).into()),
    })?;

    let mut all: Vec<u32> = measured.into_iter().flat_map(|w| w.latencies).collect();
    all.sort_unstable();
    let at = |quantile: f64| {
        all.get((all.len() as f64 * quantile) as usize).map_or(0.0, |ns| f64::from(*ns) / 1e3)
    };
    Ok(figures([
        ("writes_per_s", all.len() as f64 / elapsed.as_secs_f64()),
        ("p50_us", at(0.5)),
        ("p99_us", at(0.99)),
    ]))
}

/// All threads write for a share of the case's time; `phase` keeps their keys apart.
fn write(store: &dyn Store, case: &Case, share: f64, phase: u64) -> Result<(Duration, Vec<Written>)> {
    let limit = Duration::from_secs_f64(case.seconds * share);
    let start = Barrier::new(case.threads as usize + 1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..u64::from(case.threads))
            .map(|thread| {
                let first = phase << 40 | thread << 32;
                scope.spawn({
                    let start = &start;
                    move || {
                        write_one(
                            store,
                            Entries::of(case.order, first..first + (1 << 32)),
                            first,
                            start,
                            limit,
                        )
                    }
                })
            })
            .collect();
        start.wait();
        let begin = Instant::now();
        let mut all = Vec::new();
        for thread in threads {
            all.push(thread.join().map_err(|_| "a thread has panicked")??);
        }
        Ok((begin.elapsed(), all))
    })
}

fn write_one(
    store: &dyn Store,
    mut entries: Entries,
    first: u64,
    start: &Barrier,
    limit: Duration,
) -> Result<Written> {
    let session = store.session();
    start.wait(); // in any case: the others wait, too
    let mut session = session?;
    let mut latencies = Vec::new();
    let begin = Instant::now();
    let mut before = Duration::ZERO;
    while before < limit
        && let Some((key, value)) = entries.next()
    {
        session.put(key, value)?;
        let now = begin.elapsed();
        latencies.push(u32::try_from((now - before).as_nanos()).unwrap_or(u32::MAX));
        before = now;
    }
    Ok(Written { numbers: first..first + latencies.len() as u64, latencies })
}
