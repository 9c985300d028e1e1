//! What every system has to do here, and nothing more.
//!
//! The loops over entries lie in the systems' own code, so that each is called in its own best way (a batch, one
//! transaction for many reads) and none pays for the abstraction more than one indirect call per operation.

use crate::Result;
use crate::data::{Entries, Fold};

/// An open store.
pub(crate) trait Store: Send + Sync {
    /// Writes all entries, returns when the last one is acknowledged.
    fn load(&self, entries: &mut Entries) -> Result<()>;

    /// Brings the store into the shape that it reads best from: flushed and, where there is such a thing,
    /// compacted.
    fn settle(&self) -> Result<()>;

    /// Lends a reader of the store as it is now.
    fn read(&self, with: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()>;

    /// What one thread reads and writes with; every write is seen by the next read, of any thread.
    fn session(&self) -> Result<Box<dyn Session + '_>>;

    /// Brings everything into its final files, and closes the store.
    fn close(self: Box<Self>) -> Result<()>;
}

/// Reads the store as it was when the reader began.
pub(crate) trait Reader {
    /// The [tag](crate::data::tag_of) of a key's value.
    fn get(&mut self, key: &[u8]) -> Result<Option<u64>>;

    /// Reads everything, in order of the keys.
    fn scan(&mut self) -> Result<Fold>;

    /// A key's whole value.
    fn get_value(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>>;
}

/// Reads and writes, one at a time.
pub(crate) trait Session {
    /// Writes an entry; acknowledged as the system's durability says.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// The [tag](crate::data::tag_of) of a key's value, as of now.
    fn get(&mut self, key: &[u8]) -> Result<Option<u64>>;

    /// Deletes the entry whose key is the lowest; the [tag](crate::data::tag_of) of its value.
    fn take_first(&mut self) -> Result<Option<u64>> {
        Err("it is no queue".into())
    }
}
