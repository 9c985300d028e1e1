//! A copy of a store gets its name when everything in it is durable: what a crash leaves is not taken for a store.

use super::EngineKind;
use super::marker::{self, FILE_NAME};
use crate::io::{Env, Lock, OpenMode};
use crate::{Error, Result};
use std::io::ErrorKind;
use std::path::Path;

/// The first file of a checkpoint in the making, locked, and the last that goes once it has its name.
pub(super) const MARK: &str = "CHECKPOINT";

/// Makes `dir`, which must not exist, a store of this engine. `fill` puts everything but the marker into the
/// directory that it is given, durably, names in it included; the name of that comes afterwards.
///
/// # Errors
/// [`Error::InvalidArgument`] if `dir` exists, has no name, or something else has the name `dir` + `.tmp`;
/// [`Error::Locked`] while another makes the same; [`Error::Io`]; those of `fill`. `dir` does not exist then.
pub(crate) fn checkpoint(
    env: &Env,
    dir: &Path,
    kind: EngineKind,
    fill: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let fs = &env.fs;
    if fs.exists(dir).map_err(Error::io("look for", dir))? {
        return Err(Error::InvalidArgument(format!("{} exists: a checkpoint makes it", dir.display())));
    }
    let Some(name) = dir.file_name().and_then(|name| name.to_str()) else {
        return Err(Error::InvalidArgument(format!("{} is no name for a checkpoint", dir.display())));
    };
    let tmp = dir.with_file_name(format!("{name}.tmp"));
    let _ours = begin(env, &tmp, name)?;
    let made = marker::claim(env, &tmp, kind, false).and_then(|()| fill(&tmp)).and_then(|()| {
        fs.sync_dir(&tmp).map_err(Error::io("sync", &tmp))?;
        fs.rename(&tmp, dir).map_err(Error::io("rename", &tmp))
    });
    if made.is_err() {
        let _the_next_attempt_does = remove_all(env, &tmp);
        return made;
    }
    let parent = marker::parent(dir).unwrap_or(dir);
    // With the mark to the end: what has it may be removed while its name ends in `.tmp`, and what has it not may not.
    let synced = fs.sync_dir(parent).map_err(Error::io("sync", parent));
    let mark = dir.join(MARK);
    synced.and_then(|()| fs.remove_file(&mark).map_err(Error::io("remove", &mark))).inspect_err(|_| {
        // It may be gone after a loss of power, so it is not there now.
        if fs.rename(dir, &tmp).is_ok() {
            let _the_next_attempt_does = remove_all(env, &tmp);
        }
    })
}

/// Makes `tmp` a directory in which there is the mark alone, and locks that. The mark says what it will be called: one that
/// is called so already is whole.
fn begin(env: &Env, tmp: &Path, name: &str) -> Result<Box<dyn Lock>> {
    let (fs, mark) = (&env.fs, tmp.join(MARK));
    let locked = || Error::Locked { path: mark.clone() };
    let lock = || fs.try_lock(&mark).map_err(Error::io("lock", &mark))?.ok_or_else(locked);
    let found = left_in(env, tmp)?;
    if found == Left::Marked {
        // A mark is not made by looking: where it is gone, another is done, and this has its name.
        let is_marked = fs.exists(&mark).map_err(Error::io("look for", &mark))?;
        if !is_marked || fs.try_lock_shared(&mark).map_err(Error::io("lock", &mark))?.is_none() {
            return Err(locked());
        }
        let _nobody_is_at_it = lock()?;
        remove_all(env, tmp)?;
    }
    if found != Left::Empty {
        marker::create_dir(env, tmp)?;
    }
    let ours = lock()?;
    let listed = fs.read_dir(tmp).map_err(Error::io("list", tmp))?;
    if listed.iter().any(|entry| entry.name != MARK) {
        // Another has begun and finished meanwhile.
        let _not_needed = fs.remove_file(&mark);
        return Err(locked());
    }
    // A crash may keep any of the names that come, and all are without a meaning without this one.
    let said = || fs.open(&mark, OpenMode::ReadWrite)?.write_all_at(name.as_bytes(), 0);
    let said = said().map_err(Error::io("write", &mark));
    let synced = said.and_then(|()| fs.sync_dir(tmp).map_err(Error::io("sync", tmp)));
    if synced.is_err() {
        let _the_next_attempt_does = remove_all(env, tmp);
    }
    synced.map(|()| ours)
}

/// What an interrupted checkpoint has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Nothing,
    /// A directory with nothing in it yet.
    Empty,
    /// A directory with the mark.
    Marked,
}

/// What of a checkpoint there is.
///
/// # Errors
/// [`Error::InvalidArgument`] if it is anything else; [`Error::Io`].
fn left_in(env: &Env, tmp: &Path) -> Result<Left> {
    let entries = match env.fs.read_dir(tmp) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Left::Nothing),
        other => other.map_err(Error::io("list", tmp))?,
    };
    let has = |name: &str| entries.iter().any(|entry| entry.name == name);
    let foreign = match has(MARK) {
        // Only who has opened it as a store locks it so.
        true if has("LOCK") => Some("LOCK"),
        // Its process was killed when it had its name.
        true if is_whole(env, tmp)? => Some(FILE_NAME),
        true => None,
        false => entries.first().map(|e| e.name.as_str()),
    };
    match foreign {
        None => Ok(if has(MARK) { Left::Marked } else { Left::Empty }),
        Some(name) => Err(Error::InvalidArgument(format!(
            "{} is where a checkpoint is made, but it holds `{name}`: give it another name, or remove it",
            tmp.display()
        ))),
    }
}

/// Whether a directory with a mark has the name that it was to get.
fn is_whole(env: &Env, tmp: &Path) -> Result<bool> {
    let mark = tmp.join(MARK);
    let read = || -> std::io::Result<bool> {
        let file = env.fs.open(&mark, OpenMode::Read)?;
        let mut name = vec![0; usize::try_from(file.len()?).unwrap_or(0).min(4096)];
        file.read_exact_at(&mut name, 0)?;
        Ok(tmp.file_name().is_some_and(|own| own.as_encoded_bytes() == name))
    };
    match read() {
        // It has just got its name, or is removed by another.
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        other => other.map_err(Error::io("read", &mark)),
    }
}

/// Removes a checkpoint that is not wanted.
fn remove_all(env: &Env, tmp: &Path) -> Result<()> {
    let fs = &env.fs;
    let list = |dir: &Path| fs.read_dir(dir).map_err(Error::io("list", dir));
    let remove = |path: &Path| fs.remove_file(path).map_err(Error::io("remove", path));
    // The mark last: until then it can be seen what this is.
    let (marks, rest): (Vec<_>, Vec<_>) = list(tmp)?.into_iter().partition(|entry| entry.name == MARK);
    for entry in rest {
        let path = tmp.join(&entry.name);
        if entry.is_dir {
            for within in list(&path)? {
                remove(&path.join(within.name))?;
            }
            fs.remove_dir(&path).map_err(Error::io("remove", &path))?;
        } else {
            remove(&path)?;
        }
    }
    for entry in marks {
        // And after a loss of power, too.
        fs.sync_dir(tmp).map_err(Error::io("sync", tmp))?;
        remove(&tmp.join(entry.name))?;
    }
    fs.remove_dir(tmp).map_err(Error::io("remove", tmp))
}
