//! Which engine a directory belongs to: a small file `ENGINE`, the first that a store gets.
//!
//! ```text
//!  0  magic           8   "DURA\rENG"
//!  8  format version  4   1
//! 12  engine          4   1 Lsm, 2 Log
//! 16  CRC-32C         4   of bytes 0..16
//! ```
//!
//! It gets its name, by a hard link, once it is synced, so it is never half written; and of two who begin a store
//! at the same time one wins.

use super::EngineKind;
use crate::io::{Env, OpenMode, create_dir_durably};
use crate::{Error, Result};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The file that tells which engine a directory belongs to: what has none is no key-value store.
pub const FILE_NAME: &str = "ENGINE";
/// The first bytes of a marker.
pub(crate) const MAGIC: &[u8; 8] = b"DURA\rENG";
const VERSION: u32 = 1;
const BYTES: usize = 20;

/// Sees to it that the store in `dir` is one of this engine: it says so, or it is empty (or missing) and will say
/// so from now on, durably. The caller's lock may be in it already, under the name `LOCK`.
///
/// # Errors
/// [`Error::InvalidArgument`] if it belongs to the other engine or is something else, or, `read_only`, if it is not
/// there; [`Error::Corruption`] or [`Error::TooNew`] for what the marker says; [`Error::Io`].
pub(crate) fn claim(env: &Env, dir: &Path, kind: EngineKind, read_only: bool) -> Result<()> {
    match which(env, dir)? {
        Some(found) => check(dir, kind, found),
        None if read_only => {
            let dir = dir.display();
            Err(Error::InvalidArgument(format!("{dir} holds no key-value store: it has no file {FILE_NAME}")))
        }
        None => {
            refuse_foreign(env, dir, kind)?;
            create_dir_durably(env, dir)?;
            check(dir, kind, mark(env, dir, kind)?)
        }
    }
}

/// Which engine the store in `dir` is of, if there is one.
///
/// # Errors
/// As [`claim`].
pub(crate) fn which(env: &Env, dir: &Path) -> Result<Option<EngineKind>> {
    match read(env, &dir.join(FILE_NAME)) {
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotADirectory => {
            Err(Error::InvalidArgument(format!("{} is not a directory", dir.display())))
        }
        read => read,
    }
}

/// What the marker at `path` says, if there is one.
///
/// # Errors
/// [`Error::Corruption`]; [`Error::TooNew`]; [`Error::Io`].
pub(crate) fn read(env: &Env, path: &Path) -> Result<Option<EngineKind>> {
    let file = match env.fs.open(path, OpenMode::Read) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(Error::io("open", path))?,
    };
    let len = file.len().map_err(Error::io("measure", path))?;
    let mut bytes = [0; BYTES];
    let bytes = &mut bytes[..len.min(BYTES as u64) as usize];
    file.read_exact_at(bytes, 0).map_err(Error::io("read", path))?;
    decode(path, bytes).map(Some)
}

fn check(dir: &Path, wanted: EngineKind, found: EngineKind) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!(
        "{} holds a store of the engine {found:?}; it cannot be opened with {wanted:?}",
        dir.display()
    )))
}

fn encode(kind: EngineKind) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[0..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let engine: u32 = match kind {
        EngineKind::Lsm => 1,
        EngineKind::Log => 2,
    };
    bytes[12..16].copy_from_slice(&engine.to_le_bytes());
    let crc = crc32c::crc32c(&bytes[0..16]);
    bytes[16..20].copy_from_slice(&crc.to_le_bytes());
    bytes
}

fn decode(path: &Path, bytes: &[u8]) -> Result<EngineKind> {
    let u32_at =
        |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes);
    if bytes.len() < BYTES || !bytes.starts_with(MAGIC) {
        return Err(Error::corruption(path, 0, "it is not what an engine writes there"));
    }
    if crc32c::crc32c(&bytes[0..16]) != u32_at(16) {
        return Err(Error::corruption(path, 0, "the checksum does not match"));
    }
    match (u32_at(8), u32_at(12)) {
        (VERSION, 1) => Ok(EngineKind::Lsm),
        (VERSION, 2) => Ok(EngineKind::Log),
        (VERSION, engine) => Err(Error::corruption(path, 12, format!("there is no engine {engine}"))),
        (found, _) => Err(Error::TooNew { path: path.to_path_buf(), found, supported: VERSION }),
    }
}

/// Whether it is the rest of an attempt to write a marker.
fn is_temporary(name: &str) -> bool {
    name.starts_with("ENGINE.") && name.ends_with(".tmp")
}

/// Refuses a directory without a marker that holds anything else: it would be a mistyped path.
fn refuse_foreign(env: &Env, dir: &Path, kind: EngineKind) -> Result<()> {
    let entries = match env.fs.read_dir(dir) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        other => other.map_err(Error::io("list", dir))?,
    };
    let has = |name: &str| entries.iter().any(|entry| entry.name == name);
    let what = if has("MANIFEST") && has("wal") {
        "holds a log store".to_owned()
    } else {
        let is_ours = |name: &str| {
            name == "LOCK" || name == FILE_NAME || name == super::checkpoint::MARK || is_temporary(name)
        };
        match entries.iter().find(|entry| !is_ours(&entry.name)) {
            None => return Ok(()),
            Some(foreign) => format!("has no file {FILE_NAME}, but `{}`", foreign.name),
        }
    };
    Err(Error::InvalidArgument(format!(
        "{} {what}; it cannot be opened with the engine {kind:?}: give an empty or new directory",
        dir.display()
    )))
}

