//! The rows of one segment, as blocks that stay from one snapshot to the next.
//!
//! What was appended since the last snapshot makes a small block. It takes in the blocks right before it that weigh no more,
//! unless they are full; so a row moves only into a block twice as heavy, a few times in all, and there are few blocks.
//!
//! A block is built of its rows when somebody opens it. Who opens it a second time, most likely with the next query, shows that
//! it is wanted: from then on it stays built, as far as there is [`Room`].

use crate::block::{Block, BlockHandle};
use crate::columnar::MemoryBlock;
use crate::error::Result;
use crate::store::live::width::most_rows;
use crate::store::rows::{Arenas, RowPlace, RowSet};
use duramen_engine::wal::SegmentReader;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// How many rows of a segment make a block in memory, at most.
pub(super) const LIVE_BLOCK_ROWS: usize = 8192;
/// And how many bytes their entries have: few enough that the memory of one block serves for the next.
const LIVE_BLOCK_BYTES: u64 = 1 << 20;
/// So few rows of so few bytes in all are made a block in less time than it takes to open one on disk.
const FEW_ROWS: usize = 256;
const FEW_BYTES: u64 = 128 << 10;
/// What a row weighs besides its bytes: as many rows, or as many bytes, as a block has at most weigh the same.
const ROW_WEIGHT: u64 = LIVE_BLOCK_BYTES / LIVE_BLOCK_ROWS as u64;

/// Memory for blocks that stay built, shared by all segments.
#[derive(Debug)]
pub(super) struct Room {
    capacity_bytes: usize,
    taken_bytes: AtomicUsize,
}

impl Room {
    pub(super) fn new(capacity_bytes: usize) -> Arc<Self> {
        Arc::new(Self { capacity_bytes, taken_bytes: AtomicUsize::new(0) })
    }

    /// How much of it is taken.
    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        self.taken_bytes.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: usize) -> bool {
        let more = |taken: usize| taken.checked_add(bytes).filter(|&all| all <= self.capacity_bytes);
        self.taken_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.taken_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The rows found so far in one segment.
#[derive(Debug)]
pub(super) struct SegmentBlocks {
    /// Those that are in no block yet: none between two snapshots, if the segment is one that they show.
    rows: RowSet,
    /// In the order in which they were written; hardly any but the last ones are not full.
    blocks: Vec<Arc<LiveBlockHandle>>,
    room: Arc<Room>,
}

impl SegmentBlocks {
    pub(super) fn new(reader: Arc<SegmentReader>, room: &Arc<Room>) -> Self {
        let mut rows = RowSet::default();
        rows.follow(reader);
        Self { rows, blocks: Vec::new(), room: room.clone() }
    }

    /// Reads what was appended since the last call.
    ///
    /// # Errors
    /// As [`RowSet::extend`]: what precedes the damage has been read.
    pub(super) fn extend(&mut self) -> Result<()> {
        self.rows.extend()
    }

    /// The sequence number after the last record's; `None` before the first.
    pub(super) fn next_seq(&self) -> Option<u64> {
        self.rows.next_seq()
    }

    /// How many bytes of the segment have not been read yet.
    pub(super) fn unread_bytes(&self) -> u64 {
        self.rows.unread_bytes()
    }

    /// All rows that were read.
    pub(super) fn blocks(&mut self) -> impl Iterator<Item = Arc<dyn BlockHandle>> + '_ {
        if self.rows.len() > 0 {
            self.take_in();
        }
        self.blocks.iter().map(|block| block.clone() as _)
    }

    /// Makes blocks of the rows that are in none.
    fn take_in(&mut self) {
        let mut places = self.rows.take().into_entries();
        let mut from = self.blocks.len();
        let mut weight = weight(&places);
        while let Some(before) = from.checked_sub(1).and_then(|i| self.blocks.get(i))
            && !before.is_full
            && before.weight() <= weight
        {
            weight += before.weight();
            from -= 1;
        }
        let mut is_wanted = false;
        if from < self.blocks.len() {
            let fresh = std::mem::take(&mut places);
            for block in self.blocks.drain(from..) {
                is_wanted |= block.is_wanted.load(Ordering::Relaxed);
                places.extend_from_slice(block.places());
            }
            places.extend_from_slice(&fresh);
            // What was written in order of time stays as it is: a stable sort finds the pieces that are in order.
            places.sort_by_key(|place| place.0);
        }
        let arenas = Arc::new(self.rows.arenas());
        let ranges = cut(&places, &arenas);
        let places = Arc::new(places);
        for Cut { range, bytes, is_full } in ranges {
            self.blocks.push(Arc::new(LiveBlockHandle {
                arenas: arenas.clone(),
                places: places.clone(),
                range,
                bytes,
                is_full,
                is_wanted: AtomicBool::new(is_wanted),
                built: OnceLock::new(),
                room: self.room.clone(),
            }));
        }
    }
}

