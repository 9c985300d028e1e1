//! Blocks that were read lately stay open, with what was decoded of them, within a limit of memory.
//!
//! | module | what it does |
//! |---|---|
//! | `blocks` | the blocks, what they take, and which go when there are too many |
//! | `forget` | what they forget when they take too much |

mod blocks;
mod forget;

use crate::columnar::{QueryClock, TableBlock};
use crate::error::Result;
use crate::store::shared::lock;
use blocks::Blocks;
use duramen_engine::io::os::fork_generation;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Memory for blocks that queries have read, so that the next query finds them decompressed: whoever looks at the same
/// hour again waits less. May be shared by any number of stores of one process, and by threads.
///
/// What it holds is about as much as it says: blocks grow while they are read, and are counted when others come, and when
/// nobody reads the snapshot any more. When there is no room, blocks forget what is large and was not used lately, a column at a
/// time: the little that most questions need stays while a few large ones are asked between them.
///
/// There are [`MAX_CACHED_BLOCKS`] at most. Those that were used least recently go first; of a query that reads more, the first
/// ones stay: if the last ones did, the same query would find none of those that it begins with. Blocks that a query has open
/// are that query's besides.
///
/// ```
/// use duramen::{BlockCache, StoreOptions};
/// # let dir = tempfile::tempdir()?;
/// let cache = BlockCache::new(16 << 20);
/// let options = StoreOptions::new().block_cache(cache.clone());
/// let (a, b) = (options.clone().open(dir.path().join("a"))?, options.open(dir.path().join("b"))?);
/// assert!(cache.held_bytes() <= 16 << 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BlockCache {
    capacity_bytes: usize,
    blocks: Mutex<Blocks>,
    queries: QueryClock,
    stores: AtomicU64,
}

/// The most blocks that a cache keeps: each may keep a file open.
pub const MAX_CACHED_BLOCKS: usize = 512;

/// Of blocks that were used since a query began, so many of the last ones stay at least, and four for each thread there may be:
/// some of them are being read, or were opened because it is their turn soon.
const LATEST_BLOCKS: usize = 32;

/// A block, of all that share a cache: the store's number, the table's, the block's, and whether its rows are in order.
type Key = (u64, u64, usize, bool);

impl BlockCache {
    /// A cache of so many bytes; 0 keeps nothing.
    pub fn new(capacity_bytes: usize) -> Arc<Self> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let blocks = Blocks::new(LATEST_BLOCKS.max(4 * threads));
        let queries = blocks.queries.clone();
        Arc::new(Self { capacity_bytes, blocks: Mutex::new(blocks), queries, stores: AtomicU64::new(0) })
    }

    /// How many bytes its blocks take now.
    pub fn held_bytes(&self) -> usize {
        let mut blocks = lock(&self.blocks);
        blocks.count();
        blocks.total_bytes
    }
}

/// The part of a store in a cache.
#[derive(Debug)]
pub(crate) struct StoreBlocks {
    cache: Arc<BlockCache>,
    store: u64,
    /// The process that made it: in a forked child the lock may be held by a thread that is not there.
    generation: u64,
}

impl StoreBlocks {
    pub(crate) fn new(cache: Arc<BlockCache>) -> Self {
        let store = cache.stores.fetch_add(1, Ordering::Relaxed);
        Self { cache, store, generation: fork_generation() }
    }

