//! A partition as it is written.

use super::directory::DirectoryEncoder;
use super::keys::separator;
use crate::Result;
use crate::sstable::wire::put_varint;
use crate::sstable::{BlockMeta, TableBuilder};

/// A partition ends when it has this many keys, however small they are.
const PARTITION_KEYS: usize = 64 << 10;

/// Collects what a partition needs beside its data chunks.
#[derive(Debug)]
pub(super) struct PartitionEncoder {
    filter: bool,
    partition_bytes: u64,
    start: u64,
    min_key: Vec<u8>,
    entries: u64,
    hashes: Vec<u64>,
    directory: DirectoryEncoder,
    scratch: Vec<u8>,
}

impl PartitionEncoder {
    pub(super) fn new(filter: bool, partition_bytes: u64) -> Self {
        Self {
            filter,
            // Places in a partition are 32-bit numbers, and its last block may be large.
            partition_bytes: partition_bytes.min(1 << 30),
            start: 0,
            min_key: Vec::new(),
            entries: 0,
            hashes: Vec::new(),
            directory: DirectoryEncoder::default(),
            scratch: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Begins a partition with this key, at this place of the file.
    pub(super) fn begin(&mut self, key: &[u8], start: u64) {
        self.start = start;
        self.min_key.clear();
        self.min_key.extend_from_slice(key);
    }

    /// Counts a row. `hash` is that of its key, if the row before it has another one.
    #[inline]
    pub(super) fn add(&mut self, hash: Option<u64>) {
        self.entries += 1;
        if let Some(hash) = hash {
            self.hashes.push(hash);
        }
    }

    /// A data chunk ended at this place of the file, with this version; `next` is the key that comes next.
    pub(super) fn end_chunk(&mut self, end: u64, (key, seq): (&[u8], u64), next: Option<&[u8]>) {
        // Far below 4 GiB: `partition_bytes`, and one block more.
        let end = (end - self.start) as u32;
        match next {
            Some(next) if next == key => self.directory.push(end, key, seq),
            Some(next) => self.directory.push(end, separator(key, next, &mut self.scratch), 0),
            None => self.directory.push(end, key, 0),
        }
    }

    /// Whether the partition is large enough to end, with the data chunk that ended at this place of the file.
    pub(super) fn is_full(&self, end: u64) -> bool {
        end - self.start >= self.partition_bytes || self.hashes.len() >= PARTITION_KEYS
    }

    /// Writes the directory of the partition that ended with this version, has its filter made, and begins the next.
    pub(super) fn finish(&mut self, builder: &mut TableBuilder, (key, seq): (&[u8], u64)) -> Result<()> {
        builder.begin_chunk()?;
        self.directory.finish(builder.chunk_buffer());
        let directory = builder.end_chunk()?;
        let mut user = Vec::new();
        put_varint(&mut user, seq);
        let min_key = self.min_key.clone();
        let (entries, filters) = (self.entries, Vec::new());
        let meta = BlockMeta { min_key, max_key: key.to_vec(), entries, directory, filters, user };
        if self.filter {
            // The next partition has about as many.
            let next = Vec::with_capacity(self.hashes.len());
            builder.add_block_with_filter_of(meta, std::mem::replace(&mut self.hashes, next))?;
        } else {
            builder.add_block(meta)?;
        }
        self.entries = 0;
        Ok(())
    }
}