/// How much rows are, by their number and their bytes.
fn weight(places: &[RowPlace]) -> u64 {
    places.iter().map(|(_, location)| ROW_WEIGHT + u64::from(location.len)).sum()
}

/// Whether a block takes no more.
fn is_full(rows: usize, bytes: u64) -> bool {
    rows >= LIVE_BLOCK_ROWS || bytes >= LIVE_BLOCK_BYTES
}

/// Rows that become a block.
struct Cut {
    range: Range<usize>,
    /// Of their entries.
    bytes: u64,
    /// Whether it takes no more.
    is_full: bool,
}

/// Where blocks of these rows begin and end.
fn cut(places: &[RowPlace], arenas: &Arenas) -> Vec<Cut> {
    let bytes_of = |places: &[RowPlace]| places.iter().map(|(_, location)| u64::from(location.len)).sum();
    let mut cuts = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (end, (_, location)) in (1..).zip(places) {
        bytes += u64::from(location.len);
        if is_full(end - start, bytes) || end == places.len() {
            let of_block = &places[start..end];
            // What cannot be read, whoever opens the block is told.
            let most = most_rows(of_block, arenas).unwrap_or(of_block.len()).max(1);
            for part in of_block.chunks(most) {
                let bytes = bytes_of(part);
                let is_full = is_full(part.len(), bytes) || part.len() == most && most < of_block.len();
                cuts.push(Cut { range: start..start + part.len(), bytes, is_full });
                start += part.len();
            }
            bytes = 0;
        }
    }
    cuts
}

/// Rows of a segment, in order, and where they lie.
#[derive(Debug)]
struct LiveBlockHandle {
    arenas: Arc<Arenas>,
    /// Of this block and of others that were made with it.
    places: Arc<Vec<RowPlace>>,
    /// Those of this block; never empty.
    range: Range<usize>,
    /// Of their entries.
    bytes: u64,
    /// Whether it takes no more.
    is_full: bool,
    /// Whether somebody has opened it, or what it was made of.
    is_wanted: AtomicBool,
    built: OnceLock<(Arc<MemoryBlock>, usize)>,
    room: Arc<Room>,
}

impl LiveBlockHandle {
    fn places(&self) -> &[RowPlace] {
        self.places.get(self.range.clone()).unwrap_or_default()
    }

    fn weight(&self) -> u64 {
        self.range.len() as u64 * ROW_WEIGHT + self.bytes
    }
}

impl Drop for LiveBlockHandle {
    fn drop(&mut self) {
        if let Some((_, bytes)) = self.built.get() {
            self.room.give_back(*bytes);
        }
    }
}

impl BlockHandle for LiveBlockHandle {
    fn rows(&self) -> usize {
        self.range.len()
    }

    fn min_time(&self) -> i64 {
        self.places().first().map_or(i64::MAX, |place| place.0.time)
    }

    fn max_time(&self) -> i64 {
        self.places().last().map_or(i64::MIN, |place| place.0.time)
    }

    fn open(&self) -> Result<Arc<dyn Block>> {
        if let Some((built, _)) = self.built.get() {
            return Ok(built.clone());
        }
        let rows = self.places().iter().map(|place| self.arenas.row(place)).collect::<Result<Vec<_>>>()?;
        let built = Arc::new(MemoryBlock::build(&rows)?);
        if self.is_wanted.swap(true, Ordering::Relaxed) {
            let bytes = built.memory_bytes();
            if self.room.take(bytes) && self.built.set((built.clone(), bytes)).is_err() {
                // Another query was at it, too.
                self.room.give_back(bytes);
            }
        }
        Ok(built)
    }

    fn is_open(&self) -> bool {
        self.rows() <= FEW_ROWS && self.bytes <= FEW_BYTES || self.built.get().is_some()
    }
}
