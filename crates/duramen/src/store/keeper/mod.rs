//! The keeper: the one process that turns the sealed segments of every writer into tables.
//!
//! It holds the lock `KEEPER`, and with it the manifest. A writer's segments up to a number are in tables
//! from the moment that one manifest edit says so; their files are removed after that, and a file that
//! comes back (a power loss undid its removal) is recognised by its number and removed again.

pub(crate) mod aside;
mod burial;
mod come_back;
mod damaged_blocks;
pub(crate) mod delete;
pub(crate) mod handover;
pub(crate) mod put_back;
mod quarantine;
mod removal;
pub(crate) mod retain;
mod rewrite;
mod trim;

use crate::error::{Error, Result};
use crate::store::block_cache::BlockCache;
use crate::store::compact;
use crate::store::flush::Flusher;
use crate::store::layout::{Layout, day_of};
use crate::store::readers::Generation;
use crate::store::retention;
use crate::store::rows::RowSet;
use crate::store::shared::Shared;
use crate::store::source::{SourcePosition, keep_furthest};
use crate::store::tables::TableCache;
use burial::Dead;
use duramen_engine::Error as EngineError;
use duramen_engine::io::{Env, Lock};
use duramen_engine::manifest::{Edit, Manifest, State};
use duramen_engine::wal::{self, SegmentReader, WriterDir};
use removal::Leaving;
use retain::RetainState;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How often to look for what is to be flushed while tables are merged.
const FLUSH_EVERY_WHILE_MERGING: Duration = Duration::from_millis(200);
/// How many bytes of segments are flushed together, so that many small ones make one table. All of them are mapped
/// meanwhile.
const FLUSH_GROUP_BYTES: u64 = 16 << 20;

/// The keeper's power over the store, as long as it lives.
#[derive(Debug)]
pub(crate) struct Keeper {
    shared: Arc<Shared>,
    manifest: Manifest,
    flusher: Flusher,
    /// Segments of living writers that were not sealed when last looked at.
    watched: BTreeMap<(u64, u64), Arc<SegmentReader>>,
    /// Segments of living writers that cannot be read, and of which it was told.
    told_damaged: BTreeSet<(u64, u64)>,
    tables: Arc<TableCache>,
    leaving: Leaving,
    /// Tables that are damaged, or were to be merged with one that is.
    not_mergeable: BTreeSet<u64>,
    retain: RetainState,
    /// Whether tables are being read to take the place of others: none of them may go meanwhile.
    rewriting: bool,
    /// Flushing failed just now, and is not tried again while tables are written anew: it would end that, too.
    pub(crate) flush_failed: bool,
    _lock: Box<dyn Lock>,
}

fn not_in_place(shared: &Shared) -> Error {
    let root = shared.layout.root().display();
    Error::Invalid(format!(
        "{root}: the store was moved or removed while it was open: open again what is there now"
    ))
}

/// A segment to flush, whose it is, and whether damage was found in it.
#[derive(Clone)]
struct Job {
    writer: u64,
    reader: Arc<SegmentReader>,
    damaged: bool,
    /// Up to which of its writer's segments all count as flushed when it is.
    through: u64,
}

