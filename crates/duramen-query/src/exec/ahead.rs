//! Asking for blocks before it is their turn, so that the device, which can do much at once, has always something to do.
//!
//! A query that comes to a block whose bytes are in no cache would wait for its directory, then for its filter, then for
//! the columns, one after another. Instead the end of each block, where the directory lies, and its filter are asked for
//! [`BLOCKS_OPENED_AHEAD`] blocks before; and of those which may match, [`BLOCKS_READ_AHEAD`] blocks before, the columns.
//! Where words are sought, filters alone tell whether to open a block: they are asked for
//! [`BLOCKS_LOOKED_AT_AHEAD`] blocks before, and only where they say so, the directory.
//! What is in memory already costs a look at the cache of blocks.

use super::read::Reader;
use duramen::block::BlockHandle;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// So many blocks before one is read, what tells whether it need be is asked for: of many blocks, it lies side by side. Fewer
/// than the tables that stay open, for each block may lie in another.
const BLOCKS_LOOKED_AT_AHEAD: usize = 128;
/// So many blocks before one is read, what leads to it is asked for; four for each thread, if there are many.
const BLOCKS_OPENED_AHEAD: usize = 16;
/// So many blocks before one is read, what the query looks at in it is asked for; one for each thread, if there are many: what
/// is opened ahead is nobody's yet.
const BLOCKS_READ_AHEAD: usize = 4;

/// Further by so many with each block that is read, so that the first does not wait for many.
const LOOKED_FURTHER: usize = 8;

/// Which blocks' filters are asked for when the block of this number is about to be read, if what leads to blocks is so many
/// before.
fn looked_at(number: usize, opened_ahead: usize) -> RangeInclusive<usize> {
    let most = BLOCKS_LOOKED_AT_AHEAD.max(2 * opened_ahead);
    let last = |number: usize| (opened_ahead + LOOKED_FURTHER * number).min(number + most);
    number.checked_sub(1).map_or(0, |before| last(before) + 1)..=last(number)
}

/// Nothing is known of a block yet.
const UNKNOWN: u8 = 0;
/// It may match, as far as its table tells. Its filter may say more once it is read.
const MAY: u8 = 1;
/// It cannot match.
const CANNOT: u8 = 2;

/// Blocks that are read one after another, by one thread or several.
pub(crate) struct Ahead<'a> {
    pub reader: Reader<'a>,
    pub blocks: &'a [Arc<dyn BlockHandle>],
    /// What is known of each: it is asked of the same block again and again.
    known: Vec<AtomicU8>,
}

impl<'a> Ahead<'a> {
    pub fn new(reader: Reader<'a>, blocks: &'a [Arc<dyn BlockHandle>]) -> Self {
        let known = blocks.iter().map(|_| AtomicU8::new(UNKNOWN)).collect();
        Self { reader, blocks, known }
    }

    /// To be called when the block of this number is about to be read: asks for later ones.
    pub fn of(&self, number: usize) {
        let Reader { told, looks, threads, cancel, .. } = self.reader;
        if cancel.is_brief() {
            return;
        }
        let opened_ahead = BLOCKS_OPENED_AHEAD.max(threads.saturating_mul(4));
        if told.asks_for_words() {
            looked_at(number, opened_ahead)
                .filter_map(|number| self.opened(number))
                .for_each(|handle| handle.will_look(looks));
        }
        let first = if number == 0 { 0 } else { number + opened_ahead };
        (first..=number + opened_ahead)
            .filter_map(|number| self.opened(number).filter(|_| self.may_have_words(number, true)))
            .for_each(|handle| handle.will_open(looks));
        if let Some(handle) = self.opened(number + BLOCKS_READ_AHEAD.max(threads)) {
            self.reader.will_read(handle);
        }
    }

    /// The block, if it is there and will be opened, and is not open yet.
    fn opened(&self, number: usize) -> Option<&dyn BlockHandle> {
        let handle = &**self.blocks.get(number)?;
        (!self.is_passed_over(number) && !handle.is_open() && self.may_match(number)).then_some(handle)
    }

    /// Whether it is known that no row of the block matches.
    pub fn is_passed_over(&self, number: usize) -> bool {
        self.known.get(number).is_some_and(|known| known.load(Ordering::Relaxed) == CANNOT)
    }

    /// Whether a row of the block may match, as far as that is known before it is opened.
    pub fn may_match(&self, number: usize) -> bool {
        let (Some(known), Some(handle)) = (self.known.get(number), self.blocks.get(number)) else {
            return false;
        };
        match known.load(Ordering::Relaxed) {
            CANNOT => false,
            MAY => self.may_have_words(number, false),
            _ => {
                let may = self.reader.may_match(&**handle);
                known.store(if may { MAY } else { CANNOT }, Ordering::Relaxed);
                may
            }
        }
    }

    /// Whether its values may have the words that they need; if it `reads`, it finds out.
    pub fn may_have_words(&self, number: usize, reads: bool) -> bool {
        let (Some(known), Some(handle)) = (self.known.get(number), self.blocks.get(number)) else {
            return false;
        };
        let may = self.reader.told.may_have_words(&**handle, reads);
        if !may {
            known.store(CANNOT, Ordering::Relaxed);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_asked_for_once_each_and_before_what_they_lead_to() {
        let mut next = 0;
        for number in 0..1000 {
            let asked = looked_at(number, 16);
            assert_eq!(*asked.start(), next);
            assert!(number == 0 || asked.clone().count() <= LOOKED_FURTHER);
            next = asked.end() + 1;
            assert!((number + 16..=number + BLOCKS_LOOKED_AT_AHEAD).contains(asked.end()));
        }
        assert_eq!(looked_at(0, 16), 0..=16, "the first does not wait for more");
        assert_eq!(looked_at(500, 200), 900..=900);
    }
}
