//! Opening a directory: what is there, what a crash left, what can be cleared away.

use super::db::Recovery;
use super::flush::FLUSHED_SEQ;
use super::memtable;
use super::opening::Opening;
use super::options::{LsmOptions, MemtableKind};
use super::paths;
use super::superversion::{Immutable, Origin};
use super::table::MAX_SEQ;
use super::unnamed::unnamed;
use super::version::{Obsolete, TableFacts};
use crate::io::{Env, Lock, OpenMode};
use crate::kv::{EngineKind, Ops, Quarantine, marker};
use crate::manifest::{self, Manifest, ManifestReader, State};
use crate::wal::format::FIRST_RECORD;
use crate::wal::{self, Damage, Record, SegmentReader, WalRecoveryMode};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What an opening finds.
pub(super) struct Parts {
    pub(super) dir: PathBuf,
    pub(super) options: LsmOptions,
    /// `None`, like the manifest, if it is opened read-only.
    pub(super) lock: Option<Box<dyn Lock>>,
    pub(super) manifest: Option<Manifest>,
    pub(super) state: Arc<State>,
    pub(super) obsolete: Arc<Obsolete>,
    /// From the newest to the oldest.
    pub(super) immutables: Vec<Arc<Immutable>>,
    pub(super) last_seq: u64,
    pub(super) recovery: Recovery,
    /// Something was recovered. It may not be on the device, and syncing its segments would prove nothing: if a sync
    /// has failed before, the kernel counts their pages as clean. Later writes may be synced, and must not survive
    /// without it: so it must be in tables before anything else is written.
    pub(super) flush_first: bool,
    pub(super) dead_writers: BTreeMap<u64, Box<dyn Lock>>,
    /// Writers that the manifest knows and whose directory is not there.
    pub(super) gone: Vec<u64>,
    pub(super) left: Left,
}

/// What earlier openings left of their logs that is of no use, but missed by the next opening until the manifest knows of this one.
#[derive(Debug, Default)]
pub(super) struct Left {
    pub(super) writers: Vec<(PathBuf, Box<dyn Lock>)>,
    /// Segments without records, of writers that are needed.
    pub(super) witnesses: Vec<(u64, PathBuf)>,
}

/// Opens for writing; `held` is the store's lock, if the caller has it already.
pub(super) fn open(dir: &Path, options: LsmOptions, held: Option<Box<dyn Lock>>) -> Result<Parts> {
    let env = options.env.clone();
    let fs = &env.fs;
    // Before anything is put there: it may be something else. And once more when nobody else can begin a store there.
    marker::claim(&env, dir, EngineKind::Lsm, false)?;
    let lock_path = dir.join(paths::LOCK);
    let taken = match held {
        None => fs.try_lock(&lock_path).map_err(Error::io("lock", &lock_path))?,
        held => held,
    };
    let Some(lock) = taken else { return Err(Error::Locked { path: lock_path }) };
    marker::claim(&env, dir, EngineKind::Lsm, true)?;
    for name in [paths::TABLES, paths::WAL] {
        let made = dir.join(name);
        if !fs.exists(&made).map_err(Error::io("look for", &made))? {
            fs.create_dir_all(&made).map_err(Error::io("create directory", &made))?;
            fs.sync_dir(dir).map_err(Error::io("sync directory", dir))?;
        }
    }
    let manifest_path = dir.join(manifest::FILE_NAME);
    let mut unnamed_tables = Unnamed::default();
    let (manifest, state) = if fs.exists(&manifest_path).map_err(Error::io("look for", &manifest_path))? {
        // While the WAL is as it was left, and so is the manifest: opening it mends its end.
        unnamed_tables = Unnamed::put_aside(&env, dir)?;
        Manifest::open(&env, dir)?
    } else {
        refuse_tables(&env, dir, &manifest_path)?;
        let manifest = Manifest::create(&env, dir, env.random.next_u64())?;
        let state = Arc::clone(manifest.state());
        (manifest, state)
    };
    let mut found = Found::new(&state)?;
    found.recovery.quarantined = unnamed_tables.kept;
    for path in unnamed_tables.superfluous {
        fs.remove_file(&path).map_err(Error::io("remove", &path))?;
        found.recovery.removed.push(path);
    }
    found.opening = Opening::of(&state);
    found.misses = unnamed_tables.opening.is_some();
    let opening = found.opening.filter(|_| found.misses);
    if let Some(damage) = opening.map_or(Ok(None), |opening| opening.without_dir(&env, dir))? {
        found.miss(damage, options.wal_recovery_mode)?;
    }
    let mut dead = Vec::new();
    for writer in wal::writers(&env, &dir.join(paths::WAL))? {
        let Some(lock) = wal::lock_writer_dir(&env, &writer.path)? else {
            return Err(Error::Locked { path: writer.path });
        };
        found.recover_writer(&env, dir, &writer, &state, &options)?;
        dead.push((writer, lock));
    }
    for path in found.check_order(options.wal_recovery_mode)? {
        found.recovery.quarantined.push(put_aside(&env, dir, &path)?);
    }
    // A directory that a loss of power brings back must still be known as flushed: so it is forgotten when it is gone for good.
    let wal_dir = dir.join(paths::WAL);
    let is_gone = |id: &u64| matches!(fs.exists(&wal::writer_dir(&wal_dir, *id)), Ok(false));
    let gone = state.writers.keys().copied().filter(is_gone).collect();
    let mut dead_writers = BTreeMap::new();
    let mut left = Left::default();
    for (writer, lock) in dead {
        if found.needs(writer.writer_id) {
            left.witnesses.extend(found.witness.take_if(|(of, _)| *of == writer.writer_id));
            dead_writers.insert(writer.writer_id, lock);
        } else {
            left.writers.push((writer.path, lock));
        }
    }
    let flush_first = !dead_writers.is_empty();
    let parts = found.into_parts(dir, options, Some(lock), Some(manifest), state, dead_writers);
    Ok(Parts { flush_first, gone, left, ..parts })
}

