//! The manifest as its one writer holds it.

use super::cbor::{encode_edit, encode_state};
use super::log::{HEADER_BYTES, Kind, decode_header, encode_frame, encode_header, replay};
use super::state::{Edit, State};
use super::{FILE_NAME, TMP_NAME};
use crate::io::{Env, File, OpenMode, is_out_of_files};
use crate::{Error, Result};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Edits are appended until they take this many bytes, however small the snapshot is.
const MIN_EDIT_BYTES: u64 = 64 << 10;

/// The manifest, for the one process that changes it. That it is one is the caller's to see to (the
/// keeper's lock); others follow it through [`super::ManifestReader`].
#[derive(Debug)]
pub struct Manifest {
    env: Env,
    dir: PathBuf,
    path: PathBuf,
    file: Arc<dyn File>,
    generation: u64,
    state: Arc<State>,
    /// Where the snapshot ends.
    snapshot_end: u64,
    /// Where the last edit ends: the next is written there, over the mark if there is one.
    end: u64,
    poisoned: Option<String>,
}

impl Manifest {
    /// Makes the manifest of a new, empty store in `dir`, which exists. Durable when it returns.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is one already; [`Error::Io`] for what the file system said.
    pub fn create(env: &Env, dir: impl AsRef<Path>, store_id: u64) -> Result<Self> {
        let dir = dir.as_ref();
        let path = dir.join(FILE_NAME);
        if env.fs.exists(&path).map_err(Error::io("look for", &path))? {
            return Err(Error::InvalidArgument(format!(
                "{} exists: a store is there already",
                path.display()
            )));
        }
        let state = State { store_id, ..State::default() };
        let generation = any_generation(env);
        let (file, end) = write_whole(env, dir, generation, &state)?;
        Ok(Self {
            env: env.clone(),
            dir: dir.to_path_buf(),
            path,
            file,
            generation,
            state: Arc::new(state),
            snapshot_end: end,
            end,
            poisoned: None,
        })
    }

    /// Opens the manifest in `dir`. An edit that was cut off while it was written is left out: it was never
    /// acknowledged. Everything else was, or is made durable now, for the caller will act upon it.
    ///
    /// # Errors
    /// [`Error::Io`], with [`Error::is_not_found`], if there is none, or for what the file system said;
    /// [`Error::Corruption`] if it is damaged or something else; [`Error::TooNew`] for a later format.
    pub fn open(env: &Env, dir: impl AsRef<Path>) -> Result<(Self, Arc<State>)> {
        let dir = dir.as_ref();
        let path = dir.join(FILE_NAME);
        let file = env.fs.open(&path, OpenMode::ReadWrite).map_err(Error::io("open", &path))?;
        let bytes = read_from(&*file, &path, 0)?;
        let generation = decode_header(&path, &bytes)?;
        let frames = &bytes[HEADER_BYTES..];
        let replayed = replay(&path, HEADER_BYTES as u64, frames, None)?;
        let is_settled = replayed.ends_in_mark(frames.len());
        let state = replayed.state;
        let mut manifest = Self {
            env: env.clone(),
            dir: dir.to_path_buf(),
            path,
            file,
            generation,
            state: state.clone(),
            snapshot_end: (HEADER_BYTES + replayed.snapshot) as u64,
            end: (HEADER_BYTES + replayed.valid) as u64,
            poisoned: None,
        };
        if is_settled {
            // The snapshot was synced with its mark before it got its name, the edits before they were marked. Only the
            // name may not be durable yet: the process before may have died between rename and sync.
            env.fs.sync_dir(dir).map_err(Error::io("sync", dir))?;
            remove_tmp(env, dir)?;
        } else {
            // The last edit may be in the kernel's memory only, and if syncing it has failed before, syncing
            // it again proves nothing (the kernel counts the page as clean). So all is written anew.
            manifest.replace(&state)?;
        }
        Ok((manifest, state))
    }

    /// Makes a manifest that holds this state, in the place of a damaged one or of none. Durable when it returns.
    ///
    /// # Errors
    /// [`Error::Io`]: then the old one may still be there.
    pub(crate) fn rewrite(env: &Env, dir: &Path, state: &State) -> Result<()> {
        write_whole(env, dir, any_generation(env), state).map(|_| ())
    }

