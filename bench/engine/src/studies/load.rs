//! Loading: from the first write to the last acknowledged one, and until everything is in its files and the store
//! is closed. What was written is read back afterwards, from the store opened again.

use super::{check_all, check_some, figures, ns_each};
use crate::Result;
use crate::case::Case;
use crate::data::Entries;
use crate::systems::{Side, named};
use shared::case::Figures;
use std::path::Path;
use std::time::Instant;

pub(super) fn run(case: &Case, dir: &Path) -> Result<Figures> {
    let system = named(&case.system)?;
    let mut entries = Entries::new(case.order, case.entries);
    let store = system.open(dir)?;
    let cpu = shared::process::cpu();
    let begin = Instant::now();
    store.load(&mut entries)?;
    let acknowledged = begin.elapsed();
    store.close()?;
    let closed = begin.elapsed();
    let cpu = shared::process::cpu().saturating_sub(cpu);
    let peak_bytes = shared::process::Process::This.memory()?.peak_bytes;
    let disk_bytes = shared::disk::disk_bytes(dir);

    let store = system.open(dir)?;
    if system.side != Side::Baseline {
        store.read(&mut |reader| check_some(reader, case.order, case.entries, 1_000))?;
    }
    if case.system != "generator" {
        check_all(&*store, Entries::new(case.order, case.entries))?;
    }
    Ok(figures([
        ("put_ns", ns_each(acknowledged, case.entries)),
        ("closed_ns", ns_each(closed, case.entries)),
        ("cpu_s", cpu.as_secs_f64()),
        ("peak_bytes", peak_bytes as f64),
        ("disk_bytes", disk_bytes as f64),
    ]))
}
