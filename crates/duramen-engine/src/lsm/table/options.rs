//! How a table is written, and what became of it.

use crate::lsm::{Compression, LsmOptions};

/// How a table is written: from [`LsmOptions`], whose fields these are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableOptions {
    pub(crate) block_size: usize,
    /// 1 to 1024.
    pub(crate) block_restart_interval: u16,
    pub(crate) filter: bool,
    pub(crate) compression: Compression,
    /// A partition ends with the data chunk that brings it to this many bytes. Larger ones make the table's index
    /// smaller and their filters larger.
    pub(crate) partition_bytes: u64,
}

/// 16,000 rows of 128 bytes: their filter takes 20 KB, and 300 KB while it is built.
const PARTITION_BYTES: u64 = 2 << 20;

impl From<&LsmOptions> for TableOptions {
    fn from(options: &LsmOptions) -> Self {
        Self {
            block_size: options.block_size,
            block_restart_interval: options.block_restart_interval.clamp(1, 1024) as u16,
            filter: options.filter,
            compression: options.compression,
            partition_bytes: PARTITION_BYTES,
        }
    }
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableSummary {
    /// A random number that no other table has; 0 if there is none.
    pub(crate) id: u64,
    pub(crate) file_bytes: u64,
    /// How many versions there are, deleted ranges not counted.
    pub(crate) entries: u64,
    /// How many data blocks.
    pub(crate) blocks: u64,
    /// The smallest user key, that of a deleted range included.
    pub(crate) smallest: Vec<u8>,
    /// The largest, that of a deleted range included. A range that ends before a key ends with the greatest key below
    /// it, if there is one (if the end's last byte is 0), or else, by excess, with the end itself.
    pub(crate) largest: Vec<u8>,
    /// The smallest sequence number, those of deleted ranges included.
    pub(crate) min_seq: u64,
    pub(crate) max_seq: u64,
    /// How many versions delete a key.
    pub(crate) deletes: u64,
    /// How many versions are older than another one of the same key.
    pub(crate) old_versions: u64,
    /// How many deleted ranges.
    pub(crate) range_deletes: u64,
    /// Bytes of all keys and of all values, as they came.
    pub(crate) raw_key_bytes: u64,
    pub(crate) raw_value_bytes: u64,
}
