//! What the tests of both key-value engines share: opening either, and knowing what must be there.
#![allow(dead_code)] // each test uses its part
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

pub mod dice;
pub mod driver;
pub mod history;
pub mod script;

use dice::Dice;
use duramen_engine::Result;
use duramen_engine::io::Env;
use duramen_engine::kv::{Durability, Engine, EngineKind, ReadOptions, WriteOptions};
use duramen_engine::log::{Log, LogOptions};
use duramen_engine::lsm::{CompactionStyle, Compression, Lsm, LsmOptions, MemtableKind};
use duramen_engine::wal::{Background, WalKind};
use std::collections::BTreeMap;
use std::ops::{Bound, Deref};
use std::path::Path;

pub type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// An engine and its options; the environment in them is not used.
#[derive(Clone, Debug)]
pub enum Setup {
    Log(LogOptions),
    Lsm(LsmOptions),
}

/// An open store of either engine.
#[derive(Debug)]
pub enum Store {
    Log(Log),
    Lsm(Lsm),
}

impl Deref for Store {
    type Target = dyn Engine;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Log(log) => log,
            Self::Lsm(lsm) => lsm,
        }
    }
}

impl Store {
    pub fn background_step(&self) -> Result<bool> {
        match self {
            Self::Log(log) => log.background_step(),
            Self::Lsm(lsm) => lsm.background_step(),
        }
    }
}

impl Setup {
    /// For messages.
    pub fn name(&self) -> String {
        match self {
            Self::Log(_) => "Log".into(),
            Self::Lsm(options) => {
                format!("Lsm {:?} {:?} {:?}", options.memtable, options.wal_kind, options.compaction)
            }
        }
    }

    pub fn kind(&self) -> EngineKind {
        match self {
            Self::Log(_) => EngineKind::Log,
            Self::Lsm(_) => EngineKind::Lsm,
        }
    }

    pub fn open(&self, env: Env, dir: impl AsRef<Path>) -> Result<Store> {
        match self {
            Self::Log(options) => Ok(Store::Log(Log::open(dir, LogOptions { env, ..options.clone() })?)),
            Self::Lsm(options) => Ok(Store::Lsm(Lsm::open(dir, LsmOptions { env, ..options.clone() })?)),
        }
    }

    pub fn open_read_only(&self, env: Env, dir: impl AsRef<Path>) -> Result<Store> {
        match self {
            Self::Log(options) => {
                Ok(Store::Log(Log::open_read_only(dir, LogOptions { env, ..options.clone() })?))
            }
            Self::Lsm(options) => {
                Ok(Store::Lsm(Lsm::open_read_only(dir, LsmOptions { env, ..options.clone() })?))
            }
        }
    }

    /// The same with other defaults for writes.
    pub fn with_durability(&self, durability: Durability) -> Self {
        match self {
            Self::Log(options) => Self::Log(LogOptions { durability, ..options.clone() }),
            Self::Lsm(options) => Self::Lsm(LsmOptions { durability, ..options.clone() }),
        }
    }

    /// The durability that comes closest to this one: without a WAL, nothing can be synced.
    pub fn possible(&self, durability: Durability) -> Durability {
        match self {
            Self::Lsm(options) if options.wal_kind == WalKind::None => Durability::Process,
            _ => durability,
        }
    }

    /// The same with a thread in the background.
    pub fn with_threads(&self) -> Self {
        match self {
            Self::Log(options) => Self::Log(LogOptions { background: Background::Thread, ..options.clone() }),
            Self::Lsm(options) => Self::Lsm(LsmOptions { background: Background::Thread, ..options.clone() }),
        }
    }

    /// Whether a write may ask for it.
    pub fn allows(&self, durability: Durability) -> bool {
        match self {
            Self::Log(_) => true,
            Self::Lsm(options) => {
                options.wal_kind != WalKind::None
                    || matches!(durability, Durability::None | Durability::Process)
            }
        }
    }

    /// Whether a write of this durability survives the end of the process.
    pub fn survives_process(&self, durability: Durability) -> bool {
        match self {
            Self::Log(_) => true,
            Self::Lsm(options) => match options.wal_kind {
                WalKind::Mmap => true,
                WalKind::Write => durability != Durability::None,
                WalKind::None => false,
            },
        }
    }
}

