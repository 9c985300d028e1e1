//! An open table.

use super::block::Block;
use super::cache::BlockCache;
use super::cursor::TableCursor;
use super::directory::{Directory, data_end};
use super::files::{Among, TableHandle};
use super::keys::{KeyIndex, Keys};
use super::partition::Partition;
use super::{CODEC_ID, compress, properties, tombstones};
use crate::io::Env;
use crate::kv::Value;
use crate::lsm::cursor::{Found, RangeTombstone};
use crate::memory::{Pool, SharedBytes};
use crate::sstable::filter::FuseFilter;
use crate::sstable::wire::{Malformed, Reader};
use crate::sstable::{BlockMeta, ChunkHandle, FRAME_BYTES, Table, check_frame};
use crate::{Error, Result};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// An open table. Any number of threads may read from it, and take no lock for what is in memory.
///
/// Every chunk's checksum is verified when it is read from the file. A damaged chunk is [`Error::Corruption`] for who
/// needs it, and for nobody else: of a partition's directory, all that look into the partition; of a filter, nobody:
/// reads do without it, and [`TableReader::damage`] tells.
#[derive(Debug)]
pub(crate) struct TableReader {
    /// The last version of each partition.
    last: KeyIndex,
    partitions: Box<[Slot]>,
    cache: Arc<BlockCache>,
    handle: Arc<TableHandle>,
    id: u64,
    file_bytes: u64,
    chunks_end: u64,
    ranges_at: Option<ChunkHandle>,
    ranges: OnceLock<Arc<[RangeTombstone]>>,
    damage: Mutex<Vec<String>>,
    /// Whether somebody has read from it lately.
    used: AtomicBool,
}

/// A partition, in memory once it was needed.
#[derive(Debug)]
struct Slot {
    partition: OnceLock<Partition>,
    start: u64,
    filter: Option<ChunkHandle>,
    directory: ChunkHandle,
}

