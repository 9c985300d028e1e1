//! Following a store: every row that anyone appends, once, as soon as it is there.
//!
//! For each writer it is remembered up to which sequence number its rows were given out. What is new is
//! looked for in the live segments, and in tables that were not there the last time: a small segment may be
//! filled, sealed, flushed and removed between two looks.

use crate::block::{Block, BlockHandle};
use crate::columnar::MemoryBlock;
use crate::error::Result;
use crate::store::live::Prefix;
use crate::store::rows::{RowPlace, RowSet};
use crate::store::snapshot::{Snapshots, View};
use crate::store::some_rows::SomeRows;
use crate::store::table_blocks::TableBlockHandle;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// How long to rest between two looks for new rows.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Rows per block given out at most.
const ROWS_PER_BLOCK: usize = 16_384;

/// Follows a store from the moment it was made. Not shared between threads; make one each.
#[derive(Debug)]
pub struct Tail {
    snapshots: Arc<Snapshots>,
    /// The last sequence number given out, by writer.
    given: BTreeMap<u64, u64>,
    seen_tables: BTreeSet<u64>,
    /// The first table that was not there when the tail was made.
    first_table: u64,
    /// Found, and not given out yet, because looking for more failed.
    found: Vec<Arc<dyn Block>>,
    /// Segments being followed, by writer and number.
    following: BTreeMap<(u64, u64), Followed>,
}

/// A segment, and how many of its rows have been looked at.
#[derive(Debug)]
struct Followed {
    rows: RowSet,
}

impl Tail {
    pub(crate) fn new(snapshots: Arc<Snapshots>) -> Result<Self> {
        let mut tail = Self {
            snapshots,
            given: BTreeMap::new(),
            seen_tables: BTreeSet::new(),
            first_table: 0,
            found: Vec::new(),
            following: BTreeMap::new(),
        };
        // What is there already counts as given out.
        let view = tail.snapshots.view()?;
        tail.seen_tables = view.state.tables.keys().copied().collect();
        tail.first_table = view.state.next_table;
        tail.new_live_rows(&view)?;
        tail.found.clear();
        Ok(tail)
    }

    /// The rows appended since the last call, as blocks in order; waits up to `at_most` for one. Empty when
    /// there was none.
    ///
    /// # Errors
    /// As [`crate::Store::snapshot`]. Call again: nothing was skipped.
    pub fn poll(&mut self, at_most: Duration) -> Result<Vec<Arc<dyn Block>>> {
        let clock = self.snapshots.shared().env.clock.clone();
        let started = clock.monotonic();
        loop {
            let view = self.snapshots.view()?;
            self.new_table_rows(&view)?;
            self.new_live_rows(&view)?;
            let waited = clock.monotonic().saturating_sub(started);
            if !self.found.is_empty() || waited >= at_most {
                return Ok(std::mem::take(&mut self.found));
            }
            std::thread::park_timeout(LOOK_EVERY.min(at_most - waited));
        }
    }

    fn new_live_rows(&mut self, view: &View) -> Result<()> {
        let mut following = std::mem::take(&mut self.following);
        let mut prefix = Prefix::default();
        for segment in &view.live.segments {
            if !prefix.goes_on_with(self.snapshots.shared(), segment) {
                continue;
            }
            let key = (segment.writer, segment.number);
            let mut followed = following.remove(&key).unwrap_or_else(|| {
                let mut rows = RowSet::default();
                rows.follow(segment.reader.clone());
                Followed { rows }
            });
            prefix.has(self.snapshots.shared(), followed.rows.extend(), followed.rows.next_seq());
            let given = self.given.entry(segment.writer).or_insert(0);
            let found = followed.rows.take();
            let fresh: Vec<RowPlace> =
                found.entries().iter().filter(|(key, _)| key.seq > *given).copied().collect();
            let arenas = followed.rows.arenas();
            let mut blocks: Vec<Arc<dyn Block>> = Vec::new();
            for chunk in fresh.chunks(ROWS_PER_BLOCK) {
                let rows = chunk.iter().map(|place| arenas.row(place)).collect::<Result<Vec<_>>>()?;
                blocks.push(Arc::new(MemoryBlock::build(&rows)?));
            }
            *given = fresh.iter().map(|(key, _)| key.seq).max().unwrap_or(*given).max(*given);
            self.found.extend(blocks);
            self.following.insert(key, followed);
        }
        Ok(())
    }

    /// Rows that came and went to a table between two looks.
    fn new_table_rows(&mut self, view: &View) -> Result<()> {
        let mut blocks: Vec<Arc<dyn Block>> = Vec::new();
        let mut last = self.given.clone();
        for (number, meta) in &view.state.tables {
            if self.seen_tables.contains(number) {
                continue;
            }
            // A merged table has rows that were in tables before the tail was made.
            let origins = self.snapshots.tables().origins(meta)?;
            for (writer, seq) in origins.before(self.first_table) {
                let given = self.given.entry(writer).or_insert(seq);
                *given = seq.max(*given);
            }
            for handle in TableBlockHandle::of(self.snapshots.tables(), meta, &view.pin)? {
                let block = handle.open()?;
                let mut fresh = Vec::new();
                for row in 0..block.rows() {
                    let (writer, seq) = block.identity(row)?;
                    if seq > self.given.get(&writer).copied().unwrap_or(0) {
                        fresh.push(row as u32);
                        let last = last.entry(writer).or_insert(0);
                        *last = seq.max(*last);
                    }
                }
                if !fresh.is_empty() {
                    blocks.push(Arc::new(SomeRows::new(block, fresh)));
                }
            }
        }
        for (writer, seq) in last {
            let given = self.given.entry(writer).or_insert(seq);
            *given = seq.max(*given);
        }
        self.found.extend(blocks);
        self.seen_tables = view.state.tables.keys().copied().collect();
        Ok(())
    }
}
