//! A directory that is there whole or not at all: it gets its name when everything in it is durable, and what a crash leaves is
//! not taken for one that is whole.
//!
//! ```text
//! DIR.tmp/MARK    first, and locked by who makes it. What has it may be removed, by whoever makes DIR the next time, if nobody
//!                 holds it
//! DIR.tmp/…       everything else, durable
//! DIR             the new name of DIR.tmp; then the mark goes
//! ```
//!
//! The mark says for which name it was made: a directory that is called so is whole, though its maker was killed before it
//! could remove the mark, and though its name ends in `.tmp`.

use super::tree::parent;
use super::{Env, Fs, Lock, OpenMode, create_dir_durably, remove_tree};
use crate::{Error, Result};
use std::io::ErrorKind;
use std::path::Path;

/// How a kind of directories is made.
#[derive(Clone, Copy, Debug)]
pub struct InTheMaking {
    /// What is made, for error messages: `snapshot`.
    pub what: &'static str,
    /// The name of the mark in it.
    pub mark: &'static str,
    /// A file in it that only who has opened it makes: then it is somebody's, whatever the mark says.
    pub opened: &'static str,
}

/// What of a directory in the making there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Nothing,
    /// A directory with nothing in it yet.
    Empty,
    /// A directory with the mark.
    Marked,
}

impl InTheMaking {
    /// Makes `dir`, which must not exist. `fill` puts everything into the directory that it is given, durably, names in it
    /// included; the names of that itself are seen to here.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `dir` exists, has no name, or something else has the name `dir` + `.tmp`;
    /// [`Error::Locked`] while another makes the same; [`Error::Io`]; those of `fill`. `dir` does not exist then, unless it did before.
    pub fn make<T, E: From<Error>>(
        &self,
        env: &Env,
        dir: &Path,
        fill: impl FnOnce(&Path) -> Result<T, E>,
    ) -> Result<T, E> {
        let fs = &*env.fs;
        let invalid = |why: String| E::from(Error::InvalidArgument(why));
        if fs.exists(dir).map_err(Error::io("look for", dir))? {
            return Err(invalid(format!("{} exists: a {} makes it", dir.display(), self.what)));
        }
        let Some(name) = dir.file_name().and_then(|name| name.to_str()) else {
            return Err(invalid(format!("{} is no name for a {}", dir.display(), self.what)));
        };
        let tmp = dir.with_file_name(format!("{name}.tmp"));
        let _ours = self.begin(env, &tmp, name)?;
        let made = fill(&tmp).and_then(|made| {
            fs.sync_dir(&tmp).map_err(Error::io("sync", &tmp))?;
            fs.rename(&tmp, dir).map_err(Error::io("rename", &tmp))?;
            Ok(made)
        });
        if made.is_err() {
            let _the_next_attempt_does = self.remove(fs, &tmp);
            return made;
        }
        let parent = parent(dir).unwrap_or(dir);
        let mark = dir.join(self.mark);
        let named = fs.sync_dir(parent).map_err(Error::io("sync", parent));
        let named = named.and_then(|()| fs.remove_file(&mark).map_err(Error::io("remove", &mark)));
        if let Err(e) = named {
            // It may be gone after a loss of power, so it is not there now.
            if fs.rename(dir, &tmp).is_ok() {
                let _the_next_attempt_does = self.remove(fs, &tmp);
            }
            return Err(e.into());
        }
        made
    }

