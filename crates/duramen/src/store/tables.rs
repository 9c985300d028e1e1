//! Opened tables, and the blocks in them.

use crate::block::{Block, BlockHandle, BlockStreams, Looks};
use crate::columnar::{TableBlock, TableStreams};
use crate::error::{Error, Result};
use crate::store::block_cache::{BlockCache, StoreBlocks};
use crate::store::flush::{COLUMN_CODEC_ID, STREAMS_PROPERTY, grams_len};
use crate::store::layout::Layout;
use crate::store::origins::{ORIGINS_PROPERTY, Origins};
use crate::store::pin::Pin;
use crate::store::shared::lock;
use crate::store::table_facts::{BlockFacts, TableFacts};
use duramen_engine::io::Env;
use duramen_engine::manifest::{State, TableMeta};
use duramen_engine::sstable::{BlockMeta, FRAME_BYTES, Table};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

/// The most tables that are kept open, each with a file descriptor and its index in memory.
pub const MAX_OPEN_TABLES: usize = 256;

/// So many bytes at the end of a block are fetched before it is opened, if it is not known how long its filters are: its
/// directory lies there, and before it they do.
const AHEAD_BYTES: u64 = 96 << 10;

/// Tables that were opened lately. Shared by all snapshots of a store.
#[derive(Debug)]
pub(crate) struct TableCache {
    env: Env,
    layout: Layout,
    open: Mutex<OpenTables>,
    /// What the manifest says of tables, by number, decoded once for all snapshots.
    known: Mutex<BTreeMap<u64, Arc<KnownTable>>>,
    blocks: StoreBlocks,
}

#[derive(Debug, Default)]
struct OpenTables {
    /// By number: the table, and when it was last asked for.
    tables: BTreeMap<u64, (OpenTable, u64)>,
    clock: u64,
}

/// An opened table.
#[derive(Clone, Debug)]
pub(crate) struct OpenTable {
    pub(crate) table: Arc<Table>,
    /// Its streams, if it tells them, when somebody has asked.
    streams: Arc<OnceLock<Option<Arc<TableStreams>>>>,
}

impl OpenTable {
    /// # Errors
    /// As [`TableCache::get`].
    fn open(env: &Env, path: PathBuf) -> Result<Self> {
        let table = Arc::new(Table::open(env, path, COLUMN_CODEC_ID)?);
        Ok(Self { table, streams: Arc::default() })
    }

    fn streams(&self) -> Option<&Arc<TableStreams>> {
        // Without them, blocks tell theirs.
        let decode = |property| TableStreams::decode(property).ok().map(Arc::new);
        self.streams.get_or_init(|| self.table.property(STREAMS_PROPERTY).and_then(decode)).as_ref()
    }
}

impl TableCache {
    pub(crate) fn new(env: Env, layout: Layout, blocks: Arc<BlockCache>) -> Self {
        let (open, known) = (Mutex::default(), Mutex::default());
        Self { env, layout, open, known, blocks: StoreBlocks::new(blocks) }
    }

    /// The table, opened.
    ///
    /// # Errors
    /// What the file system said; corruption of its footer, index or properties.
    pub(crate) fn get(&self, number: u64, path: &str, file_bytes: u64) -> Result<OpenTable> {
        if let Some(table) = lock(&self.open).touch(number) {
            return Ok(table);
        }
        // Opened without the lock: two may open the same table, which costs less than waiting for a disk.
        let open = OpenTable::open(&self.env, self.layout.resolve(path))?;
        let found = open.table.file_bytes();
        if found != file_bytes {
            let detail = format!("it has {found} bytes, the manifest says {file_bytes}");
            return Err(duramen_engine::Error::corruption(self.layout.resolve(path), 0, detail).into());
        }
        lock(&self.open).insert(number, open.clone());
        Ok(open)
    }
}

impl TableCache {
    /// Where a table's rows come from; nothing of a table that does not say.
    ///
    /// # Errors
    /// As [`TableCache::get`].
    pub(crate) fn origins(&self, meta: &TableMeta) -> Result<Origins> {
        let OpenTable { table, .. } = self.get(meta.number, &meta.path, meta.file_bytes)?;
        table.property(ORIGINS_PROPERTY).map_or_else(|| Ok(Origins::default()), Origins::decode)
    }

