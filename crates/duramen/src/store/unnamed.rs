//! Tables that no manifest names, though their lines may be nowhere else.
//!
//! A keeper that is cut off between a table and its manifest edit leaves a table that nobody misses: what it was made of is
//! still there, and goes only after the edit. Where it is gone the edit was made, and it is the manifest that is older than
//! what lies beside it: it has lost its end, or was copied before the rest of a store that was open. So it is, too, where a
//! table that it names has no file: those go only after an edit. Then a table may be the only place that has its lines, and
//! is kept for a person to look at.

use crate::error::Result;
use crate::store::flush::COLUMN_CODEC_ID;
use crate::store::layout::Layout;
use crate::store::origins::{ORIGINS_PROPERTY, Origins};
use duramen_engine::Error as EngineError;
use duramen_engine::io::Env;
use duramen_engine::manifest::{Orphan, State, orphans};
use duramen_engine::sstable::Table;
use duramen_engine::wal::{self, SegmentReader};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What is to become of a table that no manifest names.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Nobody misses it.
    Superfluous,
    /// It only has a table's name, and is no file: a table of that number would have no place.
    NoFile,
    /// It may be the only place for its lines: how many, if that is known, and why.
    /// And whether it may be put back: not where other tables may have replaced it that the manifest knew.
    Kept { lines: Option<u64>, why: String, may_return: bool },
}

/// The number in a table's name, if it has its final one.
pub(crate) fn table_number(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_suffix(".sst")?.parse().ok()
}

/// All files of tables that the manifest does not name, and what is to become of each. Right only while nobody writes any.
///
/// # Errors
/// What the file system said to the question which there are.
pub(crate) fn unnamed(env: &Env, layout: &Layout, state: &State) -> Result<Vec<(PathBuf, Verdict)>> {
    let tables = layout.tables();
    let days = match env.fs.read_dir(&tables) {
        Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
        other => other.map_err(EngineError::io("list", &tables))?,
    };
    let mut found = Vec::new();
    for day in days.iter().filter(|entry| entry.is_dir) {
        found.extend(orphans(env, layout.root(), format!("tables/{}", day.name), state)?);
    }
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let is_gone = |path: &str| matches!(env.fs.exists(&layout.resolve(path)), Ok(false));
    let gone = state.tables.values().find(|meta| is_gone(&meta.path)).map(|meta| &*meta.path);
    let judged = |Orphan { path, is_file }| {
        let verdict = if is_file { judge(env, layout, state, gone, &path) } else { Verdict::NoFile };
        (path, verdict)
    };
    Ok(found.into_iter().map(judged).collect())
}

/// What is to become of a file; `gone` is a table that the manifest names and that is not there.
fn judge(env: &Env, layout: &Layout, state: &State, gone: Option<&str>, path: &Path) -> Verdict {
    let kept = |lines, why: &str| Verdict::Kept { lines, why: why.to_owned(), may_return: gone.is_none() };
    let unknown = |lines, e: &dyn std::fmt::Display| {
        kept(lines, &format!("MANIFEST does not name it, and whether it is of use cannot be told: {e}"))
    };
    // Those that were replaced have numbers that the manifest knows, as have merged ones that were cut off.
    let number = match table_number(path) {
        Some(number) if number >= state.next_table || gone.is_some() => number,
        _ => return Verdict::Superfluous,
    };
    let table = match Table::open(env, path, COLUMN_CODEC_ID) {
        Ok(table) => table,
        Err(e) if e.is_not_found() || e.is_corruption() => return Verdict::Superfluous,
        Err(e) => return unknown(None, &e),
    };
    let lines = Some(table.entries());
    if let Some(gone) = gone {
        return kept(
            lines,
            &format!(
                "its lines may be nowhere else: MANIFEST is older and does not name it, but {gone}, which is gone"
            ),
        );
    }
    let only = "no answer has its lines, which are nowhere else: MANIFEST is older and does not name it";
    let Some(origins) = table.property(ORIGINS_PROPERTY).and_then(|bytes| Origins::decode(bytes).ok()) else {
        return kept(lines, "MANIFEST does not name it, and it does not say where its lines come from");
    };
    // One that takes the place of others has a number that was put into the manifest before.
    if origins.tables().any(|table| table != number) {
        return kept(lines, only);
    }
    for writer in origins.writers() {
        match has_unflushed(env, layout, state, writer) {
            Ok(true) => {}
            Ok(false) => return kept(lines, only),
            Err(e) => return unknown(lines, &e),
        }
    }
    Verdict::Superfluous
}

/// Whether what a writer has written is still there from the first line on that is not in tables.
fn has_unflushed(env: &Env, layout: &Layout, state: &State, writer: u64) -> Result<bool> {
    let flushed = state.writers.get(&writer).copied().unwrap_or(0);
    let segments = wal::segments(env, &wal::writer_dir(&layout.wal(), writer))?;
    for segment in segments.into_iter().filter(|segment| segment.number > flushed) {
        match SegmentReader::open(env, &segment.path) {
            // One without a record was begun after what is looked for, or is empty for another reason.
            Ok(reader) => match reader.filter(|reader| reader.first_seq().is_some()) {
                None => {}
                Some(reader) => return Ok(reader.previous().is_none_or(|number| number <= flushed)),
            },
            // It is there; what is wrong with it others tell.
            Err(e) if e.is_corruption() => return Ok(true),
            Err(e) if e.is_not_found() => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(false)
}
