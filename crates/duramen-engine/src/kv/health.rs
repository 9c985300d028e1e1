//! Is a store whole, and what can be done if it is not: [`verify`] and [`repair`], for either engine.

use super::{EngineKind, marker};
use crate::io::{Env, Lock};
use crate::{Error, Result, log, lsm};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// How far a verification or a repair has come. Both may read files more than once: the total can grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read so far.
    pub done_bytes: u64,
    /// Bytes to read in all.
    pub total_bytes: u64,
}

/// Keys from the first to the second, both included.
pub type KeySpan = (Vec<u8>, Vec<u8>);

/// A damaged place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// Where it begins, in bytes from the start of the file; `None` if the whole file is meant.
    pub offset: Option<u64>,
    /// How many bytes cannot be trusted, if that is known.
    pub bytes: Option<u64>,
    /// All keys that it may hold lie in here; `None` if they are not known, or if it holds none.
    pub keys: Option<KeySpan>,
    /// How many entries it holds, if that is known. 0: nothing is lost by it.
    pub entries: Option<u64>,
    /// What was expected and what was found.
    pub detail: String,
}

impl Damage {
    /// Of what an error says about a file.
    pub(crate) fn of_error(path: &Path, error: &Error) -> Self {
        let (path, offset, detail) = match error {
            Error::Corruption { path, offset, detail } => (path.clone(), Some(*offset), detail.clone()),
            other => (path.to_path_buf(), None, other.to_string()),
        };
        Self { path, offset, bytes: None, keys: None, entries: None, detail }
    }
}

/// What a verification found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// How many files were read.
    pub files: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// How many entries in tables are whole. Of the log engine, how many writes.
    pub entries: u64,
    /// How many writes in WAL segments are whole and in no table yet.
    pub wal_writes: u64,
    /// Every damage.
    pub damage: Vec<Damage>,
    /// What is no damage and yet worth a word: files that nobody knows, unfinished writes that a crash left.
    pub notes: Vec<String>,
}

impl VerifyReport {
    /// Whether every byte is as it was written.
    pub fn is_whole(&self) -> bool {
        self.damage.is_empty()
    }
}

/// What a repair did, or, as a dry run, would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// What was done, step by step, as sentences.
    pub actions: Vec<String>,
    /// What could not be brought back.
    pub lost: Vec<Damage>,
    /// Where files are now that were taken out of the store.
    pub quarantined: Vec<PathBuf>,
}

impl RepairReport {
    /// Whether there was anything to do.
    pub fn is_idle(&self) -> bool {
        self.actions.is_empty() && self.lost.is_empty() && self.quarantined.is_empty()
    }
}

/// How to repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RepairOptions {
    /// Only say what would be done: nothing on disk is changed. Default false.
    pub dry_run: bool,
}

/// Reads every byte of the store in `dir` and lists everything that is not as it was written. Needs no lock, changes
/// nothing, and takes little memory whatever the store's size; the store may be in use meanwhile. `progress` is
/// called now and then.
///
/// # Errors
/// [`Error::InvalidArgument`] if there is no store; [`Error::TooNew`]; [`Error::Io`] if a directory cannot be listed.
/// Damage, and files that cannot be read, are no error but in the report.
pub fn verify(env: &Env, dir: impl AsRef<Path>, progress: &mut dyn FnMut(Progress)) -> Result<VerifyReport> {
    let dir = dir.as_ref();
    let (kind, damage) = kind_of(env, dir)?;
    let mut report = match kind {
        EngineKind::Lsm => lsm::verify(env, dir, progress)?,
        EngineKind::Log => log::verify(env, dir, progress)?,
    };
    report.files += 1;
    report.damage.splice(0..0, damage);
    Ok(report)
}

/// Makes the store in `dir` one that opens and can be read throughout, and says exactly what is lost by it. What is
/// whole stays; of what is damaged, what can be read is written anew; every damaged file is kept in `quarantine/`.
/// Interrupted at any moment, even by a loss of power, it can be run again, and goes on.
///
/// A lost entry that had overwritten or deleted an older one brings that back to light, if it is still there.
///
/// # Errors
/// [`Error::Locked`] while the store is open; [`Error::InvalidArgument`] if there is no store; [`Error::TooNew`];
/// [`Error::Io`], as on a full disk: what was there before still is then.
pub fn repair(
    env: &Env,
    dir: impl AsRef<Path>,
    options: RepairOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<RepairReport> {
    let dir = dir.as_ref();
    let (kind, damage) = kind_of(env, dir)?;
    let mut report = RepairReport::default();
    if let Some(damage) = damage {
        report.actions.push(format!("{} is written anew: {}", damage.path.display(), damage.detail));
        if !options.dry_run {
            report.quarantined.extend(marker::rewrite(env, dir, kind)?);
        }
    }
    match kind {
        EngineKind::Lsm => lsm::repair(env, dir, options, progress, &mut report)?,
        EngineKind::Log => log::repair(env, dir, options, progress, &mut report)?,
    }
    Ok(report)
}

/// Whether somebody holds this lock to write.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn is_live(env: &Env, lock: &Path) -> Result<bool> {
    match env.fs.try_lock_shared(lock) {
        Ok(held) => Ok(held.is_none()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        Err(e) => Err(Error::io("lock", lock)(e)),
    }
}

/// Takes a store's lock to repair it; for a dry run, which must not make one, only sees that it is free.
///
/// # Errors
/// [`Error::Locked`]; [`Error::Io`].
pub(crate) fn lock_to_repair(
    env: &Env,
    path: PathBuf,
    options: RepairOptions,
) -> Result<Option<Box<dyn Lock>>> {
    if options.dry_run {
        return if is_live(env, &path)? { Err(Error::Locked { path }) } else { Ok(None) };
    }
    let taken = env.fs.try_lock(&path).map_err(Error::io("lock", &path))?;
    taken.map(Some).ok_or(Error::Locked { path })
}

/// Which engine it is, told by its files if the marker cannot.
fn kind_of(env: &Env, dir: &Path) -> Result<(EngineKind, Option<Damage>)> {
    let path = dir.join(marker::FILE_NAME);
    let damage = match marker::which(env, dir) {
        Ok(Some(kind)) => return Ok((kind, None)),
        Ok(None) => Damage {
            path,
            offset: None,
            bytes: None,
            keys: None,
            entries: Some(0),
            detail: "it is missing".into(),
        },
        Err(error) if error.is_corruption() => Damage { entries: Some(0), ..Damage::of_error(&path, &error) },
        Err(error) => return Err(error),
    };
    let has = |name: &str| env.fs.exists(&dir.join(name)).unwrap_or(false);
    let kind = if has(log::FILE_NAME) {
        EngineKind::Log
    } else if has(lsm::TABLES_DIR) && has(lsm::WAL_DIR) {
        EngineKind::Lsm
    } else {
        return Err(Error::InvalidArgument(format!("{} holds no key-value store", dir.display())));
    };
    Ok((kind, Some(damage)))
}
