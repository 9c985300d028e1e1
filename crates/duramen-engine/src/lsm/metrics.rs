//! What the store has done, in numbers.

use super::db::{Inner, Lsm};
use super::version::LEVELS;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that the background raises.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) flushes: AtomicU64,
    pub(super) flush_bytes: AtomicU64,
    pub(super) compactions: AtomicU64,
    pub(super) compaction_bytes_read: AtomicU64,
    pub(super) compaction_bytes_written: AtomicU64,
    pub(super) trivial_moves: AtomicU64,
}

/// What the store has done since it was opened, and how it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// WAL records appended: writes and batches.
    pub writes: u64,
    /// Bytes appended to the WAL.
    pub wal_bytes: u64,
    /// Syncs of the WAL.
    pub wal_syncs: u64,
    /// Memtables written to tables.
    pub flushes: u64,
    /// Bytes of the tables they were written to.
    pub flush_bytes: u64,
    /// Compactions that rewrote tables.
    pub compactions: u64,
    /// Bytes they read.
    pub compaction_bytes_read: u64,
    /// Bytes they wrote.
    pub compaction_bytes_written: u64,
    /// Tables that were moved to a deeper level without rewriting.
    pub trivial_moves: u64,
    /// Writes that waited for a free write buffer.
    pub stalls_write_buffer: u64,
    /// Writes that were slowed down because level 0 had too many tables.
    pub stalls_level0_slowdown: u64,
    /// Writes that waited because level 0 had too many tables, or tables were being ingested.
    pub stalls_level0_stop: u64,
    /// How long writes waited for any of these, in ns, all together.
    pub stall_ns: u64,
    /// Blocks that were found in the block cache.
    pub block_cache_hits: u64,
    /// Blocks that were not.
    pub block_cache_misses: u64,
    /// Bytes in the block cache.
    pub block_cache_bytes: u64,
    /// Tables that are open, with their filters and directories in memory.
    pub open_tables: u64,
    /// How many of them have their file open.
    pub open_files: u64,
    /// Bytes of filters and directories in memory.
    pub table_memory_bytes: u64,
    /// Filters that were found damaged: reads do without them. [`verify`](crate::kv::verify) names them.
    pub damaged_filters: u64,
    /// Writes in memtables.
    pub memtable_entries: u64,
    /// Memtables that wait to be written to tables.
    pub immutable_memtables: u64,
    /// Snapshots that are alive.
    pub snapshots: u64,
    /// The newest write that readers see.
    pub last_seq: u64,
    /// Level by level: tables and their bytes.
    pub levels: Vec<LevelMetrics>,
    /// Why compaction does not get on, if so.
    pub compaction_error: Option<String>,
}

/// How a level stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelMetrics {
    /// Its tables.
    pub tables: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Lsm {
    /// What the store has done since it was opened, and how it stands.
    pub fn metrics(&self) -> Metrics {
        self.inner.read_metrics()
    }
}

impl Inner {
    fn read_metrics(&self) -> Metrics {
        let current = self.current.load();
        let wal = self.wal.as_ref().map(|wal| wal.metrics()).unwrap_or_default();
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let cache = self.tables.blocks().metrics();
        let readers = || current.version.tables().filter_map(|table| table.reader.get());
        Metrics {
            writes: wal.records,
            wal_bytes: wal.bytes,
            wal_syncs: wal.syncs,
            flushes: get(&self.metrics.flushes),
            flush_bytes: get(&self.metrics.flush_bytes),
            compactions: get(&self.metrics.compactions),
            compaction_bytes_read: get(&self.metrics.compaction_bytes_read),
            compaction_bytes_written: get(&self.metrics.compaction_bytes_written),
            trivial_moves: get(&self.metrics.trivial_moves),
            stalls_write_buffer: wal.stalls,
            stalls_level0_slowdown: get(&self.stall.delays),
            stalls_level0_stop: get(&self.stall.stops),
            stall_ns: wal.stall_ns + get(&self.stall.stall_ns),
            block_cache_hits: cache.hits,
            block_cache_misses: cache.misses,
            block_cache_bytes: cache.bytes,
            open_tables: self.tables.open_tables() as u64,
            open_files: self.tables.open_files() as u64,
            table_memory_bytes: readers().map(|reader| reader.memory_bytes() as u64).sum(),
            damaged_filters: readers().map(|reader| reader.damage().len() as u64).sum(),
            memtable_entries: current.memtables().map(|m| m.len() as u64).sum(),
            immutable_memtables: current.immutables.len() as u64,
            snapshots: self.snapshots.count() as u64,
            last_seq: get(&self.visible),
            levels: (0..LEVELS)
                .map(|level| LevelMetrics {
                    tables: current.version.levels[level].len() as u64,
                    bytes: current.version.level_bytes(level),
                })
                .collect(),
            compaction_error: self.background.compaction_error(),
        }
    }
}