/// A store gets its manifest before its first table: tables without one mean that it was lost, and a new, empty one
/// would make orphans of them all.
fn refuse_tables(env: &Env, dir: &Path, manifest: &Path) -> Result<()> {
    let tables = dir.join(paths::TABLES);
    let listed = env.fs.read_dir(&tables).map_err(Error::io("list", &tables))?;
    if listed.iter().any(|entry| entry.is_file && entry.name.ends_with(".sst")) {
        let detail =
            format!("it is missing, but {} holds tables: the store must be repaired", tables.display());
        return Err(Error::corruption(manifest, 0, detail));
    }
    Ok(())
}

/// What has become of the tables that the manifest does not name.
#[derive(Default)]
struct Unnamed {
    /// Where those are now that may be the only place for what they hold.
    kept: Vec<PathBuf>,
    /// Those that can go once the manifest is known to be durable as it is: what replaced them does not go with it then.
    superfluous: Vec<PathBuf>,
    /// The log that was begun and not closed.
    opening: Option<Opening>,
}

impl Unnamed {
    fn put_aside(env: &Env, dir: &Path) -> Result<Self> {
        let manifest = ManifestReader::open(env, dir)?;
        let mut this = Self { opening: Opening::known(&manifest), ..Self::default() };
        for (path, verdict) in unnamed(env, dir, &manifest)? {
            match verdict.why_kept() {
                Some(_) => this.kept.push(put_aside(env, dir, &path)?),
                None => this.superfluous.push(path),
            }
        }
        Ok(this)
    }
}

/// The write up to which the manifest knows all to be in tables. A store that began as a copy of another may not say so
/// before its first flush: there it is the last that the tables have.
pub(super) fn flushed_seq_of(state: &State) -> Result<u64> {
    match state.values.get(FLUSHED_SEQ).map(|seq| <[u8; 8]>::try_from(seq.as_slice())) {
        None => Ok(last_in_tables(state)),
        Some(Ok(seq)) => Ok(u64::from_le_bytes(seq)),
        Some(Err(_)) => Err(Error::corruption(manifest::FILE_NAME, 0, "the value flushed_seq is no number")),
    }
}

fn last_in_tables(state: &State) -> u64 {
    let facts = state.tables.values().filter_map(|table| TableFacts::decode(&table.user));
    facts.map(|facts| facts.max_seq).max().unwrap_or(0)
}