/// A small LSM tree: little work flushes and compacts.
fn small_lsm() -> LsmOptions {
    LsmOptions {
        background: Background::Manual,
        write_buffer_size: 64 << 10,
        block_size: 512,
        block_cache_bytes: 32 << 10,
        max_open_files: 8,
        level0_file_num_compaction_trigger: 2,
        level0_slowdown_writes_trigger: 6,
        level0_stop_writes_trigger: 8,
        max_bytes_for_level_base: 64 << 10,
        max_bytes_for_level_multiplier: 3,
        target_file_size_base: 16 << 10,
        ..LsmOptions::default()
    }
}

/// Both engines, small enough that little work flushes and compacts.
pub fn setups() -> Vec<Setup> {
    let log =
        LogOptions { background: Background::Manual, compaction_min_bytes: 8 << 10, ..LogOptions::default() };
    let skiplist = LsmOptions {
        memtable: MemtableKind::Skiplist,
        wal_kind: WalKind::Write,
        compaction: CompactionStyle::SizeTiered,
        compression: Compression::Lz4,
        ..small_lsm()
    };
    vec![Setup::Log(log), Setup::Lsm(small_lsm()), Setup::Lsm(skiplist)]
}

/// An engine under options that no one would choose, and some that one would.
pub fn random_setup(kind: EngineKind, dice: &mut Dice) -> Setup {
    match kind {
        EngineKind::Log => Setup::Log(LogOptions {
            background: Background::Manual,
            compaction_garbage_percent: dice.pick(&[0, 1, 20, 50, 99]),
            compaction_min_bytes: dice.pick(&[0, 500, 20_000, 1 << 20]),
            ..LogOptions::default()
        }),
        EngineKind::Lsm => {
            let trigger = 2 + dice.below(4);
            let slowdown = trigger + dice.below(4);
            Setup::Lsm(LsmOptions {
                background: Background::Manual,
                memtable: dice.pick(&[MemtableKind::Vec, MemtableKind::Skiplist]),
                wal_kind: dice.pick(&[WalKind::Mmap, WalKind::Mmap, WalKind::Write, WalKind::None]),
                write_buffer_size: dice.pick(&[64 << 10, 64 << 10, 200_000, 1 << 20]),
                max_write_buffer_number: 2 + dice.below(3),
                block_size: dice.pick(&[256, 300, 1024, 4096, 64 << 10]),
                block_restart_interval: dice.pick(&[1, 2, 16, 1024]),
                filter: dice.percent(70),
                compression: dice.pick(&[Compression::None, Compression::Lz4, Compression::Zstd(1)]),
                block_cache_bytes: dice.pick(&[0, 1000, 30_000, 64 << 20]),
                max_open_files: dice.pick(&[8, 10, 1000]),
                compaction: dice.pick(&[
                    CompactionStyle::Leveled,
                    CompactionStyle::Leveled,
                    CompactionStyle::SizeTiered,
                    CompactionStyle::None,
                ]),
                level0_file_num_compaction_trigger: trigger,
                level0_slowdown_writes_trigger: slowdown,
                level0_stop_writes_trigger: slowdown + dice.below(4),
                max_bytes_for_level_base: dice.pick(&[64 << 10, 100_000, 1 << 20]),
                max_bytes_for_level_multiplier: dice.pick(&[2, 3, 10]),
                target_file_size_base: dice.pick(&[4 << 10, 10_000, 64 << 10, 64 << 20]),
                ..LsmOptions::default()
            })
        }
    }
}

/// Some of the `all` cases of one kind, spread evenly; all of them with `DURAMEN_KV_WHOLE=1`, which takes minutes. `lane`
/// tells kinds apart, so that together they leave out little.
pub fn some_of(all: u64, at_most: u64, lane: usize) -> impl Iterator<Item = u64> {
    let whole = std::env::var_os("DURAMEN_KV_WHOLE").is_some();
    let stride = if whole { 1 } else { all.div_ceil(at_most).max(1) };
    (lane as u64 % stride..all).step_by(stride as usize)
}

/// All entries.
pub fn contents(store: &dyn Engine, options: &ReadOptions) -> Result<Map> {
    let all = store.scan_with(Bound::Unbounded, Bound::Unbounded, options)?.collect()?;
    let map: Map = all.iter().cloned().collect();
    let expected: Vec<_> = map.clone().into_iter().collect();
    let in_order = if options.reverse { all.into_iter().rev().collect() } else { all };
    assert_eq!(in_order, expected, "a scan is out of order, or has a key twice");
    Ok(map)
}

/// All entries as they are now.
pub fn now(store: &dyn Engine) -> Result<Map> {
    contents(store, &ReadOptions::default())
}

pub fn durably(durability: Durability) -> WriteOptions {
    WriteOptions { durability: Some(durability), ..WriteOptions::default() }
}