    /// Closes the tables that are not live any more, and their blocks: an open descriptor keeps a removed file's space.
    pub(crate) fn keep_live(&self, state: &State) {
        lock(&self.open).tables.retain(|number, _| state.tables.contains_key(number));
        lock(&self.known).retain(|number, _| state.tables.contains_key(number));
        self.blocks.keep(|number| state.tables.contains_key(&number));
    }
}

impl TableCache {
    /// What the manifest says of a table.
    ///
    /// # Errors
    /// [`Error::Decode`] if that makes no sense.
    fn known(&self, meta: &TableMeta) -> Result<Arc<KnownTable>> {
        if let Some(known) = lock(&self.known).get(&meta.number) {
            return Ok(known.clone());
        }
        let known = Arc::new(KnownTable::of(meta)?);
        lock(&self.known).insert(meta.number, known.clone());
        Ok(known)
    }
}

impl OpenTables {
    fn touch(&mut self, number: u64) -> Option<OpenTable> {
        self.clock += 1;
        let (table, used) = self.tables.get_mut(&number)?;
        *used = self.clock;
        Some(table.clone())
    }

    fn insert(&mut self, number: u64, table: OpenTable) {
        self.clock += 1;
        self.tables.insert(number, (table, self.clock));
        if self.tables.len() > MAX_OPEN_TABLES
            && let Some(oldest) = self.tables.iter().min_by_key(|(_, (_, used))| *used).map(|(n, _)| *n)
        {
            self.tables.remove(&oldest);
        }
    }
}

/// A table, as the manifest knows it: of that, what stays as long as the table does.
#[derive(Debug)]
struct KnownTable {
    number: u64,
    path: String,
    file_bytes: u64,
    blocks: Vec<BlockFacts>,
    /// The earliest and the latest time stamp of its rows.
    times: (i64, i64),
}

impl KnownTable {
    /// # Errors
    /// [`Error::Decode`] if the manifest's facts make no sense.
    fn of(meta: &TableMeta) -> Result<Self> {
        let facts = TableFacts::decode(&meta.user)?;
        Ok(Self {
            number: meta.number,
            path: meta.path.clone(),
            file_bytes: meta.file_bytes,
            times: facts.time_range().unwrap_or((i64::MAX, i64::MIN)),
            blocks: facts.blocks,
        })
    }
}

/// The blocks of all tables of a snapshot.
#[derive(Clone, Debug)]
pub(crate) struct TableBlocks {
    reading: Arc<Reading>,
    tables: Vec<Arc<KnownTable>>,
}

impl TableBlocks {
    /// # Errors
    /// [`Error::Decode`] if the manifest's facts make no sense.
    pub(crate) fn of(cache: &Arc<TableCache>, state: &State, pin: &Pin) -> Result<Self> {
        let reading = Arc::new(Reading { cache: cache.clone(), _pin: pin.clone() });
        let tables = state.tables.values().map(|meta| cache.known(meta)).collect::<Result<_>>()?;
        Ok(Self { reading, tables })
    }

    /// Those that may hold rows from `min_time` to `max_time`, both included.
    pub(crate) fn between(&self, min_time: i64, max_time: i64) -> impl Iterator<Item = TableBlockHandle> {
        let overlaps = move |(min, max)| max >= min_time && min <= max_time;
        let tables = self.tables.iter().filter(move |table| overlaps(table.times));
        tables.flat_map(move |table| {
            let blocks = table.blocks.iter().enumerate();
            let blocks = blocks.filter(move |(_, block)| overlaps((block.min_time, block.max_time)));
            blocks.map(|(index, _)| TableBlockHandle {
                table: table.clone(),
                index,
                reading: self.reading.clone(),
            })
        })
    }

    pub(crate) fn rows(&self) -> u64 {
        self.tables.iter().flat_map(|table| &table.blocks).map(|block| block.rows).sum()
    }
}

/// A block of a table, not yet read.
#[derive(Debug)]
pub(crate) struct TableBlockHandle {
    table: Arc<KnownTable>,
    /// There is such a block.
    index: usize,
    reading: Arc<Reading>,
}

/// Lives as long as somebody may open some blocks.
#[derive(Debug)]
struct Reading {
    cache: Arc<TableCache>,
    /// Their files must stay.
    _pin: Pin,
}

