//! A consistent view of the whole store: every acknowledged row once.
//!
//! Order makes it so. First the segments are listed, then the manifest is read. A row acknowledged before
//! is in a listed segment, or its segment was flushed, and then the manifest, read later, has its table. A
//! listed segment that the manifest says is flushed is left to the table. The one doubt, a writer that was
//! flushed *and forgotten* in between, shows in its file being gone; then the view is taken again.

use crate::block::BlockHandle;
use crate::error::Result;
use crate::store::live::{LiveCache, LiveSegments, Prefix};
use crate::store::rows::RowSet;
use crate::store::shared::{Shared, lock};
use crate::store::source::{KEY_PREFIX, SourcePosition, keep_furthest};
use crate::store::tables::{TableBlockHandle, TableCache};
use duramen_engine::io::Lock;
use duramen_engine::manifest::{ManifestReader, State};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

/// How often a view is taken again before giving up: each time a segment was flushed in just the wrong
/// moment, which can hardly happen twice in a row.
const MAX_ATTEMPTS: usize = 1_000;

/// Holds back the removal of files while it lives.
pub(crate) type Pin = Option<Arc<dyn Lock>>;

/// Never made: the type of a pin that was never taken.
#[derive(Debug)]
enum NoLock {}
impl Lock for NoLock {}

/// Where snapshots come from.
#[derive(Debug)]
pub(crate) struct Snapshots {
    shared: Arc<Shared>,
    manifest: Mutex<ManifestReader>,
    pin: Mutex<Weak<dyn Lock>>,
    tables: Arc<TableCache>,
    live: LiveCache,
}

/// A consistent view of a store. It stays as it is while others write; take a new one to see more.
#[derive(Clone, Debug)]
pub struct Snapshot {
    blocks: Vec<Arc<dyn BlockHandle>>,
    _pin: Pin,
}

/// The manifest's state, and the segments that hold what its tables do not.
pub(crate) struct View {
    pub(crate) pin: Pin,
    pub(crate) state: Arc<State>,
    pub(crate) live: LiveSegments,
}

impl Snapshots {
    pub(crate) fn new(shared: Arc<Shared>) -> Result<Self> {
        let manifest = Mutex::new(ManifestReader::open(&shared.env, shared.layout.root())?);
        let tables = Arc::new(TableCache::new(shared.env.clone(), shared.layout.clone()));
        Ok(Self {
            shared,
            manifest,
            pin: Mutex::new(Weak::<NoLock>::new()),
            tables,
            live: LiveCache::default(),
        })
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// How far each source has been read: what the manifest says, and what live segments say after it.
    pub(crate) fn source_positions(&self) -> Result<Vec<SourcePosition>> {
        let View { state, live, .. } = self.view()?;
        let mut found = BTreeMap::new();
        for (key, value) in state.values.range(KEY_PREFIX.to_vec()..) {
            if !key.starts_with(KEY_PREFIX) {
                break;
            }
            found.insert(key.clone(), SourcePosition::decode(value)?);
        }
        let mut prefix = Prefix::default();
        for segment in &live.segments {
            if prefix.goes_on_with(segment) {
                let mut rows = RowSet::default();
                rows.follow(segment.reader.clone());
                prefix.has(&self.shared, rows.extend(), rows.next_seq());
                rows.sources().iter().for_each(|source| keep_furthest(&mut found, source));
            }
        }
        Ok(found.into_values().collect())
    }

    pub(crate) fn tables(&self) -> &Arc<TableCache> {
        &self.tables
    }

    /// Keeps the files that a view taken from now on may read from being removed. One lock serves all views
    /// of this process. A file system that refuses it (a read-only one has no keeper) is no hindrance.
    fn pin(&self) -> Pin {
        let mut held = lock(&self.pin);
        if let Some(pin) = held.upgrade() {
            return Some(pin);
        }
        let path = self.shared.layout.readers_lock();
        for _ in 0..MAX_ATTEMPTS {
            match self.shared.env.fs.try_lock_shared(&path) {
                Ok(Some(pin)) => {
                    let pin: Arc<dyn Lock> = Arc::from(pin);
                    *held = Arc::downgrade(&pin);
                    return Some(pin);
                }
                // The keeper is removing files, which takes it a moment.
                Ok(None) => std::thread::park_timeout(Duration::from_millis(1)),
                Err(_) => return None,
            }
        }
        None
    }

    pub(crate) fn view(&self) -> Result<View> {
        let pin = self.pin();
        for _ in 0..MAX_ATTEMPTS {
            let live = self.live.list(&self.shared)?;
            let state = lock(&self.manifest).refresh()?;
            if let Some(live) = live.without_flushed(&self.shared, &state)? {
                return Ok(View { pin, state, live });
            }
        }
        Err(crate::Error::Invalid("segments are flushed faster than they can be listed".into()))
    }

    pub(crate) fn take(&self) -> Result<Snapshot> {
        let View { pin, state, live } = self.view()?;
        let mut blocks = TableBlockHandle::of_all(&self.tables, &state)?;
        blocks.extend(self.live.blocks(&self.shared, &live));
        Ok(Snapshot { blocks, _pin: pin })
    }
}

impl Snapshot {
    /// The blocks that may hold rows from `min_time` to `max_time`, both included (ns since the epoch).
    pub fn blocks(&self, min_time: i64, max_time: i64) -> Vec<Arc<dyn BlockHandle>> {
        let overlaps = |b: &&Arc<dyn BlockHandle>| b.max_time() >= min_time && b.min_time() <= max_time;
        self.blocks.iter().filter(overlaps).cloned().collect()
    }

    /// How many rows it has.
    pub fn rows(&self) -> u64 {
        self.blocks.iter().map(|b| b.rows() as u64).sum()
    }
}
