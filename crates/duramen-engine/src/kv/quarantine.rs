//! Putting files aside, in two steps: first they get a second name in `quarantine/`, and once nothing needs them any
//! more they lose the first. Between the two, nothing is missing anywhere.

use crate::io::Env;
use crate::{Error, Result};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The directory of damaged files in that of a store.
pub(crate) const DIR: &str = "quarantine";

/// Files on their way out of the store.
#[derive(Debug)]
pub(crate) struct Quarantine<'a> {
    env: &'a Env,
    dir: &'a Path,
    /// Where each is, and its second name, if the file system knows such.
    going: Vec<(PathBuf, Option<PathBuf>)>,
}

impl<'a> Quarantine<'a> {
    pub(crate) fn new(env: &'a Env, dir: &'a Path) -> Self {
        Self { env, dir, going: Vec::new() }
    }

    /// Gives a file of the store its second name, durably.
    pub(crate) fn keep(&mut self, path: &Path) -> Result<()> {
        let fs = &self.env.fs;
        let kept = self.free_name(path)?;
        let second = match fs.hard_link(path, &kept) {
            Ok(()) => Some(kept),
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            // There are file systems without hard links: then it is renamed in the end.
            Err(_) => None,
        };
        self.sync()?;
        self.going.push((path.to_path_buf(), second));
        Ok(())
    }

    /// Whether this file lies there already.
    pub(crate) fn is_in(&self, path: &Path) -> bool {
        path.starts_with(self.dir.join(DIR))
    }

    /// Takes their first names from all files that were kept. Says where they are now.
    pub(crate) fn let_go(&mut self) -> Result<Vec<PathBuf>> {
        self.let_go_but(Path::new(""))
    }

    /// The same, but for a file whose first name is another file's by now.
    pub(crate) fn let_go_but(&mut self, replaced: &Path) -> Result<Vec<PathBuf>> {
        let fs = &self.env.fs;
        let mut kept = Vec::new();
        for (path, second) in std::mem::take(&mut self.going) {
            match second {
                second if path == replaced => kept.extend(second),
                Some(second) => {
                    match fs.remove_file(&path) {
                        Err(e) if e.kind() != ErrorKind::NotFound => {
                            return Err(Error::io("remove", &path)(e));
                        }
                        _ => {}
                    }
                    kept.push(second);
                }
                None => kept.push(self.put_aside(&path)?),
            }
        }
        Ok(kept)
    }

    /// Does both at once, for a file that nothing needs.
    pub(crate) fn put_aside(&self, path: &Path) -> Result<PathBuf> {
        let kept = self.free_name(path)?;
        self.env.fs.rename(path, &kept).map_err(Error::io("rename", path))?;
        self.sync()?;
        Ok(kept)
    }

    /// All files that are there, by name.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        let dir = self.dir.join(DIR);
        let listed = match self.env.fs.read_dir(&dir) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(Error::io("list", &dir))?,
        };
        let listed = listed.into_iter().filter(|entry| entry.is_file);
        let mut files: Vec<PathBuf> = listed.map(|entry| dir.join(entry.name)).collect();
        files.sort();
        Ok(files)
    }

    fn sync(&self) -> Result<()> {
        let dir = self.dir.join(DIR);
        self.env.fs.sync_dir(&dir).map_err(Error::io("sync directory", &dir))
    }

    /// A name in quarantine that nothing has.
    fn free_name(&self, path: &Path) -> Result<PathBuf> {
        let quarantine = self.dir.join(DIR);
        let fs = &self.env.fs;
        fs.create_dir_all(&quarantine).map_err(Error::io("create directory", &quarantine))?;
        fs.sync_dir(self.dir).map_err(Error::io("sync directory", self.dir))?;
        let named = path.strip_prefix(self.dir).unwrap_or(path).to_string_lossy().replace(['/', '\\'], "-");
        let mut kept = quarantine.join(&named);
        let mut nth = 2;
        while fs.exists(&kept).map_err(Error::io("look for", &kept))? {
            kept = quarantine.join(format!("{named}.{nth}"));
            nth += 1;
        }
        Ok(kept)
    }
}
