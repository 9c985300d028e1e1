//! Being told what happens in the background: flushes, compactions, stalls, damage.

use crate::Error;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// Is told what an LSM tree does, as RocksDB's `EventListener` is. Every method does nothing unless implemented.
///
/// One method is called at a time, in the order in which things happened, after what it tells of is visible to readers. It
/// may call whatever it likes of the store, and wait for that to return; what comes of it is told when the method has returned. So
/// one that waits to be told something waits for ever, and one that flushes a write whenever it is told of a flush is told for ever.
///
/// They are called from a thread that does nothing else, so the store does not wait for one that takes long: what happens meanwhile is
/// kept in memory until it is told. [`close`](crate::kv::Engine::close) waits until all is told, and so does dropping the store: neither is to be
/// done while holding something that a method waits for. One that panics ends nothing but itself.
///
/// With [`Background::Manual`](crate::wal::Background::Manual), and while the store is opened, there is no such thread: methods are called
/// from whoever does the work, at the end of the call; or, if two do so at the same time, from either. A panic is the caller's then.
pub trait EventListener: Send + Sync + Debug {
    /// A memtable is now a table of level 0.
    fn on_flush(&self, info: &FlushInfo) {
        let _ = info;
    }

    /// A compaction ended well, and its outputs took the place of its inputs.
    fn on_compaction(&self, info: &CompactionInfo) {
        let _ = info;
    }

    /// Level 0 slows writes down, stops them, or lets them go on at full speed again. Of writes that wait for a free
    /// write buffer, or for tables that are being ingested, [`Lsm::metrics`](crate::lsm::Lsm::metrics) tell.
    fn on_stall(&self, info: &StallInfo) {
        let _ = info;
    }

    /// Bytes on disk are not what was written: `error` is [`Error::Corruption`], `path` the damaged file.
    fn on_corruption(&self, path: &Path, error: &Error) {
        let _ = (path, error);
    }

    /// Work in the background failed. It is tried again if that can help (a full disk); until it succeeds, writes
    /// may have to wait, or fail.
    fn on_background_error(&self, work: BackgroundWork, error: &Error) {
        let _ = (work, error);
    }
}

/// What was being done when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackgroundWork {
    /// Writing a memtable as a table.
    Flush,
    /// Merging, moving or dropping tables.
    Compaction,
    /// Removing files that nobody needs any more.
    RemoveFiles,
}

/// A flush that ended well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlushInfo {
    /// The table's number.
    pub table: u64,
    /// Its file.
    pub path: PathBuf,
    /// The file's length in bytes.
    pub file_bytes: u64,
    /// How many entries it holds.
    pub entries: u64,
    /// How many of these delete a key.
    pub deletes: u64,
    /// How many deleted ranges it lists.
    pub range_deletes: u64,
    /// The smallest sequence number in it.
    pub min_seq: u64,
    /// The largest.
    pub max_seq: u64,
    /// How long it took, in nanoseconds.
    pub duration_ns: u64,
}

/// How tables are compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CompactionKind {
    /// They are read, merged and written anew.
    #[default]
    Merge,
    /// They change their level; only the manifest is written.
    TrivialMove,
    /// Everything in them has expired: they are dropped unread.
    DropExpired,
}

/// Why tables are compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CompactionReason {
    /// Level 0 has `level0_file_num_compaction_trigger` tables.
    #[default]
    Level0FileCount,
    /// A level is larger than its target.
    LevelSize,
    /// A table that nothing older lies below holds many entries that only a snapshot, now released, could see.
    BottommostGarbage,
    /// Size-tiered: sorted runs are of similar size.
    SizeRatio,
    /// Size-tiered: newer runs are twice as large as the oldest.
    SpaceAmplification,
    /// Size-tiered: there are too many sorted runs.
    SortedRunCount,
    /// Tables are older than `ttl_s`.
    Ttl,
    /// [`compact`](crate::kv::Engine::compact) was called.
    Manual,
}

/// A compaction that ended well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionInfo {
    /// Why.
    pub reason: CompactionReason,
    /// How.
    pub kind: CompactionKind,
    /// The levels that tables came from, ascending.
    pub input_levels: Vec<usize>,
    /// The numbers of these tables: level by level; of level 0 the newest first, of others by key.
    pub input_tables: Vec<u64>,
    /// The level that tables went to.
    pub output_level: usize,
    /// The numbers of these tables, by key. Of a trivial move, the inputs.
    pub output_tables: Vec<u64>,
    /// Bytes of the files read. 0 unless a merge.
    pub bytes_read: u64,
    /// Bytes of the files written. 0 unless a merge.
    pub bytes_written: u64,
    /// How many entries were read, deleted ranges not counted. 0 unless a merge.
    pub entries_read: u64,
    /// How many of these nobody can see any more and were left out. Of a drop, all there were.
    pub entries_dropped: u64,
    /// How long it took, in nanoseconds, waiting for the rate limit included.
    pub duration_ns: u64,
    /// How much of this was waiting for `rate_limit_bytes_per_s`, in nanoseconds.
    pub throttled_ns: u64,
}

/// How writes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum StallCondition {
    /// At full speed.
    #[default]
    Normal,
    /// At `delayed_write_rate`.
    Delayed,
    /// Not at all.
    Stopped,
}

/// Why writes are held up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum StallCause {
    /// They are not.
    #[default]
    None,
    /// Level 0 has too many tables: the compaction has not caught up.
    Level0FileCount,
}

/// Writes changed their pace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StallInfo {
    /// How writes go now.
    pub condition: StallCondition,
    /// How they went before.
    pub previous: StallCondition,
    /// Why they are held up; if they no longer are, why they were.
    pub cause: StallCause,
    /// How many memtables wait for their flush.
    pub immutable_memtables: usize,
    /// How many tables level 0 has.
    pub level0_tables: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Debug, Default)]
    struct Compactions(Mutex<Vec<CompactionReason>>);

    impl EventListener for Compactions {
        fn on_compaction(&self, info: &CompactionInfo) {
            self.0.lock().unwrap().push(info.reason);
        }
    }

    #[test]
    fn a_listener_hears_what_it_asks_for() {
        let heard = Arc::new(Compactions::default());
        let listener: Arc<dyn EventListener> = heard.clone();
        listener.on_flush(&FlushInfo::default());
        listener
            .on_compaction(&CompactionInfo { reason: CompactionReason::Ttl, ..CompactionInfo::default() });
        listener.on_stall(&StallInfo::default());
        let error = Error::corruption("t.sst", 0, "x");
        listener.on_corruption(Path::new("t.sst"), &error);
        listener.on_background_error(BackgroundWork::Flush, &error);
        assert_eq!(*heard.0.lock().unwrap(), [CompactionReason::Ttl]);
    }
}