impl Keeper {
    /// Becomes keeper if nobody is; makes the manifest if there is none.
    pub(crate) fn try_become(shared: &Arc<Shared>) -> Result<Option<Self>> {
        let Shared { env, layout, .. } = &**shared;
        let lock_path = layout.keeper_lock();
        let Some(lock) = env.fs.try_lock(&lock_path).map_err(EngineError::io("lock", &lock_path))? else {
            return Ok(None);
        };
        let manifest_path = layout.manifest();
        let made = env.fs.exists(&manifest_path).map_err(EngineError::io("look for", &manifest_path))?;
        let manifest = if made {
            // Whoever made these may have crashed before their names were durable.
            make_readers_locks(env, layout)?;
            sync_directories(shared)?;
            Manifest::open(env, layout.root())?.0
        } else if shared.has_kept() {
            return Err(not_in_place(shared));
        } else {
            refuse_tables_without_manifest(env, layout)?;
            make_directories(shared)?;
            Manifest::create(env, layout.root(), env.random.next_u64())?
        };
        if !shared.may_keep(manifest.state().store_id) {
            return Err(not_in_place(shared));
        }
        let flusher = Flusher::new(env.clone(), layout.clone(), shared.options.flush_threads)?;
        let mut keeper = Self {
            shared: shared.clone(),
            manifest,
            flusher,
            watched: BTreeMap::new(),
            told_damaged: BTreeSet::new(),
            tables: Arc::new(TableCache::new(env.clone(), layout.clone(), BlockCache::new(0))),
            leaving: Leaving::default(),
            not_mergeable: BTreeSet::new(),
            retain: RetainState::default(),
            rewriting: false,
            flush_failed: false,
            _lock: lock,
        };
        keeper.find_unnamed()?;
        keeper.remove_replaced()?;
        Ok(Some(keeper))
    }

    /// Looks at every writer once: flushes what is sealed, recovers what the dead left.
    ///
    /// # Errors
    /// The first that kept a writer's segments from being flushed; the other writers were still served. The
    /// keeper must then be given up and become anew, because the manifest may have refused an edit.
    pub(crate) fn step(&mut self) -> Result<()> {
        self.in_place()?;
        let mut first_error = None;
        let own = self.shared.living_writer();
        let wal_dir = self.shared.layout.wal();
        let writers = wal::writers(&self.shared.env, &wal_dir)?;
        let mut tell = |outcome: Result<()>| match outcome {
            Err(e) if e.is_not_found() => {} // its owner or an earlier keeper removed it meanwhile
            Err(e) => first_error = first_error.take().or(Some(e)),
            Ok(()) => {}
        };
        let mut dead = Dead::default();
        for writer in &writers {
            if Some(writer.writer_id) == own {
                tell(self.flush_living(writer));
            } else {
                tell(self.serve(writer, &mut dead));
            }
            if dead.are_enough() {
                self.bury(std::mem::take(&mut dead)).into_iter().for_each(&mut tell);
            }
        }
        self.bury(dead).into_iter().for_each(tell);
        self.forget_gone(&writers)?;
        if !self.rewriting {
            self.drop_when_due()?;
        }
        let removed = self.remove_replaced();
        first_error.map_or(removed, Err)
    }

    /// Looks whether its store is still the one that lies there. The lock is on a file and the manifest is one, but all other
    /// files are found by name: were the directory moved, and another store made in its place, these would be that one's.
    fn in_place(&self) -> Result<()> {
        if self.manifest.is_in_place()? { Ok(()) } else { Err(not_in_place(&self.shared)) }
    }

    /// Applies an edit, if the store is in its place.
    fn apply(&mut self, edit: Edit) -> Result<Arc<State>> {
        self.in_place()?;
        Ok(self.manifest.apply(edit)?)
    }

    /// Flushes what a writer has sealed if it lives; if it does not, finds what it left.
    fn serve(&mut self, writer: &WriterDir, dead: &mut Dead) -> Result<()> {
        match wal::lock_writer_dir(&self.shared.env, &writer.path)? {
            Some(lock) => self.find_left(writer, lock).map(|left| dead.add(left)),
            None => self.flush_living(writer),
        }
    }

    fn flushed_through(&self, writer: u64) -> u64 {
        self.manifest.state().writers.get(&writer).copied().unwrap_or(0)
    }

