//! Which snapshots are alive, so that nothing they see is thrown away.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The sequence numbers that readers hold on to.
#[derive(Debug, Default)]
pub(super) struct Snapshots(Mutex<BTreeMap<u64, usize>>);

impl Snapshots {
    /// Registers a snapshot of what is visible now. That is read under the lock: whoever asks [`Snapshots::alive`]
    /// afterwards learns of it, and whoever asked before worked on versions that were all visible, so this
    /// snapshot sees at least their newest.
    pub(super) fn take(self: &Arc<Self>, visible: &AtomicU64) -> (u64, Arc<Guard>) {
        let mut alive = self.lock();
        let seq = visible.load(Ordering::Acquire);
        *alive.entry(seq).or_default() += 1;
        (seq, Arc::new(Guard { seq, of: Arc::clone(self) }))
    }

    /// The sequence numbers of all that are alive, ascending.
    pub(super) fn alive(&self) -> Vec<u64> {
        self.lock().keys().copied().collect()
    }

    /// Does something, before the next snapshot can be taken, unless one sees something of what was written as `seq` or later.
    /// Whether it did. It is to be short, and not to ask for snapshots.
    pub(super) fn unless_seen(&self, seq: u64, what: impl FnOnce()) -> bool {
        let alive = self.lock();
        let is_seen = alive.last_key_value().is_some_and(|(newest, _)| *newest >= seq);
        if !is_seen {
            what();
        }
        !is_seen
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.lock().values().sum()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Releases its snapshot when dropped.
#[derive(Debug)]
pub(super) struct Guard {
    seq: u64,
    of: Arc<Snapshots>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut alive = self.of.lock();
        if let Some(count) = alive.get_mut(&self.seq) {
            *count -= 1;
            if *count == 0 {
                alive.remove(&self.seq);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_alive_until_its_last_guard_is_gone() {
        let snapshots = Arc::new(Snapshots::default());
        let visible = AtomicU64::new(7);
        let (seq, first) = snapshots.take(&visible);
        let (_, second) = snapshots.take(&visible);
        visible.store(9, Ordering::Release);
        let (_, later) = snapshots.take(&visible);
        assert_eq!((seq, snapshots.alive(), snapshots.count()), (7, vec![7, 9], 3));
        drop(first);
        assert_eq!(snapshots.alive(), [7, 9]);
        drop((second, later));
        assert_eq!((snapshots.alive(), snapshots.count()), (vec![], 0));
    }
}
