//! Half reads, half writes of random keys, one at a time, from one thread, on few entries; before it reads
//! alone, after it writes alone. Every read is checked against what was written last.

use super::{figures, ns_each, repeat, stride};
use crate::Result;
use crate::case::Case;
use crate::data::{Random, VALUE_BYTES, fill, key, tag};
use crate::store::Session;
use crate::systems::named;
use shared::case::Figures;
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) fn run(case: &Case, dir: &Path) -> Result<Figures> {
    let store = named(&case.system)?.open(dir)?;
    let found = {
        let mut mix = Mix {
            case,
            session: store.session()?,
            random: Random::new(u64::from(case.round)),
            // A log grows with every write, and is read as a whole: it is measured before it is another log.
            most_operations: if case.system.contains("log") { case.entries * 2 } else { MOST_OPERATIONS },
            versions: vec![0; usize::try_from(case.entries)?],
            value: [0; VALUE_BYTES],
        };
        for n in 0..case.entries {
            mix.put(n)?;
        }
        let read = mix.measure(|mix, n| mix.get(n), 0.5)?;
        let mixed = mix.measure(Mix::either, 1.0)?;
        let write = mix.measure(|mix, n| mix.put(n), 0.5)?;
        figures([("mixed_ns", mixed), ("read_ns", read), ("write_ns", write)])
    };
    store.close()?;
    Ok(found)
}

/// So that the fastest does not do another amount of work than the others, with flushes and compactions.
const MOST_OPERATIONS: u64 = 500_000;

struct Mix<'a> {
    case: &'a Case,
    session: Box<dyn Session + 'a>,
    random: Random,
    most_operations: u64,
    versions: Vec<u64>,
    value: [u8; VALUE_BYTES],
}

impl Mix<'_> {
    fn measure(&mut self, operation: fn(&mut Self, u64) -> Result<()>, share: f64) -> Result<f64> {
        let once = |mix: &mut Self| {
            let n = mix.random.below(mix.case.entries);
            operation(mix, n)
        };
        let mut first = 0.0_f64;
        for _ in 0..8 {
            first = first.max(repeat(0.0, || once(self).map(|()| 1))?);
        }
        let stride = stride(first / 2.0);
        let limit = Duration::from_secs_f64(self.case.seconds * share);
        let begin = Instant::now();
        let mut done = 0;
        loop {
            for _ in 0..stride {
                once(self)?;
            }
            done += stride;
            let elapsed = begin.elapsed();
            if elapsed >= limit || done >= self.most_operations {
                return Ok(ns_each(elapsed, done));
            }
        }
    }

    #[inline]
    fn either(&mut self, n: u64) -> Result<()> {
        if self.random.next() & 1 == 0 { self.get(n) } else { self.put(n) }
    }

    #[inline]
    fn put(&mut self, n: u64) -> Result<()> {
        let version = &mut self.versions[n as usize];
        *version += 1;
        fill(n, *version, &mut self.value);
        self.session.put(&key(self.case.order, n), &self.value)
    }

    #[inline]
    fn get(&mut self, n: u64) -> Result<()> {
        if self.session.get(&key(self.case.order, n))? == Some(tag(n, self.versions[n as usize])) {
            return Ok(());
        }
        Err(format!("entry {n} is not as it was written last").into())
    }
}
