//! A copy of a store gets its name when everything in it is durable: what a crash leaves is not taken for a store.

use super::{EngineKind, marker};
use crate::io::Env;
use crate::{Error, Result};
use std::io::ErrorKind;
use std::path::Path;

/// Makes `dir`, which must not exist, a store of this engine. `fill` puts everything but the marker into the
/// directory that it is given, durably, names in it included; the name of that comes afterwards.
///
/// # Errors
/// [`Error::InvalidArgument`] if `dir` exists, has no name, or something else has the name `dir` + `.tmp`;
/// [`Error::Io`]; those of `fill`. `dir` does not exist then.
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
    remove_unfinished(env, &tmp)?;
    let made = marker::claim(env, &tmp, kind, false).and_then(|()| fill(&tmp)).and_then(|()| {
        fs.sync_dir(&tmp).map_err(Error::io("sync", &tmp))?;
        fs.rename(&tmp, dir).map_err(Error::io("rename", &tmp))
    });
    if made.is_err() {
        let _the_next_attempt_does = remove_unfinished(env, &tmp);
        return made;
    }
    let parent = marker::parent(dir).unwrap_or(dir);
    fs.sync_dir(parent).map_err(Error::io("sync", parent)).inspect_err(|_| {
        // It may be gone after a loss of power, so it is not there now.
        if fs.rename(dir, &tmp).is_ok() {
            let _the_next_attempt_does = remove_unfinished(env, &tmp);
        }
    })
}

/// Removes what an interrupted checkpoint has left: a directory with a marker, or not yet with anything.
fn remove_unfinished(env: &Env, tmp: &Path) -> Result<()> {
    let fs = &env.fs;
    let list = |dir: &Path| fs.read_dir(dir).map_err(Error::io("list", dir));
    let entries = match fs.read_dir(tmp) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        other => other.map_err(Error::io("list", tmp))?,
    };
    let is_marker = |name: &str| name.starts_with(marker::FILE_NAME);
    let is_marked = entries.iter().any(|entry| entry.name == marker::FILE_NAME);
    if let Some(foreign) = entries.iter().find(|entry| !is_marked && !is_marker(&entry.name)) {
        let (tmp, name) = (tmp.display(), &foreign.name);
        return Err(Error::InvalidArgument(format!(
            "{tmp} is where a checkpoint is made, but it holds `{name}`"
        )));
    }
    let remove = |path: &Path| fs.remove_file(path).map_err(Error::io("remove", path));
    // The marker last: until then it can be seen what this is.
    let (marks, rest): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| is_marker(&entry.name));
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
        remove(&tmp.join(entry.name))?;
    }
    fs.remove_dir(tmp).map_err(Error::io("remove", tmp))
}
