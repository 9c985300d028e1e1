//! Opening a directory for reading, without changing anything in it, whoever writes there.
//!
//! No lock is taken, not even for a moment: who opens the store for writing would find it locked. What is missing can be told
//! without: of a writer that lives, too, directory and segments are there while the manifest says so.

use super::opening::Opening;
use super::options::LsmOptions;
use super::paths;
use super::recover::{Found, Parts};
use super::superversion::Origin;
use crate::Result;
use crate::io::Env;
use crate::kv::{EngineKind, marker};
use crate::manifest::{ManifestReader, State};
use crate::wal::{self, Damage, Ends, Record, SegmentReader, WriterDir};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Opens for reading, without changing anything.
pub(super) fn open_read_only(dir: &Path, options: LsmOptions) -> Result<Parts> {
    let env = options.env.clone();
    marker::claim(&env, dir, EngineKind::Lsm, true)?;
    let mut reader = ManifestReader::open(&env, dir)?;
    loop {
        let state = Arc::clone(reader.state());
        let read = read(&env, dir, &state, Opening::known(&reader))?;
        // A file goes only after an edit.
        if reader.refresh()?.version != state.version {
            continue;
        }
        if let Some((mut found, missing)) = read {
            if let Some(damage) = missing {
                found.miss(damage, options.wal_recovery_mode)?;
            }
            let _left_where_they_are = found.check_order(options.wal_recovery_mode)?;
            return Ok(found.into_parts(dir, options, None, None, state, BTreeMap::new()));
        }
    }
}

/// What the log has that is not in the tables of this state, and what tells that some of it is missing. `None` if files came or
/// went meanwhile, so that the manifest knows more by now, or another look shows more.
fn read(
    env: &Env,
    dir: &Path,
    state: &State,
    opening: Option<Opening>,
) -> Result<Option<(Found, Option<Damage>)>> {
    let mut found = Found::new(state)?;
    let mut missing = opening.map_or(Ok(None), |opening| opening.without_dir(env, dir))?;
    for writer in wal::writers(env, &dir.join(paths::WAL))? {
        let flushed = state.writers.get(&writer.writer_id).copied().unwrap_or(0);
        let listed = unflushed(env, &writer, flushed)?;
        let mut segments = Vec::new();
        let mut without_header = Vec::new();
        for file in &listed {
            match SegmentReader::open(env, &file.path) {
                Ok(Some(segment)) => {
                    let origin = Origin {
                        writer_id: writer.writer_id,
                        number: file.number,
                        path: Some(file.path.clone()),
                        recovered: true,
                        damaged: false,
                    };
                    let segment = Arc::new(segment);
                    found.add_segment(&segment, follow(&segment), origin)?;
                    segments.push(segment);
                }
                Ok(None) => without_header.push(&*file.path),
                // Flushed meanwhile.
                Err(e) if e.is_not_found() => return Ok(None),
                Err(e) => return Err(e),
            }
        }
        let Some(opening) = opening else { continue };
        let ends = Ends::of_readers(segments.iter().map(|segment| &**segment));
        let lost = opening.without_end(env, dir, writer.writer_id, &ends);
        // One that was made since the first look, or was being made, may have followed on one that was sealed since.
        if lost.is_some() {
            let now = unflushed(env, &writer, flushed)?;
            let is_same = now.iter().map(|file| file.number).eq(listed.iter().map(|file| file.number));
            let is_made = |path: &&Path| !matches!(SegmentReader::open(env, path), Ok(None));
            if !is_same || without_header.iter().any(is_made) {
                return Ok(None);
            }
        }
        missing = missing.or(lost);
    }
    Ok(Some((found, missing)))
}

/// The segments of a writer that are not in tables.
fn unflushed(env: &Env, writer: &WriterDir, flushed: u64) -> Result<Vec<wal::SegmentFile>> {
    let mut listed = wal::segments(env, &writer.path)?;
    listed.retain(|file| file.number > flushed);
    Ok(listed)
}

/// The records of a segment that may belong to a living writer, as far as they are there now.
fn follow(segment: &SegmentReader) -> impl Iterator<Item = Result<Record<'_>>> {
    let mut at = segment.start();
    std::iter::from_fn(move || match segment.next_record(at) {
        Ok(Some((record, next))) => {
            at = next;
            Some(Ok(record))
        }
        Ok(None) => None,
        Err(e) => Some(Err(e)),
    })
}
