//! Tables that were opened lately, and what the manifest says of tables.

use crate::columnar::{TableFields, TableStreams, TableTimes};
use crate::error::Result;
use crate::store::block_cache::{BlockCache, StoreBlocks};
use crate::store::flush::{BLOCK_FIELDS_PROPERTY, BLOCK_TIMES_PROPERTY, COLUMN_CODEC_ID, STREAMS_PROPERTY};
use crate::store::kept_word_filters::{KeptWordFilters, MAX_KEPT_FILTER_BYTES};
use crate::store::layout::Layout;
use crate::store::origins::{ORIGINS_PROPERTY, Origins};
use crate::store::shared::lock;
use crate::store::table_facts::KnownTable;
use duramen_engine::Error as EngineError;
use duramen_engine::io::Env;
use duramen_engine::io::os::is_out_of_descriptors;
use duramen_engine::manifest::{State, TableMeta};
use duramen_engine::sstable::{Opening, Table};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};

/// The most tables that are kept open, each with a file descriptor and its index in memory.
pub const MAX_OPEN_TABLES: usize = 256;

/// Tables that were opened lately. Shared by all snapshots of a store.
#[derive(Debug)]
pub(crate) struct TableCache {
    env: Env,
    layout: Layout,
    open: Mutex<OpenTables>,
    /// What the manifest says of tables, by number, decoded once for all snapshots.
    known: Mutex<BTreeMap<u64, Arc<KnownTable>>>,
    pub(super) blocks: StoreBlocks,
    pub(super) word_filters: KeptWordFilters,
}

#[derive(Debug, Default)]
struct OpenTables {
    /// By number: the table, and when it was last asked for.
    tables: BTreeMap<u64, (Arc<OpenTable>, u64)>,
    clock: u64,
}

/// An opened table.
#[derive(Debug)]
pub(crate) struct OpenTable {
    pub(crate) table: Arc<Table>,
    /// Its streams, if it tells them, when somebody has asked.
    streams: OnceLock<Option<Arc<TableStreams>>>,
    /// Its blocks' fields, likewise.
    fields: OnceLock<Option<TableFields>>,
    /// How many rows of its blocks each step of time has, likewise.
    times: OnceLock<Option<TableTimes>>,
}

impl OpenTable {
    /// # Errors
    /// As [`TableCache::get`].
    fn finish(opening: Opening) -> Result<Self> {
        let table = Arc::new(opening.finish(COLUMN_CODEC_ID)?);
        let (streams, fields, times) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Ok(Self { table, streams, fields, times })
    }

    /// Its blocks' fields, if it tells them.
    pub(crate) fn fields(&self) -> Option<&TableFields> {
        // Without them, blocks tell theirs.
        let decode = |property| TableFields::decode(property).ok();
        self.fields.get_or_init(|| self.table.property(BLOCK_FIELDS_PROPERTY).and_then(decode)).as_ref()
    }

    /// Whether somebody has asked for them.
    #[cfg(test)]
    pub(crate) fn knows_fields(&self) -> bool {
        self.fields.get().is_some()
    }

    /// How many rows of its blocks each step of time has, if it tells that.
    pub(crate) fn times(&self) -> Option<&TableTimes> {
        let decode = |property| TableTimes::decode(property).ok();
        self.times.get_or_init(|| self.table.property(BLOCK_TIMES_PROPERTY).and_then(decode)).as_ref()
    }

    /// Its streams, if it tells them.
    pub(crate) fn streams(&self) -> Option<&Arc<TableStreams>> {
        // Without them, blocks tell theirs.
        let decode = |property| TableStreams::decode(property).ok().map(Arc::new);
        self.streams.get_or_init(|| self.table.property(STREAMS_PROPERTY).and_then(decode)).as_ref()
    }
}

impl TableCache {
    pub(crate) fn new(env: Env, layout: Layout, blocks: Arc<BlockCache>) -> Self {
        let (open, known) = (Mutex::default(), Mutex::default());
        let blocks = StoreBlocks::new(blocks);
        let word_filters = KeptWordFilters::new(if blocks.keeps_any() { MAX_KEPT_FILTER_BYTES } else { 0 });
        Self { env, layout, open, known, blocks, word_filters }
    }

    /// The table, opened.
    ///
    /// # Errors
    /// What the file system said; corruption of its footer, index or properties, and if the file is another table's.
    pub(crate) fn get(&self, known: &KnownTable) -> Result<Arc<OpenTable>> {
        self.get_or(known, || self.begin(&known.path))
    }