impl TableReader {
    /// Opens a table. Its file stays open.
    ///
    /// # Errors
    /// [`Error::Corruption`], [`Error::TooNew`], [`Error::InvalidArgument`], [`Error::Io`] as
    /// [`Table::open`](crate::sstable::Table::open) says.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn open(env: &Env, path: &Path, cache: &Arc<BlockCache>) -> Result<Arc<Self>> {
        Self::open_among(env, path, cache, None)
    }

    /// The same, where the file is one of a limited number of open ones.
    pub(super) fn open_among(
        env: &Env,
        path: &Path,
        cache: &Arc<BlockCache>,
        among: Option<Among>,
    ) -> Result<Arc<Self>> {
        let open = || Table::open(env, path, CODEC_ID);
        let table = match &among {
            Some(among) => among.files.open(open)?,
            None => open()?,
        }
        .into_parts();
        let wrong =
            |detail: &str| Error::corruption(path, table.chunks_end, format!("the index has {detail}"));
        let mut last = Keys::default();
        let mut slots = Vec::with_capacity(table.blocks.len());
        let mut bytes = 0;
        for (block, range) in table.blocks.iter().zip(&table.ranges) {
            bytes += block.max_key.len() + 8;
            if bytes >= 1 << 31 {
                return Err(wrong("over 2 GiB of keys"));
            }
            last.push(
                &block.max_key,
                last_seq(block).ok_or_else(|| wrong("a partition without its last version"))?,
            );
            let slot = Slot {
                partition: OnceLock::new(),
                start: range.start,
                filter: block.filters.first().copied(),
                directory: block.directory,
            };
            slots.push(slot);
        }
        let ranges_at = match table.properties.get(properties::RANGE_TOMBSTONES) {
            None => None,
            Some(bytes) => Some(
                properties::decode_handle(bytes)
                    .ok_or_else(|| wrong("deleted ranges that cannot be found"))?,
            ),
        };
        Ok(Arc::new(Self {
            last: last.into_index().map_err(wrong)?,
            partitions: slots.into(),
            cache: Arc::clone(cache),
            id: properties::id_of(&table.properties),
            file_bytes: table.file_bytes,
            chunks_end: table.chunks_end,
            ranges_at,
            ranges: OnceLock::new(),
            handle: TableHandle::new(env, path, (table.file, table.file_bytes), among),
            damage: Mutex::default(),
            used: AtomicBool::new(true),
        }))
    }

    /// Which table it says it is (0: it does not), and how long its file is.
    pub(super) fn identity(&self) -> (u64, u64) {
        (self.id, self.file_bytes)
    }

    /// The newest version of a key that is not newer than `seq`. `hash` is the key's XXH3-64. Deleted ranges are not
    /// looked at.
    ///
    /// # Errors
    /// [`Error::Corruption`] where what has to be read is damaged; [`Error::Io`].
    #[inline]
    pub(crate) fn get(&self, key: &[u8], hash: u64, seq: u64) -> Result<Option<Found>> {
        let Some(partition) = self.partition_for(key, seq)? else { return Ok(None) };
        match partition.chunk_for(key, hash, seq) {
            None => Ok(None),
            Some(chunk) => self.search(partition, chunk, key, seq),
        }
    }

    /// Whether there may be versions of a key, with this XXH3-64: `false` is certain.
    ///
    /// # Errors
    /// As [`TableReader::get`].
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn may_contain(&self, key: &[u8], hash: u64) -> Result<bool> {
        Ok(self.partition_for(key, u64::MAX)?.is_some_and(|partition| partition.may_contain(hash)))
    }

    /// A cursor. Blocks that it reads go to the cache if `fill_cache` says so.
    pub(crate) fn cursor(self: &Arc<Self>, fill_cache: bool) -> TableCursor {
        TableCursor::new(Arc::clone(self), fill_cache)
    }

    /// The deleted ranges.
    ///
    /// # Errors
    /// As [`TableReader::get`].
    pub(crate) fn range_tombstones(&self) -> Result<Arc<[RangeTombstone]>> {
        if let Some(ranges) = self.ranges.get() {
            return Ok(Arc::clone(ranges));
        }
        let ranges: Arc<[RangeTombstone]> = match self.ranges_at {
            None => Arc::new([]),
            Some(at) => {
                let ranges = tombstones::decode(&self.read_chunk(at)?);
                ranges.map_err(|detail| self.corruption(at.offset, detail))?.into()
            }
        };
        Ok(Arc::clone(self.ranges.get_or_init(|| ranges)))
    }

    /// How much memory filters and directories take that were needed so far, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let partitions = self.partitions.iter().filter_map(|slot| slot.partition.get());
        let slots = self.partitions.len() * size_of::<Slot>();
        self.last.memory_bytes() + slots + partitions.map(Partition::memory_bytes).sum::<usize>()
    }

    /// What was found damaged that reads could do without: filters.
    pub(crate) fn damage(&self) -> Vec<String> {
        self.damage.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers that it was read from.
    #[inline]
    pub(super) fn mark_used(&self) {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    /// Whether it was read from since this was asked last.
    pub(in crate::lsm) fn take_used(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed)
    }

    #[inline]
    fn partition_for(&self, key: &[u8], seq: u64) -> Result<Option<&Partition>> {
        match self.partitions.get(self.last.find(key, seq)) {
            None => Ok(None),
            Some(slot) => self.loaded(slot).map(Some),
        }
    }

    fn search(
        &self,
        partition: &Partition,
        (chunk, part): (usize, u8),
        key: &[u8],
        seq: u64,
    ) -> Result<Option<Found>> {
        let look = |block: &Block| {
            block.prefetch_about(part);
            find(block, key, seq)
        };
        let found = match partition.with_cached(&self.cache, chunk, look) {
            Some(found) => found,
            None => match self.read_block(partition, chunk)? {
                Some(block) => find(&block, key, seq),
                None => Ok(None),
            },
        };
        found.map_err(|detail| self.corruption(partition.frame(chunk).map_or(0, |frame| frame.start), detail))
    }
}

fn find(block: &Block, key: &[u8], seq: u64) -> Result<Option<Found>, Malformed> {
    Ok(block.find(key, seq)?.filter(|row| row.same_key).map(|row| {
        let row = row.position;
        Found { seq: row.seq, kind: row.kind, value: Value::in_block(block.bytes().clone(), row.value) }
    }))
}

/// Partitions and blocks, for cursors too.
impl TableReader {
    pub(super) fn cache(&self) -> &Arc<BlockCache> {
        &self.cache
    }

    pub(super) fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// The partition in which to look for the first version at or after `key` in its version `seq`.
    pub(super) fn find_partition(&self, key: &[u8], seq: u64) -> usize {
        self.last.find(key, seq)
    }

