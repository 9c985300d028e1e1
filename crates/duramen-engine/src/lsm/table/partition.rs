//! The filter and the directory of a partition, in memory.

use super::block::Block;
use super::cache::{BlockCache, Slots};
use super::directory::Directory;
use crate::sstable::filter::FuseFilter;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// What is kept of a partition once it was needed.
#[derive(Debug)]
pub(super) struct Partition {
    /// Where its first data chunk's frame starts in the file.
    pub(super) start: u64,
    /// `None` if it has none, or if it is damaged: then every key may be there.
    pub(super) filter: Option<FuseFilter>,
    pub(super) directory: Directory,
    /// Its cached blocks, once one was.
    slots: OnceLock<Arc<Slots>>,
}

impl Partition {
    pub(super) fn new(start: u64, filter: Option<FuseFilter>, directory: Directory) -> Self {
        Self { start, filter, directory, slots: OnceLock::new() }
    }

    /// Shows a block to `look`, if it is cached.
    #[inline]
    pub(super) fn with_cached<T>(
        &self,
        cache: &BlockCache,
        chunk: usize,
        look: impl FnOnce(&Block) -> T,
    ) -> Option<T> {
        let shown = self.slots.get().and_then(|slots| slots.with(chunk, look));
        cache.count(chunk, shown.is_some());
        shown
    }

    /// Puts a block that has its bytes for itself into the cache.
    pub(super) fn keep(&self, cache: &Arc<BlockCache>, chunk: usize, block: Block) {
        if cache.is_enabled() {
            self.slots.get_or_init(|| cache.slots(self.directory.len())).insert(chunk, block);
        }
    }

    /// The chunk to look in for a version of a key, and about how many 256ths into it the key lies, if the filter does
    /// not exclude it. What the filter looks at and the place of the cached block are asked for at once: one after
    /// another, each would be waited for.
    #[inline]
    pub(super) fn chunk_for(&self, key: &[u8], hash: u64, seq: u64) -> Option<(usize, u8)> {
        if let Some(filter) = &self.filter {
            filter.prefetch(hash);
        }
        let chunk = self.directory.find_near(key, seq, |chunk| {
            if let Some(slots) = self.slots.get() {
                (chunk.saturating_sub(1)..chunk + 2).for_each(|chunk| slots.prefetch(chunk));
            }
        });
        self.may_contain(hash).then(|| (chunk, self.directory.part(chunk, key)))
    }

    /// Whether it may have a key with this hash: `false` is certain.
    #[inline]
    pub(super) fn may_contain(&self, hash: u64) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.contains(hash))
    }

    /// Where the frame of a data chunk lies in the file.
    #[inline]
    pub(super) fn frame(&self, chunk: usize) -> Option<Range<u64>> {
        let frame = self.directory.frame(chunk)?;
        Some(self.start + u64::from(frame.start)..self.start + u64::from(frame.end))
    }

    /// Where the frames of some data chunks, one after another, lie in the file.
    pub(super) fn frames(&self, chunks: Range<usize>) -> Option<Range<u64>> {
        Some(self.frame(chunks.start)?.start..self.frame(chunks.end.checked_sub(1)?)?.end)
    }

    /// How much memory it takes without its cached blocks, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.directory.memory_bytes()
            + self.filter.as_ref().map_or(0, FuseFilter::memory_bytes)
    }
}
