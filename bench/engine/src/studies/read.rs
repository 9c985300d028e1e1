//! Reading from one thread, everything warm: gets that find something, gets that do not, and a scan of everything.
//!
//! The store is loaded once, in the order of the keys, which makes the B-trees as dense as they can be, then
//! settled (flushed, compacted), and read by one process for each round.

use super::{check_all, check_some, figures, repeat, stride};
use crate::Result;
use crate::case::Case;
use crate::data::{Entries, Random, key, tag};
use crate::store::Reader;
use crate::systems::named;
use shared::case::Figures;
use std::path::Path;

pub(super) fn prepare(case: &Case, dir: &Path) -> Result<Figures> {
    let system = named(&case.system)?;
    let store = system.open(dir)?;
    let mut entries = Entries::new(case.order, case.entries);
    entries.sort();
    store.load(&mut entries)?;
    store.settle()?;
    store.close()?;
    let store = system.open(dir)?;
    check_all(&*store, Entries::new(case.order, case.entries))?;
    store.close()?;
    Ok(figures([("disk_bytes", shared::disk::disk_bytes(dir) as f64)]))
}

pub(super) fn run(case: &Case, dir: &Path) -> Result<Figures> {
    let store = named(&case.system)?.open(dir)?;
    let mut found = Figures::new();
    store.read(&mut |reader| {
        // Warms the caches, and says what a check costs.
        let whole = repeat(0.0, || Ok(reader.scan()?.count))? * case.entries as f64;
        check_some(reader, case.order, case.entries, if whole > 1e6 { 1_000 } else { 100 })?;
        let mut gets = Gets { case, reader: &mut *reader, random: Random::new(u64::from(case.round)) };
        let hit_ns = gets.measure(Gets::hit)?;
        let miss_ns = gets.measure(Gets::miss)?;
        let scan_ns = repeat(case.seconds, || match reader.scan()?.count {
            count if count == case.entries => Ok(count),
            count => Err(format!("a scan saw {count} entries of {}", case.entries).into()),
        })?;
        found = figures([("hit_ns", hit_ns), ("miss_ns", miss_ns), ("scan_ns", scan_ns)]);
        Ok(())
    })?;
    found.insert("peak_bytes".to_owned(), shared::process::Process::This.memory()?.peak_bytes as f64);
    Ok(found)
}

struct Gets<'a> {
    case: &'a Case,
    reader: &'a mut dyn Reader,
    random: Random,
}

impl Gets<'_> {
    /// Nanoseconds for each, after as long a time to warm up.
    fn measure(&mut self, get: fn(&mut Self) -> Result<()>) -> Result<f64> {
        let first = repeat(0.0, || get(self).map(|()| 1))?;
        let mut stride = stride(first);
        let many = |gets: &mut Self| {
            for _ in 0..stride {
                get(gets)?;
            }
            Ok(stride)
        };
        let warm = repeat(self.case.seconds, || many(self))?;
        stride = self::stride(warm);
        repeat(self.case.seconds, || {
            for _ in 0..stride {
                get(self)?;
            }
            Ok(stride)
        })
    }

    #[inline]
    fn hit(&mut self) -> Result<()> {
        let n = self.random.below(self.case.entries);
        if self.reader.get(&key(self.case.order, n))? == Some(tag(n, 0)) {
            return Ok(());
        }
        Err(format!("entry {n} is not found as it was written").into())
    }

    /// Keys that were never written, all over the range of those that were.
    #[inline]
    fn miss(&mut self) -> Result<()> {
        let n = self.case.entries + (1 << 32) + self.random.below(1 << 32);
        match self.reader.get(&key(self.case.order, n))? {
            None => Ok(()),
            Some(_) => Err(format!("entry {n} is found, and was never written").into()),
        }
    }
}
