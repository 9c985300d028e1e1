//! What is worth keeping, and a file that holds nothing else.
//!
//! Snapshots cut the history into *strata*: the writes up to the oldest, those up to the next, and so on up to now.
//! Within one, only what was last said of a key can ever be seen. In the lowest there is nothing beneath that a
//! deletion could hide; above, deletions stay. So a stratum becomes base frames that say what there is up to its
//! snapshot, in the order in which it was written, and reading on works as before.

use super::format::{FRAME_BYTES, HEADER_BYTES, Identity};
use super::frames::{Frames, OpAt, each_op};
use super::new_file::NewFile;
use super::open::LOG_TMP;
use super::read::remove_range;
use super::{Inner, View, lock};
use crate::kv::OpKind;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How much may be left to copy while writers wait.
const LAST_COPY_BYTES: u64 = 256 << 10;
/// How often to copy what was written meanwhile before making writers wait.
const ROUNDS: usize = 8;

/// The writes between two snapshots.
#[derive(Debug)]
struct Stratum {
    range: Range<u64>,
    /// The snapshot that it leads up to.
    seq: u64,
    lowest: bool,
    /// Where in the file the op lies that was last said of a key, and its length.
    newest: BTreeMap<Vec<u8>, (u64, u64)>,
    /// How many bytes the ops take that are kept.
    bytes: u64,
}

impl Stratum {
    /// That which begins at `at` of a view and leads up to `seq`.
    fn find(view: &View, path: &Path, at: u64, seq: u64) -> Result<Self> {
        let lowest = at == HEADER_BYTES as u64;
        let mut stratum = Self { range: at..at, seq, lowest, newest: BTreeMap::new(), bytes: 0 };
        let mut frames = Frames::new(&*view.file, path, view.identity, at, view.end);
        while let Some(frame) = frames.next()? {
            if frame.header.seq > seq {
                break;
            }
            stratum.range.end = frame.at + (FRAME_BYTES + frame.payload.len()) as u64;
            each_op(path, &frame, |op| {
                stratum.take(op);
                Ok(())
            })?;
        }
        Ok(stratum)
    }

    fn take(&mut self, &OpAt { at, len, op }: &OpAt<'_>) {
        let mut replaced = 0;
        match op.kind {
            OpKind::Delete if self.lowest => {
                replaced = self.newest.remove(op.key).map_or(0, |(_, len)| len);
            }
            OpKind::Put | OpKind::Delete => {
                self.bytes += len;
                match self.newest.get_mut(op.key) {
                    Some(newest) => replaced = std::mem::replace(newest, (at, len)).1,
                    None => {
                        self.newest.insert(op.key.to_vec(), (at, len));
                    }
                }
            }
            OpKind::DeleteRange => {
                self.bytes += if self.lowest { 0 } else { len };
                remove_range(&mut self.newest, op.key, op.value, |_, (_, len)| replaced += len);
            }
        }
        self.bytes -= replaced;
    }

    /// Writes what is kept.
    fn copy(&self, view: &View, path: &Path, new: &mut NewFile<'_>) -> Result<()> {
        let Range { start, end } = self.range;
        let mut frames = Frames::new(&*view.file, path, view.identity, start, end);
        while let Some(frame) = frames.next()? {
            each_op(path, &frame, |OpAt { at, op, .. }| {
                let kept = match op.kind {
                    OpKind::DeleteRange => !self.lowest,
                    _ => self.newest.get(op.key).is_some_and(|(newest, _)| newest == at),
                };
                if kept { new.base_op(op, self.seq) } else { Ok(()) }
            })?;
        }
        new.end_base(self.seq)
    }
}

/// Calls `with` for each stratum of a view.
fn each_stratum(
    view: &View,
    path: &Path,
    seqs: &[u64],
    mut with: impl FnMut(&Stratum) -> Result<()>,
) -> Result<()> {
    let mut at = HEADER_BYTES as u64;
    for seq in seqs {
        let stratum = Stratum::find(view, path, at, *seq)?;
        at = stratum.range.end;
        with(&stratum)?;
    }
    Ok(())
}

/// Writes what the snapshots at `seqs` see, of which the last is the view itself. Returns where that ends.
pub(super) fn write_live(view: &View, path: &Path, seqs: &[u64], new: &mut NewFile<'_>) -> Result<u64> {
    each_stratum(view, path, seqs, |stratum| stratum.copy(view, path, new))?;
    Ok(new.end())
}

impl Inner {
    pub(super) fn compact(&self) -> Result<()> {
        let _one_at_a_time = lock(&self.rewriting);
        self.writable(&self.state())?;
        self.rewrite()
    }

    /// Compacts if there is too much garbage, now that the file is large enough for that. Whether it looked.
    pub(super) fn compact_if_due(&self) -> Result<bool> {
        let _one_at_a_time = lock(&self.rewriting);
        let state = self.state();
        if state.end < state.compaction_due_at || self.writable(&state).is_err() {
            return Ok(false);
        }
        drop(state);
        let compacted = self.compact_if_worth_it().map(|()| true);
        if compacted.is_err() {
            self.compaction_failures.fetch_add(1, Ordering::Relaxed);
            let mut state = self.state();
            state.compaction_due_at = state.end.saturating_add(state.end / 4);
        }
        compacted
    }

    fn compact_if_worth_it(&self) -> Result<()> {
        let (view, seqs) = self.view_and_snapshots();
        let mut live = HEADER_BYTES as u64;
        each_stratum(&view, &self.path, &seqs, |stratum| {
            live += stratum.bytes;
            Ok(())
        })?;
        let due_at = self.options.compaction_due_at(live);
        if view.end < due_at {
            self.state().compaction_due_at = due_at;
            return Ok(());
        }
        self.rewrite()
    }

    fn rewrite(&self) -> Result<()> {
        let (view, seqs) = self.view_and_snapshots();
        let identity = Identity { generation: view.identity.generation + 1, ..view.identity };
        let tmp = self.dir.join(LOG_TMP);
        let mut new = NewFile::create(&self.env, tmp.clone(), identity)?;
        let base_end = write_live(&view, &self.path, &seqs, &mut new)?;
        let base_seq = view.seq;
        let mut copied = view.end;
        for _ in 0..ROUNDS {
            // Who closes the log waits for the end.
            self.writable(&self.state())?;
            let now = self.view();
            if now.end - copied <= LAST_COPY_BYTES {
                break;
            }
            new.copy(&now, &self.path, copied)?;
            copied = now.end;
        }
        new.sync()?;

        let mut state = self.state();
        self.writable(&state)?;
        new.copy(&self.view(), &self.path, copied)?;
        let end = new.finish((base_end, base_seq), state.next_seq, self.env.clock.boot_id())?;
        match self.env.fs.rename(&tmp, &self.path) {
            Ok(()) => {}
            Err(e) => {
                let full = e.kind() == std::io::ErrorKind::StorageFull;
                let failed = Err(Error::io("rename", &tmp)(e));
                // A full disk has certainly not renamed it. Otherwise nobody knows which file the next opening finds.
                return if full { failed } else { self.poison(failed) };
            }
        }
        state.file = Arc::clone(new.file());
        new.keep();
        state.identity = identity;
        state.end = end;
        state.synced = end;
        state.sync_due = None;
        state.compaction_due_at = self.options.compaction_due_at(base_end);
        self.show(&state);
        self.poison(self.env.fs.sync_dir(&self.dir).map_err(Error::io("sync", &self.dir)))?;
        self.compactions.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}
