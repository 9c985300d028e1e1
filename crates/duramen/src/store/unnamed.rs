//! Tables that no manifest names, though their lines are nowhere else.
//!
//! A keeper that is cut off between a table and its manifest edit leaves a table that nobody misses: the segments that it was
//! made of are still there, and go only after the edit. Where they are gone the edit was made, and it is the manifest that is
//! older than what lies beside it: it has lost its end, or was copied before the rest of a store that was open. Then the
//! table is the only place that has its lines, and is kept for a person to look at.

use crate::error::Result;
use crate::store::flush::COLUMN_CODEC_ID;
use crate::store::layout::Layout;
use crate::store::origins::{ORIGINS_PROPERTY, Origins};
use duramen_engine::Error as EngineError;
use duramen_engine::io::Env;
use duramen_engine::manifest::{State, orphans};
use duramen_engine::sstable::Table;
use duramen_engine::wal::{self, SegmentReader};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The number in a table's name, if it has its final one.
pub(crate) fn table_number(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_suffix(".sst")?.parse().ok()
}

/// All files of tables that the manifest does not name.
///
/// # Errors
/// What the file system said.
pub(crate) fn unnamed(env: &Env, layout: &Layout, state: &State) -> Result<Vec<PathBuf>> {
    let tables = layout.tables();
    let days = match env.fs.read_dir(&tables) {
        Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
        other => other.map_err(EngineError::io("list", &tables))?,
    };
    let mut found = Vec::new();
    for day in days.iter().filter(|entry| entry.is_dir) {
        found.extend(orphans(env, layout.root(), format!("tables/{}", day.name), state)?);
    }
    Ok(found)
}

/// How many lines a table has that is later than all that the manifest knows, if it is the only place for some of them;
/// `None` if it is not, or is no whole table.
///
/// # Errors
/// What the file system said.
pub(crate) fn only_copy(env: &Env, layout: &Layout, state: &State, path: &Path) -> Result<Option<u64>> {
    if table_number(path).is_none_or(|number| number < state.next_table) {
        return Ok(None);
    }
    let table = match Table::open(env, path, COLUMN_CODEC_ID) {
        Err(e) if e.is_corruption() || e.is_not_found() => return Ok(None),
        other => other?,
    };
    let origins = table.property(ORIGINS_PROPERTY).and_then(|property| Origins::decode(property).ok());
    let mut writers = origins.iter().flat_map(Origins::writers);
    let mut is_only = false;
    while let Some(writer) = writers.next().filter(|_| !is_only) {
        is_only = !has_unflushed(env, layout, state, writer)?;
    }
    Ok(is_only.then(|| table.entries()))
}

/// Whether what a writer has written is still there from the first line on that is not in tables.
fn has_unflushed(env: &Env, layout: &Layout, state: &State, writer: u64) -> Result<bool> {
    let flushed = state.writers.get(&writer).copied().unwrap_or(0);
    let segments = wal::segments(env, &wal::writer_dir(&layout.wal(), writer))?;
    let Some(first) = segments.into_iter().find(|segment| segment.number > flushed) else { return Ok(false) };
    match SegmentReader::open(env, &first.path) {
        Ok(reader) => {
            let previous = reader.as_ref().and_then(SegmentReader::previous);
            Ok(previous.is_none_or(|number| number <= flushed))
        }
        // It is there; what is wrong with it others tell.
        Err(e) if e.is_corruption() => Ok(true),
        Err(e) if e.is_not_found() => Ok(false),
        Err(e) => Err(e.into()),
    }
}