    /// The cache; not in a forked child.
    fn blocks(&self) -> Option<MutexGuard<'_, Blocks>> {
        (self.generation == fork_generation()).then(|| lock(&self.cache.blocks))
    }

    /// What a query that begins now tells of when it did.
    pub(crate) fn now(&self) -> u64 {
        self.blocks().map_or(0, |blocks| blocks.clock)
    }

    /// The block, from the cache or else as `open` gives it, for a query that began at `since`.
    pub(crate) fn get(
        &self,
        table: u64,
        index: usize,
        in_order: bool,
        since: u64,
        open: impl FnOnce() -> Result<TableBlock>,
    ) -> Result<Arc<TableBlock>> {
        if self.cache.capacity_bytes == 0 {
            return open().map(Arc::new);
        }
        let key = (self.store, table, index, in_order);
        if let Some(block) = self.blocks().and_then(|mut blocks| blocks.touch(key)) {
            return Ok(block);
        }
        // Opened without the lock: two may open the same block, which costs less than waiting for a disk; the
        // first one is kept.
        let block = Arc::new(open()?.timed(self.cache.queries.clone()));
        let dropped = {
            let Some(mut blocks) = self.blocks() else { return Ok(block) };
            if let Some(block) = blocks.touch(key) {
                return Ok(block);
            }
            blocks.insert(key, block.clone());
            blocks.keep_within(self.cache.capacity_bytes, since)
        };
        drop(dropped);
        Ok(block)
    }

    /// Whether blocks stay open at all.
    pub(crate) fn keeps_any(&self) -> bool {
        self.cache.capacity_bytes > 0
    }

    /// Whether the block is there, with its rows in some order.
    pub(crate) fn has(&self, table: u64, index: usize) -> bool {
        self.opened(table, index).is_some()
    }

    /// The block, if it is there, in whichever order its rows are.
    pub(crate) fn opened(&self, table: u64, index: usize) -> Option<Arc<TableBlock>> {
        let blocks = self.blocks()?;
        let of = |in_order| blocks.by_key.get(&(self.store, table, index, in_order));
        of(false).or_else(|| of(true)).map(|kept| kept.block.clone())
    }

    /// Drops what grew beyond the limit since blocks were counted; for a query that began at `since`.
    pub(crate) fn keep_within(&self, since: u64) {
        let dropped = self.blocks().map(|mut blocks| blocks.keep_within(self.cache.capacity_bytes, since));
        drop(dropped);
    }

    /// Drops the blocks of tables that are not live any more.
    pub(crate) fn keep(&self, is_live: impl Fn(u64) -> bool) {
        let Some(mut blocks) = self.blocks() else { return };
        let mine = blocks.by_key.range((self.store, 0, 0, false)..=(self.store, u64::MAX, usize::MAX, true));
        let gone: Vec<Key> = mine.map(|(key, _)| *key).filter(|&(_, table, ..)| !is_live(table)).collect();
        let dropped: Vec<_> = gone.into_iter().filter_map(|key| blocks.remove(key)).collect();
        drop(blocks);
        drop(dropped);
    }
}