    /// Flushes the sealed segments of a writer that goes on writing.
    fn flush_living(&mut self, writer: &WriterDir) -> Result<()> {
        let flushed = self.flushed_through(writer.writer_id);
        let mut jobs = Vec::new();
        let files = wal::segments(&self.shared.env, &writer.path)?;
        // One that was never used goes without having been sealed.
        let there: BTreeSet<u64> = files.iter().map(|file| file.number).collect();
        self.watched.retain(|(id, number), _| *id != writer.writer_id || there.contains(number));
        for file in files {
            if file.number <= flushed {
                self.remove(&file.path)?;
                continue;
            }
            let key = (writer.writer_id, file.number);
            let reader = match self.watched.get(&key) {
                Some(reader) => reader.clone(),
                None => match SegmentReader::open(&self.shared.env, &file.path) {
                    Ok(Some(reader)) => Arc::new(reader),
                    Ok(None) => break,
                    // Once its writer is gone, its records are looked for. Nobody else is to wait for that.
                    // But this process's own writers would wait for its buffers: they are told.
                    Err(e) if e.is_corruption() && self.shared.living_writer() != Some(writer.writer_id) => {
                        if self.told_damaged.insert(key) {
                            self.shared.incident(format!("a segment waits for its writer's end: {e}"));
                        }
                        break;
                    }
                    Err(e) => return Err(e.into()),
                },
            };
            // One from before the machine was started, whose writer nevertheless lives, is another machine's: it
            // is not ours to tell where it ends.
            if !reader.is_sealed() || reader.is_from_another_boot() {
                self.watched.insert(key, reader);
                break;
            }
            self.watched.remove(&key);
            jobs.push(Job { writer: writer.writer_id, reader, damaged: false, through: file.number });
        }
        self.flush(jobs, Vec::new())
    }

    /// Puts segments into tables, in groups, and removes them. With the last group, of the writers in `passed_over`, who have
    /// none among them, those up to such a number count as flushed.
    fn flush(&mut self, jobs: Vec<Job>, passed_over: Vec<(u64, u64)>) -> Result<()> {
        let mut group: Vec<Job> = Vec::new();
        let mut bytes = 0;
        for job in jobs {
            let len = job.reader.committed();
            if bytes > 0 && bytes + len > FLUSH_GROUP_BYTES {
                self.flush_group(std::mem::take(&mut group), Vec::new())?;
                bytes = 0;
            }
            bytes += len;
            group.push(job);
        }
        self.flush_group(group, passed_over)
    }

    fn flush_group(&mut self, mut jobs: Vec<Job>, passed_over: Vec<(u64, u64)>) -> Result<()> {
        let mut flushed = BTreeMap::new();
        for (writer, through) in jobs.iter().map(|job| (job.writer, job.through)).chain(passed_over) {
            let furthest = flushed.entry(writer).or_insert(through);
            *furthest = through.max(*furthest);
        }
        if flushed.is_empty() {
            return Ok(());
        }
        let mut rows = RowSet::default();
        for job in &mut jobs {
            let undecodable_before = rows.undecodable();
            if let Err(damage) = rows.add(job.reader.clone()) {
                self.shared.incident(format!("{damage}; the segment was moved to quarantine"));
                job.damaged = true;
            }
            if rows.undecodable() > undecodable_before {
                self.shared.incident(format!(
                    "{} entries of segment {} of writer {:016x} could not be decoded; the segment was moved to quarantine",
                    rows.undecodable() - undecodable_before,
                    job.reader.number(),
                    job.writer
                ));
                job.damaged = true;
            }
        }
        let mut furthest = BTreeMap::new();
        rows.sources().iter().for_each(|source| keep_furthest(&mut furthest, source));
        let known = &self.manifest.state().values;
        let is_news = |key: &[u8], source: &SourcePosition| {
            let known = known.get(key).and_then(|value| SourcePosition::decode(value).ok());
            known.is_none_or(|known| source.read_bytes > known.read_bytes)
        };
        let mut set_values: Vec<_> = furthest
            .into_iter()
            .filter(|(key, source)| is_news(key, source))
            .map(|(key, source)| (key, source.to_bytes()))
            .collect();
        for job in jobs.iter().filter(|job| job.damaged) {
            if let Some(path) = job.reader.path() {
                self.preserve(job.writer, path)?;
            }
        }
        let arenas = rows.arenas();
        let frozen = rows.take();
        let policy = self.policy();
        let now_ns = self.shared.env.clock.now_unix_ns();
        let sorted = retention::sort(policy.as_ref(), now_ns, &arenas, frozen.entries())?;
        let add_tables = self.flusher.write(&arenas, &sorted, self.manifest.state().next_table)?;
        self.count_late(sorted.late, &mut set_values);
        self.apply(Edit {
            add_tables,
            flushed: flushed.clone().into_iter().collect(),
            set_values,
            ..Edit::default()
        })?;
        for job in &jobs {
            if let Some(path) = job.reader.path() {
                self.remove(path)?;
            }
        }
        if let Some(wal) = self.shared.wal.newest()
            && let Some(&through) = flushed.get(&wal.writer_id())
        {
            wal.release(through);
        }
        Ok(())
    }

