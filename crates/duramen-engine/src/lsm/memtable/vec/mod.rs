//! The memtable that is fastest to write: an insert appends a word and fills a slot of a hash table; whoever wants
//! order makes it.
//!
//! ```text
//! get     those that wait; hash ─▶ newest entry of the key ─▶ the one before ─▶ …     down to the version that is to be seen
//! scan    runs, sorted when first scanned, merged as they are read
//! flush   all entries, sorted once; not at all if they came in order
//! ```
//!
//! One writer at a time, any number of readers, none of which waits for it. No memory is ever given back before the
//! memtable is dropped, so readers need no protection from that.
//!
//! | module | one idea |
//! |---|---|
//! | `entries` | what came, by number |
//! | `seqs` | sequence numbers of entries |
//! | `hash` | from a key's hash to its newest entry |
//! | `waiting` | the newest entries, while the hash's memory for them is on its way |
//! | `runs` | order for scans, made by them and shared |
//! | `cursor` | going through runs as if they were one |
//! | `rising` | whether the keys came in order |

mod cursor;
mod entries;
mod hash;
mod rising;
mod runs;
mod seqs;
mod waiting;

use super::arena::Arena;
use super::ranges::Ranges;
use super::{InSegment, Memtable, Sorted};
use crate::kv::{Op, OpKind, same_keys};
use crate::lsm::cursor::{Cursor, RangeTombstone};
use crate::wal::{SegmentIndex, SegmentReader};
use cursor::VecCursor;
use entries::{Entries, Entry};
use hash::{HashIndex, fingerprint};
use rising::Rising;
use runs::Runs;
use seqs::Seqs;
use std::sync::Arc;
use waiting::Waiting;

/// The shortest op: a kind and two lengths.
const LEAST_OP_BYTES: usize = 3;

/// An index that costs its writer next to nothing.
#[derive(Debug)]
pub(in crate::lsm) struct VecMemtable {
    segment: Arc<SegmentReader>,
    entries: Entries,
    seqs: Seqs,
    hash: HashIndex,
    waiting: Waiting,
    ranges: Ranges,
    runs: Runs,
    rising: Rising,
}

impl VecMemtable {
    /// Over a segment, with room for `expected_keys` different keys to begin with. It grows to what the keys
    /// that come let expect of a full segment.
    pub(in crate::lsm) fn new(segment: Arc<SegmentReader>, expected_keys: usize) -> Self {
        let most = segment.capacity() / LEAST_OP_BYTES;
        Self {
            entries: Entries::new(most),
            seqs: Seqs::new(),
            hash: HashIndex::new(expected_keys.min(most)),
            waiting: Waiting::default(),
            ranges: Ranges::new(),
            runs: Runs::new(),
            rising: Rising::new(),
            segment,
        }
    }

    /// The sequence number of an entry that the caller has seen.
    #[inline]
    pub(super) fn seq_of(&self, number: u32) -> u64 {
        self.seqs.of(number)
    }

    /// Sequence number and offset of an entry.
    #[inline]
    pub(super) fn place(&self, number: u32) -> Option<(u64, u32)> {
        (number < self.entries.len()).then(|| (self.seqs.of(number), self.entries.get(number).offset()))
    }

    /// How many entries are not newer than `seq`; may say too many where there are no entries yet.
    fn count_through(&self, seq: u64) -> u32 {
        self.seqs.count_through(seq)
    }

    /// The version that an entry is, if it is one of this key and not newer than `seq`.
    #[inline]
    fn version(&self, number: u32, key: &[u8], seq: u64, arena: Arena<'_>) -> Option<InSegment> {
        let its_seq = self.seqs.of(number);
        if its_seq > seq {
            return None;
        }
        let offset = self.entries.get(number).offset();
        // The value is wanted soon, too.
        arena.ask_for(offset, 2);
        let at = arena.op(offset);
        if !same_keys(at.op.key, key) {
            return None;
        }
        Some(at.version(its_seq))
    }

    /// Makes room among those that wait for entry `number`, whose op begins at `offset`.
    #[inline]
    fn admit(&self, number: u32, offset: u32) {
        let Some(waiter) = self.waiting.before(number) else { return };
        if self.hash.is_full() {
            self.grow(offset);
        }
        let slot = self.hash.slot(waiter.fingerprint);
        self.entries.set_before(waiter.number, slot.before);
        self.hash.fill(slot, waiter.number);
    }

    #[cold]
    fn grow(&self, offset: u32) {
        // As many more as there is still room for, if they are like those that came.
        let expected = self.hash.keys() as u64 * self.segment.capacity() as u64 / u64::from(offset.max(1));
        self.hash.grow(usize::try_from(expected).unwrap_or(usize::MAX));
    }
}

impl SegmentIndex for VecMemtable {
    #[inline]
    fn insert_hashed(&self, seq: u64, offset: u32, op: &Op<'_>, hash: u64) {
        let number = self.entries.len();
        self.seqs.add(number, seq, self.segment.capacity() / LEAST_OP_BYTES);
        self.admit(number, offset);
        if op.kind == OpKind::DeleteRange {
            self.waiting.put(number, None);
            self.entries.push(Entry::deleted_range(offset));
            self.ranges.add(seq, offset, self.segment());
            return;
        }
        self.rising.add(op.key, offset, &self.segment);
        let fingerprint = fingerprint(hash);
        self.hash.prepare(fingerprint);
        self.waiting.put(number, Some(fingerprint));
        self.entries.push(Entry::new(offset));
    }

    fn index_bytes(&self) -> usize {
        let parts = [
            self.entries.bytes(),
            self.seqs.bytes(),
            self.hash.bytes(),
            self.ranges.bytes(),
            self.runs.bytes(),
        ];
        size_of::<Self>() + parts.iter().sum::<usize>()
    }
}

impl Memtable for VecMemtable {
    fn segment(&self) -> &Arc<SegmentReader> {
        &self.segment
    }

    #[cfg(test)]
    fn allows_concurrent_insert(&self) -> bool {
        false
    }

    fn get(&self, key: &[u8], hash: u64, seq: u64) -> Option<InSegment> {
        let fingerprint = fingerprint(hash);
        let arena = Arena::of(&self.segment);
        for number in self.waiting.newest_first(self.entries.len(), fingerprint) {
            if let Some(found) = self.version(number, key, seq, arena) {
                return Some(found);
            }
        }
        let mut number = self.hash.newest(fingerprint)?;
        loop {
            if let Some(found) = self.version(number, key, seq, arena) {
                return Some(found);
            }
            number = self.entries.get(number).before()?;
        }
    }

    fn cursor(self: Arc<Self>, seq: u64) -> Box<dyn Cursor> {
        // The length first: of what comes later, nobody knows yet which sequence numbers it has.
        let len = self.entries.len();
        let visible = self.count_through(seq).min(len);
        let view = self.runs.view(visible, &self.entries, &self.segment);
        Box::new(VecCursor::new(self, view, visible))
    }

    fn sorted(self: Arc<Self>) -> Sorted {
        if self.rising.so_far() {
            return Sorted::as_inserted(self);
        }
        let items = self.runs.all(&self.entries, &self.segment);
        Sorted::numbered(self, items)
    }

    fn range_tombstone_count(&self) -> usize {
        self.ranges.count()
    }

    fn range_tombstones(&self) -> Arc<[RangeTombstone]> {
        self.ranges.list(&self.segment)
    }

    fn len(&self) -> usize {
        self.entries.len() as usize
    }
}