    /// The `i`-th partition, if there is one.
    pub(super) fn partition(&self, i: usize) -> Result<Option<&Partition>> {
        self.partitions.get(i).map(|slot| self.loaded(slot)).transpose()
    }

    #[inline]
    fn loaded<'a>(&'a self, slot: &'a Slot) -> Result<&'a Partition> {
        match slot.partition.get() {
            Some(partition) => Ok(partition),
            None => self.load(slot),
        }
    }

    #[cold]
    fn load<'a>(&'a self, slot: &'a Slot) -> Result<&'a Partition> {
        let filter_bytes = slot.filter.map(|at| (at, self.read_chunk(at)));
        let filter = match filter_bytes {
            None => None,
            Some((at, bytes)) => {
                let filter = bytes.and_then(|bytes| {
                    FuseFilter::decode(&bytes).map_err(|detail| self.corruption(at.offset, detail))
                });
                match filter {
                    Err(error) if error.is_corruption() => {
                        let mut damage = self.damage.lock().unwrap_or_else(PoisonError::into_inner);
                        damage.push(error.to_string());
                        None
                    }
                    other => Some(other?),
                }
            }
        };
        let data_end = data_end(slot.directory, slot.filter);
        let bytes = self.read_chunk(slot.directory)?;
        let directory = Directory::decode(&bytes, data_end.saturating_sub(slot.start))
            .map_err(|detail| self.corruption(slot.directory.offset, detail))?;
        Ok(slot.partition.get_or_init(|| Partition::new(slot.start, filter, directory)))
    }

    /// Reads a block from the file, and puts it into the cache. `None` if there is no such data chunk.
    #[cold]
    fn read_block(&self, partition: &Partition, chunk: usize) -> Result<Option<Block>> {
        let Some(frame) = partition.frame(chunk) else { return Ok(None) };
        let at = frame.start;
        let pool = self.cache.pool();
        let bytes = self.read(frame, pool)?;
        let len = bytes.len();
        let block = self.open_block(bytes, 0..len, at, pool)?;
        partition.keep(&self.cache, chunk, block.clone());
        Ok(Some(block))
    }

    /// The block of the frame that is `range` of `bytes` and starts at `at` in the file; unpacked, it lies in the pool.
    pub(super) fn open_block(
        &self,
        bytes: SharedBytes,
        range: Range<usize>,
        at: u64,
        pool: Option<&Arc<Pool>>,
    ) -> Result<Block> {
        let frame = bytes.get(range.clone()).unwrap_or_default();
        check_frame(frame).map_err(|detail| self.corruption(at, &detail))?;
        compress::open(bytes, range.start + FRAME_BYTES..range.end, pool)
            .map_err(|detail| self.corruption(at, detail))
    }

    fn read_chunk(&self, at: ChunkHandle) -> Result<SharedBytes> {
        let start = at.offset.checked_sub(FRAME_BYTES as u64);
        let end = at.offset.checked_add(u64::from(at.len));
        let Some((start, end)) = start.zip(end) else {
            return Err(self.corruption(at.offset, "a chunk outside the table's blocks is asked for"));
        };
        let bytes = self.read(start..end, None)?;
        check_frame(&bytes).map_err(|detail| self.corruption(start, &detail))?;
        Ok(bytes.get(FRAME_BYTES..).unwrap_or_default().into())
    }

    /// Bytes of the file, frames and all, in memory of the pool if there is one.
    pub(super) fn read(&self, range: Range<u64>, pool: Option<&Arc<Pool>>) -> Result<SharedBytes> {
        if range.start > range.end || range.end > self.chunks_end {
            return Err(self.corruption(range.start, "a chunk outside the table's blocks is asked for"));
        }
        let file = self.handle.file()?;
        SharedBytes::new((range.end - range.start) as usize, pool, |place| {
            file.read_exact_at(place, range.start).map_err(|e| match e.kind() {
                std::io::ErrorKind::UnexpectedEof => {
                    self.corruption(range.start, "the file has become shorter since it was opened")
                }
                _ => Error::io("read", self.handle.path())(e),
            })
        })
    }

    #[cold]
    pub(super) fn corruption(&self, at: u64, detail: &str) -> Error {
        Error::corruption(self.handle.path(), at, detail)
    }
}

/// The sequence number of a partition's last version.
fn last_seq(block: &BlockMeta) -> Option<u64> {
    let mut user = Reader::new(&block.user);
    user.varint().ok()
}
