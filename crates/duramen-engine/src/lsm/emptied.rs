//! Stretches of keys in which nothing is alive.
//!
//! Who uses the store as a queue writes at its end, reads its first entry and deletes that: before the first entry lie all that were, each
//! with its deletion, until a compaction drops them. A scan that has passed many from its start on notes the stretch, and
//! the next ones begin behind it:
//!
//! ```text
//! start │ deleted deleted deleted … deleted │ first that is alive
//!       └────────── the stretch ────────────┘
//! ```
//!
//! A stretch says: what was written until `seq` leaves nothing alive in it, and no key was put into it since. So it ends where a
//! put comes into it, before that can be seen; deletions change nothing, nor do flushes and compactions. It is begun only
//! while nothing was written since the scan began, under the WAL's lock, so that no put is missed.

use crate::io::os::fork_generation;
use std::fmt::Debug;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// So many keys a scan passes before it notes that they are dead: noting takes the WAL's lock.
const WORTH_NOTING: u32 = 64;
/// And so many, if it began behind others that it makes more of.
const WORTH_ADDING: u32 = 8;
/// So many stretches are kept. Each is asked for by every put.
const MOST_STRETCHES: usize = 4;
/// A stretch is forgotten when so many puts have asked for it since a scan used it.
const MOST_UNUSED_PUTS: u32 = 1 << 16;

/// The stretches that are known.
#[derive(Debug)]
pub(super) struct Emptied {
    /// Whether there are any: all that a put asks where nobody deletes and scans. Set under the WAL's lock, where puts ask.
    is_any: AtomicBool,
    /// How often tables came in ready made: what began to look before they were there knows nothing of their keys.
    epoch: AtomicU64,
    stretches: Mutex<Stretches>,
    /// Who writes, while the store is open. Held to note a stretch: scans outlive the store, and none of them may keep it, and with
    /// it its locks, beyond its end.
    writers: Mutex<Option<Weak<dyn Writers>>>,
    /// The process that opened the store.
    generation: u64,
}

impl Default for Emptied {
    fn default() -> Self {
        Self {
            is_any: AtomicBool::default(),
            epoch: AtomicU64::default(),
            stretches: Mutex::default(),
            writers: Mutex::default(),
            generation: fork_generation(),
        }
    }
}

#[derive(Debug, Default)]
struct Stretches {
    known: Vec<Stretch>,
    last_id: u64,
    /// While tables come in that were not written key by key.
    closed: bool,
}

#[derive(Debug)]
struct Stretch {
    id: u64,
    first: Vec<u8>,
    /// The key before which it ends, if it does.
    end: Option<Vec<u8>>,
    /// What was written since may be alive, but is not in it.
    seq: u64,
    /// A scan is still on its way through it, and does not know yet how far it goes.
    is_walked: bool,
    unused_puts: u32,
}

impl Stretch {
    fn holds(&self, key: &[u8]) -> bool {
        *self.first <= *key && self.end.as_deref().is_none_or(|end| key < end)
    }

    fn ends_before(&mut self, key: &[u8]) {
        if self.end.as_deref().is_none_or(|end| key < end) {
            self.end = Some(key.to_vec());
        }
    }

    fn is_empty(&self) -> bool {
        self.end.as_ref().is_some_and(|end| *end <= self.first)
    }
}

/// The key that a range from here on begins with.
fn first_of(start: &Bound<impl AsRef<[u8]>>) -> Vec<u8> {
    match start {
        Bound::Unbounded => Vec::new(),
        Bound::Included(key) => key.as_ref().to_vec(),
        Bound::Excluded(key) => [key.as_ref(), &[0]].concat(),
    }
}

impl Emptied {
    /// To be asked under the WAL's lock by who puts.
    #[inline]
    pub(super) fn is_any(&self) -> bool {
        self.is_any.load(Ordering::Relaxed)
    }

    /// To be taken before what a scan looks at.
    #[inline]
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// A key is put: to be told under the WAL's lock, before it can be seen.
    #[cold]
    pub(super) fn put(&self, key: &[u8]) {
        self.change(|stretches| {
            for stretch in &mut stretches.known {
                stretch.unused_puts += 1;
                if stretch.holds(key) {
                    stretch.ends_before(key);
                }
            }
            stretches.known.retain(|stretch| stretch.unused_puts < MOST_UNUSED_PUTS && !stretch.is_empty());
        });
    }

    /// Where a scan is to begin that sees at least what was written until `seq`: behind the stretch that `start` lies in. What it
    /// looks at must have been taken before.
    pub(super) fn ahead_of(&self, start: Bound<&[u8]>, seq: u64) -> Ahead {
        if !self.is_any() || self.is_forked() {
            return Ahead::Unknown;
        }
        let first = first_of(&start);
        let mut stretches = self.lock();
        let may = |stretch: &&mut Stretch| !stretch.is_walked && stretch.seq <= seq && stretch.holds(&first);
        let Some(stretch) = stretches.known.iter_mut().find(may) else { return Ahead::Unknown };
        stretch.unused_puts = 0;
        stretch.end.clone().map_or(Ahead::Nothing, Ahead::From)
    }

