//! A hundredth of the time range, beside all of it; from a store that is open, whose files are in the page cache.

use super::configs::{Config, Read};
use super::{ours, peers};
use crate::Result;
use crate::case::Case;
use crate::sample::{Entries, FIRST_NS, STEP_NS};
use crate::usage::open_files;
use duramen::Store;
use shared::case::Figures;
use shared::middle::median;
use std::path::Path;
use std::time::Instant;

/// Windows that are read, all over the range.
const WINDOWS: u64 = 25;
/// Times that the whole range is read.
const WHOLES: u64 = 3;

pub(crate) fn window(case: &Case, dir: &Path) -> Result<Figures> {
    let entries = Entries::new(case.message_bytes);
    let mut place = (Config::of(&case.system)?.open)(dir)?;
    for i in 0..case.lines {
        place.put(&entries.get(i))?;
    }
    place.finish()?;
    place.close()?;

    let mut figures = Figures::new();
    if case.system == "sqlite-normal" {
        both(&mut figures, case, "", &|from, to| peers::sqlite_read(dir, from, to))?;
        return Ok(figures);
    }
    let store = Store::open_read_only(dir.join("store"))?;
    let (from, to) = nth(case, WINDOWS / 2);
    ours::scan(&store, from, to)?;
    figures.insert("window_tables".into(), open_files(dir, "sst")?);
    let snapshot = store.snapshot()?;
    figures.insert("window_blocks".into(), snapshot.blocks(from, to).len() as f64);
    figures.insert("blocks".into(), snapshot.blocks(i64::MIN, i64::MAX).len() as f64);
    drop(snapshot);
    both(&mut figures, case, "", &|from, to| ours::scan(&store, from, to))?;
    both(&mut figures, case, "columns_", &|from, to| ours::columns(&store, from, to))?;
    figures.insert("tables".into(), open_files(dir, "sst")?);
    Ok(figures)
}

/// The n-th window.
fn nth(case: &Case, n: u64) -> (i64, i64) {
    let width = case.lines / 100;
    let first = (case.lines - width) / (WINDOWS - 1) * n;
    let from = FIRST_NS + first as i64 * STEP_NS;
    (from, from + (width as i64 - 1) * STEP_NS)
}

/// Times both, the windows and the whole.
fn both(
    figures: &mut Figures,
    case: &Case,
    prefix: &str,
    read: &dyn Fn(i64, i64) -> Result<Read>,
) -> Result<()> {
    let timed = |(from, to), entries: u64| -> Result<f64> {
        let begin = Instant::now();
        let found = read(from, to)?.entries;
        let ns = begin.elapsed().as_nanos() as f64;
        if found == entries { Ok(ns) } else { Err(format!("{found} entries instead of {entries}").into()) }
    };
    let whole = (0..WHOLES).map(|_| timed((i64::MIN, i64::MAX), case.lines)).collect::<Result<_>>()?;
    let some = (0..WINDOWS).map(|n| timed(nth(case, n), case.lines / 100)).collect::<Result<_>>()?;
    figures.insert(format!("{prefix}whole_ns"), median(whole).unwrap_or_default());
    figures.insert(format!("{prefix}window_ns"), median(some).unwrap_or_default());
    Ok(())
}
