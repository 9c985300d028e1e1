//! From a key's hash to its newest entry.
//!
//! ```text
//! slot   entry number + 1   low 32 bits    0: empty
//!        fingerprint        high 32 bits   the upper half of the hash
//! ```
//!
//! Open addressing: a slot lies at `fingerprint * slots >> 32`, or behind. Since that follows the order of
//! fingerprints, growing is one pass through both tables, and no key is looked at for it. Keys with equal fingerprints
//! share a slot, as versions of a key do; who reads compares keys.
//!
//! One writer, any number of readers, no locks: a slot is one atomic word. When the table has grown, readers may
//! still be in the old one, so it stays: it has all that they may ask for, because a reader only asks for what was
//! inserted before it began.

use crate::memory::{SharedWords, prefetch};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The slots of the smallest table.
const LEAST_SLOTS: usize = 512;
/// A table grows when so many of 100 slots are taken.
const MOST_TAKEN: usize = 85;
/// And is made so large that in the end that many will be, as far as one can tell.
const AIM_TAKEN: usize = 72;
/// No table has more than so many times the slots of the one before.
const MOST_GROWTH: usize = 5;
/// Each has at least one and a half times as many, so there are never more.
const TABLES: usize = 40;

#[derive(Debug)]
pub(super) struct HashIndex {
    tables: [OnceLock<SharedWords>; TABLES],
    current: AtomicUsize,
    /// How many slots of the current table are taken. The writer's.
    taken: AtomicUsize,
    /// How many may be. The writer's.
    most: AtomicUsize,
    bytes: AtomicUsize,
}

/// Where an entry is to go.
#[derive(Debug)]
pub(super) struct Slot<'a> {
    place: &'a AtomicU64,
    fingerprint: u32,
    /// The newest entry with the same fingerprint so far.
    pub(super) before: Option<u32>,
}

/// What a slot has of a key's hash.
#[inline]
pub(super) fn fingerprint(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[inline]
fn home(fingerprint: u32, slots: usize) -> usize {
    ((u64::from(fingerprint) * slots as u64) >> 32) as usize
}

impl HashIndex {
    /// For that many keys to begin with.
    pub(super) fn new(expected_keys: usize) -> Self {
        let index = Self {
            tables: [const { OnceLock::new() }; TABLES],
            current: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
        };
        index.add_table(0, slots_for(expected_keys).max(LEAST_SLOTS));
        index
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether the table is full: [`HashIndex::grow`] then, before more is inserted.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.taken.load(Ordering::Relaxed) >= self.most.load(Ordering::Relaxed)
    }

    /// How many different keys there are, or a little less.
    pub(super) fn keys(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Makes a larger table, on the way to one for `expected_keys` in the end. Not at once, since what comes need
    /// not be like what came; but so that the last step is a large one, and the tables before take little.
    #[cold]
    pub(super) fn grow(&self, expected_keys: usize) {
        let current = self.current.load(Ordering::Relaxed);
        let old = self.table();
        let mut slots = slots_for(expected_keys);
        while slots > old.len() * MOST_GROWTH {
            slots /= MOST_GROWTH - 1;
        }
        let slots = slots.max(old.len() + old.len() / 2);
        if current + 1 >= TABLES {
            return; // 2^32 keys
        }
        let table = SharedWords::zeros(slots);
        for slot in old {
            let word = slot.load(Ordering::Relaxed);
            if word != 0 {
                let (place, _) = find(&table, fingerprint(word));
                place.store(word, Ordering::Relaxed);
            }
        }
        self.set_table(current + 1, table);
    }

    fn add_table(&self, at: usize, slots: usize) {
        self.set_table(at, SharedWords::zeros(slots));
    }

    fn set_table(&self, at: usize, table: SharedWords) {
        self.bytes.fetch_add(size_of_val(&*table), Ordering::Relaxed);
        self.most.store(table.len() * MOST_TAKEN / 100, Ordering::Relaxed);
        let _was_empty = self.tables[at].set(table);
        self.current.store(at, Ordering::Release);
    }

    #[inline]
    fn table(&self) -> &[AtomicU64] {
        let table = self.tables.get(self.current.load(Ordering::Acquire)).and_then(OnceLock::get);
        table.map_or(&[], |table| table)
    }

    /// Brings the slot of a fingerprint nearer.
    #[inline]
    pub(super) fn prepare(&self, fingerprint: u32) {
        let table = self.table();
        if let Some(slot) = table.get(home(fingerprint, table.len())) {
            prefetch(std::ptr::from_ref(slot).cast());
        }
    }

    /// The newest entry with this fingerprint.
    #[inline]
    pub(super) fn newest(&self, fingerprint: u32) -> Option<u32> {
        let (_, word) = find(self.table(), fingerprint);
        (word as u32).checked_sub(1)
    }

    /// Where an entry with this fingerprint is to go. The writer's.
    #[inline]
    pub(super) fn slot(&self, fingerprint: u32) -> Slot<'_> {
        let (place, word) = find(self.table(), fingerprint);
        Slot { place, fingerprint, before: (word as u32).checked_sub(1) }
    }

    /// Shows the entry, which is complete, to readers.
    #[inline]
    pub(super) fn fill(&self, slot: Slot<'_>, number: u32) {
        if slot.before.is_none() {
            self.taken.store(self.taken.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        let word = u64::from(slot.fingerprint) << 32 | u64::from(number + 1);
        slot.place.store(word, Ordering::Release);
    }
}

fn slots_for(keys: usize) -> usize {
    keys.saturating_mul(100) / AIM_TAKEN
}

/// The slot that has the fingerprint, or the empty one where it would be. There always is one: a table is never
/// full.
#[inline]
fn find(table: &[AtomicU64], fingerprint: u32) -> (&AtomicU64, u64) {
    let mut at = home(fingerprint, table.len());
    loop {
        let place = &table[at];
        let word = place.load(Ordering::Acquire);
        if word == 0 || (word >> 32) as u32 == fingerprint {
            return (place, word);
        }
        at += 1;
        if at == table.len() {
            at = 0;
        }
    }
}
