//! Whose log it is that the store's writes go to, so that it is missed if it is gone.
//!
//! What is in no table yet is in the files of the log alone, and of files that are not there nobody knows. So the manifest says
//! which writer's log an opening has begun, until that is closed with all of it in tables: one edit an opening and one a close. An
//! opening that finds the log of one that was not closed begins its own with the edit by which the last of that is in
//! tables. Until the end the writer has a directory, and a segment in it that takes the next write
//! ([`Ends`]).
//!
//! Nobody is missed if the manifest does not end in its mark: it may have lost its end, and with it that the log was closed. Nor
//! if it has come further in that log than who keeps this value knows: then an earlier version has opened the store since.
//! A loss of power takes files of which nothing was promised to survive that. So segments are missed only in the run of the
//! machine in which they were made, and after it where each was on the device before it was used.

use super::db::{Inner, ManifestSlot};
use super::paths;
use super::recover::remove_writer_dir;
use super::superversion::Origin;
use crate::dump::Line;
use crate::io::Env;
use crate::manifest::{Edit, ManifestReader, State};
use crate::wal::{self, Damage, Durability, Ends, Recovered, Wal};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// The manifest's name for it.
pub(crate) const OPENING: &[u8] = b"opening";

const VALUE_BYTES: usize = 25;

/// A log that was begun and not closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) writer_id: u64,
    /// The segments up to this one are in tables: as the manifest says of the writer, or an earlier version went on.
    flushed: u64,
    /// Which run of the machine it was begun in; 0 if that was not known.
    boot_id: u64,
    /// Whether each of its segments is on the device before it is used.
    is_durable: bool,
}

impl Opening {
    /// The log that the manifest knows of, if it is whole to its end.
    pub(super) fn known(manifest: &ManifestReader) -> Option<Self> {
        Self::of(manifest.state()).filter(|_| manifest.ends_in_mark())
    }

    /// The log that a state tells of.
    pub(super) fn of(state: &State) -> Option<Self> {
        let this = Self::decode(state.values.get(OPENING)?)?;
        (state.writers.get(&this.writer_id) == Some(&this.flushed)).then_some(this)
    }