/// Writes the marker, unless somebody else has by now, and says what it is.
fn mark(env: &Env, dir: &Path, kind: EngineKind) -> Result<EngineKind> {
    for entry in env.fs.read_dir(dir).map_err(Error::io("list", dir))? {
        if is_temporary(&entry.name) {
            let _somebody_else_may_have = env.fs.remove_file(&dir.join(entry.name));
        }
    }
    let path = dir.join(FILE_NAME);
    let tmp = dir.join(format!("ENGINE.{:016x}.tmp", env.random.next_u64()));
    let written = write_named(env, &tmp, &path, kind);
    let _best_effort = env.fs.remove_file(&tmp);
    written?;
    env.fs.sync_dir(dir).map_err(Error::io("sync", dir))?;
    which(env, dir)?.ok_or_else(|| Error::corruption(&path, 0, "it is gone again"))
}

/// Writes the marker anew, in the place of a damaged one or of none. Says where the damaged one is kept.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn rewrite(env: &Env, dir: &Path, kind: EngineKind) -> Result<Option<PathBuf>> {
    let (path, quarantine) = (dir.join(FILE_NAME), dir.join(super::quarantine::DIR));
    let mut kept = None;
    if env.fs.exists(&path).map_err(Error::io("look for", &path))? {
        env.fs.create_dir_all(&quarantine).map_err(Error::io("create directory", &quarantine))?;
        let aside = quarantine.join(format!("{FILE_NAME}.{:016x}", env.random.next_u64()));
        env.fs.rename(&path, &aside).map_err(Error::io("rename", &path))?;
        env.fs.sync_dir(&quarantine).map_err(Error::io("sync", &quarantine))?;
        kept = Some(aside);
    }
    mark(env, dir, kind)?;
    Ok(kept)
}

fn write_named(env: &Env, tmp: &Path, path: &Path, kind: EngineKind) -> Result<()> {
    let file = env.fs.open(tmp, OpenMode::CreateNew).map_err(Error::io("create", tmp))?;
    file.write_all_at(&encode(kind), 0).map_err(Error::io("write", tmp))?;
    file.sync_data().map_err(Error::io("sync", tmp))?;
    match env.fs.hard_link(tmp, path) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(()),
        // There are file systems without hard links.
        Err(_) => env.fs.rename(tmp, path).map_err(Error::io("rename", tmp)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::Sim;
    use proptest::prelude::*;

    #[test]
    fn a_directory_belongs_to_whoever_claims_it_first() {
        let sim = Sim::new(1);
        let dir = Path::new("a/b/store");
        assert_eq!(which(&sim.env(), dir).unwrap(), None);
        assert!(claim(&sim.env(), dir, EngineKind::Log, true).is_err());
        claim(&sim.env(), dir, EngineKind::Log, false).unwrap();
        sim.crash_power_keeping(0);
        let env = sim.env();
        assert_eq!(which(&env, dir).unwrap(), Some(EngineKind::Log));
        claim(&env, dir, EngineKind::Log, false).unwrap();
        claim(&env, dir, EngineKind::Log, true).unwrap();
        let error = claim(&env, dir, EngineKind::Lsm, false).unwrap_err().to_string();
        assert!(error.contains("Log") && error.contains("Lsm") && error.contains("a/b/store"), "{error}");
        assert_eq!(sim.files(), ["a/b/store/ENGINE"]);
    }

    #[test]
    fn what_is_something_else_is_refused_and_left_alone() {
        let sim = Sim::new(1);
        let env = sim.env();
        env.fs.create_dir_all(Path::new("logs/wal")).unwrap();
        env.fs.open(Path::new("logs/MANIFEST"), OpenMode::CreateNew).unwrap();
        env.fs.create_dir_all(Path::new("home")).unwrap();
        env.fs.open(Path::new("home/letter"), OpenMode::CreateNew).unwrap();
        for (dir, hint) in [("logs", "log store"), ("home", "letter"), ("home/letter", "not a directory")] {
            for kind in [EngineKind::Log, EngineKind::Lsm] {
                let error = claim(&env, Path::new(dir), kind, false).unwrap_err();
                assert!(
                    matches!(error, Error::InvalidArgument(_)) && error.to_string().contains(hint),
                    "{error}"
                );
            }
        }
        assert_eq!(sim.files(), ["home/letter", "logs/MANIFEST"]);
    }

    #[test]
    fn whatever_fails_or_crashes_a_later_claim_succeeds() {
        use crate::io::sim::Fault;
        let dir = Path::new("store");
        for fault in [Fault::Crash, Fault::TornWrite, Fault::NoSpace, Fault::SyncFailed, Fault::TooManyFiles]
        {
            for index in 0.. {
                let sim = Sim::new(index);
                sim.fail_at(index, fault);
                let claimed = claim(&sim.env(), dir, EngineKind::Lsm, false);
                let operations = sim.operations();
                sim.crash_power();
                let found = which(&sim.env(), dir).unwrap();
                assert!(found == Some(EngineKind::Lsm) || claimed.is_err(), "{fault:?} at {index}");
                claim(&sim.env(), dir, EngineKind::Lsm, false).unwrap();
                if operations <= index {
                    break;
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_without_panic(bytes: Vec<u8>, at in 0..BYTES, flip in 1..=255u8) {
            prop_assert!(decode(Path::new(FILE_NAME), &bytes).is_err());
            let mut wrong = encode(EngineKind::Lsm);
            wrong[at] ^= flip;
            prop_assert!(decode(Path::new(FILE_NAME), &wrong).is_err());
        }
    }
}
