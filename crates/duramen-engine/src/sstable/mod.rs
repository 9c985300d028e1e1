//! Immutable tables.

use crate::Result;

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
    /// What the file system said.
    fn add_chunk(&mut self, bytes: &[u8]) -> Result<ChunkHandle>;
}

/// Gives chunks back.
pub trait ChunkSource: Send + Sync + std::fmt::Debug {
    /// Reads a chunk and verifies its checksum.
    ///
    /// # Errors
    /// What the file system said, or [`crate::Error::Corruption`].
    fn read_chunk(&self, handle: ChunkHandle) -> Result<Vec<u8>>;
}
