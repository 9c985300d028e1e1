//! Opening a store with whichever engine made it.

use super::{Engine, EngineKind, marker};
use crate::Result;
use crate::io::Env;
use crate::log::{Log, LogOptions};
use crate::lsm::{Lsm, LsmOptions};
use std::path::Path;

/// How [`open`] opens a store.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The engine. `None`, the default, is the one that made the store; a new store is an [`Lsm`].
    pub kind: Option<EngineKind>,
    /// Files, clock and randomness, for either engine; those in their own options are not used. Default: the
    /// operating system's.
    pub env: Env,
    /// How the store is to behave if it is an [`Lsm`].
    pub lsm: LsmOptions,
    /// How the store is to behave if it is a [`Log`].
    pub log: LogOptions,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { kind: None, env: Env::os(), lsm: LsmOptions::default(), log: LogOptions::default() }
    }
}

/// Opens the store in `dir`, or makes one there if it is empty or missing.
///
/// ```
/// use duramen_engine::kv::{self, Engine, EngineKind, OpenOptions};
/// # let dir = tempfile::tempdir().unwrap();
/// # let dir = dir.path().join("store");
/// let log = OpenOptions { kind: Some(EngineKind::Log), ..OpenOptions::default() };
/// kv::open(&dir, &log)?.put(b"k", b"v")?;
///
/// let store = kv::open(&dir, &OpenOptions::default())?; // whatever it is
/// assert_eq!(store.get(b"k")?.unwrap(), b"v");
/// assert!(store.scan(..)?.next()?.is_some());
/// assert_eq!(kv::engine_of(&dir, &OpenOptions::default())?, Some(EngineKind::Log));
/// # Ok::<(), duramen_engine::Error>(())
/// ```
///
/// # Errors
/// As [`Lsm::open`] and [`Log::open`].
pub fn open(dir: impl AsRef<Path>, options: &OpenOptions) -> Result<Box<dyn Engine>> {
    let dir = dir.as_ref();
    let kind = options.kind.map_or_else(|| engine_of(dir, options), |kind| Ok(Some(kind)))?;
    Ok(match kind.unwrap_or(EngineKind::Lsm) {
        EngineKind::Lsm => Box::new(Lsm::open(dir, options.for_lsm())?),
        EngineKind::Log => Box::new(Log::open(dir, options.for_log())?),
    })
}

/// Opens the store in `dir` to read what is in it now.
///
/// # Errors
/// As [`Lsm::open_read_only`] and [`Log::open_read_only`].
pub fn open_read_only(dir: impl AsRef<Path>, options: &OpenOptions) -> Result<Box<dyn Engine>> {
    let dir = dir.as_ref();
    let kind = options.kind.map_or_else(|| engine_of(dir, options), |kind| Ok(Some(kind)))?;
    Ok(match kind.unwrap_or(EngineKind::Lsm) {
        EngineKind::Lsm => Box::new(Lsm::open_read_only(dir, options.for_lsm())?),
        EngineKind::Log => Box::new(Log::open_read_only(dir, options.for_log())?),
    })
}

/// Which engine made the store in `dir`; `None` if there is none. Changes nothing.
///
/// # Errors
/// [`Error::Corruption`](crate::Error::Corruption) or [`Error::TooNew`](crate::Error::TooNew) for the file that
/// says so, [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `dir` is a file,
/// [`Error::Io`](crate::Error::Io).
pub fn engine_of(dir: impl AsRef<Path>, options: &OpenOptions) -> Result<Option<EngineKind>> {
    marker::which(&options.env, dir.as_ref())
}

impl OpenOptions {
    fn for_lsm(&self) -> LsmOptions {
        LsmOptions { env: self.env.clone(), ..self.lsm.clone() }
    }

    fn for_log(&self) -> LogOptions {
        LogOptions { env: self.env.clone(), ..self.log.clone() }
    }
}
