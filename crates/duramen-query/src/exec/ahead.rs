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
use std::sync::Arc;

/// So many blocks before one is read, what tells whether it need be is asked for: of many blocks, it lies side by side.
const BLOCKS_LOOKED_AT_AHEAD: usize = 64;
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
        let Reader { told, looks, threads, .. } = self.reader;
        let these = |ahead: usize| if number == 0 { 0..=ahead } else { number + ahead..=number + ahead };
        let opened_ahead = BLOCKS_OPENED_AHEAD.max(threads.saturating_mul(4));
        if told.asks_for_messages() {
            these(BLOCKS_LOOKED_AT_AHEAD.max(2 * opened_ahead))
                .filter_map(|number| self.opened(number))
                .for_each(|handle| handle.will_look(looks));
        }
        these(opened_ahead)
            .filter_map(|number| self.opened(number))
            .filter(|handle| told.may_have_messages(*handle, true))
            .for_each(|handle| handle.will_open(looks));
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
