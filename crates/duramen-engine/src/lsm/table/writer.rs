//! Writing a table.

use super::block::{BlockEncoder, MAX_SEQ};
use super::compress::{Compressor, end_plain};
use super::encode::PartitionEncoder;
use super::{CODEC_ID, MadeOf, TableOptions, TableSummary, properties, tombstones};
use crate::io::Env;
use crate::kv::{OpKind, check_key, check_value, shared_len};
use crate::lsm::cursor::RangeTombstone;
use crate::sstable::{ChunkSink, TableBuilder, UnsyncedTable};
use crate::{Error, Result};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// What a row takes at most, beside key and value, in a block of usual size: lengths, its share of a restart.
const ROW_OVERHEAD_BYTES: usize = 11;

/// Writes a table: versions in the order of cursors, ranges in any. Dropped before [`TableWriter::finish`], it leaves
/// nothing behind. After a failed write every later call says [`Error::Poisoned`].
#[derive(Debug)]
pub(crate) struct TableWriter {
    builder: TableBuilder,
    options: TableOptions,
    compressor: Option<Compressor>,
    /// A block, before it is compressed.
    scratch: Vec<u8>,
    block: BlockEncoder,
    partition: PartitionEncoder,
    last_key: Vec<u8>,
    last_seq: u64,
    ranges: Vec<RangeTombstone>,
    summary: TableSummary,
}

/// A table that is written but not yet durable: any thread can complete it. Dropped, it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct PendingSync {
    table: UnsyncedTable,
    summary: TableSummary,
}

impl PendingSync {
    /// What was written.
    pub(crate) fn summary(&self) -> &TableSummary {
        &self.summary
    }

    /// Gives the table its name before it is durable, so that it can be read.
    ///
    /// # Errors
    /// [`Error::Io`] for what the file system said.
    pub(crate) fn name(&mut self) -> Result<()> {
        self.table.name()
    }

    /// Syncs the table and gives it its name; then it survives a loss of power.
    ///
    /// # Errors
    /// [`Error::Io`] for what the file system said; then the table does not count.
    pub(crate) fn sync(self) -> Result<TableSummary> {
        self.table.sync()?;
        Ok(self.summary)
    }
}

impl TableWriter {
    /// Begins a table that will be called `path`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a file is called that already, or for a compression level that does not exist;
    /// [`Error::Io`] for what the file system said.
    pub(crate) fn create(env: &Env, path: &Path, options: &TableOptions) -> Result<Self> {
        Ok(Self {
            builder: TableBuilder::create(env, path, CODEC_ID)?,
            compressor: Compressor::new(options.compression)?,
            options: *options,
            scratch: Vec::new(),
            block: BlockEncoder::new(options.block_restart_interval),
            partition: PartitionEncoder::new(options.filter, options.partition_bytes),
            last_key: Vec::new(),
            last_seq: 0,
            ranges: Vec::new(),
            summary: TableSummary {
                // 0 says that a table has none.
                id: env.random.next_u64().max(1),
                min_seq: u64::MAX,
                ..TableSummary::default()
            },
        })
    }

    /// Records what the table is made of.
    pub(crate) fn made_of(&mut self, what: MadeOf) {
        if let Some(text) = what.text() {
            self.builder.set_property(properties::WAL_SEGMENT, text);
        }
    }

    /// Writes with a thread of its own from now on. Errors are told later.
    ///
    /// # Errors
    /// [`Error::Io`] if there can be no thread.
    pub(crate) fn write_behind(&mut self) -> Result<()> {
        self.builder.write_behind()
    }

    /// Adds a version.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if it does not come after the one before, in the order of cursors; if key, value or
    /// sequence number are over their limits; if `kind` is not that of a version. [`Error::Io`] for what the file
    /// system said.
    #[inline]
    pub(crate) fn add(&mut self, key: &[u8], seq: u64, kind: OpKind, value: &[u8]) -> Result<()> {
        check_key(key)?;
        check_value(value)?;
        let shared = shared_len(&self.last_key, key);
        let same_key = shared == key.len() && shared == self.last_key.len();
        let is_first = self.summary.entries == 0;
        let in_order =
            if same_key { seq < self.last_seq } else { self.last_key.get(shared) < key.get(shared) };
        if !(in_order || is_first) || seq > MAX_SEQ || kind == OpKind::DeleteRange {
            return Err(refusal(key, seq, kind));
        }
        let row_bytes = key.len() - shared + value.len() + ROW_OVERHEAD_BYTES;
        if !self.block.is_empty() && self.block.len() + row_bytes > self.options.block_size {
            self.end_block(Some(key))?;
        }
        let is_new_partition = self.partition.is_empty();
        if is_new_partition {
            self.partition.begin(key, self.builder.file_bytes());
        }
        self.block.add((key, shared), (seq, kind), value);
        let hash = (self.options.filter && (is_new_partition || !same_key)).then(|| xxh3_64(key));
        self.partition.add(hash);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(&key[shared..]);
        self.last_seq = seq;
        let summary = &mut self.summary;
        summary.entries += 1;
        summary.deletes += u64::from(kind == OpKind::Delete);
        summary.old_versions += u64::from(same_key && !is_first);
        summary.min_seq = summary.min_seq.min(seq);
        summary.max_seq = summary.max_seq.max(seq);
        summary.raw_key_bytes += key.len() as u64;
        summary.raw_value_bytes += value.len() as u64;
        Ok(())
    }