/// What was found in the WAL so far.
pub(super) struct Found {
    recovery: Recovery,
    /// With the sequence number of the first record in each.
    memtables: Vec<(u64, Arc<Immutable>)>,
    /// Every write up to this one is in tables.
    flushed_seq: u64,
    last_seq: u64,
    /// The log that was begun and not closed.
    opening: Option<Opening>,
    /// What is not there of that is missed.
    misses: bool,
    /// The writer, and a segment of its without records that shows that none is missing.
    witness: Option<(u64, PathBuf)>,
}

impl Found {
    pub(super) fn new(state: &State) -> Result<Self> {
        let flushed_seq = flushed_seq_of(state)?;
        let last_seq = flushed_seq.max(last_in_tables(state));
        Ok(Self {
            recovery: Recovery::default(),
            memtables: Vec::new(),
            flushed_seq,
            last_seq,
            opening: None,
            misses: false,
            witness: None,
        })
    }

    /// Whether records of this writer are used.
    fn needs(&self, writer_id: u64) -> bool {
        self.memtables.iter().any(|(_, found)| found.origin.writer_id == writer_id)
    }

    /// Looks whether the writes follow each other without a gap, from the last that is in a table on, across segments
    /// and writers. What comes after a gap is not used, unless the mode says so; gives the files.
    pub(super) fn check_order(&mut self, mode: WalRecoveryMode) -> Result<Vec<PathBuf>> {
        self.memtables.sort_by_key(|(first, _)| *first);
        let mut expected = self.flushed_seq + 1;
        let mut gap = None;
        for (at, (first, found)) in self.memtables.iter().enumerate() {
            if *first > expected {
                let path = found.origin.path.clone().unwrap_or_default();
                let detail = format!("write {expected} should follow; the segment begins with {first}");
                if mode == WalRecoveryMode::AbsoluteConsistency {
                    return Err(Error::corruption(path, 0, detail));
                }
                let number = found.origin.number;
                self.recovery.damage.push(Damage { number, path, offset: 0, proven: false, detail });
                if mode == WalRecoveryMode::PointInTime {
                    gap = Some(at);
                    break;
                }
            }
            expected = expected.max(found.last_seq + 1);
        }
        let unused = gap.map_or_else(Vec::new, |at| self.memtables.split_off(at));
        self.last_seq = self.last_seq.max(expected - 1);
        self.recovery.writes = self.memtables.iter().map(|(_, found)| found.memtable.len() as u64).sum();
        Ok(unused.into_iter().filter_map(|(_, found)| found.origin.path.clone()).collect())
    }

    /// Something of the log is not there.
    pub(super) fn miss(&mut self, damage: Damage, mode: WalRecoveryMode) -> Result<()> {
        if mode == WalRecoveryMode::AbsoluteConsistency {
            return Err(damage.to_error());
        }
        self.recovery.damage.push(damage);
        Ok(())
    }

    /// Takes what a dead writer left.
    fn recover_writer(
        &mut self,
        env: &Env,
        dir: &Path,
        writer: &wal::WriterDir,
        state: &State,
        options: &LsmOptions,
    ) -> Result<()> {
        let flushed = state.writers.get(&writer.writer_id).copied().unwrap_or(0);
        // Whether one that is not there was, the sequence numbers tell: a repair may have lost count.
        let gone = wal::segments(env, &writer.path)?
            .first()
            .map_or(0, |first| first.number.saturating_sub(1))
            .max(flushed);
        let found =
            wal::recover_unflushed(env, &writer.path, options.wal_recovery_mode, &|number| number <= gone)?;
        let opening = self.opening.filter(|_| self.misses);
        let lost = opening.and_then(|opening| opening.without_end(env, dir, found.writer_id, &found.ends));
        if let Some(lost) = lost {
            self.miss(lost, options.wal_recovery_mode)?;
        }
        let witness = self.opening.and_then(|opening| opening.witness(&found));
        for path in found.empty {
            if Some(&path) == witness.as_ref() {
                shorten(env, &path);
                self.witness = Some((writer.writer_id, path));
            } else {
                env.fs.remove_file(&path).map_err(Error::io("remove", &path))?;
            }
        }
        for aside in found.set_aside {
            self.recovery.quarantined.push(put_aside(env, dir, &aside.path)?);
        }
        self.recovery.torn_bytes += found.torn_bytes;
        self.recovery.damage.extend(found.damage);
        for segment in &found.segments {
            let origin = Origin {
                writer_id: writer.writer_id,
                number: segment.reader.number(),
                path: segment.reader.path().map(Into::into),
                recovered: true,
                damaged: segment.damaged,
            };
            self.add_segment(&segment.reader, segment.records().map(Ok), origin)?;
        }
        Ok(())
    }

