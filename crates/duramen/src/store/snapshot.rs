//! A consistent view of the whole store: every acknowledged row once.
//!
//! Order makes it so. First the segments are listed, then the manifest is read. A row acknowledged before
//! is in a listed segment, or its segment was flushed, and then the manifest, read later, has its table. A
//! listed segment that the manifest says is flushed is left to the table. The one doubt, a writer that was
//! flushed *and forgotten* in between, shows in its file being gone; then the view is taken again.

use crate::block::BlockHandle;
use crate::error::Result;
use crate::store::block_cache::BlockCache;
use crate::store::kept_view::KeptView;
use crate::store::live::{LiveCache, LiveSegments, Prefix};
use crate::store::pin::{Pin, Pins};
use crate::store::readers::Generation;
use crate::store::rows::RowSet;
use crate::store::scan::Buffers;
use crate::store::shared::{Shared, lock};
use crate::store::size::Counted;
use crate::store::source::{KEY_PREFIX, SourcePosition, keep_furthest};
use crate::store::table_blocks::TableBlocks;
use crate::store::tables::TableCache;
use duramen_engine::manifest::{ManifestReader, State};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// How often a view is taken again before giving up: each time a segment was flushed in just the wrong
/// moment, which can hardly happen twice in a row.
const MAX_ATTEMPTS: usize = 1_000;

/// Where snapshots come from.
#[derive(Debug)]
pub(crate) struct Snapshots {
    shared: Arc<Shared>,
    manifest: Mutex<ManifestReader>,
    pins: Pins,
    pub(super) kept: KeptView,
    tables: Arc<TableCache>,
    live: LiveCache,
    counted: Counted,
    page_buffers: Buffers,
}

/// How much memory a store's own cache of blocks has.
const BLOCK_CACHE_BYTES: usize = 32 << 20;

/// A consistent view of a store. It stays as it is while others write; take a new one to see more.
#[derive(Clone, Debug)]
pub struct Snapshot {
    tables: TableBlocks,
    live: Vec<Arc<dyn BlockHandle>>,
}

/// The manifest's state, and the segments that hold what its tables do not.
pub(crate) struct View {
    pub(crate) pin: Pin,
    pub(crate) state: Arc<State>,
    pub(crate) live: Arc<LiveSegments>,
}

impl Snapshots {
    pub(crate) fn new(shared: Arc<Shared>) -> Result<Self> {
        let manifest = Mutex::new(ManifestReader::open(&shared.env, shared.layout.root())?);
        let blocks = shared.options.block_cache.clone();
        let blocks = blocks.unwrap_or_else(|| BlockCache::new(BLOCK_CACHE_BYTES));
        let tables = Arc::new(TableCache::new(shared.env.clone(), shared.layout.clone(), blocks));
        Ok(Self {
            shared,
            manifest,
            pins: Pins::default(),
            kept: KeptView::default(),
            tables,
            live: LiveCache::default(),
            counted: Counted::default(),
            page_buffers: Buffers::default(),
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
            if prefix.goes_on_with(&self.shared, segment) {
                let mut rows = RowSet::default();
                rows.follow(segment.reader.clone());
                prefix.has(&self.shared, rows.extend(), rows.next_seq());
                rows.sources().iter().for_each(|source| keep_furthest(&mut found, source));
            }
        }
        Ok(found.into_values().collect())
    }

    pub(crate) fn counted(&self) -> &Counted {
        &self.counted
    }

    /// For scans.
    pub(crate) fn page_buffers(&self) -> &Buffers {
        &self.page_buffers
    }

    pub(crate) fn tables(&self) -> &Arc<TableCache> {
        &self.tables
    }

    /// What the manifest says now.
    pub(crate) fn state(&self) -> Result<Arc<State>> {
        self.shared.not_forked()?;
        Ok(lock(&self.manifest).refresh()?)
    }

    /// Everything at this moment.
    pub(crate) fn view(&self) -> Result<View> {
        self.shared.not_forked()?;
        if let Some(view) = self.kept.get(&self.shared, |turn| self.pins.take(&self.shared, turn))? {
            return Ok(view);
        }
        let watched = self.kept.begin(&self.shared);
        let view = self.look()?;
        self.kept.keep(watched, &view);
        Ok(view)
    }

    fn look(&self) -> Result<View> {
        let mut turn = Generation::of(lock(&self.manifest).state())?;
        for _ in 0..MAX_ATTEMPTS {
            let pin = self.pins.take(&self.shared, turn)?;
            let live = self.live.list(&self.shared)?;
            let state = lock(&self.manifest).refresh()?;
            let locked_for = std::mem::replace(&mut turn, Generation::of(&state)?);
            if locked_for != turn {
                continue;
            }
            if let Some(live) = live.without_flushed(&self.shared, &state)? {
                self.tables.keep_live(&state);
                return Ok(View { pin, state, live: Arc::new(live) });
            }
        }
        Err(crate::Error::Invalid("segments are flushed faster than they can be listed".into()))
    }

    /// The rows that no table has.
    pub(crate) fn live_blocks(&self, view: &View) -> Vec<Arc<dyn BlockHandle>> {
        self.live.blocks(&self.shared, &view.live)
    }

    pub(crate) fn take(&self) -> Result<Snapshot> {
        let View { pin, state, live } = self.view()?;
        let tables = TableBlocks::of(&self.tables, &state, &pin)?;
        Ok(Snapshot { tables, live: self.live.blocks(&self.shared, &live) })
    }
}

impl Snapshot {
    /// The blocks that may hold rows from `min_time` to `max_time`, both included (ns since the epoch).
    pub fn blocks(&self, min_time: i64, max_time: i64) -> Vec<Arc<dyn BlockHandle>> {
        let overlaps = |b: &&Arc<dyn BlockHandle>| b.max_time() >= min_time && b.min_time() <= max_time;
        let of_tables = self.tables.between(min_time, max_time);
        let of_tables = of_tables.into_iter().map(|handle| handle as Arc<dyn BlockHandle>);
        of_tables.chain(self.live.iter().filter(overlaps).cloned()).collect()
    }

    /// How many rows it has.
    pub fn rows(&self) -> u64 {
        self.tables.rows() + self.live.iter().map(|b| b.rows() as u64).sum::<u64>()
    }
}