    /// Makes `tmp` a directory in which there is the mark alone, and locks that.
    fn begin(&self, env: &Env, tmp: &Path, name: &str) -> Result<Box<dyn Lock>> {
        let (fs, mark) = (&*env.fs, tmp.join(self.mark));
        let locked = || Error::Locked { path: mark.clone() };
        let found = self.left_in(fs, tmp)?;
        if found == Left::Marked {
            // A mark is not made by looking: where it is gone, another is done, and this has its name.
            let is_marked = fs.exists(&mark).map_err(Error::io("look for", &mark))?;
            if !is_marked || fs.try_lock_shared(&mark).map_err(Error::io("lock", &mark))?.is_none() {
                return Err(locked());
            }
            let _nobody_is_at_it =
                fs.try_lock(&mark).map_err(Error::io("lock", &mark))?.ok_or_else(locked)?;
            self.remove(fs, tmp)?;
        }
        if found != Left::Empty {
            create_dir_durably(env, tmp)?;
        }
        let file = match fs.open(&mark, OpenMode::CreateNew) {
            // Another was quicker, or has begun and finished meanwhile.
            Err(e) if matches!(e.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => {
                return Err(locked());
            }
            other => other.map_err(Error::io("create", &mark))?,
        };
        let mut said = env.random.next_u64().to_le_bytes().to_vec();
        said.extend_from_slice(name.as_bytes());
        file.write_all_at(&said, 0).map_err(Error::io("write", &mark))?;
        let ours = fs.try_lock(&mark).map_err(Error::io("lock", &mark))?.ok_or_else(locked)?;
        // Before it was locked somebody may have taken it for what an interrupted one has left, and have made his own. What is
        // read twice is no reading error.
        let is_ours = || Ok::<bool, Error>(read(fs, &mark).map_err(Error::io("read", &mark))? == said);
        let listed = fs.read_dir(tmp).map_err(Error::io("list", tmp))?;
        if !(is_ours()? || is_ours()?) {
            return Err(locked());
        }
        if listed.iter().any(|entry| entry.name != self.mark) {
            // Somebody has put something into the empty directory: with the mark it would be removed the next time.
            fs.remove_file(&mark).map_err(Error::io("remove", &mark))?;
            return Err(locked());
        }
        // A crash may keep any of the names that come, and all are without a meaning without this one.
        let synced = fs.sync_dir(tmp).map_err(Error::io("sync", tmp));
        if synced.is_err() {
            let _the_next_attempt_does = self.remove(fs, tmp);
        }
        synced.map(|()| ours)
    }

    /// What an interrupted attempt has left.
    fn left_in(&self, fs: &dyn Fs, tmp: &Path) -> Result<Left> {
        let entries = match fs.read_dir(tmp) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Left::Nothing),
            other => other.map_err(Error::io("list", tmp))?,
        };
        let has = |name: &str| entries.iter().any(|entry| entry.name == name);
        let foreign = match has(self.mark) {
            true if has(self.opened) => Some(self.opened),
            true if self.is_whole(fs, tmp)? => Some("all that it is to hold"),
            true => None,
            false => entries.first().map(|entry| entry.name.as_str()),
        };
        match foreign {
            None => Ok(if has(self.mark) { Left::Marked } else { Left::Empty }),
            Some(name) => Err(Error::InvalidArgument(format!(
                "{} is where a {} is made, but it is something else, with `{name}` in it: give the {} another name, or remove it",
                tmp.display(),
                self.what,
                self.what
            ))),
        }
    }

    /// Whether a directory with a mark has the name that it was to get.
    fn is_whole(&self, fs: &dyn Fs, tmp: &Path) -> Result<bool> {
        let mark = tmp.join(self.mark);
        match read(fs, &mark) {
            // It has just got its name, or is removed by another.
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            said => {
                let said = said.map_err(Error::io("read", &mark))?;
                Ok(tmp.file_name().is_some_and(|own| said.get(8..) == Some(own.as_encoded_bytes())))
            }
        }
    }

    /// Removes one that is not wanted. The mark goes last: until then it can be seen what this is, after a loss of power, too.
    fn remove(&self, fs: &dyn Fs, tmp: &Path) -> Result<()> {
        for entry in fs.read_dir(tmp).map_err(Error::io("list", tmp))? {
            let path = tmp.join(&entry.name);
            if entry.is_dir {
                remove_tree(fs, &path)?;
            } else if entry.name != self.mark {
                fs.remove_file(&path).map_err(Error::io("remove", &path))?;
            }
        }
        fs.sync_dir(tmp).map_err(Error::io("sync", tmp))?;
        remove_tree(fs, tmp)
    }
}

/// What a mark says.
fn read(fs: &dyn Fs, mark: &Path) -> std::io::Result<Vec<u8>> {
    let file = fs.open(mark, OpenMode::Read)?;
    let mut said = vec![0; usize::try_from(file.len()?).unwrap_or(0).min(4096)];
    file.read_exact_at(&mut said, 0)?;
    Ok(said)
}
