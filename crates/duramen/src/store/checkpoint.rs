//! A copy of a store, made while others write: a store of its own, with every line that was there when it began.
//!
//! Its tables are the same files under a second name, which takes no room and no time, since tables never change. What
//! lies in WAL segments is put into tables of the copy, so that it has no WAL, and nothing in it has to be recovered.
//!
//! ```text
//! TO.tmp/SNAPSHOT.tmp     first: what has this file may be removed, by whoever makes TO the next time, unless it is
//!                         locked: then somebody is at it
//! TO.tmp/tables/…         links, and new tables of the lines that are in no table yet
//! TO.tmp/MANIFEST         names them
//! TO                      the new name of TO.tmp, once all of it is durable; then SNAPSHOT.tmp goes
//! ```

use super::flush::Flusher;
use super::keeper::make_readers_locks;
use super::keeper::retain::policy_of;
use super::layout::{Layout, day_of};
use super::live::Prefix;
use super::rows::RowSet;
use super::snapshot::{Snapshots, View};
use super::source::keep_furthest;
use super::{Store, retention};
use crate::error::{Error, Result};
use duramen_engine::Error as EngineError;
use duramen_engine::io::{InTheMaking, OpenMode, link_or_copy};
use duramen_engine::manifest::{Edit, Manifest, TableMeta};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;

/// A copy in the making. Of one that was opened, somebody was keeper.
const MAKING: InTheMaking = InTheMaking { what: "snapshot", mark: "SNAPSHOT.tmp", opened: "KEEPER" };

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointReport {
    /// Lines.
    pub lines: u64,
    /// Tables, of which most are the same files under a second name.
    pub tables: u64,
    /// Bytes of these.
    pub stored_bytes: u64,
    /// Tables whose files are missing, and so are from the copy; they count for none of the above.
    pub missing_tables: u64,
}

impl Store {
    /// Makes `dir`, which must not exist, a store with every line that was appended before this call, by any process,
    /// the retention policy and the source positions. It is durable when this returns. Readers, writers and the keeper
    /// go on meanwhile, and later in the original and the copy alike; a store that was opened read-only will do.
    ///
    /// On the same file system it takes the room of what is in WAL segments only. Restoring is opening the copy.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `dir` exists or is just being made by somebody else, or `dir` + `.tmp` is something else; what
    /// the file system said. Then there is no `dir` by this call. Damage is copied as it is, and a table that is
    /// missing is missing from the copy, too: [`Store::verify`] tells of both, and [`Store::incidents`] of what is missing and of
    /// what could not be read of WAL segments.
    pub fn checkpoint(&self, dir: impl AsRef<Path>) -> Result<CheckpointReport> {
        let made = MAKING.make(&self.shared.env, dir.as_ref(), |tmp| self.snapshots.fill(tmp));
        made.map_err(|e| match e {
            Error::Engine(EngineError::InvalidArgument(why)) => Error::Invalid(why),
            Error::Engine(EngineError::Locked { path }) => Error::Invalid(format!(
                "{} is where another snapshot of this name is just being made",
                path.parent().unwrap_or(&path).display()
            )),
            other => other,
        })
    }
}