    /// Merges tables of one day, whose lines had at most so many bytes, if there are enough of them. Whether there were,
    /// and `stop` did not end it. Flushes meanwhile: a merge may take minutes, and writers wait for no merge.
    ///
    /// # Errors
    /// What the file system said. Damage in a table is no error: its day is left as it is, and told.
    pub(crate) fn compact(&mut self, max_raw_bytes: u64, stop: &dyn Fn() -> bool) -> Result<bool> {
        let state = self.manifest.state().clone();
        let classes_id =
            self.policy().filter(|policy| !policy.rules.is_empty()).map(|policy| policy.classes_id());
        let today = day_of(self.shared.env.clock.now_unix_ns());
        let picked = compact::pick(&state, &self.not_mergeable, max_raw_bytes, classes_id, today);
        let Some(inputs) = picked else { return Ok(false) };
        let number = self.reserve_table()?;
        let (tables, mut flusher) = (self.tables.clone(), self.flusher()?);
        let merged =
            self.while_stepping(stop, |go_on| compact::merge(&mut flusher, &tables, &inputs, number, go_on))?;
        let table = match merged {
            Err(e) if e.is_corruption() => {
                self.shared.incident(format!("tables were not merged: {e}"));
                self.not_mergeable.extend(inputs.iter().map(|meta| meta.number));
                return Ok(true);
            }
            Ok(None) => return Ok(false),
            Ok(Some(table)) => table,
            Err(e) => return Err(e),
        };
        self.replace_tables(Edit {
            add_tables: vec![table],
            remove_tables: inputs.iter().map(|meta| meta.number).collect(),
            ..Edit::default()
        })?;
        Ok(true)
    }

    /// A number for a table to be written while others are flushed, which take other numbers.
    fn reserve_table(&mut self) -> Result<u64> {
        let number = self.manifest.state().next_table;
        self.apply(Edit { next_table: number.checked_add(1), ..Edit::default() })?;
        Ok(number)
    }

    /// Does long work on tables, which stay meanwhile, and which asks whether to go on after each block; in between,
    /// flushes.
    ///
    /// # Errors
    /// What kept flushes from being done; the work's own error is in its outcome.
    fn while_stepping<T>(
        &mut self,
        stop: &dyn Fn() -> bool,
        work: impl FnOnce(&mut dyn FnMut() -> bool) -> T,
    ) -> Result<T> {
        let clock = self.shared.env.clock.clone();
        let mut looked = clock.monotonic();
        let mut flush_failed = None;
        let within_other = std::mem::replace(&mut self.rewriting, true);
        let done = work(&mut || {
            if !self.flush_failed && clock.monotonic().saturating_sub(looked) >= FLUSH_EVERY_WHILE_MERGING {
                flush_failed = self.step().err();
                looked = clock.monotonic();
            }
            flush_failed.is_none() && !stop()
        });
        self.rewriting = within_other;
        flush_failed.map_or(Ok(done), Err)
    }

