//! The skip list, together with the segment that its keys lie in.
//!
//! What makes it sound: a segment's bytes below its counter never change or move while its reader lives; the list only
//! has keys from there, and keeps the reader. No key leaves this module with a life of its own.
#![allow(unsafe_code)] // to the compiler, the keys in the list live for ever

use super::version::Version;
use crate::lsm::memtable::arena::Arena;
use crate::wal::SegmentReader;
use crossbeam_skiplist::SkipSet;
use crossbeam_skiplist::set::Entry;
use std::borrow::Borrow;
use std::ops::Bound;
use std::sync::Arc;

/// A version in the list: to be used only while the segment's reader is there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place(Version<'static>);

/// So that the list can be searched for any key, however long it lives.
impl<'a> Borrow<Version<'a>> for Place {
    #[inline]
    fn borrow(&self) -> &Version<'a> {
        &self.0
    }
}

/// Sequence number, and offset in the segment.
pub(super) type SeqAndOffset = (u64, u32);

/// What a reader may see: what is not newer than `seq` and lies below `end` in the segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) seq: u64,
    pub(super) end: usize,
}

/// All versions, in order. Any number of threads may insert and read.
pub(super) struct List {
    // Before the segment, and so dropped before it.
    places: SkipSet<Place>,
    segment: Arc<SegmentReader>,
}

/// What a version takes: itself, a word of the list's, a tower of two pointers on average, and what the allocator adds.
pub(super) const NODE_BYTES: usize = size_of::<Place>() + 8 + 16 + 12;

impl List {
    pub(super) fn new(segment: Arc<SegmentReader>) -> Self {
        Self { places: SkipSet::new(), segment }
    }

    pub(super) fn segment(&self) -> &Arc<SegmentReader> {
        &self.segment
    }

    /// Adds the op at `offset` of the segment.
    #[inline]
    pub(super) fn insert(&self, seq: u64, offset: u32) {
        let key = Arena::of(&self.segment).key(offset);
        // SAFETY: pointer and length are those of a slice, whose bytes stay as long as the reader, which this list has
        // and drops after the places. They are only given out, in this module, for as long as the list is borrowed.
        let key: &'static [u8] = unsafe { std::slice::from_raw_parts(key.as_ptr(), key.len()) };
        self.places.insert(Place(Version::new(key, seq, offset)));
    }

    /// The newest version of a key that is not newer than `seq`.
    #[inline]
    pub(super) fn find(&self, key: &[u8], seq: u64) -> Option<SeqAndOffset> {
        let entry = self.places.lower_bound(Bound::Included(&Version::sought(key, seq)))?;
        let found: &Version<'_> = &entry.value().0;
        (found.key() == key).then_some((found.seq, found.offset))
    }

    /// Up to `most` of the versions that `seen` has, from `from` on; or if not `going_on`, backwards from there.
    pub(super) fn read(
        &self,
        from: Bound<Version<'_>>,
        going_on: bool,
        seen: Seen,
        most: usize,
        found: &mut Vec<SeqAndOffset>,
    ) {
        let seen = |entry: Entry<'_, Place>| {
            let version = &entry.value().0;
            let is_seen = version.seq <= seen.seq && (version.offset as usize) < seen.end;
            is_seen.then_some((version.seq, version.offset))
        };
        if going_on {
            found.extend(self.places.range((from, Bound::Unbounded)).filter_map(seen).take(most));
        } else {
            found.extend(self.places.range((Bound::Unbounded, from)).rev().filter_map(seen).take(most));
        }
    }

    /// All there are.
    pub(super) fn all(&self) -> Vec<SeqAndOffset> {
        self.places.iter().map(|entry| (entry.value().0.seq, entry.value().0.offset)).collect()
    }
}
