//! How an LSM tree is to behave. Names are RocksDB's where it has one.

use crate::io::Env;
use crate::wal::{Background, Durability, WalKind, WalRecoveryMode};
use crate::{Error, Result};

/// How the active memtable finds its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MemtableKind {
    /// Appends; a hash finds single keys, runs that are sorted when first scanned serve scans. The fastest to write.
    #[default]
    Vec,
    /// A skip list over the arena: always sorted, and threads insert at the same time.
    Skiplist,
}

/// How blocks are compressed. A block that this does not make smaller by an eighth is stored as it is, and so are, untried,
/// up to 31 that follow such ones: what cannot be compressed is seldom tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Compression {
    /// Not at all: what is not in the block cache need not be decompressed.
    None,
    /// LZ4: fast, half to two thirds of the size for text.
    #[default]
    Lz4,
    /// Zstandard at this level, 1 to 19.
    Zstd(i32),
}

/// Which tables are merged, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CompactionStyle {
    /// Levels, each ten times larger than the one before; tables of a level do not overlap. Reads look at few
    /// tables; each entry is rewritten about ten times a level.
    #[default]
    Leveled,
    /// Runs of similar size are merged (RocksDB's universal compaction): writes cost least, reads and disk space more.
    SizeTiered,
    /// Only when [`compact`](crate::kv::Engine::compact) is called.
    None,
}

/// How an LSM tree is to behave. Kept by the caller, not in the store: every option may change from one opening to
/// the next.
#[derive(Clone, Debug)]
pub struct LsmOptions {
    /// Files, clock and randomness. Default: the operating system's.
    pub env: Env,
    /// How the active memtable finds its keys. Default [`MemtableKind::Vec`].
    pub memtable: MemtableKind,
    /// Where the WAL lives. Default [`WalKind::Mmap`].
    pub wal_kind: WalKind,
    /// When a write counts as done, unless it says otherwise. Default [`Durability::Process`].
    pub durability: Durability,
    /// What to do about WAL records that are not as they were written. Default
    /// [`WalRecoveryMode::PointInTime`].
    pub wal_recovery_mode: WalRecoveryMode,
    /// Size of a memtable in bytes, its index included: 64 KiB to 2 GiB. Default 64 MiB.
    pub write_buffer_size: usize,
    /// How many memtables there may be, the active one included, before writes wait for the flush. At least 2;
    /// default 2.
    pub max_write_buffer_number: usize,
    /// Who works in the background. [`Background::Manual`]: whoever calls
    /// [`Lsm::background_step`](crate::lsm::Lsm::background_step), and writes that would have to wait. Default threads.
    pub background: Background,
    /// Uncompressed size of a block in bytes: 256 to 1 MiB. Default 4096.
    pub block_size: usize,
    /// How many keys lie between two places in a block where reading can begin, the sparse index of the block: 1 to
    /// 1024. More saves bytes, fewer saves time. Default 16.
    pub block_restart_interval: usize,
    /// Whether tables have filters of their keys (binary fuse, 9 bits a key, 1 in 256 wrong). Default true.
    pub filter: bool,
    /// How blocks are compressed. Default [`Compression::Lz4`].
    pub compression: Compression,
    /// How many bytes of blocks are kept in memory. 0 keeps none. Default 64 MiB.
    pub block_cache_bytes: usize,
    /// How many tables are open at most, with their indexes and filters in memory; at least 8. Default 1000.
    pub max_open_files: usize,
    /// Which tables are merged, and when. Default [`CompactionStyle::Leveled`].
    pub compaction: CompactionStyle,
    /// How many tables level 0 (or how many sorted runs, size-tiered) may have before they are merged: at least 2.
    /// Default 4.
    pub level0_file_num_compaction_trigger: usize,
    /// How many tables level 0 may have before writes are slowed down. Default 20.
    pub level0_slowdown_writes_trigger: usize,
    /// How many tables level 0 may have before writes wait. Default 36.
    pub level0_stop_writes_trigger: usize,
    /// The rate that slowed-down writes are held to, in bytes per second. Default 16 MiB.
    pub delayed_write_rate: u64,
    /// Size that level 1 is held to, in bytes. Default 256 MiB.
    pub max_bytes_for_level_base: u64,
    /// How many times larger each level is than the one before. Default 10.
    pub max_bytes_for_level_multiplier: u64,
    /// Size of the tables that compaction makes, in bytes. Default 64 MiB.
    pub target_file_size_base: u64,
    /// How many bytes per second compaction writes at most; 0, the default, is no limit. Flushes are not held up.
    pub rate_limit_bytes_per_s: u64,
    /// Told of flushes, compactions, stalls and errors, by a thread of its own. Default nobody.
    pub listener: Option<std::sync::Arc<dyn super::listener::EventListener>>,
    /// How long after its writing an entry may be dropped, in seconds; 0, the default, never. Whole tables are dropped, when
    /// everything in them is older, by the wall clock: a clock that steps forward drops early.
    pub ttl_s: u64,
}

