//! Table files that no state knows: left by a process that died between writing a table and recording it,
//! or between recording a removal and removing the file.

use super::state::State;
use crate::io::Env;
use crate::{Error, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A name that no state knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// Where it is.
    pub path: PathBuf,
    /// Whether it is a file, or a link to one. What is not, is in the way of a table of that name.
    pub is_file: bool,
}

/// Lists what in a directory ends in `.sst` and is not live in `state`, and what ends in
/// `.tmp`, by name. `dir` is relative to the store's directory `root`; empty for `root` itself.
/// Directories inside are not entered. A directory that does not exist has none.
///
/// Right only for the owner of the manifest, and while it writes no table: else a table that is just being
/// written counts as well.
///
/// # Errors
/// [`Error::Io`] if the directory cannot be listed.
pub fn orphans(env: &Env, root: &Path, dir: impl AsRef<Path>, state: &State) -> Result<Vec<Orphan>> {
    let dir = root.join(dir.as_ref());
    let live: BTreeSet<PathBuf> = state.tables.values().map(|table| root.join(&table.path)).collect();
    let entries = match env.fs.read_dir(&dir) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(Error::io("list", &dir))?,
    };
    let mut found: Vec<Orphan> = entries
        .into_iter()
        .filter_map(|entry| {
            let path = dir.join(&entry.name);
            let dead = entry.name.ends_with(".tmp") || entry.name.ends_with(".sst") && !live.contains(&path);
            dead.then_some(Orphan { path, is_file: entry.is_file })
        })
        .collect();
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}