    fn decode(value: &[u8]) -> Option<Self> {
        let value: &[u8; VALUE_BYTES] = value.try_into().ok()?;
        let number = |at: usize| value[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
        Some(Self {
            writer_id: number(0),
            flushed: number(8),
            boot_id: number(16),
            is_durable: value[24] != 0,
        })
    }

    fn value(self) -> (Vec<u8>, Vec<u8>) {
        let mut value = Vec::with_capacity(VALUE_BYTES);
        for number in [self.writer_id, self.flushed, self.boot_id] {
            value.extend_from_slice(&number.to_le_bytes());
        }
        value.push(u8::from(self.is_durable));
        (OPENING.to_vec(), value)
    }

    fn dir(self, store: &Path) -> PathBuf {
        wal::writer_dir(&store.join(paths::WAL), self.writer_id)
    }

    /// What tells that its directory is not there.
    pub(super) fn without_dir(self, env: &Env, store: &Path) -> Result<Option<Damage>> {
        let dir = self.dir(store);
        if env.fs.exists(&dir).map_err(Error::io("look for", &dir))? {
            return Ok(None);
        }
        let detail = "the directory of the log is missing, and the store was not closed: what it had written since its \
                      last flush is gone";
        Ok(Some(Damage { number: 0, path: dir, offset: 0, proven: true, detail: detail.to_owned() }))
    }

    /// What tells that the segment is not there that took the next write, of those of a writer.
    pub(super) fn without_end(self, env: &Env, store: &Path, writer_id: u64, ends: &Ends) -> Option<Damage> {
        let number = self.tells_of(env, writer_id).and_then(|()| ends.lost(self.flushed))?;
        Some(self.segment_is_gone(env, store, number, "it took the store's writes when that was used last"))
    }

    /// The same of what was found in its directory, or what tells that the first segment is not there that is in no table: an opening
    /// misses that by the sequence numbers.
    pub(super) fn without_segment(self, env: &Env, store: &Path, found: &Recovered) -> Option<Damage> {
        let end = self.without_end(env, store, found.writer_id, &found.ends);
        end.or_else(|| {
            let number =
                self.tells_of(env, found.writer_id).and_then(|()| found.ends.lost_start(self.flushed))?;
            Some(self.segment_is_gone(env, store, number, "it took writes before those that are in the next"))
        })
    }

    /// The file that shows, of what was found in its directory, that nothing is missing.
    pub(super) fn witness(self, found: &Recovered) -> Option<PathBuf> {
        if found.writer_id == self.writer_id { found.witness(self.flushed) } else { None }
    }

    /// Whether a writer's segments have to be there.
    fn tells_of(self, env: &Env, writer_id: u64) -> Option<()> {
        let is_this_run = self.boot_id != 0 && self.boot_id == env.clock.boot_id();
        (writer_id == self.writer_id && (self.is_durable || is_this_run)).then_some(())
    }

    fn segment_is_gone(self, env: &Env, store: &Path, number: u64, why: &str) -> Damage {
        let path = wal::segment_path(&self.dir(store), number);
        let what = match env.fs.exists(&path) {
            Ok(true) => "its header is gone",
            _ => "it, or the next, is missing",
        };
        let detail = format!("{what}, and {why}: they are gone");
        Damage { number, path, offset: 0, proven: true, detail }
    }
}

/// What the value says, for a dump of the manifest.
pub(crate) fn opening_line(line: Line, value: &[u8]) -> Line {
    let Some(opening) = Opening::decode(value) else { return line };
    let line = line.text("writer", format!("{:016x}", opening.writer_id)).number("flushed", opening.flushed);
    line.number("boot", opening.boot_id).number("durable", u8::from(opening.is_durable))
}

/// What an opening has yet to tell the manifest.
#[derive(Debug, Default)]
pub(super) struct Beginning {
    /// The new log, if it has files.
    opening: Option<Opening>,
    /// Writers that are gone.
    forgets: Vec<u64>,
    /// The manifest knows of the log of an opening before.
    replaces: bool,
}

impl Beginning {
    /// `gone` are writers whose directory is not there. Their absence, and the new log, are durable when this returns.
    pub(super) fn new(
        env: &Env,
        log: &Path,
        wal: &Wal,
        durability: Durability,
        gone: Vec<u64>,
        state: &State,
    ) -> Result<Self> {
        let opening = wal.writer_dir().map(|_| Opening {
            writer_id: wal.writer_id(),
            flushed: 0,
            boot_id: env.clock.boot_id(),
            is_durable: matches!(durability, Durability::Sync | Durability::IntervalMs(_)),
        });
        let replaces = state.values.contains_key(OPENING);
        let this = Self { opening, forgets: gone, replaces };
        if !this.is_nothing() {
            env.fs.sync_dir(log).map_err(Error::io("sync directory", log))?;
        }
        Ok(this)
    }

    fn is_nothing(&self) -> bool {
        self.opening.is_none() && self.forgets.is_empty() && !self.replaces
    }

    fn add_to(&self, edit: &mut Edit) {
        edit.forget_writers.extend_from_slice(&self.forgets);
        edit.remove_values.push(OPENING.to_vec());
        if let Some(opening) = self.opening {
            edit.flushed.push((opening.writer_id, opening.flushed));
            edit.set_values.push(opening.value());
        }
    }
}

impl Inner {
    /// Adds to the edit by which a segment is in tables what that means for the log it is of. `is_last` says that no other of an
    /// earlier opening is left.
    pub(super) fn follow_opening(&self, state: &State, origin: &Origin, is_last: bool, edit: &mut Edit) {
        let beginning = self.beginning();
        match &*beginning {
            Some(begins) if is_last => begins.add_to(edit),
            _ => {
                let of_it = Opening::of(state).filter(|opening| opening.writer_id == origin.writer_id);
                let then = of_it.map(|opening| Opening { flushed: origin.number, ..opening });
                edit.set_values.extend(then.map(Opening::value));
            }
        }
    }

