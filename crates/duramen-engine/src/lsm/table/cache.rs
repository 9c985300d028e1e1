//! Blocks in memory.
//!
//! A cached block is found by its place, not by a search: each partition that has some keeps a *slot* for each of its
//! blocks. The cache decides which ones are filled. (A hash map from table and offset to the block, which this was at
//! first, cost 250 to 400 ns a look-up at 90,000 blocks: four cache lines that nobody else has touched lately, one after
//! another. A slot is one.) So blocks also go when their table does.
//!
//! What stays is decided as in S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", 2023), without
//! its ghosts: a new block goes to a short queue, and from there, if it was used meanwhile, to a long one, whose blocks
//! get another round whenever they were used. So a scan of blocks that nobody needs again pushes out few others.

use super::block::Block;
use crate::memory::{Pool, prefetch};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError, Weak};

/// Blocks of all tables of a store, those that are read often, within a number of bytes. Any thread may use it.
#[derive(Debug)]
pub(crate) struct BlockCache {
    capacity_bytes: usize,
    /// What the blocks lie in; small caches have them on the heap.
    pool: Option<Arc<Pool>>,
    bytes: AtomicUsize,
    blocks: AtomicUsize,
    queues: Mutex<Queues>,
    counters: [Counters; 8],
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

/// Threads that look at different blocks mostly count in different cache lines.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Counters {
    hits: AtomicU64,
    misses: AtomicU64,
}

/// The cached blocks of a partition.
#[derive(Debug)]
pub(super) struct Slots {
    cache: Arc<BlockCache>,
    slots: Box<[Slot]>,
}

/// A block, if it is cached.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Slot {
    block: RwLock<Option<Block>>,
    /// Whether somebody has used it since the cache looked.
    used: AtomicBool,
}

/// Which blocks are cached, in the order in which they came. Some may be gone.
#[derive(Debug, Default)]
struct Queues {
    new: VecDeque<Entry>,
    new_bytes: usize,
    proven: VecDeque<Entry>,
}

#[derive(Debug)]
struct Entry {
    slots: Weak<Slots>,
    chunk: u32,
    bytes: u32,
}

/// What a block takes beside its bytes: its slot, its place in a queue, and the counts of its `Arc`.
const OVERHEAD_BYTES: usize = size_of::<Slot>() + size_of::<Entry>() + 16 + 16;

/// Below this, a region of huge pages that is not full would be much of the cache.
const LEAST_BYTES_FOR_POOL: usize = 32 << 20;

impl BlockCache {
    /// Of at most `capacity_bytes`; 0 keeps nothing.
    pub(crate) fn new(capacity_bytes: usize) -> Self {
        Self {
            capacity_bytes,
            pool: (capacity_bytes >= LEAST_BYTES_FOR_POOL).then(Arc::default),
            bytes: AtomicUsize::new(0),
            blocks: AtomicUsize::new(0),
            queues: Mutex::default(),
            counters: Default::default(),
        }
    }

    pub(crate) fn metrics(&self) -> BlockCacheMetrics {
        let sum = |of: fn(&Counters) -> &AtomicU64| {
            self.counters.iter().map(|counters| of(counters).load(Ordering::Relaxed)).sum()
        };
        BlockCacheMetrics {
            hits: sum(|counters| &counters.hits),
            misses: sum(|counters| &counters.misses),
            bytes: self.bytes.load(Ordering::Relaxed) as u64,
        }
    }

    /// How many entries the queues have.
    #[cfg(test)]
    pub(super) fn queued(&self) -> usize {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.new.len() + queues.proven.len()
    }

    /// Where to put the bytes of a block that is to be kept.
    pub(super) fn pool(&self) -> Option<&Arc<Pool>> {
        self.pool.as_ref()
    }

    /// Whether it keeps anything at all.
    pub(super) fn is_enabled(&self) -> bool {
        self.capacity_bytes > 0
    }

    /// Slots for the blocks of a partition.
    pub(super) fn slots(self: &Arc<Self>, blocks: usize) -> Arc<Slots> {
        Arc::new(Slots { cache: Arc::clone(self), slots: (0..blocks).map(|_| Slot::default()).collect() })
    }

