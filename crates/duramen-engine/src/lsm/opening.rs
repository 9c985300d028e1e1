//! Whose log it is that the store's writes go to, so that it is missed if it is gone.
//!
//! What is in no table yet is in the files of the log alone, and of files that are not there nobody knows. So the manifest says
//! which writer's log an opening has begun; it says so no more once that was closed, with all of it in tables. Until then the
//! writer has a directory, and a segment in it that takes the next write:
//!
//! | that segment is | it is known by |
//! |---|---|
//! | the one with the newest records | not ending in its SEAL |
//! | the one after it | the SEAL: that is written when the next segment is there |
//! | the one after those that are in tables | there being no records in any other |
//!
//! Nobody is missed if the manifest does not end in its mark: it may have lost its end, and with it that the log was closed.
//! A loss of power takes files of which nothing was promised to survive that. So segments are missed only in the run of the
//! machine in which they were made, and after it where each was on the device before it was used.

use super::db::{Inner, ManifestSlot};
use super::paths;
use super::recover::Parts;
use crate::io::Env;
use crate::manifest::{Edit, ManifestReader, State};
use crate::wal::{self, Damage, Durability, Recovered, Wal};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// The manifest's name for it.
pub(crate) const OPENING: &[u8] = b"opening";

/// A log that was begun and not closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) writer_id: u64,
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
        let value: &[u8; 17] = state.values.get(OPENING)?.as_slice().try_into().ok()?;
        let number = |at: usize| value[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
        Some(Self { writer_id: number(0), boot_id: number(8), is_durable: value[16] != 0 })
    }

    fn value(self) -> Vec<u8> {
        let mut value = self.writer_id.to_le_bytes().to_vec();
        value.extend_from_slice(&self.boot_id.to_le_bytes());
        value.push(u8::from(self.is_durable));
        value
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

    /// What tells that the segment is not there that took the next write, of what was found in its directory.
    pub(super) fn without_end(
        self,
        env: &Env,
        store: &Path,
        state: &State,
        found: &Recovered,
    ) -> Option<Damage> {
        let is_this_run = self.boot_id != 0 && self.boot_id == env.clock.boot_id();
        if found.writer_id != self.writer_id || !(is_this_run || self.is_durable) {
            return None;
        }
        let number = found.lost_end(state.writers.get(&self.writer_id).copied().unwrap_or(0))?;
        let path = wal::segment_path(&self.dir(store), number);
        let what = match env.fs.exists(&path) {
            Ok(true) => "its header is gone",
            _ => "it is missing",
        };
        let detail = format!("{what}, and it took the store's writes when that was used last: they are gone");
        Some(Damage { number, path, offset: 0, proven: true, detail })
    }
}

/// The manifest is to know of no log any more.
pub(super) fn none_open() -> Edit {
    Edit { remove_values: vec![OPENING.to_vec()], ..Edit::default() }
}

/// Lets the manifest know whose log it is, before that takes the first write.
pub(super) fn begin(parts: &mut Parts, wal: &Wal) -> Result<()> {
    let (Some(manifest), Some(dir)) = (&mut parts.manifest, wal.writer_dir()) else { return Ok(()) };
    let env = &parts.options.env;
    let log = dir.parent().unwrap_or(dir);
    env.fs.sync_dir(log).map_err(Error::io("sync directory", log))?;
    let opening = Opening {
        writer_id: wal.writer_id(),
        boot_id: env.clock.boot_id(),
        is_durable: matches!(parts.options.durability, Durability::Sync | Durability::IntervalMs(_)),
    };
    let set_values = vec![(OPENING.to_vec(), opening.value())];
    parts.state = manifest.apply(Edit { set_values, ..Edit::default() })?;
    Ok(())
}

impl Inner {
    /// All that was written is in tables, or was said not to be: nobody is to miss the log that is about to be closed.
    pub(super) fn end_opening(&self, manifest: &mut ManifestSlot, wal: &Wal) -> Result<()> {
        if wal.writer_dir().is_none() {
            return Ok(());
        }
        let told = self.usable().and_then(|()| manifest.get()?.apply(none_open()).map(drop));
        if let Err(e) = &told {
            // Closed, it would look as if its last segment were lost: it stays as it is, and is recovered.
            let _as_far_as_it_can = wal.sync();
            wal.abandon(e.to_string());
        }
        told
    }
}