    /// Lets the manifest know whose log it is, before that takes the first write; nothing of an earlier one is left.
    pub(super) fn begin(&self) -> Result<()> {
        let mut manifest = self.manifest();
        let begins = self.beginning().take();
        let Some(begins) = begins.filter(|begins| !begins.is_nothing()) else { return Ok(()) };
        if self.is_begun(&mut manifest) {
            return Ok(());
        }
        let mut edit = Edit::default();
        begins.add_to(&mut edit);
        self.apply(&mut manifest, edit)
    }

    /// Whether the manifest knows of this opening's log.
    fn is_begun(&self, manifest: &mut ManifestSlot) -> bool {
        let known = manifest.get().ok().and_then(|manifest| Opening::of(manifest.state()));
        known.is_some_and(|known| self.wal.as_ref().is_some_and(|wal| wal.writer_id() == known.writer_id))
    }

    /// The opening has failed: its log, which took nothing, goes, unless the manifest may know of it.
    pub(super) fn undo_opening(&self) {
        let mut manifest = self.manifest();
        let may_be_known = self.is_begun(&mut manifest) || manifest.get().is_ok_and(|m| m.is_poisoned());
        if let Some(wal) = self.wal.as_ref().filter(|_| !may_be_known) {
            remove_log(&self.options.env, wal);
        }
    }

    /// Closes the log. If all of it is in tables, nobody is to miss it.
    pub(super) fn end_opening(&self, wal: &Wal) -> Result<()> {
        let Some(dir) = wal.writer_dir() else { return wal.close() };
        let env = &self.options.env;
        // Held, it is by this very thread, whom a listener is told of a failed edit.
        let Some(mut manifest) = self.manifest.try_lock().ok().filter(|_| self.is_all_in_tables(wal)) else {
            return wal.leave();
        };
        let manifest = manifest.get()?;
        let none = || Edit { remove_values: vec![OPENING.to_vec()], ..Edit::default() };
        match manifest.apply(none()) {
            Ok(_) => {
                let closed = wal.close();
                if wal::segments(env, dir).is_ok_and(|left| left.is_empty()) {
                    remove_dir(env, dir);
                }
                closed
            }
            Err(Error::Io { .. }) if !manifest.is_poisoned() => {
                // The space that is missing may be what the log has reserved. If not, an empty log is found there.
                // A write that was under way may have come in since.
                let left = wal.leave();
                if left.is_ok() && self.is_all_in_tables(wal) && manifest.apply(none()).is_ok() {
                    remove_dir(env, dir);
                }
                left
            }
            Err(e) => {
                let _as_far_as_it_can = wal.leave();
                Err(e)
            }
        }
    }

    /// Whether nothing is in the log alone, once nobody else is inside.
    fn is_all_in_tables(&self, wal: &Wal) -> bool {
        let now = self.current.load();
        self.poisoned().is_none()
            && wal.is_drained()
            && self.uncommitted().is_empty()
            && now.immutables.is_empty()
            && now.active.as_ref().is_none_or(|active| active.segment().first_seq().is_none())
    }
}

/// Removes a log without records.
pub(super) fn remove_log(env: &Env, wal: &Wal) {
    let _gives_its_lock_back = wal.close();
    if let Some(dir) = wal.writer_dir() {
        remove_dir(env, dir);
    }
}

/// Removes the directory of a log that has given its lock back.
fn remove_dir(env: &Env, dir: &Path) {
    if let Ok(Some(lock)) = wal::lock_writer_dir(env, dir) {
        remove_writer_dir(env, dir, lock);
    }
}