    /// While tables come in, nothing is known: they may have any key.
    pub(super) fn close(&self) -> Closed<'_> {
        self.change(|stretches| {
            stretches.closed = true;
            stretches.known.clear();
        });
        Closed(self)
    }

    fn begin(&self, start: &Bound<Vec<u8>>, seq: u64, epoch: u64) -> Option<u64> {
        self.change(|stretches| {
            if stretches.closed || self.epoch() != epoch {
                return None;
            }
            let mut first = first_of(start);
            // Where the scan began behind another, that is its beginning, too.
            let before = |s: &&Stretch| !s.is_walked && s.first <= first && s.end.as_ref() >= Some(&first);
            if let Some(before) = stretches.known.iter().find(before) {
                first.clone_from(&before.first);
            }
            if stretches.known.len() == MOST_STRETCHES {
                let longest_unused = (0..MOST_STRETCHES).max_by_key(|&n| stretches.known[n].unused_puts);
                stretches.known.swap_remove(longest_unused?);
            }
            stretches.last_id += 1;
            let id = stretches.last_id;
            stretches.known.push(Stretch { id, first, end: None, seq, is_walked: true, unused_puts: 0 });
            Some(id)
        })
    }

    fn end(&self, id: u64, reached: Option<&[u8]>) {
        self.change(|stretches| {
            let Some(at) = stretches.known.iter().position(|stretch| stretch.id == id) else { return };
            let mut stretch = stretches.known.swap_remove(at);
            if let Some(reached) = reached {
                stretch.ends_before(reached);
            }
            stretch.is_walked = false;
            let is_in = |other: &Stretch| {
                stretch.first <= other.first
                    && (stretch.end.is_none() || other.end.is_some() && other.end <= stretch.end)
            };
            stretches.known.retain(|other| other.is_walked || !is_in(other));
            if !stretch.is_empty() {
                stretches.known.push(stretch);
            }
        });
    }

    fn forget(&self, id: u64) {
        self.change(|stretches| stretches.known.retain(|stretch| stretch.id != id));
    }

    fn change<R>(&self, change: impl FnOnce(&mut Stretches) -> R) -> R {
        let mut stretches = self.lock();
        let changed = change(&mut stretches);
        self.is_any.store(!stretches.known.is_empty(), Ordering::Relaxed);
        changed
    }

    /// Until the store is dropped, stretches are noted while these do not write.
    pub(super) fn set_writers(&self, writers: Option<Weak<dyn Writers>>) {
        *self.writers.lock().unwrap_or_else(PoisonError::into_inner) = writers;
    }

    /// In a forked child, where a lock may be held for ever.
    fn is_forked(&self) -> bool {
        self.generation != fork_generation()
    }

    fn lock(&self) -> MutexGuard<'_, Stretches> {
        self.stretches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What lies ahead of a scan's start.
#[derive(Debug)]
pub(super) enum Ahead {
    Unknown,
    /// Nothing is alive before this key.
    From(Vec<u8>),
    /// Nothing is alive at all.
    Nothing,
}

/// Nothing is noted until this is dropped.
#[derive(Debug)]
pub(super) struct Closed<'a>(&'a Emptied);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.change(|stretches| {
            self.0.epoch.fetch_add(1, Ordering::Release);
            stretches.closed = false;
        });
    }
}

/// Who writes where stretches are noted.
pub(super) trait Writers: Debug + Send + Sync {
    /// Does something while nobody can write, if nothing was written after `seq`.
    fn while_last_is(&self, seq: u64, what: &mut dyn FnMut());
}

/// A scan that has met nothing alive yet.
#[derive(Debug)]
pub(super) struct Walk {
    emptied: Arc<Emptied>,
    /// What it looks at has everything until here, and maybe more.
    seq: u64,
    epoch: u64,
    /// How many keys it is still to pass before it notes them.
    passes: u32,
    id: Option<u64>,
}

impl Walk {
    /// `seq` and `epoch` are to be taken before what it looks at; `ahead` is what it was told of its start.
    pub(super) fn new(emptied: Arc<Emptied>, seq: u64, epoch: u64, ahead: &Ahead) -> Self {
        let passes = if matches!(ahead, Ahead::From(_)) { WORTH_ADDING } else { WORTH_NOTING };
        Self { emptied, seq, epoch, passes, id: None }
    }

    /// A key was passed that is dead, in a scan that began at `start`.
    #[inline]
    pub(super) fn pass(&mut self, start: &Bound<Vec<u8>>) {
        self.passes = self.passes.wrapping_sub(1);
        if self.passes == 0 {
            self.note(start);
        }
    }