impl Default for LsmOptions {
    fn default() -> Self {
        Self {
            env: Env::os(),
            memtable: MemtableKind::default(),
            wal_kind: WalKind::default(),
            durability: Durability::default(),
            wal_recovery_mode: WalRecoveryMode::default(),
            write_buffer_size: 64 << 20,
            max_write_buffer_number: 2,
            background: Background::default(),
            block_size: 4096,
            block_restart_interval: 16,
            filter: true,
            compression: Compression::default(),
            block_cache_bytes: 64 << 20,
            max_open_files: 1000,
            compaction: CompactionStyle::default(),
            level0_file_num_compaction_trigger: 4,
            level0_slowdown_writes_trigger: 20,
            level0_stop_writes_trigger: 36,
            delayed_write_rate: 16 << 20,
            max_bytes_for_level_base: 256 << 20,
            max_bytes_for_level_multiplier: 10,
            target_file_size_base: 64 << 20,
            rate_limit_bytes_per_s: 0,
            listener: None,
            ttl_s: 0,
        }
    }
}

impl LsmOptions {
    /// Refuses what cannot work.
    pub(super) fn checked(self) -> Result<Self> {
        let in_range = |name: &str, value: u64, range: std::ops::RangeInclusive<u64>| {
            if range.contains(&value) {
                return Ok(());
            }
            let (least, most) = (range.start(), range.end());
            Err(Error::InvalidArgument(format!("{name} {value} is not in {least}..={most}")))
        };
        in_range("write_buffer_size", self.write_buffer_size as u64, 64 << 10..=2 << 30)?;
        in_range("max_write_buffer_number", self.max_write_buffer_number as u64, 2..=64)?;
        in_range("block_size", self.block_size as u64, 256..=1 << 20)?;
        in_range("block_restart_interval", self.block_restart_interval as u64, 1..=1024)?;
        in_range("max_open_files", self.max_open_files as u64, 8..=u64::from(u32::MAX))?;
        let trigger = self.level0_file_num_compaction_trigger as u64;
        in_range("level0_file_num_compaction_trigger", trigger, 2..=1 << 20)?;
        let slowdown = self.level0_slowdown_writes_trigger as u64;
        in_range("level0_slowdown_writes_trigger", slowdown, trigger..=1 << 20)?;
        in_range("level0_stop_writes_trigger", self.level0_stop_writes_trigger as u64, slowdown..=1 << 20)?;
        in_range("delayed_write_rate", self.delayed_write_rate, 1 << 10..=u64::MAX)?;
        in_range("max_bytes_for_level_base", self.max_bytes_for_level_base, 64 << 10..=u64::MAX)?;
        in_range("max_bytes_for_level_multiplier", self.max_bytes_for_level_multiplier, 2..=1000)?;
        in_range("target_file_size_base", self.target_file_size_base, 4 << 10..=u64::MAX)?;
        if let Compression::Zstd(level) = self.compression {
            in_range("the zstd level", level.max(0) as u64, 1..=19)?;
        }
        Ok(self)
    }
}
