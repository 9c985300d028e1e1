//! Which old states somebody may still read: a compaction keeps what they see.

use super::{Inner, View, lock};
use crate::kv::{ReadOptions, Snapshot};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// How many snapshots there are of each sequence number.
#[derive(Debug, Default)]
pub(super) struct Snapshots(Mutex<BTreeMap<u64, usize>>);

/// Lets go of a snapshot when it is dropped.
struct Guard {
    snapshots: Arc<Snapshots>,
    seq: u64,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut counts = lock(&self.snapshots.0);
        if let Some(count) = counts.get_mut(&self.seq) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.seq);
            }
        }
    }
}

impl Inner {
    pub(super) fn snapshot(&self) -> Snapshot {
        let mut counts = lock(&self.snapshots.0);
        // With the counts held, so that a compaction either knows of it or keeps all that it sees.
        let seq = lock(&self.view).seq;
        *counts.entry(seq).or_default() += 1;
        drop(counts);
        let guard = Guard { snapshots: Arc::clone(&self.snapshots), seq };
        Snapshot::new(self.engine_id, seq, Arc::new(guard))
    }

    /// The store as it is now, and the sequence numbers up to which somebody may want to see it, ascending; the
    /// present one is the last.
    pub(super) fn view_and_snapshots(&self) -> (View, Vec<u64>) {
        let counts = lock(&self.snapshots.0);
        let view = self.view();
        let mut seqs: Vec<u64> = counts.keys().copied().collect();
        if seqs.last() != Some(&view.seq) {
            seqs.push(view.seq);
        }
        (view, seqs)
    }

    /// What a read with these options is to look at.
    pub(super) fn view_for(&self, options: &ReadOptions) -> Result<View> {
        let mut view = self.view();
        if let Some(snapshot) = &options.snapshot {
            if snapshot.engine() != self.engine_id {
                return Err(Error::InvalidArgument("the snapshot is of another store".into()));
            }
            view.seq = snapshot.seq();
        }
        Ok(view)
    }
}
