//! Opening a directory for reading, without changing anything in it, whoever writes there.

use super::opening::Opening;
use super::options::LsmOptions;
use super::paths;
use super::recover::{Found, Parts};
use super::superversion::Origin;
use super::unnamed::unnamed;
use crate::Result;
use crate::io::Env;
use crate::kv::{EngineKind, is_live, marker};
use crate::manifest::{ManifestReader, State};
use crate::wal::{self, Damage, Record, SegmentReader, WriterDir};
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
        let read = read(&env, dir, &reader, &options);
        let unnamed = read.is_ok().then(|| only_places(&env, dir, &reader)).transpose()?;
        if reader.refresh()?.version != state.version {
            continue;
        }
        // `None`: flushed meanwhile, and the manifest is about to know more.
        if let Some(mut found) = read? {
            for damage in unnamed.into_iter().flatten() {
                found.miss(damage, &options)?;
            }
            found.check_order(options.wal_recovery_mode)?;
            return Ok(found.into_parts(dir, options, None, None, state, BTreeMap::new()));
        }
    }
}

/// What the log has that is not in the tables of this state; `None` if something of it went meanwhile.
fn read(env: &Env, dir: &Path, manifest: &ManifestReader, options: &LsmOptions) -> Result<Option<Found>> {
    let state = &**manifest.state();
    let mut found = Found::new(state)?;
    found.opening = Opening::known(manifest);
    found.look_for_log(env, dir, options)?;
    for writer in wal::writers(env, &dir.join(paths::WAL))? {
        if !is_live(env, &writer.path.join(paths::LOCK))? {
            // As one who opens it for writing takes it.
            found.recover_writer(env, dir, &writer, state, options)?;
        } else if !follow_writer(env, &writer, state, &mut found)? {
            return Ok(None);
        }
    }
    Ok(Some(found))
}

/// The records of a writer that lives, as far as they are there now. Whether none of its segments went meanwhile.
fn follow_writer(env: &Env, writer: &WriterDir, state: &State, found: &mut Found) -> Result<bool> {
    let flushed = state.writers.get(&writer.writer_id).copied().unwrap_or(0);
    for file in wal::segments(env, &writer.path)?.into_iter().filter(|file| file.number > flushed) {
        match SegmentReader::open(env, &file.path) {
            Ok(Some(segment)) => {
                let origin = Origin {
                    writer_id: writer.writer_id,
                    number: file.number,
                    path: Some(file.path),
                    recovered: true,
                    damaged: false,
                };
                let segment = Arc::new(segment);
                found.add_segment(&segment, follow(&segment), origin)?;
            }
            Ok(None) => {}
            Err(e) if e.is_not_found() => return Ok(false),
            Err(e) => return Err(e),
        }
    }
    Ok(true)
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

/// Tables that the manifest does not name and should: it is older than they are. While somebody writes, some are always
/// about to be named.
fn only_places(env: &Env, dir: &Path, manifest: &ManifestReader) -> Result<Vec<Damage>> {
    let lock = dir.join(paths::LOCK);
    if is_live(env, &lock)? {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for (path, verdict) in unnamed(env, dir, manifest)? {
        if let Some(why) = verdict.why_kept() {
            let detail = why.to_owned();
            found.push(Damage { number: 0, path, offset: 0, proven: false, detail });
        }
    }
    // Who has begun meanwhile may have made them.
    if !found.is_empty() && is_live(env, &lock)? {
        found.clear();
    }
    Ok(found)
}
