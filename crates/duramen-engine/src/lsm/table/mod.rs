//! A sorted table of versions: writing it, finding in it, caching its blocks.
//!
//! A table is a file of the [`sstable`](crate::sstable) container. A block of the container is a *partition*: about
//! 2 MiB of rows.
//!
//! ```text
//! file        partition * n | deleted ranges, if any | filters, if any | the container's index, properties and footer
//! partition   data chunk * n | directory
//! data chunk  some rows: about `block_size` bytes (`block`), perhaps compressed (`compress`)
//! filter      binary fuse filter over the XXH3-64 of the partition's keys: small enough for the processor's cache
//! directory   the sparse index of the partition: where each data chunk is, and which keys are in it (`directory`)
//! index       of each partition its first and last key; its `user` bytes: the sequence number of its last
//!             version, varint
//! ```
//!
//! So opening a table reads the small index of partitions; a partition's filter and directory are read when first
//! needed, and stay; a get then costs at most one block, a miss mostly nothing.
//!
//! Versions of one key may lie in several blocks, and several partitions.
//!
//! | module | one idea |
//! |---|---|
//! | `options` | [`TableOptions`]: how a table is written |
//! | `block` | some rows, in order, and what it takes to find one among them |
//! | `compress` | whether a block is compressed |
//! | `keys` | a sorted list of keys to search |
//! | `directory` | where the blocks of a partition lie and which keys are in which |
//! | `encode` | a partition as it is written |
//! | `tombstones` | the chunk of deleted ranges |
//! | `properties` | facts about the whole table, by name |
//! | `writer` | [`TableWriter`]: writes a table |
//! | `partition` | the filter and the directory of a partition, in memory |
//! | `reader` | [`TableReader`]: an open table |
//! | `cursor` | going through a table, both ways |
//! | `readahead` | several blocks by one read |
//! | `cache` | [`BlockCache`]: blocks in memory |
//! | `files` | how many files are open |
//! | `dump` | a table, line by line |
//! | `walk` | going through a table whatever of it is damaged |
//! | `open` | [`TableCache`]: the open tables of a store |

mod block;
mod cache;
mod compress;
mod cursor;
mod directory;
mod dump;
mod encode;
mod files;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod keys;
mod open;
mod options;
mod partition;
mod properties;
mod readahead;
mod reader;
mod tombstones;
mod walk;
mod writer;

#[cfg(test)]
mod measure;
#[cfg(test)]
mod tests;

pub(crate) use block::MAX_SEQ;
pub(crate) use cursor::TableCursor;
pub(crate) use dump::dump;
pub(crate) use open::TableCache;
pub(crate) use options::{TableOptions, TableSummary};
pub(crate) use properties::{MadeOf, Origin, id_of, origin_of};
pub(crate) use reader::TableReader;
pub(crate) use walk::{DamagedPart, Item, Role, TableWalk};
pub(crate) use writer::{PendingSync, TableWriter};

/// The container's number of this codec.
pub(crate) const CODEC_ID: u32 = 3;
