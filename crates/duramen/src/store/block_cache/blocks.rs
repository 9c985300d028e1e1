//! The blocks of a cache, and those that go because of their number.

use crate::columnar::{Forgotten, QueryClock, TableBlock};
use crate::store::block_cache::{Key, MAX_CACHED_BLOCKS};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The blocks of all stores that share a cache.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    pub(super) by_key: BTreeMap<Key, Kept>,
    /// Every block, by when it was last asked for.
    by_age: BTreeMap<u64, Key>,
    pub(super) clock: u64,
    /// Counts the queries that left no room for what was there: what is there ages by them, and not while there is room.
    pub(super) queries: QueryClock,
    /// When the latest of them began.
    pressed_at: Option<u64>,
    /// Those that somebody reads, or did when they were last looked at: only these grow.
    growing: Vec<Key>,
    /// What all take, as far as it was counted.
    pub(super) total_bytes: usize,
    /// Of blocks that were used since a query began, so many of the last ones stay at least.
    latest_blocks: usize,
}

#[derive(Debug)]
pub(super) struct Kept {
    pub(super) block: Arc<TableBlock>,
    last_used: u64,
    /// The time of [`Blocks::queries`] when it was last asked for.
    pub(super) used_by_query: u32,
    /// What it took when it was last looked at.
    pub(super) bytes: usize,
    grows: bool,
}

impl Blocks {
    pub(super) fn new(latest_blocks: usize) -> Self {
        Self { latest_blocks, ..Self::default() }
    }

    pub(super) fn touch(&mut self, key: Key) -> Option<Arc<TableBlock>> {
        self.clock += 1;
        let kept = self.by_key.get_mut(&key)?;
        self.by_age.remove(&kept.last_used);
        self.by_age.insert(self.clock, key);
        kept.last_used = self.clock;
        kept.used_by_query = self.queries.now();
        if !kept.grows {
            kept.grows = true;
            self.growing.push(key);
        }
        Some(kept.block.clone())
    }

    /// One that is not there.
    pub(super) fn insert(&mut self, key: Key, block: Arc<TableBlock>) {
        self.clock += 1;
        self.by_age.insert(self.clock, key);
        let used_by_query = self.queries.now();
        self.by_key.insert(key, Kept { block, last_used: self.clock, used_by_query, bytes: 0, grows: true });
        self.growing.push(key);
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<Forgotten> {
        let kept = self.by_key.remove(&key)?;
        self.by_age.remove(&kept.last_used);
        self.total_bytes -= kept.bytes;
        if kept.grows {
            self.growing.retain(|growing| *growing != key);
        }
        Some(Box::new(kept.block))
    }

    /// Counts what has grown.
    pub(super) fn count(&mut self) {
        let Self { by_key, growing, total_bytes, .. } = self;
        growing.retain(|key| {
            let Some(kept) = by_key.get_mut(key) else { return false };
            // Before its size: a block that only the cache has does not grow any more.
            kept.grows = Arc::get_mut(&mut kept.block).is_none();
            let bytes = kept.block.memory_bytes();
            *total_bytes = *total_bytes - kept.bytes + bytes;
            kept.bytes = bytes;
            kept.grows
        });
    }

    /// Forgets and drops what there is no room for. Blocks go as a whole if there are too many of them, or if those that are read
    /// leave no room: the one that was used least recently; if all were used after `since`, when a query began, one that was
    /// used lately. Gives what goes back, to be freed without the lock.
    pub(super) fn keep_within(&mut self, capacity_bytes: usize, since: u64) -> Vec<Forgotten> {
        self.count();
        let mut dropped = Vec::new();
        if self.total_bytes > capacity_bytes {
            if self.pressed_at != Some(since) {
                self.pressed_at = Some(since);
                self.queries.tick();
            }
            dropped = self.forget_within(capacity_bytes);
        }
        while self.total_bytes > capacity_bytes || self.by_key.len() > MAX_CACHED_BLOCKS {
            let Some((&used, &oldest)) = self.by_age.first_key_value() else { break };
            let late = self.by_age.values().nth_back(self.latest_blocks).filter(|_| used > since);
            let victim = late.copied().unwrap_or(oldest);
            dropped.extend(self.remove(victim));
        }
        dropped
    }
}
