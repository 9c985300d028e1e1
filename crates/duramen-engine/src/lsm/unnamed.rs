//! Tables that the manifest does not name.
//!
//! A crash leaves such, and nobody misses them: a table that was flushed has its writes in the WAL, one of a compaction in the
//! tables that it was made of, and what was neither synced nor kept in a WAL was promised to nobody. Only if the manifest is
//! older than what lies beside it may they be the only place for what they hold. That is proven by what goes only after an
//! edit: a table that the manifest names and that is not there; or a segment that is not there, though a later one of its
//! writer says that it was, and no loss of power can have taken its name.

use super::paths;
use super::recover::flushed_seq_of;
use super::table::is_whole;
use crate::Result;
use crate::io::Env;
use crate::manifest::{self, State};
use crate::wal::{self, SegmentReader};
use std::path::{Path, PathBuf};

/// The tables that the manifest does not name, and for each that is to be kept, why. Right only while nobody writes.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) if the directory of tables cannot be listed.
pub(super) fn unnamed(env: &Env, dir: &Path, state: &State) -> Result<Vec<(PathBuf, Option<String>)>> {
    let found = manifest::orphans(env, dir, paths::TABLES, state)?;
    let proof = if found.is_empty() { None } else { proof_of_age(env, dir, state) };
    let judge = |path: &Path| {
        if path.extension().is_none_or(|extension| extension != "sst") {
            return None;
        }
        match is_whole(env, path) {
            Ok(true) => proof
                .as_ref()
                .map(|proof| format!("it may have writes that are nowhere else: MANIFEST is older and does not name it, {proof}")),
            Ok(false) => None,
            Err(e) => Some(format!("MANIFEST does not name it, and whether it is of use cannot be told: {e}")),
        }
    };
    let judged = |path: PathBuf| {
        let kept = judge(&path);
        (path, kept)
    };
    Ok(found.into_iter().map(judged).collect())
}

/// What shows that the manifest is older than what lies beside it.
fn proof_of_age(env: &Env, dir: &Path, state: &State) -> Option<String> {
    let is_gone = |path: &Path| matches!(env.fs.exists(path), Ok(false));
    if let Some(meta) = state.tables.values().find(|meta| is_gone(&dir.join(&meta.path))) {
        return Some(format!("but {}, which is gone", meta.path));
    }
    let flushed_seq = flushed_seq_of(state).ok()?;
    for writer in wal::writers(env, &dir.join(paths::WAL)).ok()? {
        let flushed = state.writers.get(&writer.writer_id).copied().unwrap_or(0);
        let files = wal::segments(env, &writer.path).ok()?;
        let mut unflushed = files.iter().filter(|file| file.number > flushed);
        let first = unflushed.find_map(|file| {
            SegmentReader::open(env, &file.path)
                .ok()
                .flatten()
                .filter(|segment| segment.first_seq().is_some())
        });
        // After a loss of power, names that were not synced may be missing.
        let Some(segment) = first.filter(|segment| !segment.is_from_another_boot()) else { continue };
        let is_missing = |number: &u64| *number > flushed && files.iter().all(|file| file.number != *number);
        if segment.first_seq() > Some(flushed_seq + 1)
            && let Some(missing) = segment.previous().filter(is_missing)
        {
            let number = segment.number();
            return Some(format!("nor segment {missing}, which is gone, and which segment {number} follows"));
        }
    }
    None
}