    /// Makes a memtable of a segment.
    pub(super) fn add_segment<'a>(
        &mut self,
        segment: &Arc<SegmentReader>,
        records: impl Iterator<Item = Result<Record<'a>>>,
        origin: Origin,
    ) -> Result<()> {
        let memtable = memtable::new_memtable(MemtableKind::Vec, Arc::clone(segment), 0);
        let mut first_seq = None;
        let mut last_seq = 0;
        for record in records {
            let record = record?;
            let wrong = |detail| {
                let path = origin.path.as_deref().unwrap_or(Path::new("(memory)"));
                Error::corruption(path, record.offset, detail)
            };
            let end = record.seq.saturating_add(u64::from(record.count));
            if end > MAX_SEQ {
                return Err(wrong("the record's sequence numbers leave none for the next write"));
            }
            first_seq.get_or_insert(record.seq);
            last_seq = end.saturating_sub(1);
            if record.kind != super::write::KIND_BATCH {
                continue;
            }
            let mut ops = 0;
            // What a table would refuse could never be flushed.
            let sound = Ops::new(record.payload).take_while(|(_, op)| op.is_within_limits());
            for (seq, (offset, op)) in (record.seq..).zip(sound) {
                memtable.insert(seq, record.payload_offset + offset as u32, &op);
                ops += 1;
            }
            if ops != record.count {
                return Err(wrong("the record is not a batch of writes"));
            }
        }
        if let Some(first_seq) = first_seq {
            self.memtables.push((first_seq, Arc::new(Immutable { memtable, origin, last_seq })));
        }
        Ok(())
    }

    pub(super) fn into_parts(
        mut self,
        dir: &Path,
        options: LsmOptions,
        lock: Option<Box<dyn Lock>>,
        manifest: Option<Manifest>,
        state: Arc<State>,
        dead_writers: BTreeMap<u64, Box<dyn Lock>>,
    ) -> Parts {
        self.memtables.sort_by_key(|(first, _)| std::cmp::Reverse(*first));
        Parts {
            dir: dir.to_path_buf(),
            options,
            lock,
            manifest,
            state,
            obsolete: Arc::default(),
            immutables: self.memtables.into_iter().map(|(_, immutable)| immutable).collect(),
            last_seq: self.last_seq,
            recovery: self.recovery,
            flush_first: false,
            dead_writers,
            gone: Vec::new(),
            left: Left::default(),
        }
    }
}

/// Gives the space of a segment without records back: its header is all that is needed of it. By another file in its place, for
/// somebody may be reading this one.
fn shorten(env: &Env, path: &Path) {
    let small = path.with_extension("tmp");
    let shorten = || -> std::io::Result<()> {
        let file = env.fs.open(path, OpenMode::Read)?;
        if file.len()? <= FIRST_RECORD as u64 {
            return Ok(());
        }
        let mut header = vec![0; FIRST_RECORD];
        file.read_exact_at(&mut header, 0)?;
        let copy = env.fs.open(&small, OpenMode::CreateNew)?;
        copy.write_all_at(&header, 0)?;
        copy.sync_data()?;
        env.fs.rename(&small, path)
    };
    if shorten().is_err() {
        // It is what it was.
        let _best_effort = env.fs.remove_file(&small);
    }
}

/// Moves a file that nothing is used of out of the way. Says where it is now.
pub(super) fn put_aside(env: &Env, dir: &Path, path: &Path) -> Result<PathBuf> {
    Quarantine::new(env, dir).put_aside(path)
}

/// Removes the directory of a writer that is gone and whose segments are. Best effort: what stays is found again.
pub(super) fn remove_writer_dir(env: &Env, dir: &Path, lock: Box<dyn Lock>) {
    let listed = env.fs.read_dir(dir).unwrap_or_default();
    for name in listed.iter().filter(|entry| !entry.is_dir) {
        let _best_effort = env.fs.remove_file(&dir.join(&name.name));
    }
    let _best_effort = env.fs.remove_dir(dir);
    drop(lock);
}
