//! What is left of an opened block: the rows that match and are not due yet.

use crate::bitmap::Bitmap;
use crate::error::Result;
use crate::exec::open::Open;
use crate::exec::project::Projection;
use crate::exec::read::Reader;
use crate::exec::{Order, RunStats};
use crate::row::ResultRow;
use duramen::block::BlockHandle;
use std::sync::Arc;

pub(super) struct Cursor {
    pub number: usize,
    pub handle: Arc<dyn BlockHandle>,
    /// The block, unless there was no room to keep it.
    pub open: Option<Open>,
    /// So many of the bytes held are its, or those of rows that were copied out of it.
    pub held_bytes: usize,
    /// The next rows, copied out of a block that was not kept; the next is the last.
    pub copied: Vec<ResultRow>,
    /// How many rows match, wanted or not.
    pub matched: usize,
    /// Row numbers and times; the next is the last.
    pub left: Vec<(u32, i64)>,
}

impl Cursor {
    /// Opens and filters a block; nothing if no row of it matches, or it cannot be read, which is counted. Of its rows
    /// no more than `enough` are wanted.
    pub fn open(
        (number, handle): (usize, &Arc<dyn BlockHandle>),
        reader: &Reader<'_>,
        order: Order,
        enough: Option<usize>,
        stats: &mut RunStats,
    ) -> Result<Option<Self>> {
        let Some((mut open, mut found)) = reader.open(&**handle, stats)? else { return Ok(None) };
        let matched = found.count();
        if let Some(enough) = enough.filter(|&enough| enough < matched) {
            match order {
                Order::NewestFirst => found.keep_last(enough),
                Order::OldestFirst => found.keep_first(enough),
            }
            open.only(&found);
        }
        let times = match open.times() {
            Ok(times) => times,
            Err(e) => {
                stats.failed(e);
                return Ok(None);
            }
        };
        let mut left: Vec<(u32, i64)> = found.iter().map(|r| (r as u32, times[r])).collect();
        if order == Order::OldestFirst {
            left.reverse();
        }
        let held_bytes = open.held_bytes();
        let (handle, open) = (handle.clone(), Some(open));
        Ok(Some(Self { number, handle, open, held_bytes, copied: Vec::new(), matched, left }))
    }

    /// Whether the next row can be had at once.
    pub fn is_ready(&self) -> bool {
        !self.copied.is_empty() || self.open.as_ref().is_some_and(Open::is_prepared)
    }

    /// Has what is needed of rows decoded, of the block opened again if it was not kept.
    pub fn prepare(&mut self, projection: &Projection, stats: &mut RunStats) -> duramen::Result<()> {
        let open = match self.open.take() {
            Some(open) => open,
            None => {
                let mut open = Open::new(self.handle.open()?);
                let mut left = Bitmap::none(open.block.rows());
                self.left.iter().for_each(|&(row, _)| left.insert(row as usize));
                open.only(&left);
                open
            }
        };
        let open = self.open.insert(open);
        let prepared = open.prepare(projection);
        stats.bytes_read += open.bytes_since_last();
        self.held_bytes = open.held_bytes();
        prepared
    }

    /// Lets go of the block.
    pub fn drop_block(&mut self) {
        self.open = None;
        self.held_bytes = 0;
    }

    /// Copies the next rows out of a block that is prepared and lets go of it: about so many bytes of rows, and no more
    /// rows than that.
    pub fn copy_out(&mut self, projection: &Projection, bytes: usize, rows: usize) {
        let (mut row, mut copied_bytes) = (ResultRow::new(), 0);
        if let Some(open) = &self.open {
            for &(r, time) in self.left.iter().rev().take(rows.max(1)) {
                open.fill_prepared(r as usize, time, projection, &mut row);
                let copy = row.compact();
                copied_bytes += copy.heap_bytes();
                self.copied.push(copy);
                if copied_bytes >= bytes {
                    break;
                }
            }
        }
        self.copied.reverse();
        self.drop_block();
        self.held_bytes = copied_bytes;
    }
}
