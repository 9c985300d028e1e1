//! The rows of one segment, as blocks that stay from one snapshot to the next.
//!
//! What was appended since the last snapshot makes a small block. It takes in the blocks right before it that weigh no more,
//! unless they are full; so a row moves only into a block twice as heavy, a few times in all, and there are few blocks.
//!
//! A block's columns are made of its rows when somebody asks for them. Who opens it a second time, most likely with the next
//! query, shows that it is wanted: from then on they stay, as far as there is [`Room`].

use crate::block::{Block, BlockHandle};
use crate::error::Result;
use crate::store::live::block::{LiveBlock, LiveRows};
use crate::store::live::parts::{Room, Shared};
use crate::store::live::width::most_rows;
use crate::store::rows::{Arenas, RowPlace, RowSet};
use duramen_engine::wal::SegmentReader;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// How many rows of a segment make a block in memory, at most.
pub(super) const LIVE_BLOCK_ROWS: usize = 8192;
/// And how many bytes their entries have: few enough that the memory of one block serves for the next.
const LIVE_BLOCK_BYTES: u64 = 1 << 20;
/// Of so few rows of so few bytes in all, columns are made in less time than it takes to open a block on disk.
const FEW_ROWS: usize = 2048;
const FEW_BYTES: u64 = 512 << 10;
/// What a row weighs besides its bytes: as many rows, or as many bytes, as a block has at most weigh the same.
const ROW_WEIGHT: u64 = LIVE_BLOCK_BYTES / LIVE_BLOCK_ROWS as u64;

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
                places.extend_from_slice(block.rows.places());
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
                rows: LiveRows::new(arenas.clone(), places.clone(), range),
                bytes,
                is_full,
                is_wanted: AtomicBool::new(is_wanted),
                shared: OnceLock::new(),
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

/// Rows of a segment as a block that is not open yet.
#[derive(Debug)]
struct LiveBlockHandle {
    rows: LiveRows,
    /// Of their entries.
    bytes: u64,
    /// Whether it takes no more.
    is_full: bool,
    /// Whether somebody has opened it, or what it was made of.
    is_wanted: AtomicBool,
    /// What stays of it when it is opened again.
    shared: OnceLock<Arc<Shared>>,
    room: Arc<Room>,
}

impl LiveBlockHandle {
    fn weight(&self) -> u64 {
        self.rows.len() as u64 * ROW_WEIGHT + self.bytes
    }

    /// What stays; nothing for who opens it first.
    fn shared(&self) -> Option<Arc<Shared>> {
        if self.shared.get().is_none() && self.is_wanted.swap(true, Ordering::Relaxed) {
            // Another query may be at it, too: one of both is enough, and none waits.
            let _there_already = self.shared.set(Arc::new(Shared::new(self.room.clone())));
        }
        self.shared.get().cloned()
    }
}

impl BlockHandle for LiveBlockHandle {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn min_time(&self) -> i64 {
        self.rows.places().first().map_or(i64::MAX, |place| place.0.time)
    }

    fn max_time(&self) -> i64 {
        self.rows.places().last().map_or(i64::MIN, |place| place.0.time)
    }

    fn open(&self) -> Result<Arc<dyn Block>> {
        Ok(Arc::new(LiveBlock::new(self.rows.clone(), self.shared())))
    }

    fn is_open(&self) -> bool {
        self.rows() <= FEW_ROWS && self.bytes <= FEW_BYTES
            || self.shared.get().is_some_and(|shared| shared.parts().has_columns())
    }
}
