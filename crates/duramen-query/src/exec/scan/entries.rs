//! Entries on their way from blocks to whoever takes them: many at once, so that they may be worked on side by side.

use super::cursor::Cursor;
use crate::error::Result;
use crate::exec::Cancel;
use crate::exec::project::Projection;
use crate::pipe::{Flow, Stage};
use crate::row::ResultRow;
use std::ops::Range;

/// How many rows go by between two looks at whether the query was cancelled.
pub(crate) const CANCEL_INTERVAL_ROWS: usize = 1024;

/// So many rows are handed on at once at first; twice as many each time, up to the second.
const FIRST_ROWS: usize = 64;
const MOST_ROWS: usize = 2 << 10;
/// Or fewer, when those that were copied have so many bytes.
const MOST_COPIED_BYTES: usize = 8 << 20;

/// The rows that come next.
pub(super) struct Due {
    rows: Vec<DueRow>,
    /// So many are handed on at once.
    at_once: usize,
    copied_bytes: usize,
    /// After so many more, these among them, nobody wants others.
    pub left: Option<usize>,
}

pub(super) enum DueRow {
    /// A row of a block that is open, and prepared.
    Held { cursor: usize, row: u32, time: i64 },
    /// A row of one that was not kept.
    Copied(ResultRow),
}

impl Due {
    pub fn new(left: Option<usize>) -> Self {
        Self { rows: Vec::new(), at_once: FIRST_ROWS, copied_bytes: 0, left }
    }

    pub fn push(&mut self, row: DueRow) {
        if let DueRow::Copied(row) = &row {
            self.copied_bytes += row.heap_bytes();
        }
        self.rows.push(row);
    }

    pub fn is_enough(&self) -> bool {
        self.copied_bytes >= MOST_COPIED_BYTES
            || self.rows.len() >= self.left.unwrap_or(usize::MAX).clamp(1, self.at_once)
    }

    /// Hands them on, if there are any.
    pub fn hand_on(
        &mut self,
        cursors: &[Option<Cursor>],
        projection: &Projection,
        out: &mut dyn TakeRows,
    ) -> Result<Flow> {
        if self.rows.is_empty() {
            return Ok(Flow::Continue);
        }
        let flow = out.take(&Entries { rows: &self.rows, cursors, projection })?;
        self.left = self.left.map(|left| left.saturating_sub(self.rows.len()));
        self.at_once = (2 * self.at_once).min(MOST_ROWS);
        Ok(flow)
    }

    /// Forgets what was handed on; calls `see` with the cursors of blocks that were held for it.
    pub fn clear(&mut self, mut see: impl FnMut(usize)) {
        self.copied_bytes = 0;
        for row in self.rows.drain(..) {
            if let DueRow::Held { cursor, .. } = row {
                see(cursor);
            }
        }
    }
}

/// Entries that come one after another.
pub(crate) struct Entries<'s> {
    rows: &'s [DueRow],
    cursors: &'s [Option<Cursor>],
    projection: &'s Projection,
}

impl Entries<'_> {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Pushes those in `range` into a stage, and cancels if it is asked to. Tells how many were pushed, too: not all, if the
    /// stage said stop.
    pub fn push(
        &self,
        range: Range<usize>,
        row: &mut ResultRow,
        cancel: &Cancel,
        out: &mut dyn Stage,
    ) -> Result<(Flow, usize)> {
        let rows = range.len();
        for (i, due) in self.rows[range].iter().enumerate() {
            if i % CANCEL_INTERVAL_ROWS == CANCEL_INTERVAL_ROWS - 1 {
                cancel.check()?;
            }
            match due {
                DueRow::Copied(copied) => row.fill_from(copied),
                DueRow::Held { cursor, row: at, time } => {
                    let cursor = self.cursors[*cursor].as_ref();
                    let Some(open) = cursor.and_then(|cursor| cursor.open.as_ref()) else { continue };
                    open.fill_prepared(*at as usize, *time, self.projection, row);
                }
            }
            if out.push(row)? == Flow::Stop {
                return Ok((Flow::Stop, i + 1));
            }
        }
        Ok((Flow::Continue, rows))
    }
}

/// Takes entries as they come.
pub(crate) trait TakeRows {
    fn take(&mut self, entries: &Entries<'_>) -> Result<Flow>;

    /// Whether it is so quick that blocks are to be opened side by side, though they have many rows.
    fn works_ahead(&self) -> bool {
        false
    }
}

/// Hands entries to a stage, one by one.
pub(crate) struct OneByOne<'s> {
    pub out: &'s mut dyn Stage,
    pub cancel: &'s Cancel,
    pub row: ResultRow,
}

impl TakeRows for OneByOne<'_> {
    fn take(&mut self, entries: &Entries<'_>) -> Result<Flow> {
        Ok(entries.push(0..entries.len(), &mut self.row, self.cancel, self.out)?.0)
    }
}
