//! The last view, for as long as nothing has changed in the store's directories: to list them and to read the manifest takes longer
//! than many queries do otherwise.
//!
//! ```text
//! who looks and keeps                                    who asks next
//! 1  has the directories and the manifest watched,       1  takes the pin of the kept view's generation
//!    and remembers how often they have changed           2  has nothing changed? Then the view is the one of this moment,
//! 2  lists the segments, reads the manifest                 as if it had been taken after the pin
//! 3  keeps the view, if all that was listed was watched     else looks
//! ```
//!
//! A row that is acknowledged later than the view lies in one of its segments, which are read as far as they go when somebody
//! asks, or in a new one, and then a name has come into a directory before. So it is with every process, for the system tells of
//! a change before the call returns that makes it. A file that was there and had no header yet is none of the view's, and gets
//! one without a name's changing: then nothing is kept.

use crate::store::live::LiveSegments;
use crate::store::pin::Pin;
use crate::store::readers::Generation;
use crate::store::shared::{Shared, lock};
use crate::store::snapshot::View;
use duramen_engine::io::Watch;
use duramen_engine::manifest::State;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// A view is kept for so long at most: what the system should not tell of is seen then.
const MOST_AGE: Duration = Duration::from_secs(1);
/// So many in a row, each no later after the one before than that, make the next worth keeping.
const MANY: u32 = if cfg!(test) { 2 } else { 16 };

/// Keeps the last view.
#[derive(Debug, Default)]
pub(super) struct KeptView {
    watch: OnceLock<Option<Box<dyn Watch>>>,
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    /// When somebody last asked for one,
    asked: Duration,
    /// and how many have in a row.
    in_a_row: u32,
    /// The writers' directories, as they were listed last.
    writers: BTreeSet<PathBuf>,
    view: Option<Kept>,
}

#[derive(Clone, Debug)]
struct Kept {
    state: Arc<State>,
    live: Arc<LiveSegments>,
    since: Watched,
}

/// From when on changes are noticed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watched {
    changes: u64,
    at: Duration,
}

impl KeptView {
    /// The kept view, if it is as good as one taken now.
    ///
    /// # Errors
    /// As `pin`, which takes the one of a generation.
    pub(super) fn get(
        &self,
        shared: &Shared,
        pin: impl FnOnce(Generation) -> crate::Result<Pin>,
    ) -> crate::Result<Option<View>> {
        let now = shared.env.clock.monotonic();
        let kept = {
            let mut last = lock(&self.last);
            let is_soon = now.saturating_sub(std::mem::replace(&mut last.asked, now)) <= MOST_AGE;
            last.in_a_row = if is_soon { last.in_a_row.saturating_add(1) } else { 0 };
            last.view.take_if(|kept| now.saturating_sub(kept.since.at) > MOST_AGE);
            last.view.clone()
        };
        let Some(Kept { state, live, since }) = kept else { return Ok(None) };
        let pin = pin(Generation::of(&state)?)?;
        let is_unchanged = self.watch().is_some_and(|watch| watch.changes() == Some(since.changes));
        Ok(is_unchanged.then_some(View { pin, state, live }))
    }

    /// Has what there is watched from now on, if a view is worth keeping.
    pub(super) fn begin(&self, shared: &Shared) -> Option<(Watched, BTreeSet<PathBuf>)> {
        let at = shared.env.clock.monotonic();
        let writers = {
            let last = lock(&self.last);
            (last.in_a_row >= MANY).then(|| last.writers.clone())?
        };
        let watch = self.watch.get_or_init(|| shared.env.fs.watch()).as_deref()?;
        let (wal, manifest) = (shared.layout.wal(), shared.layout.manifest());
        let mut dirs = vec![shared.layout.root(), &wal];
        dirs.extend(writers.iter().map(PathBuf::as_path));
        match watch.only(&dirs, &[&manifest]) {
            Ok(changes) => Some((Watched { changes, at }, writers)),
            Err(e) => {
                // Another thread is at it, or a directory has gone, or there is none to be had: then not again at once.
                let mut last = lock(&self.last);
                last.writers.clear();
                if e.kind() != ErrorKind::WouldBlock {
                    last.in_a_row = 0;
                }
                None
            }
        }
    }

    /// Keeps a view that was taken after that.
    pub(super) fn keep(&self, began: Option<(Watched, BTreeSet<PathBuf>)>, view: &View) {
        let found = view.live.writers.iter();
        let mut last = lock(&self.last);
        // Where it was not begun, another thread may have been at it: what is kept is as good as before.
        let before = began.and_then(|(since, watched)| {
            let is_all = found.clone().all(|writer| watched.contains::<Path>(writer));
            let kept = Kept { state: view.state.clone(), live: view.live.clone(), since };
            std::mem::replace(&mut last.view, (view.live.is_settled && is_all).then_some(kept))
        });
        if !found.clone().eq(&last.writers) {
            last.writers = found.cloned().collect();
        }
        // Its segments are let go of without the lock.
        drop(last);
        drop(before);
    }

    fn watch(&self) -> Option<&dyn Watch> {
        self.watch.get()?.as_deref()
    }
}

#[cfg(test)]
mod tests;