    /// Counts a look-up.
    #[inline]
    pub(super) fn count(&self, chunk: usize, hit: bool) {
        let counters = &self.counters[chunk % self.counters.len()];
        let counter = if hit { &counters.hits } else { &counters.misses };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Lets go of blocks until the rest fits.
    fn make_room(&self, mut queues: MutexGuard<'_, Queues>) {
        // A block whose slot is in use right now gets another round; there is an end to that too.
        let mut patience = 2 * (queues.new.len() + queues.proven.len());
        while self.bytes.load(Ordering::Relaxed) > self.capacity_bytes && patience > 0 {
            patience -= 1;
            let from_new = queues.new_bytes > self.capacity_bytes / 10 || queues.proven.is_empty();
            let next = if from_new { queues.new.pop_front() } else { queues.proven.pop_front() };
            let Some(entry) = next else { return };
            if from_new {
                queues.new_bytes -= entry.bytes as usize;
            }
            let Some(slots) = entry.slots.upgrade() else { continue };
            let Some(slot) = slots.slots.get(entry.chunk as usize) else { continue };
            if slot.used.swap(false, Ordering::Relaxed) {
                queues.proven.push_back(entry);
                continue;
            }
            match slot.block.try_write() {
                Ok(mut block) => {
                    if block.take().is_some() {
                        self.bytes.fetch_sub(entry.bytes as usize, Ordering::Relaxed);
                        self.blocks.fetch_sub(1, Ordering::Relaxed);
                    }
                }
                Err(TryLockError::WouldBlock) => queues.proven.push_back(entry),
                Err(TryLockError::Poisoned(_)) => {}
            }
        }
    }
}

impl Queues {
    /// Drops the entries of tables that are no longer there.
    fn forget_the_gone(&mut self) {
        self.new.retain(|entry| entry.slots.strong_count() > 0);
        self.proven.retain(|entry| entry.slots.strong_count() > 0);
        self.new_bytes = self.new.iter().map(|entry| entry.bytes as usize).sum();
    }
}

impl Slots {
    /// Asks the processor for the place of a block.
    #[inline]
    pub(super) fn prefetch(&self, chunk: usize) {
        prefetch(self.slots.as_ptr().wrapping_add(chunk).cast());
    }

    /// Shows a block to `look`, if it is there.
    #[inline]
    pub(super) fn with<T>(&self, chunk: usize, look: impl FnOnce(&Block) -> T) -> Option<T> {
        let slot = self.slots.get(chunk)?;
        let block = slot.block.read().ok()?;
        let block = block.as_ref()?;
        if !slot.used.load(Ordering::Relaxed) {
            slot.used.store(true, Ordering::Relaxed);
        }
        Some(look(block))
    }

    /// Keeps a block that has its bytes for itself.
    pub(super) fn insert(self: &Arc<Self>, chunk: usize, block: Block) {
        let bytes = block.bytes().len() + OVERHEAD_BYTES;
        let (Some(slot), Ok(entry_bytes), Ok(entry_chunk)) =
            (self.slots.get(chunk), u32::try_from(bytes), u32::try_from(chunk))
        else {
            return;
        };
        if bytes > self.cache.capacity_bytes {
            return;
        }
        match slot.block.write() {
            // Somebody else was faster.
            Ok(slot) if slot.is_some() => return,
            Ok(mut slot) => *slot = Some(block),
            Err(_) => return,
        }
        let blocks = self.cache.blocks.fetch_add(1, Ordering::Relaxed) + 1;
        let total = self.cache.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let mut queues = self.cache.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.new_bytes += bytes;
        let entry = Entry { slots: Arc::downgrade(self), chunk: entry_chunk, bytes: entry_bytes };
        queues.new.push_back(entry);
        if queues.new.len() + queues.proven.len() > 2 * blocks + 1024 {
            queues.forget_the_gone();
        }
        if total > self.cache.capacity_bytes {
            self.cache.make_room(queues);
        }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        let blocks = self.slots.iter_mut().filter_map(|slot| slot.block.get_mut().ok()?.take());
        let (count, bytes) =
            blocks.fold((0, 0), |(n, bytes), block| (n + 1, bytes + block.bytes().len() + OVERHEAD_BYTES));
        self.cache.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.cache.blocks.fetch_sub(count, Ordering::Relaxed);
    }
}
