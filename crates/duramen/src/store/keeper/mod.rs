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
mod directories;
mod flushing;
pub(crate) mod handover;
mod merging;
pub(crate) mod put_back;
mod quarantine;
mod removal;
pub(crate) mod retain;
mod rewrite;
mod trim;

use crate::error::{Error, Result};
use crate::store::block_cache::BlockCache;
use crate::store::flush::Flusher;
use crate::store::shared::Shared;
use crate::store::tables::TableCache;
use burial::{Dead, MOST_TOGETHER};
use directories::{list, make_directories};
use duramen_engine::Error as EngineError;
use duramen_engine::io::Lock;
use duramen_engine::manifest::{Edit, Manifest, State};
use duramen_engine::wal::{self, SegmentReader, WriterDir};
use flushing::{FLUSH_GROUP_BYTES, Job};
use merging::MergedTogether;
use removal::Leaving;
use retain::RetainState;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

pub(crate) use directories::{make_readers_locks, refuse_tables_without_manifest};

/// In the place of a segment's number, where its writer's lock is meant.
const NO_SEGMENT: u64 = 0;

/// The keeper's power over the store, as long as it lives.
#[derive(Debug)]
pub(crate) struct Keeper {
    shared: Arc<Shared>,
    manifest: Manifest,
    flusher: Flusher,
    /// Segments of living writers that were not sealed when last looked at.
    watched: BTreeMap<(u64, u64), Arc<SegmentReader>>,
    /// Segments of living writers, and locks of writers, that cannot be read, and of which it was told.
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
    /// So many dead writers are buried together: fewer, once there were too few descriptors for it.
    most_together: usize,
    together: MergedTogether,
    _lock: Box<dyn Lock>,
}

fn not_in_place(shared: &Shared) -> Error {
    let root = shared.layout.root().display();
    Error::Invalid(format!(
        "{root}: the store was moved or removed while it was open: open again what is there now"
    ))
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
            // The manifest is made last: `wal/` and `tables/` have durable names, and who writes into them sees to those there.
            make_readers_locks(env, layout)?;
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
            most_together: MOST_TOGETHER,
            together: MergedTogether::default(),
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
        let wal_dir = self.shared.layout.wal();
        let writers = wal::writers(&self.shared.env, &wal_dir)?;
        let tell = |outcome: Result<()>| match outcome {
            Err(e) if e.is_not_found() => {} // its owner or an earlier keeper removed it meanwhile
            Err(e) => first_error = first_error.take().or(Some(e)),
            Ok(()) => {}
        };
        self.most_together = MOST_TOGETHER;
        self.serve_all(&writers).into_iter().for_each(tell);
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
        if Some(writer.writer_id) == self.shared.living_writer() {
            return self.flush_living(writer);
        }
        match wal::lock_writer_dir(&self.shared.env, &writer.path) {
            Ok(Some(lock)) => self.find_left(writer, lock).map(|left| dead.add(left)),
            Ok(None) => self.flush_living(writer),
            Err(EngineError::Io { path, source, .. }) if source.kind() == ErrorKind::IsADirectory => {
                if self.told_damaged.insert((writer.writer_id, NO_SEGMENT)) {
                    self.shared.incident(format!(
                        "{}: {source}: so nothing tells whether its writer lives, and what that wrote last stays where it is until this is moved away",
                        path.display()
                    ));
                }
                self.flush_living(writer)
            }
            Err(e) => Err(e.into()),
        }
    }

    fn flushed_through(&self, writer: u64) -> u64 {
        self.manifest.state().writers.get(&writer).copied().unwrap_or(0)
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