    /// Adds a deleted range.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if it ends before it begins, or if keys or sequence number are over their limits.
    pub(crate) fn add_range_tombstone(&mut self, range: &RangeTombstone) -> Result<()> {
        check_key(&range.start)?;
        check_key(&range.end)?;
        if range.start >= range.end || range.seq > MAX_SEQ {
            let (start, end, seq) = (range.start.escape_ascii(), range.end.escape_ascii(), range.seq);
            return Err(Error::InvalidArgument(format!(
                "no range can be deleted from {start} to {end} at {seq}"
            )));
        }
        self.ranges.push(range.clone());
        Ok(())
    }

    /// About how many bytes the file would have if it were finished now.
    #[inline]
    pub(crate) fn estimated_bytes(&self) -> u64 {
        self.builder.file_bytes() + self.block.len() as u64
    }

    /// The key of the version added last; empty before the first.
    pub(crate) fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// How many versions were added.
    pub(crate) fn entries(&self) -> u64 {
        self.summary.entries
    }

    /// Completes the table, syncs it and gives it its name. When this returns it survives a loss of power.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if nothing was added; [`Error::Io`] for what the file system said. Then the table
    /// does not count.
    pub(crate) fn finish(self) -> Result<TableSummary> {
        self.finish_unsynced()?.sync()
    }

    /// Completes the table but for the sync, which another thread can do: [`PendingSync::sync`].
    ///
    /// # Errors
    /// As [`TableWriter::finish`].
    pub(crate) fn finish_unsynced(mut self) -> Result<PendingSync> {
        if !self.block.is_empty() {
            self.end_block(None)?;
        }
        if self.summary.entries == 0 && self.ranges.is_empty() {
            return Err(Error::InvalidArgument("a table with nothing in it".into()));
        }
        self.summary.smallest = self.builder.first_key().unwrap_or_default().to_vec();
        self.summary.largest = self.last_key;
        if !self.ranges.is_empty() {
            let mut summary = std::mem::take(&mut self.summary);
            let has_rows = summary.entries > 0;
            for (nth, range) in self.ranges.iter().enumerate() {
                if nth == 0 && !has_rows || range.start < summary.smallest {
                    summary.smallest.clone_from(&range.start);
                }
                let last = range.last_key();
                if last > summary.largest.as_slice() {
                    summary.largest = last.to_vec();
                }
                summary.min_seq = summary.min_seq.min(range.seq);
                summary.max_seq = summary.max_seq.max(range.seq);
                summary.range_deletes += 1;
            }
            self.summary = summary;
            let handle = self.builder.add_chunk(&tombstones::encode(&self.ranges))?;
            self.builder.set_property(properties::RANGE_TOMBSTONES, properties::encode_handle(handle));
        }
        properties::record(&mut self.builder, &self.options, &self.summary);
        let table = self.builder.finish_unsynced()?;
        self.summary.file_bytes = table.info().file_bytes;
        Ok(PendingSync { table, summary: self.summary })
    }

    /// Ends the block, and the partition if it is full or nothing comes next.
    fn end_block(&mut self, next: Option<&[u8]>) -> Result<()> {
        self.builder.begin_chunk()?;
        let out = self.builder.chunk_buffer();
        if let Some(compressor) = &mut self.compressor
            && !compressor.passes_over()
        {
            self.scratch.clear();
            self.block.finish(&mut self.scratch);
            compressor.append(&self.scratch, out);
        } else {
            self.block.finish(out);
            end_plain(out);
        }
        self.builder.end_chunk()?;
        self.summary.blocks += 1;
        let (end, last) = (self.builder.file_bytes(), (self.last_key.as_slice(), self.last_seq));
        self.partition.end_chunk(end, last, next);
        if next.is_none() || self.partition.is_full(end) {
            self.partition.finish(&mut self.builder, last)?;
        }
        Ok(())
    }
}

/// Why a version cannot be added.
#[cold]
fn refusal(key: &[u8], seq: u64, kind: OpKind) -> Error {
    let key = key.escape_ascii();
    Error::InvalidArgument(if seq > MAX_SEQ {
        format!("sequence number {seq} of key {key} is over {MAX_SEQ}")
    } else if kind == OpKind::DeleteRange {
        format!("a deleted range is no version of key {key}")
    } else {
        format!("key {key} at sequence number {seq} does not come after the version added before it")
    })
}
