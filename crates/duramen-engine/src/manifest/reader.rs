//! The manifest as every other process follows it.

use super::FILE_NAME;
use super::log::{HEADER_BYTES, replay};
use super::owner::{generation_of, read_from};
use super::state::State;
use crate::io::{Env, OpenMode};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How often a refresh looks again before it believes that the file is damaged: a read that overlaps the
/// owner's write may return an edit in part with a later one whole behind it.
const ATTEMPTS: usize = 3;

/// Follows a manifest that another process changes, without a lock.
///
/// An edit may be seen a moment before it is durable; it is undone only if power fails, and then the
/// reader's process is gone as well.
#[derive(Debug)]
pub struct ManifestReader {
    env: Env,
    path: PathBuf,
    generation: u64,
    /// How many bytes of the file `state` comes from. A mark is not among them: the next edit replaces it.
    end: u64,
    /// Whether nothing but a mark follows.
    ends_in_mark: bool,
    state: Arc<State>,
}

impl ManifestReader {
    /// Opens the manifest in `dir` and reads it.
    ///
    /// # Errors
    /// Those of [`super::Manifest::open`].
    pub fn open(env: &Env, dir: impl AsRef<Path>) -> Result<Self> {
        let path = dir.as_ref().join(FILE_NAME);
        let mut reader = Self {
            env: env.clone(),
            path,
            generation: 0,
            end: 0,
            ends_in_mark: false,
            state: Arc::default(),
        };
        reader.refresh()?;
        Ok(reader)
    }

    /// The state as of the last refresh.
    pub fn state(&self) -> &Arc<State> {
        &self.state
    }

    /// Whether the file ended in its mark when it was last read: then nothing of it is missing at the end. If not, somebody
    /// died while an edit was made, power was lost before the mark was on the device, or the file has lost its end.
    pub fn ends_in_mark(&self) -> bool {
        self.ends_in_mark
    }

    /// Reads what is new. Costs opening the file and reading its header if nothing is; reads only the new
    /// edits, or everything if the file was replaced. An edit that is not complete is not there yet.
    ///
    /// # Errors
    /// Those of [`super::Manifest::open`]; [`Error::InvalidArgument`] if another store lies there now. The state as it was remains,
    /// and a later refresh may succeed.
    pub fn refresh(&mut self) -> Result<Arc<State>> {
        let mut attempt = 1;
        loop {
            match self.read() {
                Err(error) if error.is_corruption() && attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(error),
                Ok(()) => return Ok(self.state.clone()),
            }
        }
    }

    fn read(&mut self) -> Result<()> {
        // By name each time: a file that was replaced does not tell those who have it open.
        let file = self.env.fs.open(&self.path, OpenMode::Read).map_err(Error::io("open", &self.path))?;
        let generation = generation_of(&*file, &self.path)?;
        if generation == self.generation && self.end > 0 {
            let bytes = read_from(&*file, &self.path, self.end)?;
            self.ends_in_mark = false;
            if !bytes.is_empty() {
                let replayed = replay(&self.path, self.end, &bytes, Some(self.state.clone()))?;
                self.end += replayed.valid as u64;
                self.ends_in_mark = replayed.ends_in_mark(bytes.len());
                self.state = replayed.state;
            }
        } else {
            let bytes = read_from(&*file, &self.path, HEADER_BYTES as u64)?;
            let replayed = replay(&self.path, HEADER_BYTES as u64, &bytes, None)?;
            if self.end > 0 && replayed.state.store_id != self.state.store_id {
                let path = self.path.display();
                return Err(Error::InvalidArgument(format!(
                    "{path} is another store's than when it was opened: open it again"
                )));
            }
            self.end = (HEADER_BYTES + replayed.valid) as u64;
            self.ends_in_mark = replayed.ends_in_mark(bytes.len());
            self.generation = generation;
            self.state = replayed.state;
        }
        Ok(())
    }
}
