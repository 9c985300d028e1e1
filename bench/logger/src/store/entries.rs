//! Writing all entries, and reading them all back: as they lie when the last one was written, and once more when
//! everything is in its final files.

use super::configs::{Config, Read};
use super::ours;
use crate::Result;
use crate::case::Case;
use crate::sample::Entries;
use crate::usage::files_and_bytes;
use shared::case::Figures;
use shared::process::Process;
use std::path::Path;
use std::time::Instant;

pub(crate) fn entries(case: &Case, dir: &Path) -> Result<Figures> {
    let config = Config::of(&case.system)?;
    let entries = Entries::new(case.message_bytes);
    let mut figures = Figures::new();
    let per_entry = |ns: u128| ns as f64 / case.lines as f64;
    let peak_bytes = || -> Result<f64> { Ok(Process::This.memory()?.peak_bytes as f64) };
    let baseline = peak_bytes()?;

    let mut place = (config.open)(dir)?;
    let begin = Instant::now();
    for i in 0..case.lines {
        place.put(&entries.get(i))?;
    }
    place.finish()?;
    figures.insert("write_ns".into(), per_entry(begin.elapsed().as_nanos()));
    figures.insert("peak_bytes".into(), peak_bytes()? - baseline);
    let (files, bytes) = files_and_bytes(dir)?;
    figures.insert("files".into(), files);
    figures.insert("disk_bytes".into(), bytes);

    let wanted = wanted(&entries, case.lines);
    let mut timed = |name: &str, read: &dyn Fn() -> Result<Read>| -> Result<()> {
        let begin = Instant::now();
        let found = read()?;
        figures.insert(name.into(), per_entry(begin.elapsed().as_nanos()));
        if found == wanted { Ok(()) } else { Err(format!("{name}: {found:?} instead of {wanted:?}").into()) }
    };
    if let Some(read) = config.read {
        timed("read_ns", &|| read(dir, i64::MIN, i64::MAX))?;
    }
    place.close()?;
    if let Some(read) = config.read {
        timed("closed_read_ns", &|| read(dir, i64::MIN, i64::MAX))?;
    }
    if dir.join("store").exists() {
        timed("closed_columns_ns", &|| ours::read_columns(dir, i64::MIN, i64::MAX))?;
    }
    let (files, bytes) = files_and_bytes(dir)?;
    figures.insert("closed_files".into(), files);
    figures.insert("closed_disk_bytes".into(), bytes);
    figures.insert("all_peak_bytes".into(), peak_bytes()? - baseline);
    Ok(figures)
}

/// What reading all must find.
pub(super) fn wanted(entries: &Entries, lines: u64) -> Read {
    let mut wanted = Read::default();
    for entry in (0..lines).map(|i| entries.get(i)) {
        wanted.entries += 1;
        wanted.message_bytes += entry.message.len() as u64;
        wanted.requests += entry.request;
        wanted.fields += 4;
    }
    wanted
}