    /// The table, opened if it has to be, by what has begun to.
    ///
    /// # Errors
    /// As [`TableCache::get`].
    pub(crate) fn get_or(
        &self,
        known: &KnownTable,
        opening: impl FnOnce() -> Result<Opening>,
    ) -> Result<Arc<OpenTable>> {
        if let Some(table) = lock(&self.open).touch(known.number) {
            return Ok(table);
        }
        // Opened without the lock: two may open the same table, which costs less than waiting for a disk.
        let open = Arc::new(OpenTable::finish(opening()?)?);
        known.check_is_it(&open.table)?;
        lock(&self.open).insert(known.number, open.clone());
        Ok(open)
    }

    /// Begins to open a table.
    ///
    /// # Errors
    /// What the file system said; corruption if there is no such file: as with one that is damaged, its lines are lost, and
    /// nothing else is to wait for it.
    pub(crate) fn begin(&self, path: &str) -> Result<Opening> {
        let path = self.layout.resolve(path);
        let begin = || Opening::begin(&self.env, path.clone());
        let begun = begin().or_else(|e| {
            let may_help = matches!(&e, EngineError::Io { source, .. } if is_out_of_descriptors(source));
            // Those that nobody reads any more are only kept open.
            if may_help && self.close_all() { begin() } else { Err(e) }
        });
        begun.map_err(|e| {
            let why = match &e {
                EngineError::Io { source, .. } if source.kind() == ErrorKind::NotFound => "it is missing",
                EngineError::Io { source, .. } if source.kind() == ErrorKind::IsADirectory => "it is no file",
                _ => return e.into(),
            };
            EngineError::corruption(path, 0, why).into()
        })
    }

    /// Closes those that are only kept open; whether there were any.
    pub(crate) fn close_all(&self) -> bool {
        !std::mem::take(&mut lock(&self.open).tables).is_empty()
    }

    /// Whether the table's file is there. It is looked for once: what is there goes no more, as long as somebody may read it.
    pub(crate) fn is_there(&self, known: &KnownTable) -> bool {
        let look = || {
            // What keeps it from being looked for is told when it is opened.
            let is_there = !matches!(self.env.fs.exists(&self.layout.resolve(&known.path)), Ok(false));
            known.was_there.store(is_there, Ordering::Relaxed);
            is_there
        };
        known.was_there.load(Ordering::Relaxed) || look()
    }

    pub(crate) fn is_open(&self, number: u64) -> bool {
        lock(&self.open).tables.contains_key(&number)
    }
}

impl TableCache {
    /// Where a table's rows come from; nothing of a table that does not say.
    ///
    /// # Errors
    /// As [`TableCache::get`].
    pub(crate) fn origins(&self, meta: &TableMeta) -> Result<Origins> {
        let open = self.get(&*self.known(meta)?)?;
        open.table.property(ORIGINS_PROPERTY).map_or_else(|| Ok(Origins::default()), Origins::decode)
    }

    /// Closes the tables that are not live any more, and their blocks: an open descriptor keeps a removed file's space.
    pub(crate) fn keep_live(&self, state: &State) {
        lock(&self.open).tables.retain(|number, _| state.tables.contains_key(number));
        lock(&self.known).retain(|number, _| state.tables.contains_key(number));
        self.blocks.keep(|number| state.tables.contains_key(&number));
        self.word_filters.keep_live(|number| state.tables.contains_key(&number));
    }
}

impl TableCache {
    /// What the manifest says of a table.
    ///
    /// # Errors
    /// [`crate::Error::Decode`] if that makes no sense.
    pub(crate) fn known(&self, meta: &TableMeta) -> Result<Arc<KnownTable>> {
        if let Some(known) = lock(&self.known).get(&meta.number) {
            return Ok(known.clone());
        }
        let known = Arc::new(KnownTable::of(meta)?);
        lock(&self.known).insert(meta.number, known.clone());
        Ok(known)
    }
}

impl OpenTables {
    fn touch(&mut self, number: u64) -> Option<Arc<OpenTable>> {
        self.clock += 1;
        let (table, used) = self.tables.get_mut(&number)?;
        *used = self.clock;
        Some(table.clone())
    }

    fn insert(&mut self, number: u64, table: Arc<OpenTable>) {
        self.clock += 1;
        self.tables.insert(number, (table, self.clock));
        if self.tables.len() > MAX_OPEN_TABLES
            && let Some(oldest) = self.tables.iter().min_by_key(|(_, (_, used))| *used).map(|(n, _)| *n)
        {
            self.tables.remove(&oldest);
        }
    }
}
