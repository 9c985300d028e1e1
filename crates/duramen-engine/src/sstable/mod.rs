//! Immutable tables: checksummed chunks, grouped into blocks, found through a sparse index.
//!
//! A *chunk* is the unit of reading and of checksums. A *block* is what a [`BlockCodec`] makes of some
//! rows: one or more chunks, of which the *directory* leads to the others. The table's index knows each
//! block's key range, directory and filter, so that a reader touches only the chunks it needs.
//!
//! | module | what it holds |
//! |---|---|
//! | `format` | every byte of the file: header, frames, footer |
//! | `wire` | varints and length-prefixed bytes, of which the rest is made |
//! | `index` | the index and the properties: two chunks of the table's own |
//! | `builder` | [`TableBuilder`]: writes a table under a temporary name, syncs it and renames it |
//! | `unsynced` | [`UnsyncedTable`]: a table that has been written, until it has its final name |
//! | `write_behind` | a thread that writes what the builder has made |
//! | `table` | [`Table`]: opens one by its footer, or several at once ([`Opening`]), and reads chunks |
//! | `verify` | [`Table::verify`]: reads every byte and lists every damage |
//! | `dump` | header, footer, properties and index, line by line |
//! | `memory` | [`MemoryChunks`]: chunks in memory, for whoever tests a codec |
//! | [`filter`] | binary fuse filters: whether a block may hold something |
//! | [`rows`] | the engine's own codec: prefix-compressed sorted rows |

pub mod filter;
pub mod rows;

mod builder;
mod dump;
mod format;
mod index;
mod memory;
mod table;
mod unsynced;
mod verify;
pub(crate) mod wire;
mod write_behind;

pub use builder::{TableBuilder, TableInfo};
pub(crate) use dump::dump;
pub(crate) use format::{FOOTER_BYTES, HEADER_BYTES, HEADER_MAGIC, could_be_footer};
pub use format::{FRAME_BYTES, MAX_CHUNK_BYTES};
pub use memory::MemoryChunks;
pub(crate) use memory::check_frame;
pub(crate) use table::TableParts;
pub use table::{Opening, Table};
pub use unsynced::UnsyncedTable;
pub use verify::{Damage, Part, TableReport};

use crate::{Error, Result};
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

/// Where a chunk of a table lies: its payload's offset in the file and its length, both without the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkHandle {
    /// Offset of the payload, in bytes from the start of the file.
    pub offset: u64,
    /// Length of the payload in bytes.
    pub len: u32,
}

/// Takes the chunks of a block as its codec makes them.
pub trait ChunkSink {
    /// Appends a chunk, with its checksum, and says where it is.
    ///
    /// # Errors
    /// What the file system said; [`Error::InvalidArgument`] for more than [`MAX_CHUNK_BYTES`].
    fn add_chunk(&mut self, bytes: &[u8]) -> Result<ChunkHandle>;
}

/// Gives chunks back.
pub trait ChunkSource: Send + Sync + std::fmt::Debug {
    /// Reads a chunk and verifies its checksum.
    ///
    /// # Errors
    /// What the file system said, or [`Error::Corruption`].
    fn read_chunk(&self, handle: ChunkHandle) -> Result<Vec<u8>>;

    /// Says that a chunk will be read soon. Only a hint, which never fails and does not wait.
    fn will_read(&self, handle: ChunkHandle) {
        let _nothing_to_do = handle;
    }

    /// The file the chunks lie in, for messages.
    fn path(&self) -> &Path {
        Path::new("(memory)")
    }

    /// The error for a chunk whose checksum holds but whose content makes no sense to its codec.
    fn corruption(&self, handle: ChunkHandle, detail: &dyn Display) -> Error {
        Error::corruption(self.path(), handle.offset, detail)
    }
}

/// What the index knows of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockMeta {
    /// The smallest key in the block, by bytes.
    pub min_key: Vec<u8>,
    /// The largest.
    pub max_key: Vec<u8>,
    /// How many entries it holds; at least 1.
    pub entries: u64,
    /// The chunk that leads to all others of the block.
    pub directory: ChunkHandle,
    /// The chunks with the block's filter, or with the parts of it, at most 255; none, if it has no filter. They lie in the block,
    /// or behind all blocks ([`TableBuilder::add_block_with_filters`]).
    pub filters: Vec<ChunkHandle>,
    /// The codec's own facts, kept in the index: what decides whether to read the block at all.
    pub user: Vec<u8>,
}

/// Turns rows into the chunks of a block and back. The engine's own is [`rows::RowCodec`].
pub trait BlockCodec {
    /// The codec's number, recorded in the table. A table is never read with another codec.
    const ID: u32;
    /// What is encoded.
    type Rows<'a>;
    /// A block opened for reading.
    type Block;

    /// Writes a block's chunks and says what the index should know of it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for rows that cannot be encoded, or what the sink said.
    fn encode(&self, rows: Self::Rows<'_>, out: &mut dyn ChunkSink) -> Result<BlockMeta>;

    /// Opens a block. It may keep `source` to read chunks when asked for them.
    ///
    /// # Errors
    /// What the source said, or [`Error::Corruption`] where a chunk makes no sense.
    fn open(&self, source: Arc<dyn ChunkSource>, meta: &BlockMeta) -> Result<Self::Block>;
}
