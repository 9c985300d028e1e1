//! A copy of a store gets its name when everything in it is durable: what a crash leaves is not taken for a store.

use super::{EngineKind, marker};
use crate::io::{Env, Lock};
use crate::{Error, Result};
use std::io::ErrorKind;
use std::path::Path;

/// The first file of a checkpoint in the making, locked, and the last that goes before it gets its name.
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
    let mark = tmp.join(MARK);
    let _ours = begin(env, &tmp)?;
    let made = marker::claim(env, &tmp, kind, false).and_then(|()| fill(&tmp)).and_then(|()| {
        fs.sync_dir(&tmp).map_err(Error::io("sync", &tmp))?;
        // From here on it is a store like any other, which no checkpoint removes.
        fs.remove_file(&mark).map_err(Error::io("remove", &mark))?;
        fs.rename(&tmp, dir).map_err(Error::io("rename", &tmp))
    });
    if made.is_err() {
        let _the_next_attempt_does = remove_all(env, &tmp);
        return made;
    }
    let parent = marker::parent(dir).unwrap_or(dir);
    let synced = fs.sync_dir(parent).map_err(Error::io("sync", parent));
    synced.and_then(|()| fs.sync_dir(dir).map_err(Error::io("sync", dir))).inspect_err(|_| {
        // It may be gone after a loss of power, so it is not there now.
        if fs.rename(dir, &tmp).is_ok() {
            let _the_next_attempt_does = remove_all(env, &tmp);
        }
    })
}

/// Makes `tmp` a directory in which there is the mark alone, and locks that.
fn begin(env: &Env, tmp: &Path) -> Result<Box<dyn Lock>> {
    let (fs, mark) = (&env.fs, tmp.join(MARK));
    let locked = || Error::Locked { path: mark.clone() };
    let lock = || fs.try_lock(&mark).map_err(Error::io("lock", &mark))?.ok_or_else(locked);
    let found = left_in(env, tmp)?;
    if found == Left::Marked {
        // A mark is not made by looking: who has just removed it is done, and only its name is to come.
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
    let synced = fs.sync_dir(tmp).map_err(Error::io("sync", tmp));
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
    // Only who has opened it as a store locks it so.
    let foreign =
        if has(MARK) { has("LOCK").then_some("LOCK") } else { entries.first().map(|e| e.name.as_str()) };
    match foreign {
        None => Ok(if has(MARK) { Left::Marked } else { Left::Empty }),
        Some(name) => Err(Error::InvalidArgument(format!(
            "{} is where a checkpoint is made, but it holds `{name}`: give it another name, or remove it",
            tmp.display()
        ))),
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