impl Drop for StoreBlocks {
    fn drop(&mut self) {
        self.keep(|_| false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::table_blocks::TableBlocks;
    use crate::{EntryBuf, Store, StoreOptions};
    use std::ops::Range;
    use std::path::Path;

    /// Nobody merges its tables.
    fn options(cache: &Arc<BlockCache>) -> StoreOptions {
        StoreOptions::new().background(false).block_cache(cache.clone())
    }

    /// A store with a block of so many lines for each day.
    fn store_of(dir: &Path, days: i64, lines: i64, cache: &Arc<BlockCache>) -> Store {
        let store = options(cache).open(dir).unwrap();
        let mut entry = EntryBuf::default();
        for day in 0..days {
            for n in 0..lines {
                let text = format!("line {} of day {day}, {}", n, n * 7919 % 1000);
                entry.start(1_700_000_000_000_000_000 + day * 86_400_000_000_000 + n).message(&text);
                store.append(entry.finish().unwrap()).unwrap();
            }
            store.flush().unwrap();
        }
        store
    }

    fn read(store: &Store) {
        for handle in store.snapshot().unwrap().blocks(i64::MIN, i64::MAX) {
            let block = handle.open().unwrap();
            assert_eq!(block.column("_msg").unwrap().unwrap().rows, block.rows());
        }
    }

    #[test]
    fn what_grows_while_it_is_read_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        let cache = BlockCache::new(64 << 20);
        let store = store_of(dir.path(), 2, 2000, &cache);
        let handles = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
        for _ in 0..2 {
            let block = handles[0].open().unwrap();
            let small = cache.held_bytes();
            assert!(small < 10_000, "{small} bytes");
            // Another one is opened before the first has grown.
            drop(handles[1].open().unwrap());
            block.column("_msg").unwrap().unwrap();
            let large = cache.held_bytes();
            assert!(large > small + 20_000, "{small}, then {large} bytes");
            drop(block);
            assert_eq!(cache.held_bytes(), large);
            let blocks = StoreBlocks { cache: cache.clone(), store: 0, generation: fork_generation() };
            // As when it is dropped: all of the store's blocks go, and are counted no more.
            drop(blocks);
            assert_eq!(cache.held_bytes(), 0);
        }
    }

    #[test]
    fn a_forked_child_waits_for_nobody() {
        let cache = BlockCache::new(1 << 20);
        // As after a fork while another thread had the lock.
        let of_parent = StoreBlocks { cache: cache.clone(), store: 0, generation: fork_generation() + 1 };
        let _held = lock(&cache.blocks);
        let failed = of_parent.get(1, 0, true, 0, || Err(crate::Error::Invalid("it is asked".into())));
        assert!(failed.unwrap_err().to_string().contains("it is asked"));
        of_parent.keep_within(0);
        drop(of_parent);
    }

    #[test]
    fn of_a_query_that_reads_more_than_fits_the_first_blocks_stay() {
        let dir = tempfile::tempdir().unwrap();
        let store = store_of(dir.path(), 1, 10, &BlockCache::new(0));
        let view = store.snapshots.view().unwrap();
        let tables = TableBlocks::of(store.snapshots.tables(), &view.state, &view.pin).unwrap();
        let open = || tables.between(i64::MIN, i64::MAX)[0].open_table_block();
        let room = 60 * open().unwrap().memory_bytes();
        for (room, first, latest) in [
            // For their number, or for their bytes: of blocks that take as much, the later ones go.
            (usize::MAX, MAX_CACHED_BLOCKS - LATEST_BLOCKS, LATEST_BLOCKS),
            (room, 55, 0),
        ] {
            let blocks = StoreBlocks::new(BlockCache::new(room));
            *lock(&blocks.cache.blocks) = Blocks::new(LATEST_BLOCKS);
            // Which of those that a query reads were there.
            let query = |numbers: Range<usize>| {
                let since = blocks.now();
                let there: Vec<bool> = numbers.clone().map(|number| blocks.has(1, number)).collect();
                numbers.for_each(|number| drop(blocks.get(1, number, true, since, open).unwrap()));
                blocks.keep_within(since);
                there
            };
            query(1_000..1_040);
            assert!(query(1_000..1_040).iter().all(|there| *there));
            query(0..600);
            for _ in 0..3 {
                let there = query(0..600);
                assert!(
                    there[..first].iter().chain(&there[(601 - latest).min(600)..]).all(|there| *there),
                    "{there:?}"
                );
                assert!(
                    there.iter().filter(|there| **there).count() <= MAX_CACHED_BLOCKS.min(first + latest + 6)
                );
            }
            assert!(!query(1_000..1_040).contains(&true), "what was used before went first");
            assert!(blocks.cache.held_bytes() <= room);
        }
    }

    #[test]
    fn what_small_questions_need_outlives_large_ones_for_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let large = BlockCache::new(64 << 20);
        let store = store_of(dir.path(), 8, 2000, &large);
        read(&store);
        // Room for a few of the columns, and for all times.
        let capacity_bytes = 4 * large.held_bytes() / 10 + 8 * 2000 * 8;
        drop(store);
        let cache = BlockCache::new(capacity_bytes);
        let store = options(&cache).open(dir.path()).unwrap();
        let handles = || store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
        let times = || handles().iter().for_each(|handle| drop(handle.open().unwrap().times().unwrap()));
        // How many blocks have what, by its size.
        let having = |is_it: &dyn Fn(usize) -> bool| {
            let blocks = lock(&cache.blocks);
            let has = |block: &TableBlock| block.parts().any(|part| is_it(part.bytes));
            blocks.by_key.values().filter(|kept| has(&kept.block)).count()
        };
        let (are_times, are_texts) = (|bytes| bytes == 2000 * 8, |bytes| bytes > 30_000);
        times();
        read(&store);
        let texts = having(&are_texts);
        assert!((1..8).contains(&texts), "{texts} blocks");
        for _ in 0..3 {
            read(&store);
            assert_eq!((having(&are_times), having(&are_texts)), (8, texts));
            assert!(cache.held_bytes() <= capacity_bytes);
        }
        // The question of texts again and again, and none for times: they look larger each time.
        (0..30).for_each(|_| read(&store));
        assert!(having(&are_texts) > texts && having(&are_times) < 8);
    }