impl Snapshots {
    /// Puts everything there is into a directory that is nobody's yet.
    fn fill(&self, to: &Path) -> Result<CheckpointReport> {
        let env = self.shared().env.clone();
        let target = Layout::new(to);
        // As long as the view's pin is held, no file of it is removed.
        let view = self.view()?;
        let mut tables: Vec<TableMeta> = view.state.tables.values().cloned().collect();
        let (mut days, mut missing) = (BTreeSet::new(), BTreeSet::new());
        for meta in &tables {
            let path = target.resolve(&meta.path);
            let day = path.parent().unwrap_or(to).to_path_buf();
            if days.insert(day.clone()) {
                env.fs.create_dir_all(&day).map_err(EngineError::io("create", &day))?;
            }
            let from = self.shared().layout.resolve(&meta.path);
            // A pipe would be linked like a file.
            let looked = env.fs.open(&from, OpenMode::Read).map_err(EngineError::io("open", &from));
            match looked.and_then(|_| link_or_copy(&*env.fs, &from, &path)) {
                // Nobody may have removed it meanwhile. The copy names it, so that what asks for its lines is told.
                Err(e) if view.pin.is_some() && self.is_missing(&e, &from) => {
                    self.shared()
                        .incident(format!("{} is missing, and is missing from the copy", from.display()));
                    missing.insert(meta.number);
                }
                done => done?,
            }
        }
        let rows = self.live_rows(&view);
        let mut values = view.state.values.clone();
        // What is in quarantine does not come along.
        values.retain(|key, _| !key.starts_with(super::keeper::aside::KEY_PREFIX));
        let mut furthest = BTreeMap::new();
        for (key, value) in values.range(super::source::KEY_PREFIX.to_vec()..) {
            if let Ok(position) = super::SourcePosition::decode(value)
                && key.starts_with(super::source::KEY_PREFIX)
            {
                keep_furthest(&mut furthest, &position);
            }
        }
        rows.sources().iter().for_each(|source| keep_furthest(&mut furthest, source));
        values.extend(furthest.into_iter().map(|(key, position)| (key, position.to_bytes())));
        tables.extend(self.flush_into(&target, rows, &view)?);
        for dir in days.iter().cloned().chain([target.tables(), target.wal()]) {
            env.fs.create_dir_all(&dir).map_err(EngineError::io("create", &dir))?;
            env.fs.sync_dir(&dir).map_err(EngineError::io("sync", &dir))?;
        }
        make_readers_locks(&env, &target)?;
        let mut report =
            CheckpointReport { missing_tables: missing.len() as u64, ..CheckpointReport::default() };
        for meta in tables.iter().filter(|meta| !missing.contains(&meta.number)) {
            report.lines += meta.entries;
            report.tables += 1;
            report.stored_bytes += meta.file_bytes;
        }
        Manifest::create(&env, to, env.random.next_u64())?.apply(Edit {
            add_tables: tables,
            set_values: values.into_iter().collect(),
            next_table: Some(view.state.next_table),
            ..Edit::default()
        })?;
        Ok(report)
    }

    /// Whether it failed because there is no table: nothing, or something that is no file.
    fn is_missing(&self, error: &EngineError, path: &Path) -> bool {
        let EngineError::Io { source, .. } = error else { return false };
        source.kind() == ErrorKind::IsADirectory
            || source.kind() == ErrorKind::NotFound && matches!(self.shared().env.fs.exists(path), Ok(false))
    }

    /// The rows that no table has, all together.
    fn live_rows(&self, view: &View) -> RowSet {
        let mut prefix = Prefix::default();
        let mut rows = RowSet::default();
        for segment in &view.live.segments {
            if !prefix.goes_on_with(self.shared(), segment) {
                continue;
            }
            // Alone first: whether those after it follow on is told by its own last record.
            let mut alone = RowSet::default();
            prefix.has(self.shared(), alone.add(segment.reader.clone()), alone.next_seq());
            // What precedes damage is taken; the damage was told just now.
            let _told = rows.add(segment.reader.clone());
        }
        rows
    }

    fn flush_into(&self, target: &Layout, mut rows: RowSet, view: &View) -> Result<Vec<TableMeta>> {
        let arenas = rows.arenas();
        let frozen = rows.take();
        let policy = policy_of(&view.state).ok().filter(|policy| !policy.keeps_everything());
        // Nothing is too late for a copy: that is for its own keeper to say.
        let shared = self.shared();
        let today = day_of(shared.env.clock.now_unix_ns());
        let sorted = retention::sort(policy.as_ref(), i64::MIN, &arenas, frozen.entries())?;
        let sorted = retention::Sorted { today, ..sorted };
        let mut flusher = Flusher::new(shared.env.clone(), target.clone(), shared.options.flush_threads)?;
        flusher.write(&arenas, &sorted, view.state.next_table)
    }
}
