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
use duramen_engine::wal::Background;
use std::collections::BTreeMap;
use std::ops::{Bound, Deref};
use std::path::Path;

pub type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// An engine and its options; the environment in them is not used.
#[derive(Clone, Debug)]
pub enum Setup {
    Log(LogOptions),
}

/// An open store of either engine.
#[derive(Debug)]
pub enum Store {
    Log(Log),
}

impl Deref for Store {
    type Target = dyn Engine;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Log(log) => log,
        }
    }
}

impl Store {
    pub fn background_step(&self) -> Result<bool> {
        match self {
            Self::Log(log) => log.background_step(),
        }
    }
}

impl Setup {
    pub fn kind(&self) -> EngineKind {
        match self {
            Self::Log(_) => EngineKind::Log,
        }
    }

    pub fn open(&self, env: Env, dir: impl AsRef<Path>) -> Result<Store> {
        match self {
            Self::Log(options) => Ok(Store::Log(Log::open(dir, LogOptions { env, ..options.clone() })?)),
        }
    }

    pub fn open_read_only(&self, env: Env, dir: impl AsRef<Path>) -> Result<Store> {
        match self {
            Self::Log(options) => {
                Ok(Store::Log(Log::open_read_only(dir, LogOptions { env, ..options.clone() })?))
            }
        }
    }

    /// The same with other defaults for writes.
    pub fn with_durability(&self, durability: Durability) -> Self {
        match self {
            Self::Log(options) => Self::Log(LogOptions { durability, ..options.clone() }),
        }
    }

    /// The same with a thread in the background.
    pub fn with_threads(&self) -> Self {
        match self {
            Self::Log(options) => Self::Log(LogOptions { background: Background::Thread, ..options.clone() }),
        }
    }

    /// Whether a write may ask for it.
    pub fn allows(&self, _durability: Durability) -> bool {
        match self {
            Self::Log(_) => true,
        }
    }

    /// Whether a write of this durability survives the end of the process.
    pub fn survives_process(&self, _durability: Durability) -> bool {
        match self {
            Self::Log(_) => true,
        }
    }
}

/// One of each engine, small enough that little work flushes and compacts.
pub fn setups() -> Vec<Setup> {
    vec![Setup::Log(LogOptions {
        background: Background::Manual,
        compaction_min_bytes: 8 << 10,
        ..LogOptions::default()
    })]
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
        EngineKind::Lsm => unreachable!("not yet"),
    }
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
