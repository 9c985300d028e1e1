//! Opening a block and finding its matching rows, within the limits of the query.

use super::open::Open;
use super::{Cancel, RunStats, eval, skip};
use crate::bitmap::Bitmap;
use crate::error::{Error, Result};
use crate::filter::Filter;
use duramen::block::BlockHandle;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many rows a query may look at, counted across its threads and the queries inside it.
#[derive(Debug)]
pub(crate) struct RowLimit {
    read: AtomicU64,
    limit: u64,
}

impl RowLimit {
    /// None is no limit.
    pub fn new(limit: Option<u64>) -> Self {
        Self { read: AtomicU64::new(0), limit: limit.unwrap_or(u64::MAX) }
    }

    fn count(&self, rows: u64) -> Result<()> {
        let before = self.read.fetch_add(rows, Ordering::Relaxed);
        if before.saturating_add(rows) > self.limit {
            return Err(Error::RowLimit { limit_rows: self.limit });
        }
        Ok(())
    }
}

/// What reads blocks.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub filter: &'a Filter,
    pub cancel: &'a Cancel,
    pub rows: &'a RowLimit,
    /// How many of it may work side by side.
    pub threads: usize,
    /// Whether rows are to be in order of time. Blocks that lie in the time range in part have them in order anyway.
    pub in_order: bool,
}

impl Reader<'_> {
    /// Opens a block and finds its matching rows; nothing if there are none, or if the block cannot be read, which is
    /// counted.
    pub fn open(&self, handle: &dyn BlockHandle, stats: &mut RunStats) -> Result<Option<(Open, Bitmap)>> {
        self.cancel.check()?;
        let before = stats.rows_scanned;
        let selected = self.select(handle, stats);
        // What was found while it was being stopped means nothing.
        self.cancel.check()?;
        self.rows.count(stats.rows_scanned - before)?;
        Ok(match selected {
            Ok(Some((mut open, found))) => {
                stats.bytes_read += open.bytes_since_last();
                (!found.is_empty()).then_some((open, found))
            }
            Ok(None) => None,
            Err(e) => {
                stats.failed(e);
                None
            }
        })
    }

    fn select(
        &self,
        handle: &dyn BlockHandle,
        stats: &mut RunStats,
    ) -> duramen::Result<Option<(Open, Bitmap)>> {
        let (from, to) = self.filter.time_range();
        if handle.max_time() < from || handle.min_time() > to {
            return Ok(None);
        }
        let is_inside = from <= handle.min_time() && handle.max_time() <= to;
        let mut open = Open::of(handle, self.in_order || !is_inside)?;
        if !skip::may_match(self.filter, &*open.block)? {
            return Ok(None);
        }
        let rows = open.block.rows();
        stats.blocks_read += 1;
        stats.rows_scanned += rows as u64;
        let found = if skip::matches_all(self.filter, (handle.min_time(), handle.max_time())) {
            Bitmap::all(rows)
        } else {
            eval::eval(self.filter, &mut open, &Bitmap::all(rows), &|| self.cancel.check().is_err())?
        };
        stats.rows_matched += found.count() as u64;
        open.only(&found);
        Ok(Some((open, found)))
    }
}
