//! Blocks in memory.

use super::block::Block;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};

/// Blocks of all tables of a store, those that are read often, within a number of bytes. Any thread may use it.
#[derive(Debug)]
pub(crate) struct BlockCache {
    blocks: Option<Cache<BlockId, Block, ByBytes, foldhash::fast::FixedState>>,
}

/// How the cache has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockCacheMetrics {
    /// How often a block was asked for that was there.
    pub(crate) hits: u64,
    /// How often one was not.
    pub(crate) misses: u64,
    /// How many bytes the blocks take now.
    pub(crate) bytes: u64,
}

/// The number of a table, and where in its file the frame of a chunk starts.
pub(super) type BlockId = (u64, u64);

#[derive(Clone, Debug)]
struct ByBytes;

/// What a block takes beside its bytes: its place in the cache, and the counts of its `Arc`.
const OVERHEAD_BYTES: usize = size_of::<Block>() + size_of::<BlockId>() + 48;

impl Weighter<BlockId, Block> for ByBytes {
    fn weight(&self, _: &BlockId, block: &Block) -> u64 {
        (block.bytes().len() + OVERHEAD_BYTES) as u64
    }
}

impl BlockCache {
    /// Of at most `capacity_bytes`; 0 keeps nothing. `block_size` is what most blocks have.
    pub(crate) fn new(capacity_bytes: usize, block_size: usize) -> Self {
        let blocks = capacity_bytes / (block_size + OVERHEAD_BYTES) + 1;
        let options = OptionsBuilder::new()
            .estimated_items_capacity(blocks)
            .weight_capacity(capacity_bytes as u64)
            .build();
        let blocks = options.ok().filter(|_| capacity_bytes > 0).map(|options| {
            Cache::with_options(
                options,
                ByBytes,
                foldhash::fast::FixedState::default(),
                DefaultLifecycle::default(),
            )
        });
        Self { blocks }
    }

    #[inline]
    pub(super) fn get(&self, id: BlockId) -> Option<Block> {
        self.blocks.as_ref()?.get(&id)
    }

    pub(super) fn insert(&self, id: BlockId, block: Block) {
        if let Some(blocks) = &self.blocks {
            blocks.insert(id, block);
        }
    }

    /// Whether it keeps anything at all.
    pub(super) fn is_enabled(&self) -> bool {
        self.blocks.is_some()
    }

    pub(crate) fn metrics(&self) -> BlockCacheMetrics {
        self.blocks.as_ref().map_or_else(BlockCacheMetrics::default, |blocks| BlockCacheMetrics {
            hits: blocks.hits(),
            misses: blocks.misses(),
            bytes: blocks.weight(),
        })
    }
}
