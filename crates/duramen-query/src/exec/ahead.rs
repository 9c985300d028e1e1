//! Asking for blocks before it is their turn, so that the device, which can do much at once, has always something to do.
//!
//! A query that comes to a block whose bytes are in no cache would wait for its directory, then for its filter, then for
//! the columns, one after another. Instead the end of each block, where directory and filter lie, is asked for
//! [`BLOCKS_OPENED_AHEAD`] blocks before; and of those which may match, [`BLOCKS_READ_AHEAD`] blocks before, the columns.
//! What is in memory already costs a look at the cache of blocks.

use super::read::Reader;
use duramen::block::BlockHandle;
use std::sync::Arc;

/// So many blocks before one is read, what leads to it is asked for; four for each thread, if there are many.
const BLOCKS_OPENED_AHEAD: usize = 16;
/// So many blocks before one is read, what the query looks at in it is asked for; one for each thread, if there are many: what
/// is opened ahead is nobody's yet.
const BLOCKS_READ_AHEAD: usize = 4;

/// Blocks that are read one after another, by one thread or several.
#[derive(Clone, Copy)]
pub(crate) struct Ahead<'a> {
    pub reader: Reader<'a>,
    pub blocks: &'a [Arc<dyn BlockHandle>],
}

impl Ahead<'_> {
    /// To be called when the block of this number is about to be read: asks for later ones.
    pub fn of(&self, number: usize) {
        let opened_ahead = BLOCKS_OPENED_AHEAD.max(self.reader.threads.saturating_mul(4));
        let first = if number == 0 { 0 } else { number + opened_ahead };
        for number in first..=number + opened_ahead {
            if let Some(handle) = self.opened(number) {
                handle.will_open(self.reader.looks);
            }
        }
        if let Some(handle) = self.opened(number + BLOCKS_READ_AHEAD.max(self.reader.threads)) {
            self.reader.will_read(handle);
        }
    }

    /// The block, if it is there and will be opened, and is not open yet.
    fn opened(&self, number: usize) -> Option<&dyn BlockHandle> {
        let handle = &**self.blocks.get(number)?;
        (!handle.is_open() && self.reader.may_match(handle)).then_some(handle)
    }
}