    #[cold]
    fn note(&mut self, start: &Bound<Vec<u8>>) {
        if self.emptied.is_forked() {
            return;
        }
        let writers = self.emptied.writers.lock().unwrap_or_else(PoisonError::into_inner);
        // Let go of before the lock, for which the store's end waits.
        if let Some(writers) = writers.as_ref().and_then(Weak::upgrade) {
            let (seq, epoch) = (self.seq, self.epoch);
            writers.while_last_is(seq, &mut || self.id = self.emptied.begin(start, seq, epoch));
        }
    }

    /// The scan is at its first key that is alive; or at its end, where it may not have come to the end of all keys.
    pub(super) fn end(mut self, reached: Option<&[u8]>) {
        if let Some(id) = self.id.take().filter(|_| !self.emptied.is_forked()) {
            self.emptied.end(id, reached);
        }
    }
}

impl Drop for Walk {
    fn drop(&mut self) {
        // Given up on the way.
        if let Some(id) = self.id.take().filter(|_| !self.emptied.is_forked()) {
            self.emptied.forget(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(emptied: &Emptied, start: &[u8], seq: u64) -> Option<u64> {
        emptied.begin(&Bound::Included(start.to_vec()), seq, emptied.epoch())
    }

    fn from(emptied: &Emptied, start: &[u8], seq: u64) -> Option<Vec<u8>> {
        match emptied.ahead_of(Bound::Included(start), seq) {
            Ahead::From(key) => Some(key),
            Ahead::Unknown | Ahead::Nothing => None,
        }
    }

    #[test]
    fn a_stretch_serves_who_begins_in_it_and_sees_its_deletions() {
        let emptied = Emptied::default();
        let id = begin(&emptied, b"c", 7).unwrap();
        assert_eq!(from(&emptied, b"c", 9), None, "it is not known yet how far it goes");
        emptied.end(id, Some(b"m"));
        assert_eq!(from(&emptied, b"c", 7), Some(b"m".to_vec()));
        assert_eq!(from(&emptied, b"lzz", 9), Some(b"m".to_vec()));
        for (start, seq) in [(&b"b"[..], 9), (b"m", 9), (b"d", 6)] {
            assert_eq!(from(&emptied, start, seq), None, "{start:?} at {seq}");
        }
    }

    #[test]
    fn a_put_ends_it_also_while_it_is_walked() {
        let emptied = Emptied::default();
        let id = begin(&emptied, b"c", 7).unwrap();
        emptied.put(b"k");
        emptied.end(id, Some(b"m"));
        assert_eq!(from(&emptied, b"c", 9), Some(b"k".to_vec()));
        emptied.put(b"z");
        assert_eq!(from(&emptied, b"c", 9), Some(b"k".to_vec()));
        emptied.put(b"c");
        assert!(!emptied.is_any());
    }

    #[test]
    fn a_scan_that_began_behind_it_makes_it_longer() {
        let emptied = Emptied::default();
        let id = begin(&emptied, b"c", 7).unwrap();
        emptied.end(id, Some(b"m"));
        let id = begin(&emptied, b"m", 9).unwrap();
        emptied.end(id, Some(b"t"));
        assert_eq!(from(&emptied, b"d", 9), Some(b"t".to_vec()));
        assert_eq!(emptied.lock().known.len(), 1);
    }

    #[test]
    fn what_began_before_tables_came_in_notes_nothing() {
        let emptied = Emptied::default();
        let epoch = emptied.epoch();
        let id = begin(&emptied, b"a", 7).unwrap();
        let closed = emptied.close();
        emptied.end(id, None);
        assert_eq!(begin(&emptied, b"a", 8), None, "while they come");
        drop(closed);
        assert_eq!(emptied.begin(&Bound::Unbounded, 8, epoch), None);
        assert!(!emptied.is_any());
        assert!(begin(&emptied, b"a", 8).is_some());
    }

    #[test]
    fn no_more_are_kept_than_the_limit_and_none_that_puts_ask_for_in_vain() {
        let emptied = Emptied::default();
        for n in 0..10u8 {
            let id = begin(&emptied, &[n, 0], 7).unwrap();
            emptied.put(b"z");
            emptied.end(id, Some(&[n, 9]));
        }
        assert_eq!(emptied.lock().known.len(), MOST_STRETCHES);
        assert!(from(&emptied, &[9, 1], 7).is_some() && from(&emptied, &[0, 1], 7).is_none());
        for _ in 0..MOST_UNUSED_PUTS {
            emptied.put(b"z");
        }
        assert!(!emptied.is_any());
    }

    #[test]
    fn with_nothing_behind_it_there_is_nothing() {
        let emptied = Emptied::default();
        let id = begin(&emptied, b"a", 7).unwrap();
        emptied.end(id, None);
        assert!(matches!(emptied.ahead_of(Bound::Excluded(b"x"), 7), Ahead::Nothing));
        emptied.put(b"y");
        assert_eq!(from(&emptied, b"x", 7), Some(b"y".to_vec()));
    }
}
