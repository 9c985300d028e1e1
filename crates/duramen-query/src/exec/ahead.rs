//! Asking for blocks before it is their turn, so that the device, which can do much at once, has always something to do.
//!
//! A query that comes to a block whose bytes are in no cache would wait for its directory, then for its filter, then for
//! the columns, one after another. Instead the end of each block, where the directory lies, and its filter are asked for
//! [`BLOCKS_OPENED_AHEAD`] blocks before; and of those which may match, [`BLOCKS_READ_AHEAD`] blocks before, the columns.
//! Where words of messages are sought, filters alone tell whether to open a block: they are asked for
//! [`BLOCKS_LOOKED_AT_AHEAD`] blocks before, and only where they say so, the directory.
//! What is in memory already costs a look at the cache of blocks.

use super::read::Reader;
use duramen::block::BlockHandle;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// So many blocks before one is read, what tells whether it need be is asked for: of many blocks, it lies side by side.
const BLOCKS_LOOKED_AT_AHEAD: usize = 64;
/// So many blocks before one is read, what leads to it is asked for; four for each thread, if there are many.
const BLOCKS_OPENED_AHEAD: usize = 16;
/// So many blocks before one is read, what the query looks at in it is asked for; one for each thread, if there are many: what
/// is opened ahead is nobody's yet.
const BLOCKS_READ_AHEAD: usize = 4;

/// Further by so many with each block that is read, so that the first does not wait for many.
const LOOKED_FURTHER: usize = 4;

/// Which blocks' filters are asked for when the block of this number is about to be read, if what leads to blocks is so many
/// before.
fn looked_at(number: usize, opened_ahead: usize) -> RangeInclusive<usize> {
    let most = BLOCKS_LOOKED_AT_AHEAD.max(2 * opened_ahead);
    let last = |number: usize| (opened_ahead + LOOKED_FURTHER * number).min(number + most);
    number.checked_sub(1).map_or(0, |before| last(before) + 1)..=last(number)
}

/// Blocks that are read one after another, by one thread or several.
#[derive(Clone, Copy)]
pub(crate) struct Ahead<'a> {
    pub reader: Reader<'a>,
    pub blocks: &'a [Arc<dyn BlockHandle>],
}

impl Ahead<'_> {
    /// To be called when the block of this number is about to be read: asks for later ones.
    pub fn of(&self, number: usize) {
        let Reader { told, looks, threads, .. } = self.reader;
        let opened_ahead = BLOCKS_OPENED_AHEAD.max(threads.saturating_mul(4));
        if told.asks_for_messages() {
            looked_at(number, opened_ahead)
                .filter_map(|number| self.opened(number))
                .for_each(|handle| handle.will_look(looks));
        }
        let first = if number == 0 { 0 } else { number + opened_ahead };
        (first..=number + opened_ahead)
            .filter_map(|number| self.opened(number))
            .filter(|handle| told.may_have_messages(*handle, true))
            .for_each(|handle| handle.will_open(looks));
        if let Some(handle) = self.opened(number + BLOCKS_READ_AHEAD.max(threads)) {
            self.reader.will_read(handle);
        }
    }

    /// The block, if it is there and will be opened, and is not open yet.
    fn opened(&self, number: usize) -> Option<&dyn BlockHandle> {
        let handle = &**self.blocks.get(number)?;
        (!handle.is_open() && self.reader.may_match(handle)).then_some(handle)
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
        assert_eq!(looked_at(500, 100), 700..=700);
    }
}
