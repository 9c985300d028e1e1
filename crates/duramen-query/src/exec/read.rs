//! Opening a block and finding its matching rows, within the limits of the query.

use super::group_keys::are_in_one_bucket;
use super::open::Open;
use super::project::Projection;
use super::told::Told;
use super::{Cancel, RunStats, eval, skip};
use crate::bitmap::Bitmap;
use crate::error::{Error, Result};
use crate::pipe::sample::Sample;
use crate::pipe::stats::By;
use duramen::block::{BlockHandle, Looks, names};
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
    /// Of the filter, without groups.
    pub told: &'a Told<'a>,
    /// The fields that are looked at in most blocks that may match.
    pub needs: &'a Projection,
    /// Which filters of blocks will tell whether they may match.
    pub looks: Looks,
    pub cancel: &'a Cancel,
    pub rows: &'a RowLimit,
    /// How many of it may work side by side.
    pub threads: usize,
    /// Of the rows that match, only those of this sample, if there is one.
    pub sample: Option<&'a Sample>,
    /// Which blocks' rows are to be in order of time. Blocks that lie in the time range in part have them in order anyway.
    pub in_order: InOrder<'a>,
}

/// Blocks whose rows are to be in order of time.
#[derive(Clone, Copy)]
pub(crate) enum InOrder<'a> {
    All,
    /// All that do not lie in one bucket of time each of these groups.
    UnlessInOneBucket(&'a [By]),
    None,
}

impl Reader<'_> {
    /// Opens a block and finds its matching rows; nothing if there are none, or if the block cannot be read, which is
    /// counted.
    pub fn open(&self, handle: &dyn BlockHandle, stats: &mut RunStats) -> Result<Option<(Open, Bitmap)>> {
        self.cancel.check()?;
        let before = stats.rows_scanned;
        let selected = self.select(handle, stats);
        // That it cannot match is certain, however long it took to find out.
        if matches!(selected, Ok(None)) && !self.cancel.is_cancelled() {
            return Ok(None);
        }
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

    /// Whether a row of the block may match, as far as that is known before it is opened.
    pub fn may_match(&self, handle: &dyn BlockHandle) -> bool {
        self.is_in_time(handle)
            && self.told.may_have_words(handle, false)
            && self.told.matches(handle) != Some(false)
    }

    /// Whether a row of the block may lie in the filter's time range.
    pub fn is_in_time(&self, handle: &dyn BlockHandle) -> bool {
        let (from, to) = self.told.filter().time_range();
        handle.max_time() >= from && handle.min_time() <= to
    }

    /// Whether the whole block lies in the filter's time range.
    fn is_inside(&self, handle: &dyn BlockHandle) -> bool {
        let (from, to) = self.told.filter().time_range();
        from <= handle.min_time() && handle.max_time() <= to
    }

    /// Whether nothing but the groups looks at the block's times, and they know all they need: it lies in one bucket of each.
    fn is_of_known_buckets(&self, handle: &dyn BlockHandle) -> bool {
        match self.in_order {
            InOrder::UnlessInOneBucket(by) => {
                self.is_inside(handle) && are_in_one_bucket(by, (handle.min_time(), handle.max_time()))
            }
            InOrder::All | InOrder::None => false,
        }
    }

    /// Whether the block's rows are to be in order of time.
    fn is_in_order(&self, handle: &dyn BlockHandle) -> bool {
        !self.is_inside(handle)
            || match self.in_order {
                InOrder::All => true,
                InOrder::UnlessInOneBucket(_) => !self.is_of_known_buckets(handle),
                InOrder::None => false,
            }
    }

    /// Asks for what will be read of a block that is read soon, if it may match.
    pub fn will_read(&self, handle: &dyn BlockHandle) {
        if !handle.is_worth_opening_ahead() || !self.told.may_have_words(handle, true) {
            return;
        }
        // What fails here fails again when it is the block's turn, and is told then.
        if let Ok(open) = Open::of(handle, self.is_in_order(handle))
            && skip::may_match(self.told.filter(), &*open.block).is_ok_and(|may| may)
        {
            let needs_times = !self.is_of_known_buckets(handle);
            let needs = |name: &str| self.needs.wants(name) && (needs_times || name != names::TIME);
            open.block.will_read(&needs);
        }
    }

    /// The block that [`Reader::open`] gave, with the rows that were found in it.
    pub fn again(&self, handle: &dyn BlockHandle, found: &Bitmap) -> duramen::Result<Open> {
        let mut open = Open::of(handle, self.is_in_order(handle))?;
        open.only(found);
        Ok(open)
    }

    /// What [`Reader::open`] gave, with rows in order of time. If the query is being stopped meanwhile, the rows mean nothing.
    pub fn in_order(&self, handle: &dyn BlockHandle) -> duramen::Result<Option<(Open, Bitmap)>> {
        Self { in_order: InOrder::All, ..*self }.select(handle, &mut RunStats::default())
    }

    fn select(
        &self,
        handle: &dyn BlockHandle,
        stats: &mut RunStats,
    ) -> duramen::Result<Option<(Open, Bitmap)>> {
        // What is kept is asked first: that costs least.
        let may_have_words = |reads| self.told.may_have_words(handle, reads);
        if !self.is_in_time(handle) || !may_have_words(false) {
            return Ok(None);
        }
        let told = self.told.matches(handle);
        if told == Some(false) {
            return Ok(None);
        }
        // It would have to be opened: that it is not brief is told by the next look at `cancel`.
        if self.cancel.is_brief() && !handle.is_open() {
            self.cancel.cancel();
            return Ok(None);
        }
        if told.is_none() && !may_have_words(true) {
            return Ok(None);
        }
        let mut open = Open::of(handle, self.is_in_order(handle))?;
        if !skip::may_match(self.told.filter(), &*open.block)? {
            return Ok(None);
        }
        let rows = open.block.rows();
        stats.blocks_read += 1;
        stats.rows_scanned += rows as u64;
        let mut found = if told == Some(true) {
            Bitmap::all(rows)
        } else {
            eval::eval(self.told.filter(), &mut open, &Bitmap::all(rows), &|| self.cancel.check().is_err())?
        };
        stats.rows_matched += found.count() as u64;
        if let Some(sample) = self.sample {
            found = sample.of_entries(&*open.block, &found)?;
        }
        open.only(&found);
        Ok(Some((open, found)))
    }
}
