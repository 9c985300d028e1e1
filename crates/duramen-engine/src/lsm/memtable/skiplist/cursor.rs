//! Going through a skip list, a batch at a time: finding one's way into the list is what costs, and so is not done for
//! every step.

use super::SkiplistMemtable;
use super::list::{Seen, SeqAndOffset};
use super::version::Version;
use crate::Result;
use crate::kv::OpKind;
use crate::lsm::cursor::Cursor;
use crate::lsm::memtable::Memtable;
use crate::lsm::memtable::arena::Arena;
use crate::lsm::memtable::held::Held;
use std::ops::Bound;
use std::sync::Arc;

/// How large the first batch after a seek is. Each is twice as large as the one before.
const FIRST_BATCH: usize = 4;
/// How large they get.
const MOST_BATCH: usize = 64;

pub(super) struct SkiplistCursor {
    memtable: Arc<SkiplistMemtable>,
    held: Held,
    seen: Seen,
    /// How many cache lines an op has.
    lines: usize,
    /// Consecutive versions that this cursor may see, in the order in which it goes.
    batch: Vec<SeqAndOffset>,
    /// Where in the batch it is.
    at: usize,
    /// Whether the batch goes to greater versions.
    going_on: bool,
    /// How large the next batch is to be.
    next_len: usize,
}

impl SkiplistCursor {
    pub(super) fn new(memtable: Arc<SkiplistMemtable>, seq: u64) -> Self {
        let held = Held::new(Arc::clone(memtable.segment()));
        Self {
            // What is appended from now on is not there yet.
            seen: Seen { seq, end: held.arena().end() },
            lines: held.arena().lines_per_op(memtable.len()),
            memtable,
            held,
            batch: Vec::new(),
            at: 0,
            going_on: true,
            next_len: FIRST_BATCH,
        }
    }

    /// Reads a batch from `from` on, or backwards from there.
    fn read(&mut self, from: Bound<Version<'_>>, going_on: bool) {
        self.at = 0;
        self.going_on = going_on;
        self.batch.clear();
        self.memtable.list.read(from, going_on, self.seen, self.next_len, &mut self.batch);
        self.next_len = (self.next_len * 2).min(MOST_BATCH);
        let arena = self.held.arena();
        self.batch.iter().for_each(|(_, offset)| arena.ask_for(*offset, self.lines));
    }

    /// Reads a batch, the first one of a new place.
    fn start(&mut self, from: Bound<Version<'_>>, going_on: bool) {
        self.next_len = FIRST_BATCH;
        self.read(from, going_on);
        self.arrive();
    }

    fn step(&mut self, going_on: bool) {
        if !self.held.valid() {
            return;
        }
        if self.going_on == going_on {
            self.at += 1;
        } else if self.at > 0 {
            // Back over what the batch has already.
            self.at -= 1;
            return self.arrive();
        }
        if self.at >= self.batch.len() || self.going_on != going_on {
            let last = if self.going_on == going_on { self.batch.last() } else { self.batch.first() };
            let Some(&(seq, offset)) = last else { return };
            let memtable = Arc::clone(&self.memtable);
            let key = Arena::of(memtable.segment()).key(offset);
            self.read(Bound::Excluded(Version::new(key, seq, offset)), going_on);
        }
        self.arrive();
    }

    fn arrive(&mut self) {
        self.held.go_to(self.batch.get(self.at).map(|(_, offset)| *offset));
    }
}

impl Cursor for SkiplistCursor {
    fn seek_to_first(&mut self) -> Result<()> {
        self.start(Bound::Unbounded, true);
        Ok(())
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.start(Bound::Unbounded, false);
        Ok(())
    }

    fn seek(&mut self, key: &[u8], seq: u64) -> Result<()> {
        self.start(Bound::Included(Version::sought(key, seq)), true);
        Ok(())
    }

    fn seek_before(&mut self, key: &[u8], seq: u64) -> Result<()> {
        self.start(Bound::Excluded(Version::sought(key, seq)), false);
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        self.step(true);
        Ok(())
    }

    fn prev(&mut self) -> Result<()> {
        self.step(false);
        Ok(())
    }

    #[inline]
    fn valid(&self) -> bool {
        self.held.valid()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.held.key()
    }

    #[inline]
    fn seq(&self) -> u64 {
        self.batch.get(self.at).map_or(0, |(seq, _)| *seq)
    }

    #[inline]
    fn kind(&self) -> OpKind {
        self.held.kind()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.held.value()
    }
}