    /// Writes one table at a time, beside the flushes.
    fn flusher(&self) -> Result<Flusher> {
        Flusher::new(self.shared.env.clone(), self.shared.layout.clone(), 1)
    }

    /// Forgets the writers whose directories are gone. Their going must be durable first: a segment that
    /// came back, with nothing known of its writer, would be flushed a second time.
    fn forget_gone(&mut self, present: &[WriterDir]) -> Result<()> {
        let own = self.shared.living_writer();
        let wal_dir = self.shared.layout.wal();
        let mut gone = Vec::new();
        for &writer in self.manifest.state().writers.keys() {
            if Some(writer) != own
                && present.iter().all(|p| p.writer_id != writer || !self.exists(&p.path).unwrap_or(true))
            {
                gone.push(writer);
            }
        }
        if !gone.is_empty() {
            self.shared.env.fs.sync_dir(&wal_dir).map_err(EngineError::io("sync", &wal_dir))?;
            self.apply(Edit { forget_writers: gone, ..Edit::default() })?;
        }
        Ok(())
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        Ok(self.shared.env.fs.exists(path).map_err(EngineError::io("look for", path))?)
    }
}

/// Makes the store's directories, their names durable before anything in them can be.
fn make_directories(shared: &Shared) -> Result<()> {
    let Shared { env, layout, .. } = shared;
    for dir in [layout.wal(), layout.tables()] {
        env.fs.create_dir_all(&dir).map_err(EngineError::io("create", &dir))?;
    }
    make_readers_locks(env, layout)?;
    if let Some(parent) = layout.root().parent().filter(|p| !p.as_os_str().is_empty()) {
        match env.fs.sync_dir(parent) {
            // Its own making is then not ours to make durable, either.
            Err(e) if e.kind() == ErrorKind::PermissionDenied => {}
            other => other.map_err(EngineError::io("sync", parent))?,
        }
    }
    sync_directories(shared)
}

/// Makes the files of the readers' locks, which those who may only read cannot.
pub(crate) fn make_readers_locks(env: &Env, layout: &Layout) -> Result<()> {
    for generation in Generation::ALL {
        let path = layout.readers_lock(generation);
        if !env.fs.exists(&path).map_err(EngineError::io("look for", &path))? {
            // Taking the lock makes the file; whether it is free is no matter.
            env.fs.try_lock(&path).map_err(EngineError::io("lock", &path))?;
        }
    }
    Ok(())
}

fn sync_directories(shared: &Shared) -> Result<()> {
    let Shared { env, layout, .. } = shared;
    for dir in [layout.root().to_path_buf(), layout.wal(), layout.tables()] {
        match env.fs.sync_dir(&dir) {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            other => other.map_err(EngineError::io("sync", &dir))?,
        }
    }
    Ok(())
}

/// Tables without a manifest are a store whose manifest was lost, not a new one: nothing may be removed.
///
/// # Errors
/// Corruption of the manifest; what the file system said.
pub(crate) fn refuse_tables_without_manifest(env: &Env, layout: &Layout) -> Result<()> {
    for day in list(env, &layout.tables())? {
        let dir = layout.tables().join(&day.name);
        if let Some(table) = list(env, &dir)?.iter().find(|entry| entry.name.ends_with(".sst")) {
            let detail = format!("it is missing, but there are tables ({}/{})", dir.display(), table.name);
            return Err(EngineError::corruption(layout.manifest(), 0, detail).into());
        }
    }
    Ok(())
}

/// The entries of a directory; none if it is not there.
fn list(env: &Env, dir: &Path) -> Result<Vec<duramen_engine::io::DirEntry>> {
    match env.fs.read_dir(dir) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        other => Ok(other.map_err(EngineError::io("list", dir))?),
    }
}