impl Drop for Reading {
    /// Blocks have grown while they were read.
    fn drop(&mut self) {
        self.cache.blocks.keep_within();
    }
}

impl TableBlockHandle {
    /// The blocks of a table, as the manifest knows them.
    ///
    /// # Errors
    /// [`Error::Decode`] if the manifest's facts make no sense.
    pub(crate) fn of(cache: &Arc<TableCache>, meta: &TableMeta, pin: &Pin) -> Result<Vec<Arc<Self>>> {
        let reading = Arc::new(Reading { cache: cache.clone(), _pin: pin.clone() });
        let table = cache.known(meta)?;
        let handle = |index| Arc::new(Self { reading: reading.clone(), table: table.clone(), index });
        Ok((0..table.blocks.len()).map(handle).collect())
    }

    fn facts(&self) -> &BlockFacts {
        &self.table.blocks[self.index]
    }
}

/// How many bytes at the end of a block will be read: behind its columns lie the filter of grams, that of words and the
/// directory.
fn bytes_ahead(meta: &BlockMeta, looks: Looks) -> u64 {
    let grams = grams_len(&meta.user);
    let is_told = meta.filter.is_some() || grams > 0;
    let words = meta.filter.map_or(0, |filter| u64::from(filter.len));
    let filters = match looks {
        Looks { at_words: false, at_grams: false } => 0,
        _ if !is_told => return AHEAD_BYTES,
        Looks { at_grams: false, .. } => words,
        Looks { at_grams: true, .. } => words + grams,
    };
    u64::from(meta.directory.len) + filters + 3 * FRAME_BYTES as u64
}

impl TableBlockHandle {
    fn open_table(&self) -> Result<OpenTable> {
        self.reading.cache.get(self.table.number, &self.table.path, self.table.file_bytes)
    }

    /// Opens the block as what it is, for those who need more of it than a query does.
    ///
    /// # Errors
    /// As [`BlockHandle::open`].
    pub(crate) fn open_table_block(&self) -> Result<TableBlock> {
        let OpenTable { table, .. } = self.open_table()?;
        let meta = table.blocks().get(self.index).ok_or_else(|| {
            Error::decode("a table's index", format!("{} has no block {}", self.table.path, self.index))
        })?;
        let block = TableBlock::open(table.clone(), meta.directory)?;
        if block.rows() as u64 != self.facts().rows {
            let detail = format!(
                "block {} of {} has {} rows, the manifest says {}",
                self.index,
                self.table.path,
                block.rows(),
                self.facts().rows
            );
            return Err(Error::decode("a block", detail));
        }
        Ok(block)
    }
}

impl BlockHandle for TableBlockHandle {
    fn rows(&self) -> usize {
        self.facts().rows as usize
    }

    fn min_time(&self) -> i64 {
        self.facts().min_time
    }

    fn max_time(&self) -> i64 {
        self.facts().max_time
    }

    fn open(&self) -> Result<Arc<dyn Block>> {
        let blocks = &self.reading.cache.blocks;
        Ok(blocks.get(self.table.number, self.index, true, || self.open_table_block())?)
    }

    fn open_unordered(&self) -> Result<Arc<dyn Block>> {
        let blocks = &self.reading.cache.blocks;
        let open = || Ok(self.open_table_block()?.unordered(self.streams().as_ref()));
        Ok(blocks.get(self.table.number, self.index, false, open)?)
    }

    fn will_open(&self, looks: Looks) {
        if self.is_open() {
            return;
        }
        // What cannot be opened now cannot be later, and is told then.
        if let Ok(OpenTable { table, .. }) = self.open_table() {
            let meta = table.blocks().get(self.index);
            table.will_read_end_of(self.index, meta.map_or(AHEAD_BYTES, |meta| bytes_ahead(meta, looks)));
        }
    }

    fn streams(&self) -> Option<BlockStreams> {
        // What cannot be opened is told when the block is.
        self.open_table().ok()?.streams()?.of_block(self.index, self.facts().rows)
    }

    fn is_open(&self) -> bool {
        self.reading.cache.blocks.has(self.table.number, self.index)
    }

    fn is_worth_opening_ahead(&self) -> bool {
        self.reading.cache.blocks.keeps_any() && !self.is_open()
    }
}
