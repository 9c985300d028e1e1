//! Blocks that were read lately stay open, with what was decoded of them, within a limit of memory.

use crate::columnar::TableBlock;
use crate::error::Result;
use crate::store::shared::lock;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Memory for blocks that queries have read, so that the next query finds them decompressed: whoever looks at the same
/// hour again waits less. May be shared by any number of stores of one process, and by threads.
///
/// What it holds is about as much as it says: blocks grow while they are read, and are counted when others come, and when
/// nobody reads the snapshot any more. Those that were used least recently go first, and there are [`MAX_CACHED_BLOCKS`] at
/// most. Blocks that a query has open are that query's besides.
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
    stores: AtomicU64,
}

/// The most blocks that a cache keeps: each may keep a file open.
pub const MAX_CACHED_BLOCKS: usize = 512;

/// A block, of all that share a cache: the store's number, the table's, the block's.
type Key = (u64, u64, usize);

#[derive(Debug, Default)]
struct Blocks {
    /// With when it was last asked for.
    by_key: BTreeMap<Key, (Arc<TableBlock>, u64)>,
    clock: u64,
}

impl BlockCache {
    /// A cache of so many bytes; 0 keeps nothing.
    pub fn new(capacity_bytes: usize) -> Arc<Self> {
        Arc::new(Self { capacity_bytes, blocks: Mutex::default(), stores: AtomicU64::new(0) })
    }

    /// How many bytes its blocks take now.
    pub fn held_bytes(&self) -> usize {
        lock(&self.blocks).by_key.values().map(|(block, _)| block.memory_bytes()).sum()
    }
}

impl Blocks {
    fn touch(&mut self, key: Key) -> Option<Arc<TableBlock>> {
        self.clock += 1;
        let (block, used) = self.by_key.get_mut(&key)?;
        *used = self.clock;
        Some(block.clone())
    }

    /// Drops what was used least recently until the rest fits; gives it back, to be freed without the lock.
    fn keep_within(&mut self, capacity_bytes: usize) -> Vec<Arc<TableBlock>> {
        let sizes = self.by_key.iter().map(|(key, (block, used))| (*used, *key, block.memory_bytes()));
        let mut oldest_first: Vec<(u64, Key, usize)> = sizes.collect();
        let mut total: usize = oldest_first.iter().map(|(_, _, bytes)| bytes).sum();
        oldest_first.sort_unstable_by_key(|(used, _, _)| *used);
        let mut dropped = Vec::new();
        for (_, key, bytes) in oldest_first {
            if total <= capacity_bytes && self.by_key.len() <= MAX_CACHED_BLOCKS {
                break;
            }
            total -= bytes;
            dropped.extend(self.by_key.remove(&key).map(|(block, _)| block));
        }
        dropped
    }
}

/// The part of a store in a cache.
#[derive(Debug)]
pub(crate) struct StoreBlocks {
    cache: Arc<BlockCache>,
    store: u64,
}

impl StoreBlocks {
    pub(crate) fn new(cache: Arc<BlockCache>) -> Self {
        let store = cache.stores.fetch_add(1, Ordering::Relaxed);
        Self { cache, store }
    }

    /// The block, from the cache or else as `open` gives it.
    pub(crate) fn get(
        &self,
        table: u64,
        index: usize,
        open: impl FnOnce() -> Result<TableBlock>,
    ) -> Result<Arc<TableBlock>> {
        if self.cache.capacity_bytes == 0 {
            return open().map(Arc::new);
        }
        let key = (self.store, table, index);
        if let Some(block) = lock(&self.cache.blocks).touch(key) {
            return Ok(block);
        }
        // Opened without the lock: two may open the same block, which costs less than waiting for a disk.
        let block = Arc::new(open()?);
        let dropped = {
            let mut blocks = lock(&self.cache.blocks);
            blocks.clock += 1;
            let used = blocks.clock;
            blocks.by_key.insert(key, (block.clone(), used));
            blocks.keep_within(self.cache.capacity_bytes)
        };
        drop(dropped);
        Ok(block)
    }

    /// Drops what grew beyond the limit since blocks were counted.
    pub(crate) fn keep_within(&self) {
        let dropped = lock(&self.cache.blocks).keep_within(self.cache.capacity_bytes);
        drop(dropped);
    }

    /// Drops the blocks of tables that are not live any more.
    pub(crate) fn keep(&self, is_live: impl Fn(u64) -> bool) {
        let mut blocks = lock(&self.cache.blocks);
        blocks.by_key.retain(|&(store, table, _), _| store != self.store || is_live(table));
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
    use crate::{EntryBuf, Store, StoreOptions};
    use std::path::Path;

    fn store_of(dir: &Path, days: i64, cache: &Arc<BlockCache>) -> Store {
        let store = StoreOptions::new().block_cache(cache.clone()).open(dir).unwrap();
        let mut entry = EntryBuf::default();
        for day in 0..days {
            for n in 0..2000 {
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
    fn blocks_stay_open_within_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let large = BlockCache::new(64 << 20);
        let store = store_of(&dir.path().join("a"), 4, &large);
        read(&store);
        let all = large.held_bytes();
        assert!(all > 100_000, "{all} bytes");
        let open = || store.snapshot().unwrap().blocks(i64::MIN, i64::MAX)[0].open().unwrap();
        assert!(Arc::ptr_eq(&open(), &open()), "it is opened once");
        let other = store_of(&dir.path().join("b"), 1, &large);
        read(&other);
        assert!(large.held_bytes() > all, "both stores share it");
        drop(other);
        assert_eq!(large.held_bytes(), all, "a store that is gone has no blocks");
        drop(store);

        for capacity_bytes in [all / 2, 1, 0] {
            let small = BlockCache::new(capacity_bytes);
            let store = StoreOptions::new().block_cache(small.clone()).open(dir.path().join("a")).unwrap();
            read(&store);
            assert!(small.held_bytes() <= capacity_bytes, "{} of {capacity_bytes}", small.held_bytes());
        }
    }
}