    /// Whether it is still this manifest that lies there by name. If the store's directory was moved or removed, it is none, or
    /// that of another store, to whose files nothing may be done.
    ///
    /// # Errors
    /// [`Error::Io`] if that cannot be told; [`Error::Corruption`] and [`Error::TooNew`] if it is none of ours.
    pub fn is_in_place(&self) -> Result<bool> {
        let file = match self.env.fs.open(&self.path, OpenMode::Read) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
            other => other.map_err(Error::io("open", &self.path))?,
        };
        Ok(generation_of(&*file, &self.path)? == self.generation)
    }

    /// The present state.
    pub fn state(&self) -> &Arc<State> {
        &self.state
    }

    /// Applies an edit. It is durable when this returns.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the edit does not fit the state (see [`State::apply`]): nothing was written
    /// and the manifest goes on. [`Error::Io`] if writing failed. Where there was no room for the edit, nor a file
    /// descriptor, it is not in the file, and the manifest goes on, too. Otherwise whether it is there is not known, and
    /// every later call says [`Error::Poisoned`] until the manifest is opened again: see [`Self::is_poisoned`].
    pub fn apply(&mut self, edit: Edit) -> Result<Arc<State>> {
        if let Some(reason) = &self.poisoned {
            return Err(Error::Poisoned { reason: reason.clone() });
        }
        let state = self.state.apply(&edit)?;
        let frame = encode_frame(Kind::Edit, state.version, &encode_edit(&edit))?;
        let edits = self.end - self.snapshot_end + frame.len() as u64;
        let append = edits <= MIN_EDIT_BYTES.max(self.snapshot_end);
        if append { self.append(&frame) } else { self.replace(&state) }?;
        self.state = Arc::new(state);
        if append {
            self.mark();
        }
        Ok(self.state.clone())
    }

    /// Whether it is not known what the file says.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.is_some()
    }

    fn poison(&mut self, error: Error) -> Error {
        self.poisoned = Some(error.to_string());
        error
    }

    fn append(&mut self, frame: &[u8]) -> Result<()> {
        if let Err(error) = self.write_or_cut(frame) {
            if !self.is_poisoned() {
                // It has taken the place of the mark, without which the file seems to have lost its end.
                self.mark();
            }
            return Err(error);
        }
        self.file.sync_data().map_err(Error::io("sync", &self.path)).map_err(|e| self.poison(e))?;
        self.end += frame.len() as u64;
        Ok(())
    }

    /// Writes a frame behind the last edit; where there is no room for it, nothing of it stays.
    fn write_or_cut(&mut self, frame: &[u8]) -> Result<()> {
        let Err(error) = self.file.write_all_at(frame, self.end) else { return Ok(()) };
        let may_pass = is_for_want(&error);
        let error = Error::io("write", &self.path)(error);
        // None of it was synced, so what was before it is untouched.
        if may_pass && self.file.set_len(self.end).is_ok() { Err(error) } else { Err(self.poison(error)) }
    }

    fn replace(&mut self, state: &State) -> Result<()> {
        // Those who follow only ask whether it is another one.
        let generation = self.generation.wrapping_add(1);
        // Until it has its name, the old one is what it was.
        let (file, end) = match write_named(&self.env, &self.dir, generation, state) {
            Err(Error::Io { source, .. }) if is_for_want(&source) => {
                return Err(Error::io("write", &self.dir.join(TMP_NAME))(source));
            }
            other => other.map_err(|e| self.poison(e))?,
        };
        self.env.fs.sync_dir(&self.dir).map_err(Error::io("sync", &self.dir)).map_err(|e| self.poison(e))?;
        self.generation = generation;
        self.file = file;
        self.snapshot_end = end;
        self.end = end;
        Ok(())
    }

    /// Notes in the file that the present state is durable. That it is does not hang on this note, so a
    /// failure is none of the edit's. Where there was no room, the next opening writes the file anew; otherwise later edits
    /// are stopped, for the disk is not to be trusted.
    fn mark(&mut self) {
        let frame = encode_frame(Kind::Mark, self.state.version, &[]);
        let _stops_later_ones = match frame {
            Ok(frame) => self.write_or_cut(&frame),
            Err(error) => Err(self.poison(error)),
        };
    }
}

/// The generation of a manifest that follows no other. Those who follow what lay there before, whatever it was, are to notice.
fn any_generation(env: &Env) -> u64 {
    (env.random.next_u64() >> 16) + 1
}

/// What a manifest's header says.
pub(super) fn generation_of(file: &dyn File, path: &Path) -> Result<u64> {
    let mut header = [0; HEADER_BYTES];
    match file.read_exact_at(&mut header, 0) {
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => decode_header(path, &read_from(file, path, 0)?),
        other => {
            other.map_err(Error::io("read", path))?;
            decode_header(path, &header)
        }
    }
}

/// Whether something failed because the device was full, or the process had no descriptor left: which may pass.
fn is_for_want(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) || is_out_of_files(error)
}

/// Writes a manifest with nothing but a snapshot and puts it in the place of the one there is. Returns the
/// file and where the snapshot ends.
fn write_whole(env: &Env, dir: &Path, generation: u64, state: &State) -> Result<(Arc<dyn File>, u64)> {
    let written = write_named(env, dir, generation, state)?;
    env.fs.sync_dir(dir).map_err(Error::io("sync", dir))?;
    Ok(written)
}

/// The same, but that it has its name is not durable yet.
fn write_named(env: &Env, dir: &Path, generation: u64, state: &State) -> Result<(Arc<dyn File>, u64)> {
    let tmp = dir.join(TMP_NAME);
    let mut bytes = encode_header(generation).to_vec();
    bytes.extend_from_slice(&encode_frame(Kind::Snapshot, state.version, &encode_state(state))?);
    let end = bytes.len() as u64;
    bytes.extend_from_slice(&encode_frame(Kind::Mark, state.version, &[])?);
    remove_tmp(env, dir)?;
    let file = env.fs.open(&tmp, OpenMode::CreateNew).map_err(Error::io("create", &tmp))?;
    file.write_all_at(&bytes, 0).map_err(Error::io("write", &tmp))?;
    file.sync_data().map_err(Error::io("sync", &tmp))?;
    env.fs.rename(&tmp, &dir.join(FILE_NAME)).map_err(Error::io("rename", &tmp))?;
    Ok((file, end))
}

/// Removes what an interrupted [`write_whole`] left.
fn remove_tmp(env: &Env, dir: &Path) -> Result<()> {
    let tmp = dir.join(TMP_NAME);
    match env.fs.remove_file(&tmp) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io("remove", &tmp)(e)),
        _ => Ok(()),
    }
}

/// Reads a file from `offset` to its end.
pub(super) fn read_from(file: &dyn File, path: &Path, offset: u64) -> Result<Vec<u8>> {
    let len = file.len().map_err(Error::io("measure", path))?.saturating_sub(offset);
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break, // cut since it was measured
            Ok(n) => filled += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::io("read", path)(e)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