    #[test]
    fn large_blocks_that_are_read_leave_what_others_need() {
        let dir = tempfile::tempdir().unwrap();
        let large = BlockCache::new(64 << 20);
        let store = store_of(dir.path(), 8, 2000, &large);
        read(&store);
        let capacity_bytes = 3 * large.held_bytes() / 8 + 8 * 2000 * 8;
        drop(store);
        let cache = BlockCache::new(capacity_bytes);
        let store = options(&cache).open(dir.path()).unwrap();
        let handles = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
        handles.iter().for_each(|handle| drop(handle.open().unwrap().times().unwrap()));
        // Six are read at once, which take twice the room.
        let open: Vec<_> = handles[..6].iter().map(|handle| handle.open().unwrap()).collect();
        open.iter().for_each(|block| drop(block.column("_msg").unwrap()));
        // Who ends meanwhile has what grew counted.
        drop(store.snapshot().unwrap().blocks(i64::MIN, i64::MAX));
        let blocks = lock(&cache.blocks);
        let has_times = |block: &TableBlock| block.parts().any(|part| part.bytes == 2000 * 8);
        let others = blocks.by_key.values().filter(|kept| Arc::strong_count(&kept.block) == 1);
        assert_eq!(others.filter(|kept| has_times(&kept.block)).count(), 2);
        drop(blocks);
        drop((open, handles));
        assert!(cache.held_bytes() <= capacity_bytes);
    }

    #[test]
    fn blocks_stay_open_within_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let large = BlockCache::new(64 << 20);
        let store = store_of(&dir.path().join("a"), 4, 2000, &large);
        read(&store);
        let all = large.held_bytes();
        assert!(all > 100_000, "{all} bytes");
        let open = || store.snapshot().unwrap().blocks(i64::MIN, i64::MAX)[0].open().unwrap();
        assert!(Arc::ptr_eq(&open(), &open()), "it is opened once");
        let other = store_of(&dir.path().join("b"), 1, 2000, &large);
        read(&other);
        assert!(large.held_bytes() > all, "both stores share it");
        drop(other);
        assert_eq!(large.held_bytes(), all, "a store that is gone has no blocks");
        drop(store);

        for capacity_bytes in [all / 2, all / 4, 1, 0] {
            let small = BlockCache::new(capacity_bytes);
            let store = StoreOptions::new().block_cache(small.clone()).open(dir.path().join("a")).unwrap();
            let handles = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
            handles[0].will_open(crate::block::Looks::default());
            assert_eq!(handles[0].is_worth_opening_ahead(), capacity_bytes > 0);
            assert_eq!(small.held_bytes(), 0, "it is only announced");
            let block = handles[0].open().unwrap();
            // A cache of a byte keeps blocks only until others look.
            assert_eq!(handles[0].is_worth_opening_ahead(), capacity_bytes == 1);
            drop((block, handles));
            read(&store);
            assert!(small.held_bytes() <= capacity_bytes, "{} of {capacity_bytes}", small.held_bytes());
        }
    }
}
